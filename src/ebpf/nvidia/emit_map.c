// SPDX-License-Identifier: MIT
/* Maps but hashes: where a value is, and updates of it; and what is common to all of them. */
#include <errno.h>
#include <stddef.h>

#include "ebpf/nvidia/emit.h"

static const char *space_of(const struct operand *o)
{
	return o->kind == VALUE_STACK ? ".local" : ".global";
}

/* Bytes that can be loaded at once. */
static uint32_t argument_piece(const struct operand *o, uint32_t at, uint32_t left)
{
	return o->is_constant ? copy_piece((int64_t)o->value, at, left) : 1;
}

void emit_argument_part(
	struct emitter *e, unsigned int argument, uint32_t at, uint32_t size, const char *into)
{
	const struct operand *o = &fact_now(e)->arguments[argument];
	uint32_t piece = argument_piece(o, at, size);

	if (is_known_stack(o)) {
		stack_get(e, o->which, (int64_t)o->value + at, size, into);
		return;
	}
	emit(e, "ld%s.u%u %s, [%%e%u+%u];", space_of(o), piece * 8, into, argument, at);
	for (uint32_t done = piece; done < size; done += piece) {
		piece = argument_piece(o, at + done, size - done);
		emit(e, "ld%s.u%u %%ex6, [%%e%u+%u];", space_of(o), piece * 8, argument, at + done);
		emit(e, "shl.b64 %%ex6, %%ex6, %u;", done * 8);
		emit(e, "or.b64 %s, %s, %%ex6;", into, into);
	}
}

void emit_copy(struct emitter *e, unsigned int argument, uint32_t size, const char *to, uint32_t at)
{
	const struct operand *o = &fact_now(e)->arguments[argument];
	uint32_t piece;

	for (uint32_t done = 0; done < size; done += piece) {
		piece = argument_piece(o, done, size - done);
		emit_argument_part(e, argument, done, piece, "%ex4");
		emit(e, "st.global.u%u [%s+%u], %%ex4;", piece * 8, to, at + done);
	}
}

void emit_result(struct emitter *e, unsigned int argument, const char *from)
{
	const struct operand *o = &fact_now(e)->arguments[argument];

	if (is_known_stack(o)) {
		stack_put(e, o->which, (int64_t)o->value, 8, from);
		return;
	}
	if (o->is_constant && !(o->value % 8)) {
		emit(e, "st%s.u64 [%%e%u], %s;", space_of(o), argument, from);
		return;
	}
	for (unsigned int i = 0; i < 8; i++) {
		emit(e, "shr.u64 %%ex4, %s, %u;", from, i * 8);
		emit(e, "st%s.u8 [%%e%u+%u], %%ex4;", space_of(o), argument, i);
	}
}

static uint32_t address_at(uint32_t address)
{
	return (uint32_t)(offsetof(struct arena_header, addresses) + address * 8);
}

/* The lanes without effects take other SMs' copies: an address that assemblers find to be the same
 * in all lanes makes them add these up first, in ten instructions. */
static void add_copy(struct emitter *e, uint8_t map)
{
	const struct map_place *p = &e->layout->maps[map];

	if (p->copies == 1)
		return;
	if (!e->has_lead)
		emit(e, "mov.u32 %%ew5, %%smid;");
	emit(e, "and.b32 %%ew5, %s, %u;", e->has_lead ? "%esm" : "%ew5", p->copies - 1);
	emit(e, "mad.wide.u32 %%ex5, %%ew5, %llu, %%ex5;", (unsigned long long)p->stride);
}

static void add_offset(struct emitter *e, uint8_t map, const char *to)
{
	const struct map_place *p = &e->layout->maps[map];

	if (!p->is_outside)
		emit(e, "add.u64 %s, %s, %llu;", to, to, (unsigned long long)p->offset);
}

/* The offset comes last, so that assemblers make it part of addresses, and the rest once for all
 * maps. */
void emit_map_base(struct emitter *e, uint8_t map)
{
	const struct map_place *p = &e->layout->maps[map];

	if (p->is_outside)
		emit(e, "ld.global.u64 %%ex5, [%%xpu_arena+%u];",
			address_at(e->layout->first_address + map));
	else
		emit(e, "mov.b64 %%ex5, %%xpu_arena;");
	add_copy(e, map);
	add_offset(e, map, "%ex5");
}

/* (z * ny + y) * nx + x, of which z and y are below 65536. */
void emit_block_number(struct emitter *e)
{
	emit(e, "mov.u32 %%ew0, %%ctaid.z;");
	emit(e, "mov.u32 %%ew1, %%nctaid.y;");
	emit(e, "mov.u32 %%ew2, %%ctaid.y;");
	emit(e, "mad.lo.u32 %%ew0, %%ew0, %%ew1, %%ew2;");
	emit(e, "mov.u32 %%ew1, %%nctaid.x;");
	emit(e, "mov.u32 %%ew2, %%ctaid.x;");
	emit(e, "cvt.u64.u32 %%ex0, %%ew2;");
	emit(e, "mad.wide.u32 %%ex0, %%ew0, %%ew1, %%ex0;");
}

/* Threads of a block, of which there are 1024 at most, have numbers of 32 bits. */
void emit_thread_number(struct emitter *e)
{
	emit_block_number(e);
	emit(e, "mov.u32 %%ew0, %%ntid.x;");
	emit(e, "mov.u32 %%ew1, %%ntid.y;");
	emit(e, "mov.u32 %%ew2, %%tid.z;");
	emit(e, "mov.u32 %%ew3, %%tid.y;");
	emit(e, "mad.lo.u32 %%ew3, %%ew2, %%ew1, %%ew3;");
	emit(e, "mov.u32 %%ew2, %%tid.x;");
	emit(e, "mad.lo.u32 %%ew3, %%ew3, %%ew0, %%ew2;");
	emit(e, "mul.lo.u32 %%ew0, %%ew0, %%ew1;");
	emit(e, "mov.u32 %%ew1, %%ntid.z;");
	emit(e, "mul.lo.u32 %%ew0, %%ew0, %%ew1;");
	emit(e, "cvt.u64.u32 %%ex1, %%ew0;");
	emit(e, "cvt.u64.u32 %%ex2, %%ew3;");
	emit(e, "mad.lo.u64 %%ex0, %%ex0, %%ex1, %%ex2;");
}

static void find_in_array(struct emitter *e, const struct map_place *p)
{
	emit(e, "mul.wide.u32 %%ex0, %%ew4, %u;", p->entry_bytes);
	emit(e, "add.u64 %%ex0, %%ex0, %%ex5;");
	if (fact_now(e)->is_there)
		emit(e, "mov.b64 %%e0, %%ex0;");
	else
		emit(e, "selp.b64 %%e0, %%ex0, 0, %%ep0;");
}

/* Key by key, the values of all threads. */
static void find_of_thread(struct emitter *e, const struct map_place *p)
{
	uint32_t there = new_label(e);
	unsigned long long threads = e->layout->threads;

	emit_thread_number(e);
	emit(e, "setp.lt.u64 %%ep1, %%ex0, %llu;", threads);
	emit(e, "@%%ep1 bra EA%u;", there);
	emit_loss(e, ARENA_LOSS_THREADS);
	emit_label(e, there);
	emit(e, "cvt.u64.u32 %%ex1, %%ew4;");
	emit(e, "mad.lo.u64 %%ex0, %%ex1, %llu, %%ex0;", threads);
	emit(e, "mad.lo.u64 %%ex0, %%ex0, %u, %%ex5;", p->entry_bytes);
	emit(e, "selp.b64 %%ex0, %%ex0, 0, %%ep1;");
	emit(e, "selp.b64 %%e0, %%ex0, 0, %%ep0;");
}

static void find(struct emitter *e, uint8_t map)
{
	const struct map_place *p = &e->layout->maps[map];

	emit_argument_part(e, 2, 0, 4, "%ex0");
	emit(e, "cvt.u32.u64 %%ew4, %%ex0;");
	emit(e, "setp.lt.u32 %%ep0, %%ew4, %u;", p->capacity);
	emit_map_base(e, map);
	if (p->shape == EBPF_THREAD_ARRAY)
		find_of_thread(e, p);
	else
		find_in_array(e, p);
}

void emit_lookup(struct emitter *e)
{
	uint8_t map = fact_now(e)->arguments[1].which;

	if (e->layout->maps[map].shape == EBPF_HASH)
		emit_hash(e, HELPER_LOOKUP);
	else
		find(e, map);
	if (e->analysis->needs_guards)
		emit(e, "mov.b64 %%eb0, %%e0;");
}

/* The library has put what modules before this one take into %xpu_sites, and not more than there
 * are places: layout.c has room for both. */
void emit_of_access(struct emitter *e)
{
	uint8_t map = fact_now(e)->arguments[1].which;
	const struct map_place *p = &e->layout->maps[map];

	emit(e, "mov.b64 %%ex5, %%xpu_sites;");
	if (p != e->site_map)
		add_copy(e, map);
	emit(e, "min.u32 %%ew4, %%xpu_site, %u;", p->capacity);
	emit(e, "mad.wide.u32 %%e0, %%ew4, %u, %%ex5;", p->entry_bytes);
	add_offset(e, map, "%e0");
	if (e->analysis->needs_guards)
		emit(e, "mov.b64 %%eb0, %%e0;");
}

void emit_if_flags(struct emitter *e, uint64_t flags, uint32_t label)
{
	const struct operand *o = &fact_now(e)->arguments[4];

	if (o->is_constant) {
		if (o->value == flags)
			emit(e, "bra EA%u;", label);
		return;
	}
	emit(e, "setp.eq.u64 %%ep1, %%e4, %llu;", (unsigned long long)flags);
	emit(e, "@%%ep1 bra EA%u;", label);
}

/* All entries of an array are there. */
static void update_array(struct emitter *e, uint8_t map)
{
	uint32_t none = new_label(e), exists = new_label(e), end = new_label(e);

	find(e, map);
	emit(e, "setp.eq.u64 %%ep2, %%e0, 0;");
	emit(e, "@%%ep2 bra EA%u;", none);
	emit_if_flags(e, BPF_NOEXIST, exists);
	emit_copy(e, 3, e->flow->object->maps.items[map].value_size, "%e0", 0);
	emit(e, "mov.b64 %%e0, 0;");
	emit(e, "bra EA%u;", end);
	emit_label(e, exists);
	emit(e, "mov.s64 %%e0, %d;", -EEXIST);
	emit(e, "bra EA%u;", end);
	emit_label(e, none);
	emit(e, "mov.s64 %%e0, %d;", -E2BIG);
	emit_label(e, end);
}

void emit_update(struct emitter *e)
{
	uint8_t map = fact_now(e)->arguments[1].which;

	if (e->layout->maps[map].shape == EBPF_HASH)
		emit_hash(e, HELPER_UPDATE);
	else
		update_array(e, map);
}

/* The place is free once the position is taken; see wire/arena.h. */
static void emit_record(struct emitter *e, const struct sending *s)
{
	const struct map_place *p = s->place;

	emit(e, "atom.global.add.u64 %%ex1, [%%ex0], 1;");
	emit(e, "ld.global.u64 %%ex2, [%%xpu_arena+%u];", address_at(s->address));
	emit(e, "mad.wide.u32 %%ex2, %%ew0, %llu, %%ex2;", (unsigned long long)p->stride);
	emit(e, "and.b64 %%ex3, %%ex1, %u;", p->capacity - 1);
	emit(e, "mad.lo.u64 %%ex2, %%ex3, %u, %%ex2;", p->entry_bytes);
	if (s->data)
		emit_copy(e, s->data, s->size, "%ex2", sizeof(struct arena_record));
	for (unsigned int i = 0; i < s->count; i++)
		emit(e, "st.global.u64 [%%ex2+%zu], %%e%u;", sizeof(struct arena_record) + i * 8,
			s->first + i);
	emit(e, "mov.u64 %%ex3, %%gridid;");
	emit(e, "st.global.u64 [%%ex2+%zu], %%ex3;", offsetof(struct arena_record, launch));
	emit(e, "mov.u64 %%ex3, 0x%llx;",
		(unsigned long long)s->size | (unsigned long long)e->options->program << 32 |
			(unsigned long long)s->text << 48);
	emit(e, "st.global.u64 [%%ex2+%zu], %%ex3;", offsetof(struct arena_record, size));
	emit(e, "add.u64 %%ex1, %%ex1, 1;");
	emit(e, "st.release.sys.global.u64 [%%ex2], %%ex1;");
}

void emit_send(struct emitter *e, const struct sending *s)
{
	uint32_t full = new_label(e), end = new_label(e);

	emit_sm(e, 0);
	emit(e, "mad.wide.u32 %%ex0, %%ew0, %zu, %%xpu_arena;", sizeof(struct arena_ring));
	emit(e, "add.u64 %%ex0, %%ex0, %llu;", (unsigned long long)s->place->offset);
	emit(e, "ld.relaxed.gpu.global.u64 %%ex1, [%%ex0];");
	emit(e, "ld.relaxed.sys.global.u64 %%ex2, [%%ex0+%zu];", offsetof(struct arena_ring, tail));
	emit(e, "sub.u64 %%ex1, %%ex1, %%ex2;");
	emit(e, "setp.ge.u64 %%ep0, %%ex1, %u;", s->place->capacity - ARENA_RING_SPARE);
	emit(e, "@%%ep0 bra EA%u;", full);
	emit_record(e, s);
	emit(e, "mov.b64 %%e0, 0;");
	emit(e, "bra EA%u;", end);
	emit_label(e, full);
	emit(e, "red.global.add.u64 [%%ex0+%zu], 1;", offsetof(struct arena_ring, dropped));
	emit(e, "mov.s64 %%e0, %lld;", (long long)s->full);
	emit_label(e, end);
}
