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
#include "bpfload/ring.h"
#include "walk/python.h"

struct programs;

/* 0 or -errno with error_text: -EPERM and -EACCES for missing rights. `markers` says which entry
 * point to probe, and how, when launches are wanted. */
int programs_open(struct programs **ret, const struct capture_options *options,
	const struct marker_costs *markers);
/* Whether this kernel has what telling waits takes: 0 or -ENOTSUP with error_text. */
int programs_can_tell_waits(void);
/* Whether they can be loaded. */
int programs_check(const struct capture_options *options, bool multi);
int programs_track(struct programs *p, pid_t pid);
/* See capture.h. */
void programs_note_signals(struct programs *p, pid_t pid);
bool programs_signal_came_to_both(const struct programs *p, int number, uint64_t within_ns);
int programs_start(struct programs *p);
int programs_stop(struct programs *p);
void programs_close(struct programs *p);

/*
 * What walks need to know (bpf/events.h); only with samples or launches.
 *
 * Makes chunk `index` of the unwind tables' words (walk/table.h), known to the programs at once: a map of
 * WALK_CHUNK_BYTES to be mapped. The descriptor is the caller's, the map lives as long as the programs. May be
 * called from any thread; waits for a grace period.
 */
int programs_new_chunk(struct programs *p, uint32_t index, int *ret_fd);
/* Whether they know when a process maps code, and not only what they are told. */
bool programs_see_maps(const struct programs *p);
/* The array that the programs read mappings from, BPF_MAPPINGS_MAX of them, ours to fill. */
struct walk_mapping *programs_mappings(struct programs *p);
/* Puts in place of what was told of the process before. 0 or -errno. */
int programs_put_space(struct programs *p, uint32_t pid, const struct bpf_space *space);
int programs_put_python(struct programs *p, uint32_t pid, const struct walk_python *python);
/* Nothing is known of the process. */
void programs_drop_space(struct programs *p, uint32_t pid);

struct ring *programs_samples(struct programs *p);
struct ring *programs_launches(struct programs *p);
struct ring *programs_tasks(struct programs *p);
struct ring *programs_waits(struct programs *p);
/* Totals since programs_open. */
struct bpf_losses programs_losses(const struct programs *p);
/* Calls add for every file descriptor to wait on. */
int programs_each_fd(const struct programs *p, int (*add)(void *context, int fd), void *context);
