// SPDX-License-Identifier: MIT
#include "ebpf/nvidia/translate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "ebpf/nvidia/emit.h"

void emit_line(struct buf *out, const char *format, ...)
{
	char line[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	buf_printf(out, "    %s\n", line);
}

void emit_label(struct emitter *e, uint32_t label)
{
	buf_printf(e->out, "EA%u:\n", label);
}

uint32_t new_label(struct emitter *e)
{
	return e->labels++;
}

struct name frame_reg(uint8_t frame, uint8_t number)
{
	struct name n;

	if (number < FLOW_SHARED_REGISTERS)
		snprintf(n.text, sizeof(n.text), "%%e%u", number);
	else
		snprintf(n.text, sizeof(n.text), "%%e%ur%u", frame, number);
	return n;
}

struct name reg(const struct emitter *e, uint8_t number)
{
	return frame_reg(step_now(e)->frame, number);
}

struct name base_reg(const struct emitter *e, uint8_t number)
{
	struct name n;

	if (number < FLOW_SHARED_REGISTERS)
		snprintf(n.text, sizeof(n.text), "%%eb%u", number);
	else
		snprintf(n.text, sizeof(n.text), "%%eb%ur%u", step_now(e)->frame, number);
	return n;
}

bool in_memory(const struct emitter *e, uint8_t frame)
{
	return e->analysis->frame_in_memory[frame];
}

bool has_value(const struct emitter *e, const struct operand *o)
{
	return o->kind == VALUE_NUMBER || o->kind == VALUE_ELEMENT ||
	       (o->kind == VALUE_STACK && in_memory(e, o->which));
}

void emit_sm(struct emitter *e, unsigned int w)
{
	emit(e, "mov.u32 %%ew%u, %%smid;", w);
	emit(e, "and.b32 %%ew%u, %%ew%u, %u;", w, w, ARENA_SMS - 1);
}

void emit_loss(struct emitter *e, enum arena_loss loss)
{
	emit_sm(e, 7);
	emit(e, "mad.wide.u32 %%ex7, %%ew7, %u, %%xpu_arena;", ARENA_LOSS_COUNT * 8);
	emit(e, "%sred.global.add.u64 [%%ex7+%u], 1;", e->lead, ARENA_LOSSES_AT + loss * 8);
}

/* Which frames have registers: those of calls; records have only a stack. */
static unsigned int call_frames(const struct emitter *e)
{
	return e->flow->frame_count - e->flow->record_count;
}

static void declare(struct emitter *e)
{
	emit(e, ".reg .b64 %%e<6>;");
	emit(e, ".reg .b64 %%ex<8>;");
	emit(e, ".reg .b64 %%ek<8>;");
	emit(e, ".reg .b32 %%ew<8>;");
	emit(e, ".reg .b32 %%efuel;");
	emit(e, ".reg .pred %%ep<4>;");
	if (e->analysis->needs_guards)
		emit(e, ".reg .b64 %%eb<6>;");
	for (unsigned int f = 0; f < call_frames(e); f++) {
		emit(e, ".reg .b64 %%e%ur<14>;", f);
		if (e->analysis->needs_guards)
			emit(e, ".reg .b64 %%eb%ur<14>;", f);
	}
	stack_declare(e);
	if (!e->has_lead)
		return;
	emit(e, ".reg .pred %%elead;");
	emit(e, "setp.eq.u32 %%elead, %%xpu_below, 0;");
	emit(e, ".reg .b32 %%esm;");
	emit(e, "mov.u32 %%esm, %%smid;");
	emit(e, "or.b32 %%esm, %%esm, %%xpu_below;");
}

static void begin_frame(struct emitter *e, uint8_t frame)
{
	if (in_memory(e, frame))
		emit(e, "mov.u64 %s, %s;", frame_reg(frame, FLOW_STACK_REGISTER).text,
			stack_base(frame, 0).text);
	stack_zero(e, frame);
}

/* A way back costs fuel, so that every program ends. */
void emit_go(struct emitter *e, uint32_t target, const char *condition)
{
	uint32_t past;

	e->has_jumped = true;
	if (target > e->step) {
		emit(e, "%s%sbra E%u;", condition ? condition : "", condition ? " " : "", target);
		return;
	}
	past = new_label(e);
	if (condition) {
		/* "@%ep0" becomes "@!%ep0", and the other way round */
		bool negated = condition[1] == '!';

		emit(e, "@%s%s bra EA%u;", negated ? "" : "!", condition + 1 + negated, past);
	}
	emit(e, "sub.u32 %%efuel, %%efuel, 1;");
	emit(e, "setp.ne.u32 %%ep3, %%efuel, 0;");
	emit(e, "@%%ep3 bra E%u;", target);
	emit_loss(e, ARENA_LOSS_FUEL);
	emit(e, "mov.b64 %%e0, 0;");
	emit(e, "bra EEND;");
	emit_label(e, past);
}

static void emit_loop_head(struct emitter *e)
{
	bool never_runs = fact_now(e)->jump == JUMP_ALWAYS;

	if (fact_now(e)->jump == JUMP_EITHER)
		emit(e, "setp.ge.u64 %%ep0, %s, %s;", reg(e, FLOW_LOOP_NUMBER).text,
			reg(e, FLOW_LOOP_LIMIT).text);
	if (fact_now(e)->jump != JUMP_NEVER)
		emit_go(e, step_now(e)->target, never_runs ? NULL : "@%ep0");
	if (never_runs)
		return;
	emit(e, "mov.b64 %%e1, %s;", reg(e, FLOW_LOOP_NUMBER).text);
	emit(e, "mov.b64 %%e2, %s;", reg(e, FLOW_LOOP_CONTEXT).text);
	if (e->analysis->needs_guards)
		emit(e, "mov.b64 %%eb2, %s;", base_reg(e, FLOW_LOOP_CONTEXT).text);
}

static void emit_loop_begin(struct emitter *e)
{
	emit(e, "and.b64 %s, %%e1, 0xffffffff;", reg(e, FLOW_LOOP_LIMIT).text);
	emit(e, "mov.b64 %s, 0;", reg(e, FLOW_LOOP_NUMBER).text);
	if (!has_value(e, &fact_now(e)->arguments[3]))
		return;
	emit(e, "mov.b64 %s, %%e3;", reg(e, FLOW_LOOP_CONTEXT).text);
	if (e->analysis->needs_guards)
		emit(e, "mov.b64 %s, %%eb3;", base_reg(e, FLOW_LOOP_CONTEXT).text);
}

static void emit_wide(struct emitter *e)
{
	const struct flow_step *s = step_now(e);

	if (!s->insn.src_reg) {
		emit(e, "mov.b64 %s, 0x%llx;", reg(e, s->insn.dst_reg).text,
			(unsigned long long)s->wide);
		return;
	}
	if (s->insn.src_reg != BPF_PSEUDO_MAP_VALUE)
		return;
	emit_map_base(e, (uint8_t)s->insn.imm);
	emit(e, "add.u64 %s, %%ex5, %llu;", reg(e, s->insn.dst_reg).text,
		(unsigned long long)s->wide);
	if (e->analysis->needs_guards)
		emit(e, "mov.b64 %s, %%ex5;", base_reg(e, s->insn.dst_reg).text);
}

static void emit_insn(struct emitter *e)
{
	const struct bpf_insn *i = &step_now(e)->insn;

	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		emit_alu(e);
		return;
	case BPF_LD:
		emit_wide(e);
		return;
	case BPF_LDX:
		emit_load(e);
		return;
	case BPF_ST:
	case BPF_STX:
		emit_store(e);
		return;
	}
	if (i->code == INSN_CALL)
		emit_call(e);
	else
		emit_jump(e);
}

static void emit_step(struct emitter *e)
{
	const struct flow_step *s = step_now(e);

	switch (s->what) {
	case FLOW_INSN:
		emit_insn(e);
		break;
	case FLOW_ENTER:
		begin_frame(e, s->frame);
		break;
	case FLOW_LEAVE:
		if (s->target != e->step + 1)
			emit_go(e, s->target, NULL);
		break;
	case FLOW_END:
		if (e->step + 1 < e->flow->steps.count)
			emit(e, "bra EEND;");
		break;
	case FLOW_LOOP_BEGIN:
		emit_loop_begin(e);
		break;
	case FLOW_LOOP_HEAD:
		emit_loop_head(e);
		break;
	case FLOW_LOOP_NEXT:
		emit(e, "add.u64 %s, %s, 1;", reg(e, FLOW_LOOP_NUMBER).text,
			reg(e, FLOW_LOOP_NUMBER).text);
		emit(e, "setp.eq.u64 %%ep0, %%e0, 0;");
		emit_go(e, s->target, "@%ep0");
		break;
	case FLOW_LOOP_DONE:
		emit(e, "mov.b64 %%e0, %s;", reg(e, FLOW_LOOP_NUMBER).text);
		break;
	}
}

/* Which steps a jump leads to. */
static bool *find_targets(const struct emitter *e)
{
	bool *is_target = calloc(e->flow->steps.count + 1, sizeof(*is_target));

	for (uint32_t i = 0; is_target && i < e->flow->steps.count; i++) {
		const struct fact *f = &e->analysis->facts[i];

		if (f->reached && flow_jumps(&e->flow->steps.items[i]) && f->jump != JUMP_NEVER)
			is_target[e->flow->steps.items[i].target] = true;
	}
	return is_target;
}

static int emit_steps(struct emitter *e)
{
	bool *is_target = find_targets(e);

	if (!is_target)
		return error_memory("the translation of an eBPF program");
	for (e->step = 0; e->step < e->flow->steps.count; e->step++) {
		if (is_target[e->step])
			buf_printf(e->out, "E%u:\n", e->step);
		if (fact_now(e)->reached)
			emit_step(e);
	}
	free(is_target);
	return 0;
}

const struct map_place *body_site_map(
	const struct flow *f, const struct analysis *a, const struct layout *l)
{
	const struct map_place *found = NULL;

	for (uint32_t i = 0; i < f->steps.count; i++) {
		const struct flow_step *s = &f->steps.items[i];
		const struct map_place *p = &l->maps[a->facts[i].arguments[1].which];

		if (!a->facts[i].reached || s->what != FLOW_INSN || s->insn.code != INSN_CALL ||
			s->insn.imm != HELPER_OF_ACCESS)
			continue;
		if (found && found != p)
			return NULL;
		found = p;
	}
	return found;
}

int body_translate(struct buf *text, const struct flow *f, const struct analysis *a,
	const struct layout *l, const struct body_options *options)
{
	struct emitter e = {.out = text, .flow = f, .analysis = a, .layout = l, .options = options};
	int error;

	e.site_map = body_site_map(f, a, l);
	e.has_lead = options->once_per_warp && can_have_lead(&e);
	e.lead = e.has_lead ? "@%elead " : "";
	stack_plan(&e);
	buf_puts(text, "{\n");
	declare(&e);
	if (a->has_loops)
		emit(&e, "mov.u32 %%efuel, %u;", FUEL);
	begin_frame(&e, 0);
	error = emit_steps(&e);
	buf_puts(text, "EEND:\n");
	if (options->keeps_cookie)
		emit(&e, "mov.b64 %%xpu_cookie, %%e0;");
	buf_puts(text, "}\n");
	if (!error && e.failed)
		error = error_set(-EINVAL, "program '%s' cannot be translated", f->program->name);
	return error ?: text->failed ? error_memory("the translation of an eBPF program") : 0;
}
