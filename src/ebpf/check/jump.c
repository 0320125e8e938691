// SPDX-License-Identifier: MIT
/* Jumps: what they tell of numbers (refine.c), and which pointers are NULL. */
#include "ebpf/check/transfer.h"

/* The operands of a jump; `other` is a register's value, or the constant. */
struct compared {
	struct value *d;
	struct value *s;
	struct value constant;
	bool is_32, is_equality;
};

static struct compared compared_of(const struct checking *c, const struct bpf_insn *i)
{
	bool is_32 = BPF_CLASS(i->code) == BPF_JMP32;
	uint8_t op = BPF_OP(i->code);

	return (struct compared){
		.d = register_of(c, i->dst_reg),
		.s = BPF_SRC(i->code) == BPF_X ? register_of(c, i->src_reg) : NULL,
		.constant = value_number(
			number_constant(is_32 ? (uint32_t)i->imm : (uint64_t)(int64_t)i->imm)),
		.is_32 = is_32,
		.is_equality = op == BPF_JEQ || op == BPF_JNE,
	};
}

static bool is_zero(const struct value *v)
{
	return v->kind == VALUE_NUMBER && number_is_constant(&v->number) && !v->number.umin;
}

static void set_null(struct state *s, struct value *pointer, bool is_null)
{
	if (pointer->identity)
		state_set_null(s, pointer->identity, is_null);
	else if (is_null)
		*pointer = value_number(number_constant(0));
	else
		pointer->maybe_null = false;
}

/* A pointer beside 0: *ret says which way is possible. */
static int check_null(struct checking *c, struct value *pointer, struct outcome *out)
{
	const struct bpf_insn *i = &step_of(c)->insn;
	bool jumps_if_null = BPF_OP(i->code) == BPF_JEQ;
	size_t at = (size_t)((char *)pointer - (char *)c->state);

	if (!pointer->maybe_null) {
		out->jumps = !jumps_if_null;
		out->goes_on = jumps_if_null;
		return 0;
	}
	/* The same register in the other state. */
	set_null(out->jumped, (struct value *)((char *)out->jumped + at), jumps_if_null);
	set_null(c->state, pointer, !jumps_if_null);
	return 0;
}

static int check_pointers(struct checking *c, const struct compared *k, struct outcome *out)
{
	struct value *s = k->s ? k->s : (struct value *)&k->constant;

	if (!k->is_32 && k->is_equality && is_zero(s) && k->d->kind != VALUE_NUMBER)
		return check_null(c, k->d, out);
	if (!k->is_32 && k->is_equality && is_zero(k->d))
		return check_null(c, s, out);
	if (!k->is_32 && k->d->kind == VALUE_ELEMENT && s->kind == VALUE_ELEMENT)
		return 0;
	return refuse(c, "compares a pointer with something that is neither 0 nor its like");
}

static bool refine(struct checking *c, struct state *state, bool taken)
{
	const struct bpf_insn *i = &step_of(c)->insn;
	struct value *d = state_register(state, step_of(c)->frame, i->dst_reg);
	struct compared k = compared_of(c, i);
	struct number *s = k.s ? &state_register(state, step_of(c)->frame, i->src_reg)->number
			       : &k.constant.number;

	/* A register beside itself: both would be narrowed by what the other was. */
	if (s == &d->number)
		return true;
	return number_refine(BPF_OP(i->code), k.is_32, taken, &d->number, s);
}

int check_jump(struct checking *c, struct outcome *out)
{
	const struct bpf_insn *i = &step_of(c)->insn;
	struct compared k = compared_of(c, i);
	int error;

	out->jumps = true;
	if (insn_is_goto(i))
		return 0;
	if (BPF_OP(i->code) > BPF_JSLE || BPF_OP(i->code) == BPF_JA)
		return refuse(c, "unknown instruction 0x%02x", i->code);
	error = check_set(c, i->dst_reg);
	if (!error && k.s)
		error = check_set(c, i->src_reg);
	if (error)
		return error;
	out->goes_on = true;
	if (k.d->kind != VALUE_NUMBER || (k.s && k.s->kind != VALUE_NUMBER))
		return check_pointers(c, &k, out);
	out->jumps = refine(c, out->jumped, true);
	out->goes_on = refine(c, c->state, false);
	return 0;
}

static struct value *loop_register(const struct checking *c, struct state *state, uint8_t number)
{
	return state_register(state, step_of(c)->frame, number);
}

/* The limit is reached, or there is one more round. */
int check_loop_head(struct checking *c, struct outcome *out)
{
	struct value *number = loop_register(c, c->state, FLOW_LOOP_NUMBER);

	out->jumps = number_refine(BPF_JGE, false, true,
		&loop_register(c, out->jumped, FLOW_LOOP_NUMBER)->number,
		&loop_register(c, out->jumped, FLOW_LOOP_LIMIT)->number);
	out->goes_on = number_refine(BPF_JGE, false, false, &number->number,
		&loop_register(c, c->state, FLOW_LOOP_LIMIT)->number);
	for (uint8_t i = 3; i < FLOW_SHARED_REGISTERS; i++)
		c->state->registers[i] = (struct value){.kind = VALUE_UNSET};
	c->state->registers[1] = *number;
	c->state->registers[2] = *loop_register(c, c->state, FLOW_LOOP_CONTEXT);
	return 0;
}

int check_loop_next(struct checking *c, struct outcome *out)
{
	struct value *number = loop_register(c, c->state, FLOW_LOOP_NUMBER);

	if (c->state->registers[0].kind != VALUE_NUMBER)
		return refuse(c, "the function of bpf_loop returns no number");
	number->number = number_alu(BPF_ADD, false, false, number->number, number_constant(1));
	*loop_register(c, out->jumped, FLOW_LOOP_NUMBER) = *number;
	out->jumps = out->goes_on = true;
	return 0;
}
