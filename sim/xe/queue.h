/* SPDX-License-Identifier: MIT */
/* Queues of a simulated node: each has an engine of its own, a thread, that runs its batches. */
#pragma once

#include "commands.h"

struct queues;

struct queues *queues_new(struct memory *m, const struct device *d);
void queues_free(struct queues *q);

/* These return 0 or a negative error; -ECANCELED: a batch of that queue failed, so it is banned. */
int queues_make(struct queues *q, const struct xe_queue *wanted, uint32_t *ret_id);
int queues_destroy(struct queues *q, uint32_t id);
int queues_is_banned(struct queues *q, uint32_t id, uint64_t *ret);
int queues_exec(struct queues *q, const struct xe_exec *e);
