// SPDX-License-Identifier: MIT
#include "probe/values.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

/* What makes an entry one of its own, before its key. */
struct place_key {
	uint32_t arena, sm;
	uint64_t thread;
};

static const uint8_t *snapshot(const struct server *s, const struct server_arena *a)
{
	const struct probe_shared *shared = (const void *)a->memory;

	return shared && __atomic_load_n(&shared->read_ns, __ATOMIC_RELAXED)
		       ? a->memory + s->plan->snapshot_at
		       : NULL;
}

/* Where the values of a map are; NULL: they were never read. What is shared with the kernel's
 * programs is the same in all contexts, and the first one's. */
static const uint8_t *find_values(
	const struct server *s, const struct server_arena *a, const struct map_place *place)
{
	const uint8_t *arena = snapshot(s, a);

	if (!place->is_outside)
		return arena ? arena + place->offset : NULL;
	vec_foreach (o, &s->plan->outsides)
		if (o->place == place && o->is_shared)
			return a == s->arenas.items ? o->memory : NULL;
		else if (a->memory && o->place == place)
			return a->memory + o->at;
	return NULL;
}

static void add_up(uint8_t *sum, const uint8_t *value, uint32_t size, uint8_t width)
{
	for (uint32_t at = 0; at + width <= size; at += width) {
		uint64_t a = 0, b = 0;

		memcpy(&a, sum + at, width);
		memcpy(&b, value + at, width);
		a += b;
		memcpy(sum + at, &a, width);
	}
}

void values_subtract(uint8_t *value, const uint8_t *before, uint32_t size, uint8_t width)
{
	for (uint32_t at = 0; at + width <= size; at += width) {
		uint64_t a = 0, b = 0;

		memcpy(&a, value + at, width);
		memcpy(&b, before + at, width);
		a -= b;
		memcpy(value + at, &a, width);
	}
}

static bool is_zero(const uint8_t *value, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		if (value[i])
			return false;
	return true;
}

/* One that was there before: a recording has it once for each time that it was read. */
static void add_again(struct values *v, struct value_entry *e, const uint8_t *value)
{
	uint8_t *there = (uint8_t *)v->bytes.data + e->value;
	uint32_t size = v->map->value_size;

	e->is_gone = !value;
	if (value && v->place->sum_bytes)
		add_up(there, value, size, v->place->sum_bytes);
	else if (value)
		memcpy(there, value, size);
}

/* One value of one copy; NULL: it is no longer there. */
static int add(struct values *v, struct place_key where, const uint8_t *key, const uint8_t *value)
{
	uint32_t key_size = v->map->key_size, size = v->map->value_size, id;
	struct value_entry e;
	int added, error;

	if (v->place->shape != EBPF_HASH && value && is_zero(value, size))
		return 0;
	if (v->place->sum_bytes)
		where.arena = VALUES_ANY;
	buf_reset(&v->name);
	buf_append(&v->name, &where, sizeof(where));
	buf_append(&v->name, key, key_size);
	error = v->name.failed ? -ENOMEM
			       : interner_add(v->keys, v->name.data, v->name.size, &id, &added);
	if (error)
		return error;
	if (!added) {
		add_again(v, &v->entries.items[id - 1], value);
		return 0;
	}
	e = (struct value_entry){.arena = where.arena,
		.sm = where.sm,
		.thread = where.thread,
		.key = v->bytes.size,
		.is_gone = !value};
	buf_append(&v->bytes, key, key_size);
	e.value = v->bytes.size;
	for (uint32_t i = 0; !value && i < size; i++)
		buf_putc(&v->bytes, 0);
	if (value)
		buf_append(&v->bytes, value, size);
	return v->bytes.failed ? -ENOMEM : vec_push(&v->entries, e);
}

static int read_array(struct values *v, struct place_key where, const uint8_t *copy)
{
	int error = 0;

	for (uint32_t key = 0; !error && key < v->place->capacity; key++)
		error = add(v, where, (const uint8_t *)&key,
			copy + (uint64_t)key * v->place->entry_bytes);
	return error;
}

/* Numbers are a process's own; to readers accesses are what they are in the code. */
static int read_sites(
	struct values *v, const struct server *s, struct place_key where, const uint8_t *copy)
{
	uint32_t process = s->arenas.items[where.arena].process;
	int error = 0;

	for (uint32_t i = 0; !error && i < v->place->capacity; i++) {
		const struct server_site *site = server_site(s, process, i);
		struct ebpf_site_key key;

		if (!site)
			continue;
		key = (struct ebpf_site_key){site->kernel, site->insn, site->bytes};
		error = add(v, where, (const uint8_t *)&key,
			copy + (uint64_t)i * v->place->entry_bytes);
	}
	return error;
}

static int read_threads(
	struct values *v, struct place_key where, const uint8_t *copy, uint64_t threads)
{
	int error = 0;

	for (uint32_t key = 0; key < v->place->capacity; key++)
		for (uint64_t thread = 0; !error && thread < threads; thread++) {
			where.thread = thread;
			error = add(v, where, (const uint8_t *)&key,
				copy + (key * threads + thread) * v->place->entry_bytes);
		}
	return error;
}

static int read_hash(struct values *v, struct place_key where, const uint8_t *copy)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < v->place->capacity; i++) {
		const uint8_t *at = copy + (uint64_t)i * v->place->entry_bytes;
		const uint8_t *key = at + sizeof(struct arena_hash_entry);
		struct arena_hash_entry head;

		memcpy(&head, at, sizeof(head));
		if (head.state == ARENA_HASH_THERE)
			error = add(v, where, key,
				copy + v->place->values_at + (uint64_t)i * v->place->value_bytes);
	}
	return error;
}

static int read_arena(struct values *v, const struct server *s, uint32_t arena, uint64_t threads)
{
	const struct map_place *p = v->place;
	const uint8_t *values = find_values(s, &s->arenas.items[arena], p);
	int error = 0;

	for (uint32_t copy = 0; values && !error && copy < p->copies; copy++) {
		const uint8_t *at = values + copy * p->stride;
		struct place_key where = {arena, VALUES_ANY, UINT64_MAX};

		if (p->shape == EBPF_SM_ARRAY)
			where.sm = copy;
		if (p->shape == EBPF_HASH)
			error = read_hash(v, where, at);
		else if (p->shape == EBPF_SITES)
			error = read_sites(v, s, where, at);
		else if (p->shape == EBPF_THREAD_ARRAY)
			error = read_threads(v, where, at, threads);
		else
			error = read_array(v, where, at);
	}
	return error;
}

/* Those of a recording. */
static int read_kept(
	struct values *v, const struct server *s, uint32_t object, uint32_t map, uint32_t device)
{
	int error = 0;

	vec_foreach (k, &s->kept) {
		const uint8_t *key = (const uint8_t *)s->kept_bytes.data + k->at;

		if (k->object == object && k->map == map && !error &&
			(device == VALUES_ANY || s->arenas.items[k->arena].device == device))
			error = add(v, (struct place_key){k->arena, k->sm, k->thread}, key,
				k->is_gone ? NULL : key + v->map->key_size);
	}
	return error;
}

/* 1: there are values; 0: there never are, or -errno. */
static int begin(struct values *v, const struct plan_object *o, uint32_t map)
{
	*v = (struct values){
		.map = &o->object->maps.items[map], .place = &o->bodies.layout.maps[map]};
	if (!v->place->is_used || v->place->shape == EBPF_RING)
		return 0;
	return interner_new(&v->keys) ? -ENOMEM : 1;
}

static void drop_gone(struct values *v)
{
	size_t kept = 0;

	vec_foreach (e, &v->entries)
		if (!e->is_gone)
			v->entries.items[kept++] = *e;
	v->entries.count = kept;
}

static int end(struct values *v, int error)
{
	interner_free(v->keys);
	buf_release(&v->name);
	v->keys = NULL;
	drop_gone(v);
	return error < 0 ? error_memory("the values of maps") : 0;
}

int values_read(
	struct values *v, const struct server *s, uint32_t object, uint32_t map, uint32_t device)
{
	const struct plan_object *o = &s->plan->objects.items[object];
	int any = begin(v, o, map), error = any < 0 ? any : 0;

	for (uint32_t i = 0; any > 0 && !error && i < s->arenas.count; i++)
		if (device == VALUES_ANY || s->arenas.items[i].device == device)
			error = read_arena(v, s, i, o->bodies.layout.threads);
	if (any > 0 && !error)
		error = read_kept(v, s, object, map, device);
	return end(v, error);
}

int values_read_arena(
	struct values *v, const struct server *s, uint32_t object, uint32_t map, uint32_t arena)
{
	const struct plan_object *o = &s->plan->objects.items[object];
	int any = begin(v, o, map);

	return end(v, any > 0 ? read_arena(v, s, arena, o->bodies.layout.threads) : any);
}

void values_release(struct values *v)
{
	vec_release(&v->entries);
	buf_release(&v->bytes);
}

const uint8_t *values_key(const struct values *v, const struct value_entry *e)
{
	return (const uint8_t *)v->bytes.data + e->key;
}

const uint8_t *values_value(const struct values *v, const struct value_entry *e)
{
	return (const uint8_t *)v->bytes.data + e->value;
}

static uint64_t number(const uint8_t *bytes, uint32_t size, uint32_t offset)
{
	uint64_t n = 0;

	if (offset < size)
		memcpy(&n, bytes + offset, size - offset < 8 ? size - offset : 8);
	return n;
}

uint64_t values_key_number(const struct values *v, const struct value_entry *e, uint32_t offset)
{
	return number(values_key(v, e), v->map->key_size, offset);
}

uint64_t values_number(const struct values *v, const struct value_entry *e, uint32_t offset)
{
	return number(values_value(v, e), v->map->value_size, offset);
}

/* Of each multiprocessor's ring: what it dropped, and what was begun and never came. */
static void add_ring(struct probe_losses *l, const struct server_arena *a, const uint8_t *arena,
	const struct plan_outside *ring)
{
	for (uint32_t sm = 0; sm < ARENA_SMS; sm++) {
		struct arena_ring control;
		uint64_t tail = a->tails[ring->tails * ARENA_SMS + sm];

		memcpy(&control, arena + ring->place->offset + sm * sizeof(control),
			sizeof(control));
		l->dropped += control.dropped;
		if (a->ended && control.head > tail)
			l->unread += control.head - tail;
	}
}

void losses_read(struct probe_losses *l, const struct server *s)
{
	*l = (struct probe_losses){
		.never = s->arenas_unread, .too_many = s->arenas_lost, .notes = s->notes_lost};
	vec_foreach (p, &s->processes)
		if (p->control) {
			l->never += p->control->arenas_unread;
			l->too_many += p->control->arenas_lost;
			l->notes += p->control->notes_lost;
		}
	vec_foreach (a, &s->arenas) {
		const struct probe_shared *shared = (const void *)a->memory;
		const uint8_t *arena = snapshot(s, a);

		l->never += !arena;
		l->cut += arena && !shared->ended && s->processes.items[a->process].fd < 0;
		for (uint32_t i = 0; arena && i < ARENA_SMS * ARENA_LOSS_COUNT; i++) {
			uint64_t n;

			memcpy(&n, arena + ARENA_LOSSES_AT + i * 8, 8);
			l->arena[i % ARENA_LOSS_COUNT] += n;
		}
		vec_foreach (ring, &s->plan->outsides)
			if (arena && ring->is_ring)
				add_ring(l, a, arena, ring);
	}
}
