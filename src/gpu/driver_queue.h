/* SPDX-License-Identifier: MIT */
/*
 * Kernels that drivers say they launch (profile/driver_news.h) wait here until it is known whether
 * a library in their program reports the same: such a kernel is to be counted once.
 *
 *	program:   library connects, names its API in the ring -> launches -> the driver's probe
 *	recorder:  snapshot n, hits, rings up to n | snapshot n + 1, hits, rings up to n + 1
 *	                       ^ the kernel comes                                           ^ and goes
 *
 * The rings stand still at their snapshot, so a hit may be drained before what its program said
 * earlier. The next snapshot covers that. A drain of the rings may end early when there is too
 * much; then the kernels wait for another, for some rounds at most.
 *
 * The end of a program waits behind its kernels. All is bounded: beyond that, the oldest goes
 * early. Functions return 0 or -errno with error_text. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "profile/driver_news.h"

struct driver_queue {
	struct vec(struct queued_news) items; /* in the order in which they came */
	uint64_t round;			      /* snapshots so far */
};

/* Who gets what has waited. */
struct driver_queue_receiver {
	void *context;
	int (*kernel)(void *context, const struct driver_kernel *k);
	int (*leaves)(void *context, uint32_t pid);
};

/* What is left is dropped. */
void driver_queue_release(struct driver_queue *q);

int driver_queue_kernel(struct driver_queue *q, const struct driver_queue_receiver *to,
	const struct driver_kernel *k);
/* The program of a process is over. */
int driver_queue_leaves(
	struct driver_queue *q, const struct driver_queue_receiver *to, uint32_t pid);

/* The rings' snapshot was made. */
void driver_queue_snapshot(struct driver_queue *q);
/* They were drained up to it. `busy`: perhaps not all of them. */
int driver_queue_drained(struct driver_queue *q, const struct driver_queue_receiver *to, bool busy);
/* Nothing more comes from any ring. */
int driver_queue_finish(struct driver_queue *q, const struct driver_queue_receiver *to);
