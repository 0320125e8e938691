/* SPDX-License-Identifier: MIT */
/*
 * An interpreter of eBPF, as plain as can be, for one program of ebpf_program.h in one thread. It
 * knows which memory each pointer leads into, so that it does with accesses outside what GPUs are
 * to do: they read 0, or are not made.
 */
#pragma once

#include <stdio.h>

#include "ebpf_program.h"

#define RUN_MAPS    (NO_GPU_MAP + 1)
#define RUN_FRAMES  8
#define RUN_ENTRIES 128
#define RUN_RECORDS 256

struct run_memory {
	uint8_t *bytes;
	uint32_t size;
};

/* A register: a number, or an offset into memory. */
struct run_value {
	uint64_t n;
	struct run_memory *memory; /* NULL: a number */
	bool is_context;
	int map; /* of a reference to one: its number + 1 */
};

struct run_entry {
	bool there;
	uint8_t key[16], value[32];
	struct run_memory memory;
};

struct run_record {
	uint32_t size;
	uint8_t data[64];
};

/* What a program works with and leaves. */
struct run {
	const struct ebpf_object *o;
	uint64_t arguments[12];
	uint8_t arrays[RUN_MAPS][16 * 8]; /* values of arrays, by map */
	struct run_memory elements[RUN_MAPS][16];
	struct run_entry entries[RUN_ENTRIES]; /* of the hash */
	struct run_record records[RUN_RECORDS];
	unsigned int record_count;
	unsigned int guarded; /* accesses that were not made */
	struct run_value registers[RUN_FRAMES][11];
	/* A pointer that is kept on the stack, by frame and word. */
	struct run_value kept[RUN_FRAMES][64];
	uint8_t stacks[RUN_FRAMES][512];
	struct run_memory stack_memory[RUN_FRAMES];
	uint8_t reserved_bytes[512];
	struct run_memory reserved;
	unsigned int fuel;
};

static inline bool run_is_inside(
	struct run *r, const struct run_value *p, int16_t off, uint32_t size)
{
	uint64_t at = p->n + (uint64_t)(int64_t)off;

	if (p->memory && at <= p->memory->size && size <= p->memory->size - at)
		return true;
	r->guarded++;
	return false;
}

static inline uint64_t run_get(struct run *r, const struct run_value *p, int16_t off, uint32_t size)
{
	uint64_t n = 0;

	if (p->is_context)
		memcpy(&n, (uint8_t *)r->arguments + p->n + off, size);
	else if (run_is_inside(r, p, off, size))
		memcpy(&n, p->memory->bytes + (p->n + (uint64_t)(int64_t)off), size);
	return n;
}

static inline void run_put(
	struct run *r, const struct run_value *p, int16_t off, uint32_t size, uint64_t n)
{
	if (run_is_inside(r, p, off, size))
		memcpy(p->memory->bytes + (p->n + (uint64_t)(int64_t)off), &n, size);
}

static inline uint64_t run_calculate(const struct bpf_insn *i, uint64_t d, uint64_t s, bool is_32)
{
	unsigned int mask = is_32 ? 31 : 63;
	int64_t ds = is_32 ? (int32_t)d : (int64_t)d, ss = is_32 ? (int32_t)s : (int64_t)s;

	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		return d + s;
	case BPF_SUB:
		return d - s;
	case BPF_MUL:
		return d * s;
	case BPF_DIV:
		if (i->off)
			return !ss ? 0 : ss == -1 ? -(uint64_t)ds : (uint64_t)(ds / ss);
		return s ? d / s : 0;
	case BPF_MOD:
		if (i->off)
			return !ss ? (uint64_t)ds : ss == -1 ? 0 : (uint64_t)(ds % ss);
		return s ? d % s : d;
	case BPF_OR:
		return d | s;
	case BPF_AND:
		return d & s;
	case BPF_XOR:
		return d ^ s;
	case BPF_LSH:
		return d << (s & mask);
	case BPF_RSH:
		return d >> (s & mask);
	case BPF_ARSH:
		return (uint64_t)(ds >> (s & mask));
	case BPF_NEG:
		return -d;
	}
	return i->off == 8    ? (uint64_t)(int8_t)s
	       : i->off == 16 ? (uint64_t)(int16_t)s
	       : i->off == 32 ? (uint64_t)(int32_t)s
			      : s;
}

static inline uint64_t run_swap(const struct bpf_insn *i, uint64_t d)
{
	bool swaps = BPF_CLASS(i->code) == BPF_ALU64 || BPF_SRC(i->code) == BPF_TO_BE;

	switch (i->imm) {
	case 16:
		return swaps ? __builtin_bswap16((uint16_t)d) : (uint16_t)d;
	case 32:
		return swaps ? __builtin_bswap32((uint32_t)d) : (uint32_t)d;
	}
	return swaps ? __builtin_bswap64(d) : d;
}

static inline void run_alu(const struct bpf_insn *i, struct run_value *d, struct run_value s)
{
	bool is_32 = BPF_CLASS(i->code) == BPF_ALU;
	uint8_t op = BPF_OP(i->code);

	if (op == BPF_END) {
		d->n = run_swap(i, d->n);
	} else if (op == BPF_MOV && !is_32 && !i->off) {
		*d = s;
	} else {
		struct run_memory *memory = d->memory ? d->memory : s.memory;
		uint64_t n = run_calculate(
			i, is_32 ? (uint32_t)d->n : d->n, is_32 ? (uint32_t)s.n : s.n, is_32);

		*d = (struct run_value){.n = is_32 ? (uint32_t)n : n,
			.memory = op == BPF_MOV ? NULL : memory,
			.is_context = op != BPF_MOV && d->is_context};
	}
}

static inline bool run_takes(const struct bpf_insn *i, uint64_t d, uint64_t s)
{
	bool is_32 = BPF_CLASS(i->code) == BPF_JMP32;
	int64_t x = is_32 ? (int32_t)d : (int64_t)d, y = is_32 ? (int32_t)s : (int64_t)s;

	if (is_32) {
		d = (uint32_t)d;
		s = (uint32_t)s;
	}
	switch (BPF_OP(i->code)) {
	case BPF_JEQ:
		return d == s;
	case BPF_JNE:
		return d != s;
	case BPF_JGT:
		return d > s;
	case BPF_JGE:
		return d >= s;
	case BPF_JLT:
		return d < s;
	case BPF_JLE:
		return d <= s;
	case BPF_JSET:
		return d & s;
	case BPF_JSGT:
		return x > y;
	case BPF_JSGE:
		return x >= y;
	case BPF_JSLT:
		return x < y;
	case BPF_JSLE:
		return x <= y;
	}
	return true;
}

static inline uint64_t run_atomic(
	struct run *r, const struct bpf_insn *i, struct run_value *registers)
{
	struct run_value *d = &registers[i->dst_reg];
	uint32_t size = insn_bytes(i);
	uint64_t old, n = registers[i->src_reg].n, low = size == 8 ? ~0ull : 0xffffffff;

	if ((d->n + (uint64_t)(int64_t)i->off) % size) {
		r->guarded++;
		return 0;
	}
	if (!run_is_inside(r, d, i->off, size))
		return 0;
	old = run_get(r, d, i->off, size);
	switch (i->imm & ~BPF_FETCH) {
	case BPF_ADD:
		n = old + n;
		break;
	case BPF_OR:
		n = old | n;
		break;
	case BPF_AND:
		n = old & n;
		break;
	case BPF_XOR:
		n = old ^ n;
		break;
	case 0xf0:
		n = old == (registers[0].n & low) ? n : old;
		break;
	}
	run_put(r, d, i->off, size, n);
	return old;
}

static inline struct run_entry *run_find(struct run *r, const uint8_t key[16], bool make)
{
	for (int i = 0; i < RUN_ENTRIES; i++)
		if (r->entries[i].there && !memcmp(r->entries[i].key, key, 16))
			return &r->entries[i];
	for (int i = 0; make && i < RUN_ENTRIES; i++)
		if (!r->entries[i].memory.bytes ||
			(!r->entries[i].there && !memcmp(r->entries[i].key, key, 16))) {
			memcpy(r->entries[i].key, key, 16);
			r->entries[i].memory = (struct run_memory){r->entries[i].value, 24};
			return &r->entries[i];
		}
	return NULL;
}

static inline void run_copy(struct run *r, const struct run_value *from, void *to, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = (uint8_t)run_get(r, from, (int16_t)i, 1);
}

static inline struct run_value run_lookup(struct run *r, struct run_value *a)
{
	int map = a[1].map - 1;
	struct run_entry *e;
	uint8_t key[16] = {0};
	uint32_t index;

	run_copy(r, &a[2], key, r->o->maps.items[map].key_size);
	memcpy(&index, key, 4);
	if (map == PAIRS) {
		e = run_find(r, key, false);
		return (struct run_value){.memory = e ? &e->memory : NULL};
	}
	if (index >= r->o->maps.items[map].max_entries)
		return (struct run_value){0};
	return (struct run_value){.memory = &r->elements[map][index]};
}

static inline int64_t run_update(struct run *r, struct run_value *a)
{
	int map = a[1].map - 1;
	struct run_entry *e;
	uint8_t key[16] = {0};
	struct run_value value;

	if (map != PAIRS) {
		value = run_lookup(r, a);
		if (!value.memory)
			return -7;
		if (a[4].n == BPF_NOEXIST)
			return -17;
		run_copy(r, &a[3], value.memory->bytes, value.memory->size);
		return 0;
	}
	run_copy(r, &a[2], key, 12);
	e = run_find(r, key, false);
	if (e && a[4].n == BPF_NOEXIST)
		return -17;
	if (!e && a[4].n == BPF_EXIST)
		return -2;
	e = run_find(r, key, true);
	e->there = true;
	run_copy(r, &a[3], e->value, 24);
	return 0;
}

static inline int64_t run_delete(struct run *r, struct run_value *a)
{
	uint8_t key[16] = {0};
	struct run_entry *e;

	run_copy(r, &a[2], key, 12);
	e = run_find(r, key, false);
	if (!e)
		return -2;
	e->there = false;
	return 0;
}

static inline void run_send(struct run *r, const struct run_value *data, uint32_t size)
{
	struct run_record *record = &r->records[r->record_count++ % RUN_RECORDS];

	record->size = size;
	run_copy(r, data, record->data, size);
}

static inline uint64_t run_function(struct run *r, uint32_t at, unsigned int frame);

static inline void run_enter(struct run *r, unsigned int frame)
{
	memset(r->stacks[frame], 0, sizeof(r->stacks[frame]));
	memset(r->kept[frame], 0, sizeof(r->kept[frame]));
	r->stack_memory[frame] = (struct run_memory){r->stacks[frame], 512};
	r->registers[frame][10] = (struct run_value){.n = 512, .memory = &r->stack_memory[frame]};
}

static inline uint64_t run_loop(struct run *r, struct run_value *a, unsigned int frame)
{
	uint64_t i = 0;

	while (i < (uint32_t)a[1].n) {
		run_enter(r, frame + 1);
		r->registers[frame + 1][1] = (struct run_value){.n = i};
		r->registers[frame + 1][2] = a[3];
		i++;
		if (run_function(r, (uint32_t)a[2].n, frame + 1))
			break;
	}
	return i;
}

static inline struct run_value run_call(
	struct run *r, int32_t helper, struct run_value *a, unsigned int frame)
{
	struct run_value zero = {0};

	switch (helper) {
	case HELPER_LOOKUP:
		return run_lookup(r, a);
	case HELPER_UPDATE:
		return (struct run_value){.n = (uint64_t)run_update(r, a)};
	case HELPER_DELETE:
		return (struct run_value){.n = (uint64_t)run_delete(r, a)};
	case HELPER_LOOP:
		return (struct run_value){.n = run_loop(r, a, frame)};
	case HELPER_PERF_OUTPUT:
		run_send(r, &a[4], (uint32_t)a[5].n);
		return zero;
	case HELPER_RING_RESERVE:
		memset(r->reserved_bytes, 0, sizeof(r->reserved_bytes));
		r->reserved = (struct run_memory){r->reserved_bytes, (uint32_t)(a[2].n + 7) & ~7u};
		return (struct run_value){.memory = &r->reserved};
	case HELPER_RING_SUBMIT:
		run_send(r, &a[1], r->reserved.size);
		return zero;
	case HELPER_LOG2:
		return (struct run_value){.n = 63 - (uint64_t)__builtin_clzll(a[1].n | 1)};
	case HELPER_LANES:
		return (struct run_value){.n = 1};
	}
	return zero;
}

static inline struct run_value run_wide(struct run *r, const struct bpf_insn *i)
{
	switch (i->src_reg) {
	case BPF_PSEUDO_MAP_FD:
		return (struct run_value){.map = i->imm + 1};
	case BPF_PSEUDO_MAP_VALUE:
		return (struct run_value){
			.n = (uint32_t)i[1].imm, .memory = &r->elements[i->imm][0]};
	case BPF_PSEUDO_FUNC:
		return (struct run_value){.n = (uint32_t)i->imm};
	}
	return (struct run_value){.n = (uint32_t)i->imm | (uint64_t)(uint32_t)i[1].imm << 32};
}

/* Which word of which stack this is, for pointers that are kept there; NULL: none. */
static inline struct run_value *run_kept(struct run *r, const struct run_value *p, int16_t off)
{
	uint64_t at = p->n + (uint64_t)(int64_t)off;

	for (int f = 0; f < RUN_FRAMES; f++)
		if (p->memory == &r->stack_memory[f] && at < 512 && at % 8 == 0)
			return &r->kept[f][at / 8];
	return NULL;
}

static inline void run_load(struct run *r, const struct bpf_insn *i, struct run_value *registers)
{
	const struct run_value *p = &registers[i->src_reg];
	struct run_value *kept = run_kept(r, p, i->off);
	uint64_t n = run_get(r, p, i->off, insn_bytes(i));
	unsigned int bits = insn_bytes(i) * 8;

	if (kept && kept->memory && bits == 64) {
		registers[i->dst_reg] = *kept;
		return;
	}
	if (BPF_MODE(i->code) == BPF_MEMSX)
		n = (uint64_t)((int64_t)(n << (64 - bits)) >> (64 - bits));
	registers[i->dst_reg] = (struct run_value){.n = n};
}

static inline void run_store(struct run *r, const struct bpf_insn *i, struct run_value *registers)
{
	const struct run_value *p = &registers[i->dst_reg];
	struct run_value v = {.n = (uint64_t)(int64_t)i->imm};
	struct run_value *kept = run_kept(r, p, i->off);

	if (insn_is_atomic(i)) {
		uint64_t old = run_atomic(r, i, registers);

		if (atomic_fetches(i))
			registers[atomic_result(i)] = (struct run_value){.n = old};
		return;
	}
	if (BPF_CLASS(i->code) == BPF_STX)
		v = registers[i->src_reg];
	run_put(r, p, i->off, insn_bytes(i), v.n);
	if (kept)
		*kept = insn_bytes(i) == 8 ? v : (struct run_value){0};
}

/* Runs from an instruction to the end of its function: r0. */
static inline uint64_t run_function(struct run *r, uint32_t at, unsigned int frame)
{
	struct run_value *registers = r->registers[frame];

	while (r->fuel--) {
		const struct bpf_insn *i = &r->o->insns.items[at++];
		struct run_value s = BPF_SRC(i->code) == BPF_X
					     ? registers[i->src_reg]
					     : (struct run_value){.n = (uint64_t)(int64_t)i->imm};

		switch (BPF_CLASS(i->code)) {
		case BPF_ALU:
		case BPF_ALU64:
			run_alu(i, &registers[i->dst_reg], s);
			continue;
		case BPF_LD:
			registers[i->dst_reg] = run_wide(r, i);
			at++;
			continue;
		case BPF_LDX:
			run_load(r, i, registers);
			continue;
		case BPF_ST:
		case BPF_STX:
			run_store(r, i, registers);
			continue;
		}
		if (i->code == INSN_EXIT)
			return registers[0].n;
		if (insn_is_function_call(i)) {
			run_enter(r, frame + 1);
			memcpy(&r->registers[frame + 1][1], &registers[1], 5 * sizeof(s));
			registers[0] = (struct run_value){
				.n = run_function(r, (uint32_t)i->imm, frame + 1)};
		} else if (i->code == INSN_CALL) {
			registers[0] = run_call(r, i->imm, registers, frame);
		} else if (registers[i->dst_reg].memory && !insn_is_goto(i)) {
			/* a pointer beside 0: it is none */
			at += BPF_OP(i->code) == BPF_JNE ? i->off : 0;
		} else if (run_takes(i, registers[i->dst_reg].n, s.n)) {
			at += (uint32_t)insn_distance(i);
		}
	}
	return 0;
}

static inline void run_prepare(struct run *r, const struct ebpf_object *o)
{
	*r = (struct run){.o = o, .fuel = 1000000};
	for (size_t m = 0; m < o->maps.count; m++) {
		uint32_t size = o->maps.items[m].value_size, most = sizeof(r->arrays[m]) / size;

		for (uint32_t e = 0; m != PAIRS && e < most && e < o->maps.items[m].max_entries;
			e++)
			r->elements[m][e] = (struct run_memory){r->arrays[m] + e * size, size};
	}
}

static inline uint64_t run_program(struct run *r)
{
	run_enter(r, 0);
	r->registers[0][1] = (struct run_value){.is_context = true};
	return run_function(r, 0, 0);
}
