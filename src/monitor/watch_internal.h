/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a watch share: watch.c (begin and end, records, state), watch_plan.c (the
 * program's plan for an event), watch_load.c (programs loaded and attached) and watch_maps.c (what
 * they keep).
 */
#pragma once

#include <sys/types.h>

#include "bpfload/ring.h"
#include "monitor/watch.h"

struct monitor_bpf; /* bpf/monitor.skel.h */
struct bpf_program;
struct bpf_link;

struct watched {
	struct monitor_event_plan plan;
	struct monitor_bpf *bpf;
	struct bpf_program *program;
	struct bpf_link *link;
	ino_t module; /* of its module's folder when it was attached; 0: there was none */
	bool vanished;
};

/* A cell's slot that may be reused some time after it was forgotten. */
struct forgotten {
	uint32_t slot;
	uint64_t since_ns;
};

struct watch {
	const struct monitor *monitor;
	struct watched *events; /* by the table's numbers */
	size_t event_count;
	struct monitor_bpf *first; /* the copy that made the maps */
	char root[256];
	bool misses_counted;
	struct ring ring;
	int epoll;
	struct monitor_cell_slot *cells; /* shared with the programs */
	size_t cell_count;
	struct vec(struct forgotten) forgotten;
};

/* Whether there is an object after this act also when it found none. */
bool watch_act_opens(const struct monitor_act_plan *a);
/* The plan for the program of one event, with the filters. `ring_bytes`: of the ring for
 * records. */
void watch_plan(const struct watch *w, const struct watch_options *options, size_t event,
	uint32_t ring_bytes, struct monitor_plan *ret, struct monitor_plan_counts *ret_counts);
/* Loads and attaches what is PRESENT; what the kernel does not let us attach to is ABSENT_REFUSED
 * from then on. 0, or
 * -errno with error_text: -ENOENT when nothing is attached. */
int watch_load(struct watch *w, const struct watch_options *options);
/* The inode of the folder that the event's module has now; 0: it is not loaded, or the event is in
 * none. */
ino_t watch_module_folder(const struct watch *w, const struct watched *e);
