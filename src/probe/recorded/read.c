// SPDX-License-Identifier: MIT
/*
 * A server is filled from a recording as its messages would fill it. Contexts have no memory: what
 * was in their maps is kept entry by entry.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "ebpf/tools/tools.h"
#include "probe/record_text.h"
#include "probe/recorded/recorded.h"
#include "probe/values.h"

#define SUBJECT	     "what probes found"
#define NO_MAP	     UINT32_MAX
#define SWITCHES     (UINT32_MAX - 1)
#define PRINTS	     0xffffu
#define OBJECT_SHIFT 16

static int no_memory(void)
{
	return error_memory(SUBJECT);
}

/* Whatever they were allowed to do, they do nothing here. */
static const struct plan_options options = {
	.bodies = {.check = {.allow_exit = true, .allow_reads = true},
		.layout = {.threads = LAYOUT_THREADS,
			.map_bytes = (uint64_t)1 << 40,
			.accesses = LAYOUT_ACCESSES}},
	.per_thread = -1,
};

static int add_object(struct recorded_reading *r, const struct profile_reader *from, uint32_t id)
{
	const struct profile_probe_object *o = profile_probe_object(from, id);
	const char *name = profile_string(from, o->name, NULL);
	const struct ebpf_tool *tool = ebpf_tool_named(profile_string(from, o->tool, NULL));
	struct ebpf_object *object;
	const char *file;
	uint32_t index;
	size_t size = 0;

	file = profile_string(from, o->file, &size);
	if (r->plan.objects.count < PROBE_BODIES_MAX && !ebpf_object_read(&object, file, size) &&
		!plan_add(&r->plan, object, *name ? name : "programs", tool, &options))
		index = (uint32_t)r->plan.objects.count;
	else
		index = 0;
	return vec_push(&r->objects, index) ? no_memory() : 0;
}

static int add_map(struct recorded_reading *r, const struct profile_probe_map *m)
{
	uint32_t index = r->objects.items[m->object - 1], map = NO_MAP;

	if (index && m->number == PROBE_MAP_PRINTS)
		map = (index - 1) << OBJECT_SHIFT | PRINTS;
	else if (m->number == PROBE_MAP_SWITCHES)
		map = SWITCHES;
	else if (index && m->number < r->plan.objects.items[index - 1].object->maps.count)
		map = (index - 1) << OBJECT_SHIFT | m->number;
	return vec_push(&r->maps, map) ? no_memory() : 0;
}

static int add_context(struct recorded_reading *r, const struct profile_reader *from, uint32_t id)
{
	const struct profile_probe_context *c = profile_probe_context(from, id);
	const struct profile_device *d = profile_device(from, c->device);
	struct server_arena a = {.ended = true, .process = c->process};

	if (d) {
		a.device = d->ordinal;
		a.sms = d->sm_count;
		strncpy(a.name, profile_string(from, d->name, NULL), sizeof(a.name) - 1);
	}
	return vec_push(&r->server.arenas, a) ? no_memory() : 0;
}

static int add_unprobed(
	struct server *s, const struct profile_reader *from, const struct profile_probe_kernel *k)
{
	/* Why is where others have their returns. */
	const struct server_unprobed new = {
		.name = (char *)(uintptr_t)profile_string(from, k->name, NULL),
		.reason = (char *)(uintptr_t)profile_string(from, k->about, NULL),
		.why = (enum probe_fate)k->returns,
		.images = k->images};

	return k->returns < PROBE_FATE_COUNT ? server_add_unprobed(s, &new) : 0;
}

static int add_kernel(struct server *s, const struct profile_reader *from, uint32_t id)
{
	const struct profile_probe_kernel *k = profile_probe_kernel(from, id);
	const struct server_kernel new = {.hash = k->hash,
		.module = k->module,
		.name = (char *)(uintptr_t)profile_string(from, k->name, NULL),
		.file = (char *)(uintptr_t)profile_string(from, k->about, NULL),
		.bodies = k->programs,
		.returns = k->returns,
		.accesses = k->accesses,
		.bound = k->bound,
		.images = k->images,
		.with = {k->size[0], k->size[1], k->size[2]},
		.without = {k->size[3], k->size[4], k->size[5]}};

	return (k->programs ? server_add_kernel(s, &new) : add_unprobed(s, from, k)) ? no_memory()
										     : 0;
}

static int add_line(struct server *s, const struct profile_reader *from, uint32_t id)
{
	const struct profile_probe_line *l = profile_probe_line(from, id);
	const char *path = profile_string(from, l->file, NULL);
	struct server_line new = {.kernel = l->kernel,
		.insn = l->insn,
		.line = l->line,
		.bytes = l->bytes,
		.kind = l->kind};

	if ((*path && interner_add(s->strings, path, strlen(path), &new.file, NULL)) ||
		vec_push(&s->lines, new) ||
		map_put(&s->line_by_place, hash_combine(l->kernel, l->insn), s->lines.count - 1))
		return no_memory();
	return 0;
}

static int read_tables(struct recorded_reading *r, const struct profile_reader *from)
{
	struct profile_counts n = profile_counts(from);
	int error = interner_new(&r->server.strings) ? no_memory() : 0;

	for (uint32_t id = 1; !error && id <= n.probe_objects; id++)
		error = add_object(r, from, id);
	for (uint32_t id = 1; !error && id <= n.probe_maps; id++)
		error = add_map(r, profile_probe_map(from, id));
	for (uint32_t id = 1; !error && id <= n.probe_contexts; id++)
		error = add_context(r, from, id);
	for (uint32_t id = 1; !error && id <= n.probe_kernels; id++)
		error = add_kernel(&r->server, from, id);
	for (uint32_t id = 1; !error && id <= n.probe_lines; id++)
		error = add_line(&r->server, from, id);
	return error;
}

/* As those that come from a context's memory: tables rely on it. */
static bool is_entry(
	const struct profile_found *f, const struct ebpf_map *m, const struct map_place *place)
{
	uint32_t key;

	if ((f->size != m->key_size + m->value_size && f->size != m->key_size) || f->sm > ARENA_SMS)
		return false;
	if (place->shape == EBPF_HASH || place->shape == EBPF_SITES || !place->is_used)
		return place->is_used;
	if (m->key_size != sizeof(key) || place->shape == EBPF_RING)
		return false;
	memcpy(&key, f->bytes, sizeof(key));
	return key < place->capacity;
}

static int keep_entry(
	struct recorded_reading *r, const struct profile_found *f, uint32_t object, uint32_t map)
{
	struct server *s = &r->server;
	const struct plan_object *o = &r->plan.objects.items[object];
	struct server_value v = {.object = object,
		.map = map,
		.arena = f->context - 1,
		.sm = f->sm ? f->sm - 1 : VALUES_ANY,
		.thread = f->thread ? f->thread - 1 : UINT64_MAX,
		.at = s->kept_bytes.size};

	v.is_gone = f->size == o->object->maps.items[map].key_size;
	if (!is_entry(f, &o->object->maps.items[map], &o->bodies.layout.maps[map])) {
		r->unreadable++;
		return 0;
	}
	buf_append(&s->kept_bytes, f->bytes, f->size);
	return s->kept_bytes.failed || vec_push(&s->kept, v) ? no_memory() : 0;
}

static void hand_on(
	struct recorded_reading *r, const struct profile_found *f, uint32_t object, uint32_t map)
{
	struct server *s = &r->server;
	const struct plan_outside ring = {
		.object = object, .map = map == PRINTS ? PLAN_PRINTS : map, .is_ring = true};
	struct server_record record = {.arena = &s->arenas.items[f->context - 1],
		.ring = &ring,
		.sm = f->sm ? f->sm - 1 : 0,
		.launch = f->grid,
		.program = (uint16_t)(f->program - 1),
		.text = (uint16_t)f->text,
		.data = f->bytes,
		.bytes = f->size};
	const struct body *body;

	if (!record_find(&r->plan, &record, &object, &body) || record.sm >= ARENA_SMS)
		r->unreadable++;
	else if (s->on_record)
		s->on_record(s->context, &record);
}

static int take_switch(struct recorded_reading *r, const struct profile_found *f)
{
	uint64_t numbers[SWITCH_NUMBERS];

	if (f->size != sizeof(numbers)) {
		r->unreadable++;
		return 0;
	}
	memcpy(numbers, f->bytes, sizeof(numbers));
	if (le64toh(numbers[SWITCH_STATE]) > SERVER_GONE) {
		r->unreadable++;
		return 0;
	}
	return vec_push(&r->switches,
		       ((struct server_switch){f->context - 1,
			       (enum server_switched)le64toh(numbers[SWITCH_STATE]),
			       le64toh(numbers[SWITCH_FROM]), le64toh(numbers[SWITCH_TO])}))
		       ? no_memory()
		       : 0;
}

static int take(struct recorded_reading *r, const struct profile_found *f)
{
	uint32_t map = r->maps.items[f->map - 1];

	if (map == NO_MAP) {
		r->unreadable++;
		return 0;
	}
	if (map == SWITCHES)
		return take_switch(r, f);
	if (f->program) {
		hand_on(r, f, map >> OBJECT_SHIFT, map & PRINTS);
		return 0;
	}
	if ((map & PRINTS) == PRINTS) {
		r->unreadable++;
		return 0;
	}
	return keep_entry(r, f, map >> OBJECT_SHIFT, map & PRINTS);
}

static int read_events(struct recorded_reading *r, const struct profile_reader *done)
{
	struct profile_reader *reader = NULL;
	struct profile_event e;
	int error = profile_reader_open_again(&reader, done), got = 0;

	while (!error && (got = profile_reader_next(reader, &e)) > 0)
		if (e.kind == EVENT_FOUND)
			error = take(r, &e.found);
	profile_reader_close(reader);
	return error ? error : got;
}

int recorded_read(struct recorded_reading *ret, const struct profile_reader *done,
	void (*on_record)(void *context, const struct server_record *r), void *context)
{
	struct recorded_reading *r = ret;
	int error;

	*r = (struct recorded_reading){0};
	plan_init(&r->plan);
	r->server = (struct server){.plan = &r->plan,
		.epoll = -1,
		.listener = -1,
		.on_record = on_record,
		.context = context};
	error = read_tables(r, done);
	if (!error && r->maps.count)
		error = read_events(r, done);
	if (error)
		recorded_reading_release(r);
	return error;
}

void recorded_reading_release(struct recorded_reading *r)
{
	vec_release(&r->maps);
	vec_release(&r->objects);
	vec_release(&r->switches);
	server_close(&r->server);
	plan_release(&r->plan);
}
