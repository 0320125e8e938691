/* SPDX-License-Identifier: MIT */
/*
 * What processes hold: objects that were begun and are still there, by kind and process. Only of
 * kinds that are reported when they are left (monitor.h), and whose end this kernel shows.
 */
#pragma once

#include "base/vec.h"
#include "monitor/watch.h"

struct held {
	uint8_t object; /* kind, by the monitor's table */
	uint32_t pid;	/* that began them */
	uint64_t cgroup;
	char comm[MONITOR_COMM_BYTES];
	uint64_t count;
	uint64_t value; /* of kinds that are listed by stack, the sum of what is kept: bytes */
};

struct held_list {
	struct vec(struct held) rows;
};

#define HELD_LIST_INIT ((struct held_list){0})

void held_list_release(struct held_list *l);
/* `events`: one for each of the monitor's. `pid`: of this process alone; 0: of all. `ring`: with
 * this label alone; NULL: with any. 0 or -errno with error_text. */
int held_fetch(const struct monitor *m, struct watch *w, const struct watch_event_status *events,
	uint32_t pid, const char *ring, struct held_list *ret);
