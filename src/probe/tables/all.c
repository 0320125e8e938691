// SPDX-License-Identifier: MIT
/* All that was found: the tables of all objects, and all maps as JSON. */
#include "base/json_writer.h"
#include "probe/tables/table.h"
#include "probe/typed.h"
#include "probe/variables.h"

#define DEVICES_MAX 64

/* The devices that there are, each once; at most one: nothing to tell apart. */
static size_t devices_of(const struct server *s, uint32_t ret[DEVICES_MAX])
{
	size_t count = 0;

	vec_foreach (a, &s->arenas) {
		size_t i = 0;

		while (i < count && ret[i] != a->device)
			i++;
		if (i == count && count < DEVICES_MAX)
			ret[count++] = a->device;
	}
	return count;
}

static int put_object(struct show *show)
{
	uint32_t devices[DEVICES_MAX];
	size_t count = devices_of(show->server, devices);
	int error;

	show->device = VALUES_ANY;
	error = table_put(show);
	for (size_t i = 0; !error && count > 1 && i < count; i++) {
		show->device = devices[i];
		error = table_put(show);
	}
	return error;
}

int tables_put(
	struct buf *out, const struct server *s, const struct tally *tally, unsigned int rows)
{
	struct show show = {.out = out, .server = s, .tally = tally, .rows = rows};
	int error = 0;

	for (; !error && show.object < s->plan->objects.count; show.object++) {
		if (show.object)
			buf_putc(out, '\n');
		error = put_object(&show);
	}
	return error;
}

/* A map: {"name", "kind", "entries": [{"key", "value", ...}]}. */
static int map_json(struct json_writer *w, const struct server *s, uint32_t object, uint32_t map)
{
	const struct plan_object *of = &s->plan->objects.items[object];
	const struct ebpf_map *m = &of->object->maps.items[map];
	const struct ebpf_btf *btf = &of->object->btf;
	struct values v;
	int error = values_read(&v, s, object, map, VALUES_ANY);

	if (error || !v.place->is_used || v.place->shape == EBPF_RING) {
		values_release(&v);
		return error;
	}
	json_begin(w, NULL, '{');
	json_text(w, "name", m->name);
	json_text(w, "kind", m->is_section ? "section" : m->kind->name);
	json_bool(w, "added_up", v.place->sum_bytes != 0);
	json_begin(w, "entries", '[');
	vec_foreach (e, &v.entries) {
		json_begin(w, NULL, '{');
		if (e->arena != VALUES_ANY)
			json_number(w, "context", e->arena);
		if (e->sm != VALUES_ANY)
			json_number(w, "sm", e->sm);
		if (e->thread != UINT64_MAX)
			json_number(w, "thread", e->thread);
		typed_json(w, "key", btf, m->key_type, values_key(&v, e), m->key_size);
		variables_json(w, of->object, m, values_value(&v, e));
		json_end(w, '}');
	}
	json_end(w, ']');
	json_end(w, '}');
	values_release(&v);
	return 0;
}

int tables_json(struct json_writer *w, const struct server *s)
{
	int error = 0;

	json_begin(w, "objects", '[');
	for (uint32_t i = 0; !error && i < s->plan->objects.count; i++) {
		const struct plan_object *object = &s->plan->objects.items[i];

		json_begin(w, NULL, '{');
		json_text(w, "name", object->name);
		json_begin(w, "maps", '[');
		for (uint32_t map = 0; !error && map < object->object->maps.count; map++)
			error = map_json(w, s, i, map);
		json_end(w, ']');
		json_end(w, '}');
	}
	json_end(w, ']');
	return error;
}
