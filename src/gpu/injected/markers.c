// SPDX-License-Identifier: MIT
/*
 * Stretches of time that programs give names. The library reports begins and ends, from whatever
 * threads, and so in any order: what has come of one waits here for the other.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "gpu/injected/instance.h"

#define OPEN_MAX 65536 /* of a process at a time; what is more is left out */

static int write_range(struct instance *i, const struct instance_marker *m, uint64_t start_ns,
	uint64_t end_ns, bool unfinished)
{
	struct profile_marker marker = {.start_ns = start_ns,
		.duration_ns = end_ns - start_ns,
		.thread = m->thread,
		.name = m->name,
		.domain = m->domain,
		.kind = MARKER_RANGE,
		.unfinished = unfinished};

	if (start_ns > end_ns) {
		record_count_loss(i, LOSS_GPU_INVALID, 1);
		return 0;
	}
	return profile_write_marker(i->injected->shared->writer, &marker);
}

/* The string of the library's id; 0: none. */
static int string_of(const struct instance *i, uint32_t id, uint32_t *ret)
{
	*ret = 0;
	if (id > i->strings.count)
		return -EPROTO;
	if (id)
		*ret = i->strings.items[id - 1];
	return 0;
}

static int describe(struct instance *i, const struct wire_marker *m, struct instance_marker *ret)
{
	int error;

	*ret = (struct instance_marker){.number = m->number,
		.has_begun = m->kind == WIRE_MARKER_BEGIN,
		.time_ns = m->time_ns};
	error = string_of(i, m->name, &ret->name);
	error = error ?: string_of(i, m->domain, &ret->domain);
	return error || !m->tid ? error : record_find_thread(i, m->tid, &ret->thread);
}

/* The first of the two ends that comes. */
static int keep(struct instance *i, const struct instance_marker *m)
{
	if (i->markers.count == OPEN_MAX) {
		record_count_loss(i, LOSS_GPU_NAMES_CUT, 1);
		return 0;
	}
	if (map_put(&i->marker_places, m->number, i->markers.count) || vec_push(&i->markers, *m))
		return error_memory(NULL);
	return 0;
}

/* Takes it out; the last one gets its place. */
static int take(struct instance *i, size_t place, struct instance_marker *ret)
{
	const struct instance_marker *last = &i->markers.items[i->markers.count - 1];

	*ret = i->markers.items[place];
	if (last->number != ret->number && map_put(&i->marker_places, last->number, place))
		return error_memory(NULL);
	i->markers.items[place] = *last;
	i->markers.count--;
	map_remove(&i->marker_places, ret->number, NULL);
	return 0;
}

static int decode_end(struct instance *i, const struct instance_marker *m)
{
	const uint64_t *place = map_get(&i->marker_places, m->number);
	struct instance_marker first;
	int error;

	if (!place)
		return keep(i, m);
	error = take(i, *place, &first);
	if (error)
		return error;
	if (first.has_begun == m->has_begun) {
		record_count_loss(i, LOSS_GPU_INVALID, 1);
		return keep(i, m);
	}
	return m->has_begun ? write_range(i, m, m->time_ns, first.time_ns, false)
			    : write_range(i, &first, first.time_ns, m->time_ns, false);
}

static int write_moment(struct instance *i, const struct instance_marker *m)
{
	struct profile_marker marker = {.start_ns = m->time_ns,
		.thread = m->thread,
		.name = m->name,
		.domain = m->domain,
		.kind = MARKER_MOMENT};

	return profile_write_marker(i->injected->shared->writer, &marker);
}

int markers_decode(struct instance *i, const struct wire_marker *w, uint64_t now_ns)
{
	struct instance_marker m;
	int error;

	if (w->kind < WIRE_MARKER_MOMENT || w->kind > WIRE_MARKER_END)
		return -EPROTO;
	error = describe(i, w, &m);
	if (error)
		return error;
	if (!record_is_plausible(i, w->time_ns, w->time_ns, now_ns)) {
		record_count_loss(i, LOSS_GPU_INVALID, 1);
		return 0;
	}
	return w->kind == WIRE_MARKER_MOMENT ? write_moment(i, &m) : decode_end(i, &m);
}

/* Ends without a begin are of what began before the recording. */
int markers_end(struct instance *i)
{
	uint64_t now_ns = clock_now_ns();
	int error = 0;

	vec_foreach (m, &i->markers)
		if (m->has_begun)
			error = error ?: write_range(i, m, m->time_ns, now_ns, true);
	i->markers.count = 0;
	map_release(&i->marker_places);
	return error;
}

void markers_release(struct instance *i)
{
	map_release(&i->marker_places);
	vec_release(&i->markers);
}
