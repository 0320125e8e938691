// SPDX-License-Identifier: MIT
/* Atomics. In maps they are those of the GPU, without a result where the program uses none; on the
 * stack, which is one lane's, nobody else changes anything meanwhile. */
#include "ebpf/atomic.h"
#include "ebpf/nvidia/emit_access.h"

static const char *atomic_name(int32_t imm)
{
	switch (imm & ~BPF_FETCH) {
	case BPF_ADD:
		return "add.u";
	case BPF_OR:
		return "or.b";
	case BPF_AND:
		return "and.b";
	case BPF_XOR:
		return "xor.b";
	}
	return imm == ATOMIC_EXCHANGE ? "exch.b" : "cas.b";
}

/*
 * The other lanes go to the end before the first effect: one jump for all of them, where assemblers
 * would make one of each predicate (that is no more for a single effect). Not where a jump may have
 * led past it, or a result is wanted.
 */
static void leave_to_lead(struct emitter *e)
{
	if (!e->has_lead || !*e->lead || e->has_jumped || e->options->keeps_cookie ||
		!has_many_effects(e))
		return;
	emit(e, "@!%%elead bra xpu_rest;");
	e->lead = "";
}

/* %ex3: what was there; %ex2: what will be. */
static void combine(struct access *a, const char *operand)
{
	struct emitter *e = a->e;
	const struct bpf_insn *i = &step_now(e)->insn;

	if (i->imm == ATOMIC_EXCHANGE) {
		emit(e, "mov.b64 %%ex2, %s;", operand);
		return;
	}
	if (!atomic_is_exchange_if(i)) {
		emit(e, "%s64 %%ex2, %%ex3, %s;", atomic_name(i->imm), operand);
		return;
	}
	emit(e, "mov.b64 %%ex2, %%e0;");
	if (a->size == 4)
		emit(e, "and.b64 %%ex2, %%ex2, 0xffffffff;");
	emit(e, "setp.eq.u64 %%ep0, %%ex3, %%ex2;");
	emit(e, "selp.b64 %%ex2, %s, %%ex3, %%ep0;", operand);
}

static void atomic_on_stack(struct access *a, const char *operand)
{
	struct emitter *e = a->e;
	int64_t offset = (int64_t)a->pointer->value + a->offset;

	if (is_known_stack(a->pointer)) {
		stack_get(e, a->pointer->which, offset, a->size, "%ex3");
		combine(a, operand);
		stack_put(e, a->pointer->which, offset, a->size, "%ex2");
		return;
	}
	emit(e, "ld.local.u%u %%ex3, [%s];", a->size * 8, a->address);
	combine(a, operand);
	emit(e, "st.local.u%u [%s], %%ex2;", a->size * 8, a->address);
}

static void atomic_in_map(struct access *a, const char *operand)
{
	struct emitter *e = a->e;
	const struct bpf_insn *i = &step_now(e)->insn;
	const char *name = atomic_name(i->imm);
	unsigned int width = a->size * 8;
	/* Programs on CPUs change what is shared with them, too. */
	const char *scope = e->layout->maps[a->pointer->which].is_shared ? ".sys" : "";
	const char *with = width == 64 ? operand : "%ew0", *old = width == 64 ? "%ex3" : "%ew1";

	if (width == 32)
		emit(e, "cvt.u32.u64 %%ew0, %s;", operand);
	if (!atomic_fetches(i)) {
		leave_to_lead(e);
		emit(e, "%sred%s.global.%s%u [%s], %s;", e->lead, scope, name, width, a->address,
			with);
		return;
	}
	if (atomic_is_exchange_if(i)) {
		if (width == 32)
			emit(e, "cvt.u32.u64 %%ew2, %%e0;");
		emit(e, "atom%s.global.%s%u %s, [%s], %s, %s;", scope, name, width, old, a->address,
			width == 64 ? "%e0" : "%ew2", with);
	} else {
		emit(e, "atom%s.global.%s%u %s, [%s], %s;", scope, name, width, old, a->address,
			with);
	}
	if (width == 32)
		emit(e, "cvt.u64.u32 %%ex3, %%ew1;");
}

void emit_atomic(struct emitter *e, const char *operand)
{
	const struct bpf_insn *i = &step_now(e)->insn;
	struct access a = access_of(e, &fact_now(e)->destination, i->dst_reg);
	bool guarded = !is_known_stack(a.pointer) && open_guard(&a, false);

	if (a.pointer->kind == VALUE_STACK)
		atomic_on_stack(&a, operand);
	else
		atomic_in_map(&a, operand);
	if (guarded)
		close_guard(&a, "%ex3");
	if (atomic_fetches(i))
		emit(e, "mov.b64 %s, %%ex3;", reg(e, atomic_result(i)).text);
}
