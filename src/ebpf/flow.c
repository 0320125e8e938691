// SPDX-License-Identifier: MIT
/*
 * A function is copied instruction by instruction; its jumps are first numbers of the object's
 * instructions and become steps when the whole function is there. The stack of functions that are
 * being copied is the C stack, which FRAMES bounds: a function that calls itself ends there.
 */
#include "ebpf/flow.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define CALLS_MAX   8
#define RECORDS_MAX (FLOW_FRAMES_MAX - CALLS_MAX)
#define LINE_MAX    160
#define SPLIT_MAX   8 /* instructions before a call that are copied with it */

enum { HELPER_LOOP = 181, HELPER_RESERVE = 131 };

/* Of a copy of a function. */
struct copy {
	struct flow *flow;
	const struct ebpf_function *function;
	uint8_t frame;
	uint32_t *step_of; /* of each of its instructions */
	uint32_t first;	   /* its first step */
};

static int put_function(
	struct flow *f, const struct ebpf_function *function, uint8_t frame, enum flow_what at_end);
static int put_insn(const struct copy *c, uint32_t origin);

static int put(struct flow *f, const struct flow_step *s)
{
	if (f->steps.count >= FLOW_STEPS_MAX)
		return error_set(-E2BIG,
			"program '%s' has more than %d instructions, with the functions it calls",
			f->program->name, FLOW_STEPS_MAX);
	return vec_push(&f->steps, *s) ? error_memory("an eBPF program") : 0;
}

static int put_mark(
	struct flow *f, enum flow_what what, uint8_t frame, uint32_t origin, uint32_t target)
{
	struct flow_step s = {.what = what, .frame = frame, .origin = origin, .target = target};

	return put(f, &s);
}

static int refuse_at(const struct copy *c, uint32_t origin, const char *what)
{
	struct flow f = {.object = c->flow->object, .program = c->flow->program};
	struct flow_step s = {.origin = origin};

	f.steps.items = &s;
	f.steps.count = 1;
	return flow_refuse(&f, 0, "%s", what);
}

/* The function that r2 was set to before a call of bpf_loop: where control comes straight from. */
static const struct ebpf_function *loop_function(const struct copy *c, uint32_t call)
{
	for (uint32_t i = call; i-- > c->function->first;) {
		const struct bpf_insn *insn = &c->flow->object->insns.items[i];

		if (insn_is_jump_class(insn))
			return NULL;
		if (insn_is_wide(insn) && insn->dst_reg == 2)
			return insn->src_reg == BPF_PSEUDO_FUNC
				       ? ebpf_object_function(c->flow->object, (uint32_t)insn->imm)
				       : NULL;
	}
	return NULL;
}

/*
 * begin; head: done or on; enter, function, leave; next: back to head or on; done.
 */
static int put_loop(const struct copy *c, uint32_t origin)
{
	const struct ebpf_function *function = loop_function(c, origin);
	struct flow *f = c->flow;
	uint8_t frame = c->frame + 1;
	uint32_t head;
	int error;

	if (!function)
		return refuse_at(c, origin, "bpf_loop is not called with a function by its name");
	error = put_mark(f, FLOW_LOOP_BEGIN, frame, origin, 0);
	head = (uint32_t)f->steps.count;
	error = error ?: put_mark(f, FLOW_LOOP_HEAD, frame, origin, 0);
	error = error ?: put_function(f, function, frame, FLOW_LEAVE);
	error = error ?: put_mark(f, FLOW_LOOP_NEXT, frame, origin, head);
	if (error)
		return error;
	f->steps.items[head].target = (uint32_t)f->steps.count;
	return put_mark(f, FLOW_LOOP_DONE, frame, origin, 0);
}

static int put_call(const struct copy *c, const struct bpf_insn *insn, uint32_t origin)
{
	struct flow_step s = {
		.what = FLOW_INSN, .frame = c->frame, .insn = *insn, .origin = origin};

	if (insn->src_reg == BPF_PSEUDO_CALL)
		return put_function(c->flow,
			ebpf_object_function(c->flow->object, (uint32_t)insn->imm), c->frame + 1,
			FLOW_LEAVE);
	if (insn->src_reg)
		return refuse_at(c, origin, "calls a function that is not in the object");
	if (insn->imm == HELPER_LOOP)
		return put_loop(c, origin);
	if (insn->imm == HELPER_RESERVE) {
		if (c->flow->record_count == RECORDS_MAX)
			return refuse_at(c, origin, "reserves more records than there can be");
		s.target = c->flow->record_count++;
	}
	return put(c->flow, &s);
}

static int put_wide(const struct copy *c, const struct bpf_insn *insn, uint32_t origin)
{
	struct flow_step s = {
		.what = FLOW_INSN, .frame = c->frame, .insn = *insn, .origin = origin};

	if (insn->src_reg == INSN_UNBOUND || insn->src_reg > BPF_PSEUDO_FUNC ||
		insn->src_reg == BPF_PSEUDO_BTF_ID)
		return refuse_at(
			c, origin, "refers to something that is no map, variable or function");
	s.wide = insn->src_reg ? (uint32_t)insn[1].imm
			       : (uint32_t)insn->imm | (uint64_t)(uint32_t)insn[1].imm << 32;
	return put(c->flow, &s);
}

/* The call that begins soon behind this instruction, without jumps before it; 0: none. */
static uint32_t call_behind(const struct copy *c, uint32_t from)
{
	for (uint32_t i = from; i < from + SPLIT_MAX && i < c->function->first + c->function->count;
		i++) {
		const struct bpf_insn *insn = &c->flow->object->insns.items[i];

		if (insn->code == INSN_CALL)
			return i;
		if (insn_is_jump_class(insn))
			return 0;
		i += insn_is_wide(insn);
	}
	return 0;
}

/* A way to a call becomes the call, and a way to what is behind it. */
static int put_goto(const struct copy *c, struct flow_step *s)
{
	uint32_t call =
		c->flow->splits_calls && s->target > s->origin ? call_behind(c, s->target) : 0;
	int error = 0;

	for (uint32_t i = s->target; !error && call && i <= call; i++) {
		error = put_insn(c, i);
		i += insn_is_wide(&c->flow->object->insns.items[i]);
	}
	if (call)
		s->target = call + 1;
	return error ?: put(c->flow, s);
}

static int put_insn(const struct copy *c, uint32_t origin)
{
	const struct bpf_insn *insn = &c->flow->object->insns.items[origin];
	struct flow_step s = {
		.what = FLOW_INSN, .frame = c->frame, .insn = *insn, .origin = origin};
	int64_t target = (int64_t)origin + 1 + insn_distance(insn);

	if (!insn_is_well_formed(insn))
		return refuse_at(c, origin, "has something in a field that it does not use");
	if (insn_is_wide(insn))
		return put_wide(c, insn, origin);
	if (insn->code == INSN_CALL)
		return put_call(c, insn, origin);
	if (insn->code == INSN_EXIT) {
		s.what = FLOW_LEAVE;
		return put(c->flow, &s);
	}
	if (insn_is_jump(insn)) {
		if (target < c->function->first ||
			target >= (int64_t)c->function->first + c->function->count)
			return refuse_at(c, origin, "jumps out of its function");
		s.target = (uint32_t)target;
		if (insn_is_goto(insn))
			return put_goto(c, &s);
	}
	return put(c->flow, &s);
}

/* Jumps become steps; exits lead behind the last step, or end the program. */
static int settle(const struct copy *c, enum flow_what at_end)
{
	struct flow *f = c->flow;
	uint32_t end = (uint32_t)f->steps.count;

	for (uint32_t i = c->first; i < end; i++) {
		struct flow_step *s = &f->steps.items[i];

		/* Functions called have other frames. */
		if (s->frame != c->frame)
			continue;
		if (s->insn.code == INSN_EXIT) {
			s->what = at_end;
			s->target = end;
		} else if (s->what == FLOW_INSN && insn_is_jump(&s->insn)) {
			s->target = c->step_of[s->target - c->function->first];
			if (s->target == UINT32_MAX)
				return refuse_at(c, s->origin, "jumps into an instruction");
		}
	}
	return 0;
}

static int put_body(struct copy *c, enum flow_what at_end)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < c->function->count; i++) {
		uint32_t origin = c->function->first + i;

		c->step_of[i] = (uint32_t)c->flow->steps.count;
		error = put_insn(c, origin);
		if (insn_is_wide(&c->flow->object->insns.items[origin]) && ++i < c->function->count)
			c->step_of[i] = UINT32_MAX;
	}
	return error ?: settle(c, at_end);
}

static int put_function(
	struct flow *f, const struct ebpf_function *function, uint8_t frame, enum flow_what at_end)
{
	struct copy c = {.flow = f, .function = function, .frame = frame};
	const struct bpf_insn *last;
	int error;

	if (frame >= CALLS_MAX)
		return refuse_at(&c, function->first, "functions call each other too deep");
	last = &f->object->insns.items[function->first + function->count - 1];
	if (last->code != INSN_EXIT && !insn_is_goto(last))
		return refuse_at(&c, function->first + function->count - 1,
			"execution runs off the end of its function");
	if (frame >= f->frame_count)
		f->frame_count = frame + 1;
	if (frame) {
		error = put_mark(f, FLOW_ENTER, frame, function->first, 0);
		if (error)
			return error;
	}
	c.first = (uint32_t)f->steps.count;
	c.step_of = calloc(function->count, sizeof(*c.step_of));
	if (!c.step_of)
		return error_memory("an eBPF program");
	error = put_body(&c, at_end);
	free(c.step_of);
	return error;
}

int flow_build(struct flow *f, const struct ebpf_object *o, const struct ebpf_program *p,
	bool splits_calls)
{
	int error;

	*f = (struct flow){.object = o, .program = p, .splits_calls = splits_calls};
	error = put_function(f, &o->functions.items[p->function], 0, FLOW_END);
	if (error)
		flow_release(f);
	f->frame_count += f->record_count;
	return error;
}

void flow_release(struct flow *f)
{
	vec_release(&f->steps);
}

bool flow_goes_on(const struct flow_step *s)
{
	return s->what != FLOW_LEAVE && s->what != FLOW_END &&
	       !(s->what == FLOW_INSN && insn_is_goto(&s->insn));
}

bool flow_jumps(const struct flow_step *s)
{
	return s->what == FLOW_LEAVE || s->what == FLOW_LOOP_HEAD || s->what == FLOW_LOOP_NEXT ||
	       (s->what == FLOW_INSN && insn_is_jump(&s->insn));
}

int flow_refuse(const struct flow *f, uint32_t step, const char *format, ...)
{
	uint32_t origin = f->steps.items[step].origin, at = origin;
	const struct ebpf_line *line = ebpf_object_line(f->object, origin);
	const char *function = f->program->name, *file;
	char what[256], where[LINE_MAX] = "";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	vec_foreach (g, &f->object->functions)
		if (origin >= g->first && origin < g->first + g->count) {
			function = g->name;
			at = origin - g->first;
		}
	if (line) {
		file = strrchr(line->file, '/');
		snprintf(where, sizeof(where), " (%.100s:%u)", file ? file + 1 : line->file,
			line->line);
	}
	if (strcmp(function, f->program->name))
		return error_set(-EACCES, "program '%s', instruction %u of '%s'%s: %s",
			f->program->name, at, function, where, what);
	return error_set(
		-EACCES, "program '%s', instruction %u%s: %s", f->program->name, at, where, what);
}
