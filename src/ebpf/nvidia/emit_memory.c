// SPDX-License-Identifier: MIT
/*
 * Loads and stores, and how accesses are guarded. What the checker proved to be inside and aligned
 * is one instruction. Else the offset from where the value or stack begins is tested first: an
 * access outside reads 0, or is not made, and is counted. What may not be aligned goes byte by
 * byte, as PTX ends the program for it.
 */
#include <stdio.h>

#include "ebpf/nvidia/emit_access.h"

struct access access_of(struct emitter *e, const struct operand *pointer, uint8_t pointer_register)
{
	const struct bpf_insn *i = &step_now(e)->insn;
	struct access a = {
		.e = e,
		.pointer = pointer,
		.pointer_register = pointer_register,
		.offset = i->off,
		.size = insn_bytes(i),
		.in_bounds = fact_now(e)->in_bounds,
		.aligned = fact_now(e)->aligned,
		.space = pointer->kind == VALUE_ELEMENT ? ".global"
			 : pointer->kind == VALUE_STACK ? ".local"
							: "",
	};

	snprintf(a.address, sizeof(a.address), "%s+%d", reg(e, pointer_register).text, a.offset);
	return a;
}

/* Goes to a.outside where the access is. */
static void guard_bounds(struct access *a)
{
	struct emitter *e = a->e;
	uint32_t limit = STACK_SIZE;

	emit(e, "add.s64 %%ex0, %s, %d;", reg(e, a->pointer_register).text, a->offset);
	if (a->pointer->kind == VALUE_ELEMENT) {
		limit = e->flow->object->maps.items[a->pointer->which].value_size;
		emit(e, "sub.u64 %%ex0, %%ex0, %s;", base_reg(e, a->pointer_register).text);
	} else {
		uint32_t bytes = e->analysis->frame_bytes[a->pointer->which];

		emit(e, "mov.u64 %%ex1, %s;", stack_base(a->pointer->which, -(int64_t)bytes).text);
		emit(e, "sub.u64 %%ex0, %%ex0, %%ex1;");
		limit = bytes;
	}
	emit(e, "setp.gt.u64 %%ep0, %%ex0, %u;", limit - a->size);
	emit(e, "@%%ep0 bra EA%u;", a->outside);
}

static void guard_alignment(struct access *a)
{
	struct emitter *e = a->e;

	emit(e, "add.s64 %%ex0, %s, %d;", reg(e, a->pointer_register).text, a->offset);
	emit(e, "and.b64 %%ex0, %%ex0, %u;", a->size - 1);
	emit(e, "setp.ne.u64 %%ep0, %%ex0, 0;");
	emit(e, "@%%ep0 bra EA%u;", a->outside);
}

bool open_guard(struct access *a, bool by_bytes)
{
	bool bounds = !a->in_bounds && a->pointer->kind != VALUE_NUMBER;
	bool alignment = !a->aligned && !by_bytes;

	if (!bounds && !alignment)
		return false;
	a->outside = new_label(a->e);
	a->end = new_label(a->e);
	if (bounds)
		guard_bounds(a);
	if (alignment)
		guard_alignment(a);
	return true;
}

void close_guard(struct access *a, const char *zero)
{
	struct emitter *e = a->e;

	emit(e, "bra EA%u;", a->end);
	emit_label(e, a->outside);
	if (zero)
		emit(e, "mov.b64 %s, 0;", zero);
	emit_loss(e, ARENA_LOSS_BOUNDS);
	emit_label(e, a->end);
}

static void load_bytes(struct access *a, const char *into)
{
	struct emitter *e = a->e;

	emit(e, "mov.b64 %%ex1, 0;");
	for (uint32_t i = 0; i < a->size; i++) {
		emit(e, "ld%s.u8 %%ex0, [%s+%d];", a->space, reg(e, a->pointer_register).text,
			a->offset + (int)i);
		emit(e, "shl.b64 %%ex0, %%ex0, %u;", i * 8);
		emit(e, "or.b64 %%ex1, %%ex1, %%ex0;");
	}
	emit(e, "mov.b64 %s, %%ex1;", into);
}

/* Memory of others is only read where its address is aligned: nothing else is known of it. */
static void load_memory(struct access *a, const char *into)
{
	struct emitter *e = a->e;
	bool by_bytes = !a->aligned && a->pointer->kind != VALUE_NUMBER;
	bool guarded = open_guard(a, by_bytes);

	if (by_bytes)
		load_bytes(a, into);
	else
		emit(e, "ld%s.u%u %s, [%s];", a->space, a->size * 8, into, a->address);
	if (guarded)
		close_guard(a, into);
}

static void load_argument(struct access *a, const char *into)
{
	struct emitter *e = a->e;
	int at = (int)(int64_t)a->pointer->value + a->offset;

	emit(e, "shr.u64 %s, %%xpu_arg%d, %d;", into, at / 8, at % 8 * 8);
	if (a->size < 8)
		emit(e, "and.b64 %s, %s, 0x%llx;", into, into, (1ull << a->size * 8) - 1);
}

static void load_memory_context(struct access *a, const char *into)
{
	static const char *const fields[] = {"%xpu_size", "%xpu_kind", "%xpu_insn"};
	struct emitter *e = a->e;
	int at = (int)(int64_t)a->pointer->value + a->offset;

	if (at < 8)
		emit(e, "shr.u64 %s, %%xpu_addr, %d;", into, at * 8);
	else {
		emit(e, "shr.u32 %%ew0, %s, %d;", fields[(at - 8) / 4], at % 4 * 8);
		emit(e, "cvt.u64.u32 %s, %%ew0;", into);
	}
	if (a->size < 8)
		emit(e, "and.b64 %s, %s, 0x%llx;", into, into, (1ull << a->size * 8) - 1);
}

/* A pointer that is kept on the stack has where it began beside it. */
static struct name kept_base(const struct access *a)
{
	int64_t offset = (int64_t)a->pointer->value + a->offset;
	struct name n;

	snprintf(n.text, sizeof(n.text), "%%ebs%u_%u", a->pointer->which,
		(unsigned int)(offset + STACK_SIZE) / 8);
	return n;
}

static bool keeps_base(const struct access *a)
{
	return a->e->analysis->needs_guards && a->size == 8 && a->aligned;
}

static void load_stack(struct access *a, const char *into, uint8_t number)
{
	struct emitter *e = a->e;

	stack_get(e, a->pointer->which, (int64_t)a->pointer->value + a->offset, a->size, into);
	if (keeps_base(a))
		emit(e, "mov.b64 %s, %s;", base_reg(e, number).text, kept_base(a).text);
}

void emit_load(struct emitter *e)
{
	const struct bpf_insn *i = &step_now(e)->insn;
	struct access a = access_of(e, &fact_now(e)->source, i->src_reg);
	struct name d = reg(e, i->dst_reg);

	if (a.pointer->kind == VALUE_CONTEXT) {
		if (ebpf_where_is_memory(e->flow->program->site.where))
			load_memory_context(&a, d.text);
		else
			load_argument(&a, d.text);
	} else if (is_known_stack(a.pointer)) {
		load_stack(&a, d.text, i->dst_reg);
	} else {
		load_memory(&a, d.text);
	}
	if (BPF_MODE(i->code) == BPF_MEMSX)
		emit(e, "cvt.s64.s%u %s, %s;", a.size * 8, d.text, d.text);
}

static void store_bytes(struct access *a, const char *from)
{
	struct emitter *e = a->e;

	for (uint32_t i = 0; i < a->size; i++) {
		emit(e, "shr.u64 %%ex0, %s, %u;", from, i * 8);
		emit(e, "st%s.u8 [%s+%d], %%ex0;", a->space, reg(e, a->pointer_register).text,
			a->offset + (int)i);
	}
}

static void store_memory(struct access *a, const char *from)
{
	struct emitter *e = a->e;
	bool guarded = open_guard(a, !a->aligned);

	if (!a->aligned)
		store_bytes(a, from);
	else
		emit(e, "st%s.u%u [%s], %s;", a->space, a->size * 8, a->address, from);
	if (guarded)
		close_guard(a, NULL);
}

static void store_stack(struct access *a, const char *from)
{
	struct emitter *e = a->e;
	const struct bpf_insn *i = &step_now(e)->insn;
	const struct operand *v = &fact_now(e)->source;
	bool is_register = BPF_CLASS(i->code) == BPF_STX;

	if (!is_register || has_value(e, v))
		stack_put(e, a->pointer->which, (int64_t)a->pointer->value + a->offset, a->size,
			from);
	if (is_register && v->kind == VALUE_ELEMENT && keeps_base(a))
		emit(e, "mov.b64 %s, %s;", kept_base(a).text, base_reg(e, i->src_reg).text);
}

void emit_store(struct emitter *e)
{
	const struct bpf_insn *i = &step_now(e)->insn;
	struct access a = access_of(e, &fact_now(e)->destination, i->dst_reg);
	struct name from = reg(e, i->src_reg);

	if (BPF_CLASS(i->code) == BPF_ST) {
		emit(e, "mov.b64 %%ex4, 0x%llx;", (unsigned long long)(int64_t)i->imm);
		snprintf(from.text, sizeof(from.text), "%%ex4");
	}
	if (insn_is_atomic(i))
		emit_atomic(e, from.text);
	else if (is_known_stack(a.pointer))
		store_stack(&a, from.text);
	else
		store_memory(&a, from.text);
}
