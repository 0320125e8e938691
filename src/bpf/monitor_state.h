/* SPDX-License-Identifier: MIT */
/*
 * What the generic program of monitors works with: the plan, the maps, and the memory that an event
 * is handled in.
 *
 * Large values live in memory of the CPU (struct state), and not on the stack, which has 512 bytes.
 * That also shortens the verifier's work: it does not track values there.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#include "bpf/monitor.h"

#define UINT64_MAX (~0ull)

/* Set before loading. */
const volatile struct monitor_plan plan;
const volatile struct monitor_plan_counts plan_counts;

#define CACHED_SLOTS 64 /* a power of two */

struct state {
	struct monitor_losses lost; /* first, for the loader */
	uint64_t field[MONITOR_FIELDS];
	uint64_t value[MONITOR_COUNTS];
	uint64_t missed[MONITOR_ACTS]; /* ACT_ADVANCE; MONITOR_NO_VALUE: that is not so */
	uint64_t period[MONITOR_ACTS];
	uint64_t back[MONITOR_ACTS];
	char string[MONITOR_STRINGS][MONITOR_STRING_BYTES];
	char label[MONITOR_LABELS][MONITOR_LABEL_BYTES];
	struct monitor_object_key key[MONITOR_ACTS];
	struct monitor_object object[MONITOR_ACTS]; /* about to be there */
	struct monitor_object named;		    /* has only an owner, whom a text names */
	struct monitor_cell_key cell[MONITOR_COUNTS];
	struct monitor_cell_key label_cell;
	uint64_t began_ns[MONITOR_ACTS]; /* of stopwatches; 0: there was none */
	uint32_t slots[CACHED_SLOTS];	 /* of cells that were used last, from 1; 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct state);
} states SEC(".maps");

/* The maps from here on are shared, and sized by the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct monitor_object_key);
	__type(value, struct monitor_object);
} objects SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
} stopwatches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct monitor_cell_slot);
} cells SEC(".maps");

/* Which slot of `cells` has which key. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct monitor_cell_key);
	__type(value, uint32_t);
} cell_slots SEC(".maps");

/* Places that are empty. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, uint32_t);
} free_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, MONITOR_STACK_DEPTH * sizeof(uint64_t));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} records SEC(".maps");

/* What an event is about, as far as it is known. */
struct event {
	void *ctx;
	uint64_t now_ns;
	struct monitor_object *object[MONITOR_ACTS]; /* that an act found or opened */
	struct monitor_object *slot[MONITOR_ACTS];   /* where one of its key is or was */
	const struct monitor_object *named;
};

#define unrolled _Pragma("clang loop unroll(full)")

/* A choice by a number that the verifier knows. */
static __always_inline struct monitor_object *object_of(const struct event *e, uint8_t act)
{
	if (act == 0)
		return e->object[0];
	if (act == 1)
		return e->object[1];
	if (act == 2)
		return e->object[2];
	if (act == 3)
		return e->object[3];
	_Static_assert(MONITOR_ACTS == 5, "each act has to be named here");
	return act == 4 ? e->object[4] : NULL;
}

static __always_inline bool is_none(uint64_t value)
{
	return value >> 63;
}

static __always_inline uint64_t number(const struct state *s, uint8_t field)
{
	return field < MONITOR_FIELDS ? s->field[field] : 0;
}

static __always_inline void copy_words(void *to, const void *from, uint32_t words)
{
	unrolled
	for (uint32_t i = 0; i < words; i++)
		((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
}

static __always_inline void zero_words(void *to, uint32_t words)
{
	unrolled
	for (uint32_t i = 0; i < words; i++)
		((volatile uint64_t *)to)[i] = 0;
}
