/* SPDX-License-Identifier: MIT */
/*
 * The BPF programs of src/bpf/ in the kernel: loading, attaching, their rings and counters. Records
 * are not decoded here.
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

/* 0 or -errno with error_text: -EPERM and -EACCES for missing rights. `markers`: which entry
 * point to probe, and how, when launches are wanted. */
int programs_open(struct programs **ret, const struct capture_options *options,
	const struct marker_costs *markers);
/* Whether this kernel can record waits: 0 or -ENOTSUP with error_text. */
int programs_can_record_waits(void);
/* Whether they can be loaded. */
int programs_check(const struct capture_options *options, bool multi);
int programs_track(struct programs *p, pid_t pid);
/* See capture.h. */
void programs_note_signals(struct programs *p, pid_t pid);
bool programs_signal_came_to_both(const struct programs *p, int number, uint64_t within_ns);
int programs_start(struct programs *p);
/* Sets the programs' clock for CPU times once more, as it runs apart: to be called now and then. */
void programs_note_clock(struct programs *p);
int programs_stop(struct programs *p);
void programs_close(struct programs *p);

struct uprobe_places;

/* The processes whose calls are observed, BPF_OBSERVED_MAX; NULL: none are to be. */
struct bpf_observed *programs_observed(struct programs *p);
/* Puts probes on calls of one of them, or on their returns; cookies are as bpf/events.h has them. A
 * descriptor, which removes them when it is closed, or -errno. */
int programs_observe(struct programs *p, const struct uprobe_places *places);

/* Sites of drivers' own probes: from `first` on, BPF_PROBE_SITES in all. 0 or -errno. */
int programs_put_probe_sites(
	struct programs *p, uint32_t first, const struct bpf_probe_site *sites, size_t count);
/* Puts probes on them, in one process; cookies are their numbers. A descriptor, which removes them
 * when it is closed, or -errno. Only where options asked for it, and the kernel has multi links. */
int programs_probe_driver(struct programs *p, const struct uprobe_places *places);
bool programs_can_probe_drivers(const struct programs *p);

/*
 * The data that walks need (bpf/events.h); only with samples or launches.
 *
 * Makes chunk `index` of the unwind tables' words (walk/table.h), which the programs can read at
 * once: a map of WALK_CHUNK_BYTES to be mapped for reading. The caller owns the descriptor, the map
 * lives as long as the programs. May be called from any thread; waits for a grace period.
 */
int programs_new_chunk(struct programs *p, uint32_t index, int *ret_fd);
/* Writes words into chunks that are there: the only way to change them, for us and for whoever is
 * handed their descriptors. `at` and `count` are multiples of WALK_TABLE_ALIGN. Any thread. */
int programs_write_words(struct programs *p, uint32_t at, const uint32_t *words, uint32_t count);
/* Whether that holds on this machine: not where anybody may load BPF programs of their own. */
bool programs_can_share_chunks(const struct programs *p);
/* Whether the programs see themselves when a process maps code. */
bool programs_see_maps(const struct programs *p);
/* The array that the programs read mappings from, BPF_MAPPINGS_MAX of them, ours to fill. */
struct walk_mapping *programs_mappings(struct programs *p);
/* Publishes for this process, over what was published before. 0 or -errno. */
int programs_put_space(struct programs *p, uint32_t pid, const struct bpf_space *space);
int programs_put_python(struct programs *p, uint32_t pid, const struct walk_python *python);
/* Removes what was published for the process. */
void programs_drop_space(struct programs *p, uint32_t pid);

struct ring *programs_samples(struct programs *p);
struct ring *programs_launches(struct programs *p);
struct ring *programs_tasks(struct programs *p);
struct ring *programs_waits(struct programs *p);
/* Totals since programs_open: those of tasks of a moment ago, unless it is the last time. */
struct bpf_losses programs_losses(struct programs *p, bool last);
/* Calls add for every file descriptor to wait on. */
int programs_each_fd(const struct programs *p, int (*add)(void *context, int fd), void *context);
