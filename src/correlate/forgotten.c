// SPDX-License-Identifier: MIT
/*
 *	 oldest                             newest
 *	   |<--- range --->|<--- window --->|
 */
#include "correlate/forgotten.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RANGE_MAX (1u << 28)

void forgotten_release(struct forgotten *f)
{
	free(f->window);
	*f = (struct forgotten){0};
}

static uint64_t *word_of(const struct forgotten *f, uint32_t id)
{
	return &f->window[id % FORGOTTEN_WINDOW / 64];
}

static uint64_t bit_of(uint32_t id)
{
	return 1ull << id % 64;
}

/* Moves the window on to `id`: what it now covers in addition was not forgotten. By words: ids may
 * be far apart, each time. */
static void advance(struct forgotten *f, uint32_t id)
{
	uint32_t at = f->newest + 1;

	if (id - f->newest >= FORGOTTEN_WINDOW)
		memset(f->window, 0, FORGOTTEN_WINDOW / 8);
	else
		while (at != id + 1)
			if (at % 64 == 0 && id + 1 - at >= 64) {
				*word_of(f, at) = 0;
				at += 64;
			} else {
				*word_of(f, at) &= ~bit_of(at);
				at++;
			}
	f->newest = id;
	if (id - f->oldest > RANGE_MAX)
		f->oldest = id - RANGE_MAX;
}

int forgotten_add(struct forgotten *f, uint32_t id)
{
	if (!f->window) {
		f->window = calloc(FORGOTTEN_WINDOW / 64, sizeof(*f->window));
		if (!f->window)
			return -ENOMEM;
		f->oldest = f->newest = id;
	}
	if ((int32_t)(id - f->newest) > 0)
		advance(f, id);
	else if ((int32_t)(id - f->oldest) < 0 && f->newest - id <= RANGE_MAX)
		f->oldest = id;
	if (f->newest - id < FORGOTTEN_WINDOW)
		*word_of(f, id) |= bit_of(id);
	return 0;
}

bool forgotten_has(const struct forgotten *f, uint32_t id)
{
	uint32_t age = f->newest - id;

	if (!f->window || age > f->newest - f->oldest)
		return false;
	return age >= FORGOTTEN_WINDOW || *word_of(f, id) & bit_of(id);
}
