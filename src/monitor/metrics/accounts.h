/* SPDX-License-Identifier: MIT */
/*
 * What processes used that have ended. A watch counts by process, in tables of a fixed size; one
 * that goes on for weeks has to let go of those that are gone. Their rows are added up here, by
 * series and labels, once for all and once for each container, and the watch forgets them. So sums
 * over all, and those of a container, never go down.
 *
 * A process is let go when it is not in /proc any more and nothing has been counted for it for
 * ACCOUNTS_QUIET_NS (or longer, where asked): work that it left behind may still end after it.
 * Where /proc does not show the processes that the kernel counts (we are in a pid namespace), it is
 * when nothing was counted for ACCOUNTS_QUIET_BLIND_NS. What is counted later all the same begins a
 * new row, with nothing lost. A process whose number another has by now, as its start in /proc
 * says, is let go at once; what the other one did since the last look goes with it.
 *
 * Memory is bounded by ACCOUNTS_MAX sums; a container's are kept as long as its cgroup is there,
 * and for ACCOUNTS_KEPT_NS after that, so that whoever looks now and then sees what came last.
 * Where there are too many, those of containers that are gone go first, those of all processes
 * last. Those forgotten are counted. One thread.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "monitor/metrics/containers.h"
#include "monitor/totals.h"

#define ACCOUNTS_QUIET_NS	(10ull * 1000000000)
#define ACCOUNTS_QUIET_BLIND_NS (3600ull * 1000000000)
#define ACCOUNTS_KEPT_NS	(3600ull * 1000000000)
#define ACCOUNTS_MAX		((size_t)1 << 14)

struct account {
	struct total sum; /* of no process: pid, client, cgroup 0, comm "" */
	char *container;  /* NULL: of all */
	uint64_t changed_ns;
	bool excess; /* there are too many, and it is about to go */
};

/* A process that has rows. Where it was and what it was called when it was first seen is what all
 * its rows say, also when it moves or calls itself otherwise: else what is counted already would go
 * from one container to another. */
struct account_process {
	uint32_t pid;
	bool ended;
	char comm[MONITOR_COMM_BYTES];
	uint64_t cgroup;
	uint64_t start; /* in ticks of the kernel's; 0: not known */
	uint64_t count; /* of all its rows, with its busy time: whether anything came */
	uint64_t changed_ns;
};

struct accounts {
	struct vec(struct account) sums;
	struct map index;			      /* of them, by a hash of what they are by */
	struct vec(struct account_process) processes; /* by pid */
	struct containers *containers;
	char *proc;
	bool sees_processes; /* /proc is that of the kernel's own pids */
	uint64_t ended;	     /* processes let go */
	uint64_t forgotten;  /* sums */
};

/* `root`: "" or a folder that stands for "/". 0 or -errno with error_text. */
int accounts_init(struct accounts *a, const char *root);
void accounts_release(struct accounts *a);
/*
 * To be called with what was just fetched of a monitor, at `now_ns`: adds up processes that have
 * ended; their rows are removed from *t, and their cells from the watch. `busy` may be NULL. 0 or
 * -errno with error_text.
 */
int accounts_update(struct accounts *a, struct totals *t, const struct monitor *m, struct watch *w,
	struct busy_times *busy, uint64_t now_ns, uint64_t quiet_ns);
/* NULL: it has no rows. */
const struct account_process *accounts_process(const struct accounts *a, uint32_t pid);
/* Adds what ended processes used, as rows of no process: 0 or -ENOMEM. */
int accounts_add_ended(const struct accounts *a, struct totals *t);
/* Adds one row's numbers to another's, busy time included. */
void accounts_sum(struct total *to, const struct total *from);
