// SPDX-License-Identifier: MIT
#include "view/timeline/named.h"

#include "base/error.h"
#include "base/search.h"

#define SUBJECT	      "the names of the time axis"
#define STEPS	      ((uint64_t)1 << 30)
#define STRETCH_BYTES ((uint64_t)64 << 10)
#define PLACES_MAX    ((size_t)512 << 10) /* of 16 bytes */

void timeline_named_init(struct timeline_named *n, uint64_t start_ns, uint64_t end_ns)
{
	*n = (struct timeline_named){
		.start_ns = start_ns,
		.step_ns = (end_ns > start_ns ? end_ns - start_ns : 0) / STEPS + 1,
		.stretch_bytes = STRETCH_BYTES,
		.places_max = PLACES_MAX,
		.chunk = UINT64_MAX,
	};
}

static void forget(struct timeline_named *n)
{
	vec_release(&n->names);
	vec_release(&n->places);
	vec_release(&n->stretches);
	map_release(&n->of_kind);
	map_release(&n->of_marker);
}

void timeline_named_release(struct timeline_named *n)
{
	forget(n);
	*n = (struct timeline_named){0};
}

uint32_t timeline_named_step(const struct timeline_named *n, uint64_t time_ns)
{
	uint64_t step = time_ns < n->start_ns ? 0 : (time_ns - n->start_ns) / n->step_ns;

	return step < UINT32_MAX ? (uint32_t)step : UINT32_MAX;
}

size_t timeline_named_stretch_of(const struct timeline_named *n, uint64_t chunk)
{
	size_t behind = search_first(i, 0, n->stretches.count, n->stretches.items[i].begin > chunk);

	return behind ? behind - 1 : 0;
}

size_t timeline_named_end(const struct timeline_named *n, size_t stretch)
{
	return stretch + 1 < n->stretches.count ? n->stretches.items[stretch + 1].first_place
						: n->places.count;
}

static int short_memory(void)
{
	return error_memory(SUBJECT);
}

/* ------------------------------------------------------------------ longer stretches */

/* Behind the `count` places that stay, of which those from `first` on are of the same stretch. */
static size_t keep(struct timeline_named *n, size_t first, size_t count,
	const struct timeline_named_place *place)
{
	struct timeline_named_name *name = &n->names.items[place->name];
	struct timeline_named_place *to;

	if (name->latest <= first) {
		n->places.items[count] = *place;
		name->latest = count + 1;
		return count + 1;
	}
	to = &n->places.items[name->latest - 1];
	to->count = to->count < UINT32_MAX - place->count ? to->count + place->count : UINT32_MAX;
	to->first = place->first < to->first ? place->first : to->first;
	to->last = place->last > to->last ? place->last : to->last;
	return count;
}

/* Two of them become one. */
static void join(struct timeline_named *n)
{
	size_t kept = 0, count = 0;

	vec_foreach (name, &n->names)
		name->latest = 0;
	for (size_t s = 0; s < n->stretches.count; s += 2) {
		struct timeline_named_stretch joined = n->stretches.items[s];
		size_t end = timeline_named_end(
			n, s + 1 < n->stretches.count ? s + 1 : n->stretches.count - 1);
		size_t from = joined.first_place;

		joined.first_place = count;
		for (; from < end; from++) {
			const struct timeline_named_place place = n->places.items[from];

			count = keep(n, joined.first_place, count, &place);
		}
		n->stretches.items[kept++] = joined;
	}
	n->stretches.count = kept;
	n->places.count = count;
	n->stretch_bytes *= 2;
}

/* A half of them, so that this is not done again at once. */
static void make_room(struct timeline_named *n)
{
	while (n->places.count > n->places_max / 2 && n->stretches.count > 1)
		join(n);
	if (n->places.count <= n->places_max / 2)
		return;
	n->overflow = true;
	forget(n);
}

/* ------------------------------------------------------------------ events */

static bool kind_of(const struct profile_event *e, enum timeline_kind *ret)
{
	switch (e->kind) {
	case EVENT_CALL:
		*ret = TIMELINE_CALLS;
		return true;
	case EVENT_WORK:
		*ret = TIMELINE_WORK;
		return true;
	case EVENT_DRIVER:
		*ret = TIMELINE_DRIVER;
		return true;
	case EVENT_MARKER:
		*ret = TIMELINE_MARKERS;
		return true;
	default:
		return false;
	}
}

static int name_of(
	struct timeline_named *n, enum timeline_kind kind, struct timeline_what what, uint32_t *ret)
{
	bool is_marker = kind == TIMELINE_MARKERS;
	struct map *of = is_marker ? &n->of_marker : &n->of_kind;
	uint64_t key = (uint64_t)(is_marker ? what.domain : kind) << 32 | what.id;
	const struct timeline_named_name new = {.kind = kind, .what = what};
	const uint64_t *known = map_get(of, key);

	*ret = (uint32_t)(known ? *known : n->names.count);
	if (known)
		return 0;
	return map_put(of, key, *ret) || vec_push(&n->names, new) ? short_memory() : 0;
}

static int go_to(struct timeline_named *n, uint64_t chunk)
{
	const struct timeline_named_stretch new = {chunk, n->places.count};

	n->chunk = chunk;
	if (n->stretches.count &&
		chunk - n->stretches.items[n->stretches.count - 1].begin < n->stretch_bytes)
		return 0;
	return vec_push(&n->stretches, new) ? short_memory() : 0;
}

static int add(struct timeline_named *n, uint32_t name, uint32_t step)
{
	const struct timeline_named_place new = {name, 1, step, step};
	size_t first = n->stretches.items[n->stretches.count - 1].first_place;
	size_t latest = n->names.items[name].latest;
	struct timeline_named_place *to;

	if (latest <= first) {
		n->names.items[name].latest = n->places.count + 1;
		return vec_push(&n->places, new) ? short_memory() : 0;
	}
	to = &n->places.items[latest - 1];
	to->count += to->count < UINT32_MAX;
	to->first = step < to->first ? step : to->first;
	to->last = step > to->last ? step : to->last;
	return 0;
}

int timeline_named_add(
	struct timeline_named *n, const struct profile_reader *r, const struct profile_event *e)
{
	uint64_t chunk = profile_reader_chunk(r);
	struct timeline_item item;
	enum timeline_kind kind;
	uint32_t name = 0;
	int error = 0;

	if (n->overflow || !kind_of(e, &kind))
		return 0;
	item = timeline_item_of(e);
	if (chunk != n->chunk || !n->stretches.count)
		error = go_to(n, chunk);
	error = error ?: name_of(n, kind, item.what, &name);
	error = error ?: add(n, name, timeline_named_step(n, item.begin_ns));
	if (!error && n->places.count > n->places_max)
		make_room(n);
	return error;
}
