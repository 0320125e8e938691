// SPDX-License-Identifier: MIT
/*
 * One walk along the edges of the spans. What lies before the next edge moves the share that each
 * row has of its samples, and where that fills a whole sample between a span's begin and its end,
 * the sample is shown. Samples that have moved take their share of the latency samples with them.
 */
#include "view/stalls/shown.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/search.h"

#define SUBJECT "the instruction samples"

struct walk {
	struct stall_shown *shown;
	const struct stalls *stalls;
	uint64_t *passed; /* by launch: its time before the edge */
	bool inside;	  /* a span */
};

void stall_shown_release(struct stall_shown *n)
{
	map_release(&n->all);
	map_release(&n->until);
	map_release(&n->samples);
}

static uint64_t key_of(uint32_t instruction, size_t reason, bool latency)
{
	return (uint64_t)instruction << 32 | (uint64_t)reason << 1 | latency;
}

static int add_to(struct map *m, uint64_t key, uint64_t more)
{
	uint64_t *sum = map_get(m, key);

	if (sum)
		*sum += more;
	else if (more && map_put(m, key, more))
		return error_memory(SUBJECT);
	return 0;
}

static uint64_t amount_of(const struct map *m, uint64_t key)
{
	const uint64_t *amount = map_get(m, key);

	return amount ? *amount : 0;
}

static uint64_t share(uint64_t samples, uint64_t passed, uint64_t all)
{
	return all ? (uint64_t)((unsigned __int128)samples * passed / all) : 0;
}

static int move(struct walk *w, uint32_t instruction, uint32_t reason, uint64_t parts)
{
	uint64_t key = key_of(instruction, reason, false),
		 latency_key = key_of(instruction, reason, true);
	uint64_t before = amount_of(&w->shown->until, key), until = before + parts;
	uint64_t all = amount_of(&w->shown->all, key) / STALLS_SAMPLE,
		 latency = amount_of(&w->shown->all, latency_key) / STALLS_SAMPLE;
	int error = add_to(&w->shown->until, key, parts);

	before /= STALLS_SAMPLE;
	until /= STALLS_SAMPLE;
	if (error || !w->inside)
		return error;
	return add_to(&w->shown->samples, key, until - before)
		       ?: add_to(&w->shown->samples, latency_key,
				  share(latency, until, all) - share(latency, before, all));
}

static int move_launch(struct walk *w, uint32_t launch, uint64_t amount)
{
	const struct stalls_launch *l = &w->stalls->launches.items[launch];
	uint64_t before = w->passed[launch], until = before + amount;
	int error = 0;

	w->passed[launch] = until;
	for (size_t n = l->first_row; !error && n < l->first_row + l->row_count; n++) {
		const struct stalls_row *r = &w->stalls->rows.items[n];

		error = move(w, r->instruction, r->reason,
			share(r->samples, until, l->time_ns) -
				share(r->samples, before, l->time_ns));
	}
	return error;
}

static int walk_edges(struct walk *w)
{
	const struct edges *e = &w->stalls->edges;
	int error = 0;

	for (size_t edge = 0; !error && edge < e->count; edge++) {
		const struct map *at = &e->at[edge];

		w->inside = edge % 2;
		for (size_t i = 0; !error && at->slots && i <= at->mask; i++)
			if (at->slots[i].used)
				error = move_launch(
					w, (uint32_t)at->slots[i].key, at->slots[i].value);
	}
	return error;
}

static int add_all(struct stall_shown *n, const struct stalls *s)
{
	int error = 0;

	vec_foreach (r, &s->rows) {
		error = error
				?: add_to(&n->all, key_of(r->instruction, r->reason, false),
					   r->samples);
		error = error
				?: add_to(&n->all, key_of(r->instruction, r->reason, true),
					   r->latency);
	}
	return error;
}

/* The index of a reason by its vendor's name. */
static size_t find_reason(const struct stalls *s, const struct stall_name *n)
{
	return search_first(i, 0, s->reasons.count,
		strncmp(s->reasons.items[i].name, n->name, n->name_size) >= 0);
}

static int add_ownerless(struct stall_shown *n, const struct stalls *s)
{
	vec_foreach (o, &s->ownerless) {
		const struct profile_window *w = profile_window(s->reader, o->window);
		struct stall_name name =
			stall_name_parse(profile_string(s->reader, o->reason, NULL));

		if (w && clip_has_time(s->edges.clip, w->end_ns) &&
			add_to(&n->samples,
				key_of(o->instruction, find_reason(s, &name), name.latency),
				o->samples))
			return -ENOMEM;
	}
	return 0;
}

int stall_shown_find(struct stall_shown *n, const struct stalls *s)
{
	struct walk w = {.shown = n, .stalls = s};
	int error;

	w.passed = calloc(s->launches.count + 1, sizeof(*w.passed));
	error = w.passed ? add_all(n, s) : error_memory(SUBJECT);
	error = error ?: walk_edges(&w);
	free(w.passed);
	return error ?: add_ownerless(n, s);
}

uint64_t stall_shown_samples(
	const struct stall_shown *n, const struct stalls *s, uint32_t instruction, uint32_t reason)
{
	struct stall_name name = stall_name_parse(profile_string(s->reader, reason, NULL));
	const uint64_t *samples =
		map_get(&n->samples, key_of(instruction, find_reason(s, &name), name.latency));

	return samples ? *samples : 0;
}
