// SPDX-License-Identifier: MIT
/*
 * What the programs keep: cells are memory that is shared with them, objects and stacks are asked
 * of the kernel.
 *
 * The cells of a process that is gone are removed from the map by which programs find them. Their
 * slots are reused only some time later, because a program may have found one just before.
 */
#include "monitor/watch_internal.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "bpf/monitor.skel.h"

/* How many entries of a map are fetched at once. */
#define BATCH 128

/* ------------------------------------------------------------------ cells */

/* A program that found the slot before it was forgotten has finished with it long before. */
#define REUSE_NS NS_PER_SECOND

int watch_cells(struct watch *w,
	int (*visit)(
		void *context, const struct monitor_cell_key *key, const struct monitor_cell *cell),
	void *context)
{
	int visited = 0;

	for (size_t i = 0; i < w->cell_count && !visited; i++) {
		const struct monitor_cell_slot *p = &w->cells[i];

		/* The key was there before the first count. */
		if (__atomic_load_n(&p->cell.count, __ATOMIC_ACQUIRE) &&
			p->key.series != MONITOR_SERIES_FREE)
			visited = visit(context, &p->key, &p->cell);
	}
	return visited;
}

static int reuse_slots(struct watch *w)
{
	uint64_t now_ns = clock_now_ns();
	size_t kept = 0;
	int error = 0;

	vec_foreach (f, &w->forgotten) {
		if (error || now_ns - f->since_ns < REUSE_NS) {
			w->forgotten.items[kept++] = *f;
			continue;
		}
		memset(&w->cells[f->slot].cell, 0, sizeof(w->cells[f->slot].cell));
		error = bpf_map_update_elem(
			bpf_map__fd(w->first->maps.free_slots), NULL, &f->slot, BPF_ANY);
	}
	w->forgotten.count = kept;
	return error;
}

int watch_forget(struct watch *w, const struct monitor_cell_key *key, struct monitor_cell *ret_last)
{
	int slots = bpf_map__fd(w->first->maps.cell_slots), error = reuse_slots(w);
	struct forgotten f = {.since_ns = clock_now_ns()};

	if (error)
		return error_errno(error, "cannot forget what was counted");
	*ret_last = (struct monitor_cell){0};
	if (bpf_map_lookup_elem(slots, key, &f.slot) || f.slot >= w->cell_count)
		return 0;
	if (vec_push(&w->forgotten, f))
		return error_errno(-ENOMEM, "cannot forget what was counted");
	error = bpf_map_delete_elem(slots, key);
	__atomic_store_n(&w->cells[f.slot].key.series, MONITOR_SERIES_FREE, __ATOMIC_SEQ_CST);
	*ret_last = w->cells[f.slot].cell;
	return error ? error_errno(error, "cannot forget what was counted") : 0;
}

/* ------------------------------------------------------------------ objects and stacks */

/* Entries of a hash map, many at once. A bucket of the kernel's that has more than there is room
 * for is asked for again with more room. */
struct batch {
	int fd;
	uint32_t key_size, value_size;
	uint32_t room, count;
	uint32_t next; /* where the kernel goes on */
	bool begun, ended;
	char *keys, *values;
};

static int batch_grow(struct batch *b, uint32_t room)
{
	char *keys = realloc(b->keys, (size_t)room * b->key_size), *values;

	if (!keys)
		return -ENOMEM;
	b->keys = keys;
	values = realloc(b->values, (size_t)room * b->value_size);
	if (!values)
		return -ENOMEM;
	b->values = values;
	b->room = room;
	return 0;
}

static int batch_next(struct batch *b)
{
	int error;

	do {
		error = b->room ? 0 : batch_grow(b, BATCH);
		if (error)
			return error;
		b->count = b->room;
		error = bpf_map_lookup_batch(b->fd, b->begun ? &b->next : NULL, &b->next, b->keys,
			b->values, &b->count, NULL);
		if (error == -ENOSPC && batch_grow(b, b->room * 2))
			return -ENOMEM;
	} while (error == -ENOSPC || error == -EINTR);
	b->begun = true;
	b->ended = error == -ENOENT;
	return b->ended ? 0 : error;
}

static int each_entry(const struct bpf_map *map,
	int (*visit)(void *context, const void *key, const void *value), void *context)
{
	struct batch b = {
		.fd = bpf_map__fd(map),
		.key_size = bpf_map__key_size(map),
		.value_size = bpf_map__value_size(map),
	};
	int error = 0, visited = 0;

	while (!error && !visited && !b.ended) {
		error = batch_next(&b);
		for (uint32_t i = 0; i < b.count && !error && !visited; i++)
			visited = visit(context, b.keys + (size_t)i * b.key_size,
				b.values + (size_t)i * b.value_size);
	}
	free(b.keys);
	free(b.values);
	return error ? error_errno(error, "cannot read what was counted") : visited;
}

struct object_visit {
	int (*visit)(void *context, const struct monitor_object_key *key,
		const struct monitor_object *object);
	void *context;
	uint8_t kind;
};

static int visit_object(void *context, const void *key, const void *value)
{
	const struct object_visit *v = context;
	const struct monitor_object_key *k = key;
	const struct monitor_object *object = value;

	/* One that has ended may have kept its slot. */
	if (k->kind != v->kind || !object->stage_ns[0])
		return 0;
	return v->visit(v->context, k, object);
}

int watch_objects(struct watch *w, uint8_t kind,
	int (*visit)(void *context, const struct monitor_object_key *key,
		const struct monitor_object *object),
	void *context)
{
	struct object_visit v = {visit, context, kind};

	return each_entry(w->first->maps.objects, visit_object, &v);
}

size_t watch_stack(struct watch *w, int32_t id, uint64_t ret_addresses[MONITOR_STACK_DEPTH])
{
	uint32_t key = (uint32_t)id;
	size_t count = 0;

	memset(ret_addresses, 0, MONITOR_STACK_DEPTH * sizeof(*ret_addresses));
	if (id < 0 || bpf_map_lookup_elem(bpf_map__fd(w->first->maps.stacks), &key, ret_addresses))
		return 0;
	while (count < MONITOR_STACK_DEPTH && ret_addresses[count])
		count++;
	return count;
}
