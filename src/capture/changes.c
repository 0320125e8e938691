// SPDX-License-Identifier: MIT
#include "capture/changes.h"

#include <stdlib.h>
#include <string.h>

void changes_release(struct changes *c)
{
	for (size_t i = c->next; i < c->queue.count; i++)
		free(c->queue.items[i].text);
	vec_release(&c->queue);
	*c = (struct changes){0};
}

/* Drops the changes that were applied: the queue is no longer than those that wait. */
static void compact(struct changes *c)
{
	size_t waiting = c->queue.count - c->next;

	if (c->next < waiting)
		return;
	if (waiting)
		memmove(c->queue.items, c->queue.items + c->next,
			waiting * sizeof(*c->queue.items));
	c->queue.count = waiting;
	c->next = 0;
}

int changes_add(struct changes *c, struct change change)
{
	change.sequence = c->arrived++;
	compact(c);
	if (vec_push(&c->queue, change) < 0) {
		free(change.text);
		return -ENOMEM;
	}
	c->sorted = false;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

struct change *changes_peek(struct changes *c, uint64_t until_ns)
{
	struct change *first;

	if (c->next == c->queue.count)
		return NULL;
	if (!c->sorted) {
		qsort(c->queue.items + c->next, c->queue.count - c->next, sizeof(*c->queue.items),
			compare);
		c->sorted = true;
	}
	first = &c->queue.items[c->next];
	return first->time_ns <= until_ns ? first : NULL;
}

void changes_drop(struct changes *c)
{
	free(c->queue.items[c->next].text);
	c->queue.items[c->next++].text = NULL;
}
