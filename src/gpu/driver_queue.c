// SPDX-License-Identifier: MIT
#include "gpu/driver_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define QUEUED_MAX 16384
#define ROUNDS_MAX 16 /* that something waits while rings are not drained to their snapshots */

/* A kernel, with a name of its own; or without one the end of a program, where only kernel.pid
 * counts. */
struct queued_news {
	struct driver_kernel kernel;
	uint64_t round;
};

void driver_queue_release(struct driver_queue *q)
{
	vec_foreach (item, &q->items)
		free((char *)item->kernel.name);
	vec_release(&q->items);
}

static int pass(const struct driver_queue_receiver *to, const struct driver_kernel *k)
{
	return k->name ? to->kernel(to->context, k) : to->leaves(to->context, k->pid);
}

/* The first `count` of them. After an error the others go nowhere. */
static int pass_first(struct driver_queue *q, const struct driver_queue_receiver *to, size_t count)
{
	int error = 0;

	if (!count)
		return 0;
	for (size_t n = 0; n < count; n++) {
		error = error ?: pass(to, &q->items.items[n].kernel);
		free((char *)q->items.items[n].kernel.name);
	}
	q->items.count -= count;
	memmove(q->items.items, q->items.items + count, q->items.count * sizeof(*q->items.items));
	return error;
}

/* Half of them at once when they are too many: moving the rest takes as long as it. */
static int add(struct driver_queue *q, const struct driver_queue_receiver *to,
	const struct driver_kernel *k)
{
	int error = q->items.count < QUEUED_MAX ? 0 : pass_first(q, to, QUEUED_MAX / 2);

	if (error)
		return error;
	return vec_push(&q->items, (struct queued_news){.kernel = *k, .round = q->round})
		       ? error_memory("kernels that a driver's probes tell")
		       : 0;
}

int driver_queue_kernel(struct driver_queue *q, const struct driver_queue_receiver *to,
	const struct driver_kernel *k)
{
	struct driver_kernel mine = *k;
	int error;

	mine.name = strdup(k->name);
	error = mine.name ? add(q, to, &mine) : error_memory("the name of a kernel");
	if (error)
		free((char *)mine.name);
	return error;
}

static bool has_of(const struct driver_queue *q, uint32_t pid)
{
	vec_foreach (item, &q->items)
		if (item->kernel.pid == pid)
			return true;
	return false;
}

int driver_queue_leaves(
	struct driver_queue *q, const struct driver_queue_receiver *to, uint32_t pid)
{
	struct driver_kernel end = {.pid = pid};

	return has_of(q, pid) ? add(q, to, &end) : to->leaves(to->context, pid);
}

void driver_queue_snapshot(struct driver_queue *q)
{
	q->round++;
}

int driver_queue_drained(struct driver_queue *q, const struct driver_queue_receiver *to, bool busy)
{
	uint64_t rounds = busy ? ROUNDS_MAX : 1;
	size_t count = 0;

	while (count < q->items.count && q->round - q->items.items[count].round >= rounds)
		count++;
	return pass_first(q, to, count);
}

int driver_queue_finish(struct driver_queue *q, const struct driver_queue_receiver *to)
{
	return pass_first(q, to, q->items.count);
}
