// SPDX-License-Identifier: MIT
/* Equal ones are found by open addressing; the first of each stays where it is. */
#include "view/stalls/seen.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"

/* So many windows are joined at most: 2^20 ticks of a tenth of a second are a day. */
#define LEVEL_MAX 20

void stall_seen_release(struct stall_seen_list *l)
{
	vec_release(l);
}

static bool is_same(const struct stall_seen *a, const struct stall_seen *b)
{
	return a->instruction == b->instruction && a->window == b->window &&
	       a->reason == b->reason && a->correlation == b->correlation;
}

/* The first one that is the same, or the one itself. */
static struct stall_seen *find_same(
	const struct stall_seen_list *l, uint32_t *index, size_t mask, struct stall_seen *one)
{
	size_t i = hash_combine((uint64_t)one->window << 32 | one->instruction,
			   (uint64_t)one->reason << 32 | one->correlation) &
		   mask;

	for (; index[i]; i = (i + 1) & mask)
		if (is_same(&l->items[index[i] - 1], one))
			return &l->items[index[i] - 1];
	index[i] = (uint32_t)(one - l->items) + 1;
	return one;
}

/* By the windows as they are joined now. */
static int merge(struct stall_seen_list *l, const struct stall_windows *w)
{
	size_t size = 1024, kept = 0;
	uint32_t *index;
	int error = 0;

	while (size < l->count * 2)
		size *= 2;
	index = calloc(size, sizeof(*index));
	if (!index)
		return error_memory("the instruction samples");
	for (size_t i = 0; !error && i < l->count; i++) {
		struct stall_seen *next = &l->items[kept], *same;

		*next = l->items[i];
		next->window = stall_windows_joined(w, next->window);
		same = find_same(l, index, size - 1, next);
		if (same == next)
			kept++;
		else if (__builtin_add_overflow(same->samples, next->samples, &same->samples))
			error = error_set(-EOVERFLOW, "the instruction samples do not fit 64 bits");
	}
	l->count = kept;
	free(index);
	return error;
}

static int make_room(struct stall_seen_list *l, struct stall_windows *w)
{
	int error = stall_windows_update(w);

	error = error ?: merge(l, w);
	while (!error && l->count > l->most / 2 && w->level < LEVEL_MAX) {
		w->level++;
		error = merge(l, w);
	}
	/* So many distinct ones have to be kept. */
	if (l->count > l->most / 2)
		l->most = l->count * 2;
	return error;
}

int stall_seen_add(
	struct stall_seen_list *l, struct stall_windows *w, const struct profile_stall *stall)
{
	struct stall_seen seen = {stall->window, stall->instruction, stall->reason,
		stall->correlation, stall->samples};

	if (vec_push(l, seen) || l->count >= UINT32_MAX)
		return error_memory("the instruction samples");
	return l->most && l->count >= l->most ? make_room(l, w) : 0;
}
