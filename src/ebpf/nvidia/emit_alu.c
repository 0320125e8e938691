// SPDX-License-Identifier: MIT
/*
 * Arithmetic and jumps. 32-bit instructions work on the lower halves and leave zeros above. Shifts
 * of PTX clamp at the width, those of eBPF wrap: they are masked. Division by 0 is 0 in eBPF, its
 * remainder what was to be divided; PTX leaves both open, as it does the smallest number by -1.
 */
#include <stdio.h>

#include "ebpf/nvidia/emit.h"

/* An operation on registers of `width` bits: d = d op s. */
struct operation {
	struct emitter *e;
	const struct bpf_insn *insn;
	unsigned int width;
	char d[NAME_BYTES], s[NAME_BYTES];
	bool s_is_constant;
};

static const char *name_of(uint8_t op)
{
	switch (op) {
	case BPF_ADD:
		return "add.u";
	case BPF_SUB:
		return "sub.u";
	case BPF_MUL:
		return "mul.lo.u";
	case BPF_AND:
		return "and.b";
	case BPF_OR:
		return "or.b";
	case BPF_XOR:
		return "xor.b";
	case BPF_LSH:
		return "shl.b";
	case BPF_RSH:
		return "shr.u";
	case BPF_ARSH:
		return "shr.s";
	}
	return NULL;
}

/* A constant as an unsigned number of this width. */
static void put_constant(char *into, unsigned int width, int32_t imm)
{
	if (width == 32)
		snprintf(into, NAME_BYTES, "0x%x", (uint32_t)imm);
	else
		snprintf(into, NAME_BYTES, "0x%llx", (unsigned long long)(int64_t)imm);
}

/* The operands where the operation finds them: halves in %ew0 and %ew1. */
static struct operation prepare(struct emitter *e, unsigned int width)
{
	const struct bpf_insn *i = &step_now(e)->insn;
	struct operation o = {.e = e, .insn = i, .width = width};

	o.s_is_constant = BPF_SRC(i->code) == BPF_K;
	snprintf(o.d, sizeof(o.d), "%s", reg(e, i->dst_reg).text);
	if (o.s_is_constant)
		put_constant(o.s, width, i->imm);
	else
		snprintf(o.s, sizeof(o.s), "%s", reg(e, i->src_reg).text);
	if (width == 32) {
		if (BPF_CLASS(i->code) != BPF_ALU || BPF_OP(i->code) != BPF_MOV)
			emit(e, "cvt.u32.u64 %%ew0, %s;", o.d);
		if (!o.s_is_constant) {
			emit(e, "cvt.u32.u64 %%ew1, %s;", o.s);
			snprintf(o.s, sizeof(o.s), "%%ew1");
		}
		snprintf(o.d, sizeof(o.d), "%%ew0");
	}
	return o;
}

static void emit_division(struct operation *o)
{
	struct emitter *e = o->e;
	bool is_remainder = BPF_OP(o->insn->code) == BPF_MOD, is_signed = o->insn->off == 1;
	const char *by = o->width == 32 ? "%ew1" : "%ex1",
		   *result = o->width == 32 ? "%ew2" : "%ex2";
	unsigned int w = o->width;

	if (o->s_is_constant || w == 64)
		emit(e, "mov.b%u %s, %s;", w, by, o->s);
	emit(e, "%s.%c%u %s, %s, %s;", is_remainder ? "rem" : "div", is_signed ? 's' : 'u', w,
		result, o->d, by);
	if (is_signed) {
		emit(e, "setp.eq.s%u %%ep1, %s, -1;", w, by);
		if (is_remainder)
			emit(e, "selp.b%u %s, 0, %s, %%ep1;", w, result, result);
		else
			emit(e, "@%%ep1 neg.s%u %s, %s;", w, result, o->d);
	}
	emit(e, "setp.eq.u%u %%ep0, %s, 0;", w, by);
	emit(e, "selp.b%u %s, %s, %s, %%ep0;", w, o->d, is_remainder ? o->d : "0", result);
}

static void emit_shift(struct operation *o)
{
	struct emitter *e = o->e;

	if (!o->s_is_constant) {
		if (o->width == 64)
			emit(e, "cvt.u32.u64 %%ew1, %s;", o->s);
		emit(e, "and.b32 %%ew1, %%ew1, %u;", o->width - 1);
		snprintf(o->s, sizeof(o->s), "%%ew1");
	}
	emit(e, "%s%u %s, %s, %s;", name_of(BPF_OP(o->insn->code)), o->width, o->d, o->d, o->s);
}

/* Moves, also those of cpu v4 that copy the sign. */
static void emit_move(struct operation *o)
{
	struct emitter *e = o->e;

	if (!o->insn->off) {
		emit(e, "mov.b%u %s, %s;", o->width, o->d, o->s);
		return;
	}
	emit(e, "cvt.s64.s%u %%ex0, %s;", o->insn->off, reg(e, o->insn->src_reg).text);
	if (o->width == 32)
		emit(e, "cvt.u32.u64 %%ew0, %%ex0;");
	else
		emit(e, "mov.b64 %s, %%ex0;", o->d);
}

/* Reverses all 8 bytes, then shifts down. */
static void emit_swap(struct emitter *e)
{
	const struct bpf_insn *i = &step_now(e)->insn;
	struct name d = reg(e, i->dst_reg);

	if (BPF_CLASS(i->code) == BPF_ALU && BPF_SRC(i->code) == BPF_TO_LE) {
		if (i->imm < 64)
			emit(e, "and.b64 %s, %s, 0x%x;", d.text, d.text,
				i->imm == 16 ? 0xffffu : 0xffffffffu);
		return;
	}
	emit(e, "mov.b64 {%%ew0, %%ew1}, %s;", d.text);
	emit(e, "prmt.b32 %%ew2, %%ew0, 0, 0x0123;");
	emit(e, "prmt.b32 %%ew3, %%ew1, 0, 0x0123;");
	emit(e, "mov.b64 %s, {%%ew3, %%ew2};", d.text);
	if (i->imm < 64)
		emit(e, "shr.u64 %s, %s, %d;", d.text, d.text, 64 - i->imm);
}

static void emit_operation(struct operation *o)
{
	switch (BPF_OP(o->insn->code)) {
	case BPF_MOV:
		emit_move(o);
		return;
	case BPF_NEG:
		emit(o->e, "neg.s%u %s, %s;", o->width, o->d, o->d);
		return;
	case BPF_DIV:
	case BPF_MOD:
		emit_division(o);
		return;
	case BPF_LSH:
	case BPF_RSH:
	case BPF_ARSH:
		emit_shift(o);
		return;
	}
	emit(o->e, "%s%u %s, %s, %s;", name_of(BPF_OP(o->insn->code)), o->width, o->d, o->d, o->s);
}

/* Pointers that are no values when the program runs are followed by the checker alone. */
static bool is_only_known(const struct emitter *e)
{
	const struct fact *f = fact_now(e);
	const struct bpf_insn *i = &step_now(e)->insn;
	bool uses_source = BPF_SRC(i->code) == BPF_X;

	if (uses_source && f->source.kind != VALUE_NUMBER && !has_value(e, &f->source))
		return true;
	return BPF_OP(i->code) != BPF_MOV && f->destination.kind != VALUE_NUMBER &&
	       !has_value(e, &f->destination);
}

static void move_base(struct emitter *e)
{
	const struct bpf_insn *i = &step_now(e)->insn;
	uint8_t op = BPF_OP(i->code);

	if (!e->analysis->needs_guards || BPF_CLASS(i->code) != BPF_ALU64 ||
		BPF_SRC(i->code) != BPF_X || fact_now(e)->source.kind != VALUE_ELEMENT)
		return;
	if (op == BPF_MOV || op == BPF_ADD)
		emit(e, "mov.b64 %s, %s;", base_reg(e, i->dst_reg).text,
			base_reg(e, i->src_reg).text);
}

void emit_alu(struct emitter *e)
{
	const struct bpf_insn *i = &step_now(e)->insn;
	unsigned int width = BPF_CLASS(i->code) == BPF_ALU ? 32 : 64;
	struct operation o;

	if (BPF_OP(i->code) == BPF_END) {
		emit_swap(e);
		return;
	}
	if (is_only_known(e))
		return;
	move_base(e);
	o = prepare(e, width);
	emit_operation(&o);
	if (width == 32)
		emit(e, "cvt.u64.u32 %s, %%ew0;", reg(e, i->dst_reg).text);
}

static const char *compare_of(uint8_t op)
{
	switch (op) {
	case BPF_JEQ:
		return "eq.u";
	case BPF_JNE:
		return "ne.u";
	case BPF_JGT:
		return "gt.u";
	case BPF_JGE:
		return "ge.u";
	case BPF_JLT:
		return "lt.u";
	case BPF_JLE:
		return "le.u";
	case BPF_JSGT:
		return "gt.s";
	case BPF_JSGE:
		return "ge.s";
	case BPF_JSLT:
		return "lt.s";
	case BPF_JSLE:
		return "le.s";
	}
	return NULL;
}

void emit_jump(struct emitter *e)
{
	const struct flow_step *s = step_now(e);
	uint8_t op = BPF_OP(s->insn.code), jump = fact_now(e)->jump;
	const char *t = BPF_CLASS(s->insn.code) == BPF_JMP32 ? "%ew2" : "%ex2";
	struct operation o;

	if (jump == JUMP_NEVER)
		return;
	if (insn_is_goto(&s->insn) || jump == JUMP_ALWAYS) {
		emit_go(e, s->target, NULL);
		return;
	}
	o = prepare(e, BPF_CLASS(s->insn.code) == BPF_JMP32 ? 32 : 64);
	/* With sign a constant is decimal. */
	if (o.s_is_constant && op >= BPF_JSGT && op != BPF_JLT && op != BPF_JLE)
		snprintf(o.s, sizeof(o.s), "%d", s->insn.imm);
	if (op == BPF_JSET) {
		emit(e, "and.b%u %s, %s, %s;", o.width, t, o.d, o.s);
		emit(e, "setp.ne.u%u %%ep0, %s, 0;", o.width, t);
	} else {
		emit(e, "setp.%s%u %%ep0, %s, %s;", compare_of(op), o.width, o.d, o.s);
	}
	emit_go(e, s->target, "@%ep0");
}
