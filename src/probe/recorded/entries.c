// SPDX-License-Identifier: MIT
/*
 * Entries of maps. Where they are written again and again, only what has changed is: of what
 * programs only add to what was added, so that the sum of all is the whole; of others the value, of
 * which the last counts; and the key alone of one that is no longer there. So a recording that is
 * cut short has the values of a moment before.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "probe/recorded/recorded.h"
#include "probe/values.h"

#define ENTRIES_MAX (1u << 20) /* that are written before the end */

/* What `written` has before the key. */
struct place {
	uint32_t object, map, arena, sm;
	uint64_t thread;
};

static struct profile_found found_at(const struct recorded *r, const struct place *p)
{
	return (struct profile_found){.time_ns = clock_now_ns(),
		.map = recorded_map(r, p->object, p->map),
		.context = r->contexts.items[p->arena],
		.sm = p->sm == VALUES_ANY ? 0 : p->sm + 1,
		.thread = p->thread == UINT64_MAX ? 0 : p->thread + 1};
}

static int write_found(struct recorded *r, const struct place *p, const uint8_t *bytes, uint32_t n)
{
	struct profile_found f = found_at(r, p);

	f.size = n;
	f.bytes = bytes;
	return profile_write_found(r->writer, &f);
}

/* The key and the value stand one behind the other. */
static int write_whole(struct recorded *r, const struct place *p, const struct values *v,
	const struct value_entry *e)
{
	return write_found(r, p, values_key(v, e), v->map->key_size + v->map->value_size);
}

static int write_difference(struct recorded *r, const struct place *p, const struct values *v,
	const struct value_entry *e, const uint8_t *before)
{
	uint32_t key_size = v->map->key_size, size = v->map->value_size;

	buf_reset(&r->name);
	buf_append(&r->name, values_key(v, e), key_size);
	buf_append(&r->name, values_value(v, e), size);
	if (r->name.failed)
		return error_memory(NULL);
	values_subtract((uint8_t *)r->name.data + key_size, before, size, v->place->sum_bytes);
	return write_found(r, p, (const uint8_t *)r->name.data, key_size + size);
}

/* One that is kept by the name in `name`, so that what changes is seen. */
static int write_new(struct recorded *r, const struct place *p, const struct values *v,
	const struct value_entry *e)
{
	struct recorded_entry new = {.value = r->values.size, .round = r->round};
	uint64_t bytes = r->name.size + v->map->value_size + sizeof(new);
	uint32_t id;

	if (r->entries.count >= ENTRIES_MAX || bytes > r->kept_max - r->kept_bytes) {
		r->not_kept++;
		return r->is_last ? write_whole(r, p, v, e) : 0;
	}
	r->kept_bytes += bytes;
	buf_append(&r->values, values_value(v, e), v->map->value_size);
	if (r->values.failed || vec_push(&r->entries, new) ||
		interner_add(r->written, r->name.data, r->name.size, &id, NULL))
		return error_memory(NULL);
	return write_whole(r, p, v, e);
}

/* NULL: it was not written yet. */
static int find_written(struct recorded *r, const struct place *p, const struct values *v,
	const struct value_entry *e, struct recorded_entry **ret)
{
	uint32_t id;

	buf_reset(&r->name);
	buf_append(&r->name, p, sizeof(*p));
	buf_append(&r->name, values_key(v, e), v->map->key_size);
	if (r->name.failed)
		return error_memory(NULL);
	id = interner_find(r->written, r->name.data, r->name.size);
	*ret = id ? &r->entries.items[id - 1] : NULL;
	return 0;
}

static int write_changed(struct recorded *r, const struct place *p, const struct values *v,
	const struct value_entry *e)
{
	struct recorded_entry *w = NULL;
	int error = find_written(r, p, v, e, &w);
	uint32_t size = v->map->value_size;
	uint8_t *before;

	if (error || !w)
		return error ?: write_new(r, p, v, e);
	before = (uint8_t *)r->values.data + w->value;
	w->round = r->round;
	if (!w->is_gone && !memcmp(before, values_value(v, e), size))
		return 0;
	if (v->place->sum_bytes)
		error = write_difference(r, p, v, e, before);
	else
		error = write_whole(r, p, v, e);
	w->is_gone = false;
	memcpy(before, values_value(v, e), size);
	return error;
}

static int write_map(struct recorded *r, uint32_t object, uint32_t map, uint32_t arena)
{
	struct values v;
	int error = values_read_arena(&v, r->server, object, map, arena);
	bool too_long = !error && v.map->key_size + v.map->value_size > FOUND_MAX_BYTES;

	r->cut += too_long && r->is_last ? v.entries.count : 0;
	vec_foreach (e, &v.entries) {
		struct place p = {object, map, arena, e->sm, e->thread};

		if (!error && !too_long)
			error = r->written ? write_changed(r, &p, &v, e)
					   : write_whole(r, &p, &v, e);
	}
	values_release(&v);
	return error;
}

/* Of what is added up nothing goes. */
static bool can_go(const struct recorded *r, const struct place *p)
{
	return !r->server->plan->objects.items[p->object].bodies.layout.maps[p->map].sum_bytes;
}

static int write_gone(struct recorded *r)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < r->entries.count; i++) {
		struct recorded_entry *e = &r->entries.items[i];
		struct place p;
		const char *name;
		size_t size;

		if (e->round == r->round || e->is_gone)
			continue;
		name = interner_get(r->written, i + 1, &size);
		memcpy(&p, name, sizeof(p));
		if (!can_go(r, &p))
			continue;
		e->is_gone = true;
		error = write_found(
			r, &p, (const uint8_t *)name + sizeof(p), (uint32_t)(size - sizeof(p)));
	}
	return error;
}

int recorded_write_maps(struct recorded *r)
{
	const struct plan *p = r->server->plan;
	int error = 0;

	r->round++;
	r->not_kept_most = r->not_kept > r->not_kept_most ? r->not_kept : r->not_kept_most;
	r->not_kept = 0;
	for (uint32_t o = 0; o < p->objects.count; o++)
		for (uint32_t map = 0; map < p->objects.items[o].object->maps.count; map++)
			for (uint32_t a = 0; !error && a < r->contexts.count; a++)
				error = write_map(r, o, map, a);
	return error ?: write_gone(r);
}

int recorded_snapshot(struct recorded *r)
{
	if (!r->written && interner_new(&r->written))
		return error_memory(NULL);
	return recorded_write_maps(r);
}
