/* SPDX-License-Identifier: MIT */
/*
 * The BPF programs of src/bpf/ in the kernel: loading, attaching, their rings and counters. Knows
 * nothing of what the records mean.
 *
 * Tracking works from programs_open on, samples and launches come between start and stop.
 */
#pragma once

#include <sys/types.h>

#include "bpf/events.h"
#include "capture/capture.h"
#include "capture/marker_cost.h"
#include "capture/ring.h"

struct programs;

/* 0 or -errno with error_text: -EPERM and -EACCES for missing rights. `markers` says which entry
 * point to probe, and how, when launches are wanted. */
int programs_open(struct programs **ret, const struct capture_options *options,
	const struct marker_costs *markers);
int programs_track(struct programs *p, pid_t pid);
/* See capture.h. */
void programs_note_signals(struct programs *p, pid_t pid);
bool programs_signal_came_to_both(const struct programs *p, int number, uint64_t within_ns);
int programs_start(struct programs *p);
int programs_stop(struct programs *p);
void programs_close(struct programs *p);

struct ring *programs_samples(struct programs *p);
struct ring *programs_launches(struct programs *p);
struct ring *programs_tasks(struct programs *p);
/* Totals since programs_open. */
struct bpf_losses programs_losses(const struct programs *p);
/* Calls add for every file descriptor to wait on. */
int programs_each_fd(const struct programs *p, int (*add)(void *context, int fd), void *context);
