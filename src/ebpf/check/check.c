// SPDX-License-Identifier: MIT
/*
 * States are kept where ways meet: at steps that a jump leads to or that follow one. From each of
 * them the program is followed to the next; what arrives there is joined with what arrived before,
 * and where that makes less known, that step is to be followed once more. When nothing changes any
 * more, all is followed a last time, and what holds is put down for each step.
 */
#include "ebpf/check/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ebpf/check/transfer.h"

#define JOINS_EXACT 4	/* before bounds are widened */
#define JOINS_MAX   256 /* more would not come to an end */

struct meeting {
	bool is_one, is_due;
	uint16_t joins;
	struct state *state; /* NULL: nothing came here yet */
};

struct walk {
	struct checking checking;
	struct meeting *meetings; /* of each step */
	struct state *state, *jumped;
	bool is_last;
};

static int no_memory(void)
{
	return error_memory("the check of an eBPF program");
}

static void find_meetings(struct walk *w)
{
	const struct flow *f = w->checking.flow;

	w->meetings[0].is_one = true;
	for (uint32_t i = 0; i < f->steps.count; i++) {
		const struct flow_step *s = &f->steps.items[i];

		if (!flow_jumps(s))
			continue;
		w->meetings[s->target].is_one = true;
		if (flow_goes_on(s) && i + 1 < f->steps.count)
			w->meetings[i + 1].is_one = true;
		if (s->target <= i)
			w->checking.analysis->has_loops = true;
	}
}

static int arrive(struct walk *w, uint32_t step, const struct state *with)
{
	struct meeting *m = &w->meetings[step];
	bool changed;

	if (w->is_last)
		return 0;
	if (!m->state) {
		m->state = state_new(with->frame_count);
		if (!m->state)
			return no_memory();
		state_copy(m->state, with);
		m->is_due = true;
		return 0;
	}
	changed = state_join(m->state, with, step, m->joins > JOINS_EXACT);
	if (changed && ++m->joins > JOINS_MAX)
		return refuse(&w->checking, "the program is too intricate to be checked");
	m->is_due |= changed;
	return 0;
}

static void forget_arguments(struct state *s)
{
	for (unsigned int i = 1; i < FLOW_SHARED_REGISTERS; i++)
		s->registers[i] = (struct value){.kind = VALUE_UNSET};
}

static void leave(struct checking *c)
{
	uint8_t frame = step_of(c)->frame;

	forget_arguments(c->state);
	state_forget_frame(c->state, frame);
}

/* The function that was put in is the one that r2 holds on all ways: what it was looked for in
 * is the text before the call, where jumps may lead to. */
static bool is_loop_function(const struct checking *c, const struct value *v)
{
	/* begin, head, enter */
	uint32_t first = c->flow->steps.items[c->step + 2].origin;

	return v->kind == VALUE_FUNCTION && number_is_constant(&v->number) &&
	       v->number.umin == first;
}

static int begin_loop(struct checking *c)
{
	struct value *limit = register_of(c, FLOW_LOOP_LIMIT);
	const struct value *flags = &c->state->registers[4];
	int error = check_set(c, 1);

	error = error ?: check_set(c, 3);
	error = error ?: check_set(c, 4);
	if (error)
		return error;
	if (c->state->registers[1].kind != VALUE_NUMBER)
		return refuse(c, "argument 1 of bpf_loop is no number");
	if (!is_loop_function(c, &c->state->registers[2]))
		return refuse(c, "bpf_loop is not called with the same function on all ways");
	if (flags->kind != VALUE_NUMBER || !number_is_constant(&flags->number) ||
		flags->number.umin)
		return refuse(c, "argument 4 of bpf_loop is not 0");
	*limit = value_number(number_low(c->state->registers[1].number, 32, false));
	*register_of(c, FLOW_LOOP_NUMBER) = value_number(number_constant(0));
	*register_of(c, FLOW_LOOP_CONTEXT) = c->state->registers[3];
	return 0;
}

static int end(struct checking *c)
{
	if (c->state->registers[0].kind != VALUE_NUMBER)
		return refuse(c, "ends without a number in r0");
	return 0;
}

static int load_wide(struct checking *c)
{
	const struct flow_step *s = step_of(c);
	struct value v = value_number(number_constant(s->wide));

	switch (s->insn.src_reg) {
	case BPF_PSEUDO_MAP_FD:
		v = (struct value){.kind = VALUE_MAP, .which = (uint8_t)s->insn.imm};
		break;
	case BPF_PSEUDO_MAP_VALUE:
		v.kind = VALUE_ELEMENT;
		v.which = (uint8_t)s->insn.imm;
		break;
	case BPF_PSEUDO_FUNC:
		v.kind = VALUE_FUNCTION;
		v.number = number_constant((uint32_t)s->insn.imm);
		break;
	}
	if (s->insn.dst_reg == FLOW_STACK_REGISTER)
		return refuse(c, "changes r10");
	*register_of(c, s->insn.dst_reg) = v;
	return 0;
}

static int check_insn(struct checking *c, struct outcome *out)
{
	const struct bpf_insn *i = &step_of(c)->insn;

	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return check_alu(c);
	case BPF_LD:
		return insn_is_wide(i) ? load_wide(c)
				       : refuse(c, "unknown instruction 0x%02x", i->code);
	case BPF_LDX:
		return check_load(c);
	case BPF_ST:
	case BPF_STX:
		return check_store(c);
	}
	if (i->code == INSN_CALL)
		return check_call(c);
	return insn_is_jump(i) ? check_jump(c, out)
			       : refuse(c, "unknown instruction 0x%02x", i->code);
}

/* Until what the step does is known, it goes wherever it can. */
static int check_step(struct checking *c, struct outcome *out)
{
	const struct flow_step *s = step_of(c);

	switch (s->what) {
	case FLOW_INSN:
		return check_insn(c, out);
	case FLOW_ENTER:
		state_forget_frame(c->state, s->frame);
		state_enter(c->state, s->frame);
		return 0;
	case FLOW_LEAVE:
		leave(c);
		state_copy(out->jumped, c->state);
		return 0;
	case FLOW_END:
		return end(c);
	case FLOW_LOOP_BEGIN:
		return begin_loop(c);
	case FLOW_LOOP_HEAD:
		return check_loop_head(c, out);
	case FLOW_LOOP_NEXT:
		return check_loop_next(c, out);
	case FLOW_LOOP_DONE:
		forget_arguments(c->state);
		c->state->registers[0] = *register_of(c, FLOW_LOOP_NUMBER);
		return 0;
	}
	return 0;
}

static void put_operands(struct checking *c)
{
	const struct flow_step *s = step_of(c);

	c->fact->reached = true;
	if (s->what == FLOW_INSN) {
		c->fact->destination = operand_of(register_of(c, s->insn.dst_reg));
		if (s->insn.src_reg <= FLOW_STACK_REGISTER)
			c->fact->source = operand_of(register_of(c, s->insn.src_reg));
	}
	for (unsigned int i = 0; i < FLOW_SHARED_REGISTERS; i++)
		c->fact->arguments[i] = operand_of(&c->state->registers[i]);
}

/* Follows the program from one meeting to the next, or to its end. */
static int follow(struct walk *w, uint32_t step)
{
	struct checking *c = &w->checking;
	const struct flow *f = c->flow;
	bool goes_on = true;
	int error = 0;

	state_copy(w->state, w->meetings[step].state);
	for (; !error && goes_on; step++) {
		const struct flow_step *s = &f->steps.items[step];
		struct outcome out = {
			.goes_on = flow_goes_on(s), .jumps = flow_jumps(s), .jumped = w->jumped};

		c->step = step;
		c->state = w->state;
		c->fact = w->is_last ? &c->analysis->facts[step] : NULL;
		if (c->fact)
			put_operands(c);
		if (out.jumps)
			state_copy(w->jumped, w->state);
		error = check_step(c, &out);
		if (c->fact && flow_jumps(s))
			c->fact->jump = !out.jumps     ? JUMP_NEVER
					: !out.goes_on ? JUMP_ALWAYS
						       : JUMP_EITHER;
		if (!error && out.jumps)
			error = arrive(w, s->target, w->jumped);
		goes_on = out.goes_on;
		if (!error && goes_on && w->meetings[step + 1].is_one) {
			error = arrive(w, step + 1, w->state);
			break;
		}
	}
	return error;
}

static int first_due(const struct walk *w)
{
	for (uint32_t i = 0; i < w->checking.flow->steps.count; i++)
		if (w->meetings[i].is_due)
			return (int)i;
	return -1;
}

static int follow_all(struct walk *w)
{
	int error = 0, step;

	while (!error && (step = first_due(w)) >= 0) {
		w->meetings[step].is_due = false;
		error = follow(w, (uint32_t)step);
	}
	w->is_last = true;
	for (uint32_t i = 0; !error && i < w->checking.flow->steps.count; i++)
		if (w->meetings[i].state)
			error = follow(w, i);
	return error;
}

static int start(struct walk *w)
{
	const struct flow *f = w->checking.flow;
	struct analysis *a = w->checking.analysis;

	w->meetings = calloc(f->steps.count + 1, sizeof(*w->meetings));
	w->state = state_new(f->frame_count);
	w->jumped = state_new(f->frame_count);
	a->facts = calloc(f->steps.count, sizeof(*a->facts));
	if (!w->meetings || !w->state || !w->jumped || !a->facts)
		return no_memory();
	for (unsigned int i = 0; i < FLOW_FRAMES_MAX; i++)
		a->frame_bytes[i] = FLOW_STACK;
	find_meetings(w);
	w->state->registers[1] =
		(struct value){.kind = VALUE_CONTEXT, .number = number_constant(0)};
	return arrive(w, 0, w->state);
}

int ebpf_check(struct analysis *a, const struct flow *f, const struct check_options *options)
{
	struct walk w = {.checking = {.flow = f, .options = options, .analysis = a}};
	int error;

	*a = (struct analysis){0};
	error = start(&w);
	error = error ?: follow_all(&w);
	for (uint32_t i = 0; w.meetings && i < f->steps.count; i++)
		free(w.meetings[i].state);
	free(w.meetings);
	free(w.state);
	free(w.jumped);
	if (error)
		analysis_release(a);
	return error;
}

void analysis_release(struct analysis *a)
{
	vec_foreach (text, &a->texts)
		free(*text);
	vec_release(&a->texts);
	free(a->facts);
	a->facts = NULL;
}
