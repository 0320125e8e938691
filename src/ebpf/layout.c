// SPDX-License-Identifier: MIT
#include "ebpf/layout.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

#define RING_RECORDS_MIN 4096u
#define RING_RECORDS_MAX 65536u
#define RING_SHARE	 16 /* of max_entries, for each SM */
#define COPY_ALIGN	 128u

/* What all programs do with a map. */
struct map_uses {
	uint16_t use;
	uint32_t record_bytes;
};

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static uint64_t power_of_2(uint64_t n)
{
	uint64_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

static struct map_uses uses_of(const struct analysis *analyses, size_t count, size_t map)
{
	struct map_uses u = {0};

	for (size_t i = 0; i < count; i++) {
		u.use |= analyses[i].map_use[map];
		if (analyses[i].record_bytes[map] > u.record_bytes)
			u.record_bytes = analyses[i].record_bytes[map];
	}
	return u;
}

/* Bytes of the numbers that are added; 0: something else is done with it, too. */
static uint8_t sum_bytes(const struct ebpf_map *m, uint16_t use)
{
	const uint16_t others = MAP_READ | MAP_WRITTEN | MAP_SET | MAP_DELETED;

	if (m->used_by_cpu || (use & others) || (m->is_section && m->initial))
		return 0;
	if ((use & (MAP_ADDED_4 | MAP_ADDED_8)) == MAP_ADDED_8 && !(m->value_size % 8))
		return 8;
	if ((use & (MAP_ADDED_4 | MAP_ADDED_8)) == MAP_ADDED_4 && !(m->value_size % 4))
		return 4;
	return 0;
}

static void place_ring(
	struct map_place *p, uint64_t max_entries, uint32_t record_bytes, uint64_t limit)
{
	uint64_t capacity = power_of_2(max_entries / RING_SHARE);

	p->shape = EBPF_RING;
	p->is_outside = true;
	p->copies = ARENA_SMS;
	p->value_bytes = (uint32_t)round_up(record_bytes, 8);
	p->entry_bytes = p->value_bytes + (uint32_t)sizeof(struct arena_record);
	p->capacity = capacity < RING_RECORDS_MIN   ? RING_RECORDS_MIN
		      : capacity > RING_RECORDS_MAX ? RING_RECORDS_MAX
						    : (uint32_t)capacity;
	while (p->capacity > RING_RECORDS_MIN &&
		(uint64_t)p->entry_bytes * p->capacity * ARENA_SMS > limit) {
		p->capacity /= 2;
		p->is_squeezed = true;
	}
	p->stride = (uint64_t)p->entry_bytes * p->capacity;
	p->bytes = ARENA_SMS * sizeof(struct arena_ring);
}

/* Multiprocessors that add to one line of memory wait for each other. */
static void part_copies(struct map_place *p)
{
	p->stride = round_up(p->stride, COPY_ALIGN);
}

/* A number in a module and what modules before it have taken are each `accesses` at most. With a
 * power of 2 the address of a copy takes one instruction less. */
static void place_sites(struct map_place *p, uint32_t accesses)
{
	p->entry_bytes = ARENA_SITE_BYTES;
	p->capacity = accesses;
	p->stride = power_of_2((2 * (uint64_t)accesses + 1) * ARENA_SITE_BYTES);
}

static void place_entries(struct map_place *p, const struct ebpf_map *m, uint64_t threads)
{
	p->value_bytes = (uint32_t)round_up(m->value_size, 8);
	p->entry_bytes = p->value_bytes;
	p->capacity = m->max_entries;
	p->stride = (uint64_t)p->entry_bytes * p->capacity;
	p->copies = m->kind->shape == EBPF_SM_ARRAY ? ARENA_SMS : 1;
	/* What neither changes each may have for itself. */
	p->is_shared = m->used_by_cpu && !m->is_readonly;
	p->is_outside = m->kind->in_host_memory || p->is_shared;
	if (p->copies > 1)
		part_copies(p);
	if (m->kind->shape == EBPF_THREAD_ARRAY &&
		__builtin_mul_overflow(p->stride, threads, &p->stride))
		p->stride = UINT64_MAX; /* more than anybody allows */
	if (m->kind->shape != EBPF_HASH)
		return;
	p->key_bytes = (uint32_t)round_up(m->key_size, 8);
	p->entry_bytes = (uint32_t)sizeof(struct arena_hash_entry) + p->key_bytes;
	p->capacity = (uint32_t)power_of_2((uint64_t)m->max_entries * 2);
	p->values_at = round_up((uint64_t)p->entry_bytes * p->capacity, COPY_ALIGN);
	p->stride = p->values_at + (uint64_t)p->value_bytes * p->capacity;
}

/* As many copies as there is room for. */
static void make_copies(struct map_place *p, uint64_t limit)
{
	if (!p->sum_bytes || p->shape == EBPF_THREAD_ARRAY || p->shape == EBPF_SM_ARRAY)
		return;
	part_copies(p);
	for (p->copies = ARENA_SMS; p->copies > 1 && p->stride * p->copies > limit; p->copies /= 2)
		p->is_squeezed = true;
	p->is_sum = true;
	p->is_outside = false;
}

static int check_size(
	const struct ebpf_map *m, uint64_t bytes, const struct layout_options *options)
{
	if (bytes <= options->map_bytes)
		return 0;
	return error_set(-EFBIG,
		"map '%s' takes %llu bytes on a GPU, of at most %llu (--map-memory)", m->name,
		(unsigned long long)bytes, (unsigned long long)options->map_bytes);
}

static int place_map(struct map_place *p, const struct ebpf_map *m, const struct map_uses *u,
	const struct layout_options *options)
{
	*p = (struct map_place){.is_used = u->use, .copies = 1};
	if (!u->use || !m->kind)
		return 0;
	p->shape = m->kind->shape;
	if (p->shape != EBPF_ARRAY && m->used_by_cpu)
		return error_set(-EOPNOTSUPP,
			"%s '%s' is used by programs for the kernel and for the GPU, which "
			"cannot share it: only of arrays the kernel's memory can be mapped",
			m->kind->name, m->name);
	if (p->shape == EBPF_RING) {
		uint64_t entries = m->kind->counts_bytes && u->record_bytes
					   ? m->max_entries / u->record_bytes
					   : m->max_entries;

		if (u->record_bytes > ARENA_RECORD_MAX - sizeof(struct arena_record))
			return error_set(-EFBIG, "records of '%s' have %u bytes, of at most %zu",
				m->name, u->record_bytes,
				ARENA_RECORD_MAX - sizeof(struct arena_record));
		place_ring(p, entries, u->record_bytes, options->map_bytes);
		return 0;
	}
	place_entries(p, m, options->threads);
	if (p->shape == EBPF_SITES)
		place_sites(p, options->accesses);
	p->sum_bytes = sum_bytes(m, u->use);
	make_copies(p, options->map_bytes);
	p->bytes = p->stride * p->copies;
	if (p->copies > 1 && p->stride > UINT32_MAX)
		return check_size(m, UINT64_MAX, options);
	return check_size(m, p->bytes, options);
}

/* Threads that change one word wait for each other. */
static bool is_contended(const struct ebpf_object *o, const struct analysis *analyses, size_t count,
	uint32_t map, const struct map_place *p)
{
	if (p->copies > 1 ||
		(p->shape != EBPF_ARRAY && p->shape != EBPF_HASH && p->shape != EBPF_SITES))
		return false;
	for (size_t i = 0; i < count && i < o->programs.count; i++)
		if (o->programs.items[i].site.per_thread &&
			analyses[i].map_use[map] & (MAP_ADDED_4 | MAP_ADDED_8 | MAP_ATOMIC))
			return true;
	return false;
}

static void put(struct layout *l, struct map_place *p)
{
	if (p->shape != EBPF_RING && p->is_outside)
		return;
	p->offset = l->size;
	l->size = round_up(l->size + p->bytes, ARENA_ALIGN);
}

int layout_make(struct layout *l, const struct ebpf_object *o, const struct analysis *analyses,
	size_t count, const struct layout_options *options)
{
	const struct layout *after = options->after;
	bool prints = false;

	*l = (struct layout){.map_count = (uint32_t)o->maps.count,
		.threads = options->threads,
		.accesses = options->accesses,
		.size = after ? after->size : ARENA_MAPS_AT};
	if (after) {
		l->first_address = after->first_address + after->map_count;
		l->prints = after->prints;
	}
	if (l->first_address + l->map_count > ARENA_MAPS_MAX)
		return error_set(
			-E2BIG, "the objects have more than %d maps together", ARENA_MAPS_MAX);
	for (uint32_t i = 0; i < l->map_count; i++) {
		struct map_uses u = uses_of(analyses, count, i);
		int error = place_map(&l->maps[i], &o->maps.items[i], &u, options);

		if (error)
			return error;
		l->maps[i].is_contended = is_contended(o, analyses, count, i, &l->maps[i]);
		put(l, &l->maps[i]);
	}
	for (size_t i = 0; i < count; i++)
		prints |= analyses[i].texts.count > 0;
	if (prints && !l->prints.is_used) {
		place_ring(&l->prints, 0, sizeof(struct arena_print), options->map_bytes);
		l->prints.is_used = true;
		put(l, &l->prints);
	}
	return 0;
}
