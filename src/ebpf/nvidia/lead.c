// SPDX-License-Identifier: MIT
/*
 * Programs that run in all lanes of a warp, though they are for one. What they compute harms no
 * one: it was checked for whatever a lane may find. Only what others can see is for the lowest
 * lane: additions and the like in maps, without a result. So a program may have no other effects,
 * and nothing in it may take longer in some lanes than in that one.
 */
#include "ebpf/atomic.h"
#include "ebpf/nvidia/emit.h"

/* They only read what the lane knows. */
static const int32_t quiet[] = {HELPER_KTIME, HELPER_TIMER, HELPER_CLOCK, HELPER_GRID_ID,
	HELPER_PROCESSOR, HELPER_SM, HELPER_WARP_SLOT, HELPER_LANE, HELPER_COOKIE, HELPER_KERNEL,
	HELPER_LANES, HELPER_ACTIVE_MASK, HELPER_LINES, HELPER_BLOCK, HELPER_BLOCK_SIZE,
	HELPER_THREAD, HELPER_GRID_SIZE, HELPER_LOG2, HELPER_BLOCK_NUMBER, HELPER_THREAD_NUMBER,
	HELPER_OF_ACCESS};

static bool is_quiet_call(const struct emitter *e, const struct fact *f, int32_t helper)
{
	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		if (quiet[i] == helper)
			return true;
	return helper == HELPER_LOOKUP && e->layout->maps[f->arguments[1].which].shape != EBPF_HASH;
}

static bool is_quiet_store(const struct bpf_insn *i, const struct fact *f)
{
	if (f->destination.kind == VALUE_STACK)
		return true;
	return insn_is_atomic(i) && !atomic_fetches(i) && f->destination.kind == VALUE_ELEMENT;
}

static bool is_quiet(const struct emitter *e, const struct flow_step *s, const struct fact *f)
{
	const struct bpf_insn *i = &s->insn;

	if (!f->reached || s->what != FLOW_INSN)
		return true;
	switch (BPF_CLASS(i->code)) {
	case BPF_LDX:
		return f->source.kind == VALUE_STACK || f->source.kind == VALUE_CONTEXT ||
		       f->source.kind == VALUE_ELEMENT;
	case BPF_ST:
	case BPF_STX:
		return is_quiet_store(i, f);
	}
	return i->code != INSN_CALL || is_quiet_call(e, f, i->imm);
}

bool has_many_effects(const struct emitter *e)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < e->flow->steps.count; i++) {
		const struct flow_step *s = &e->flow->steps.items[i];

		count += e->analysis->facts[i].reached && s->what == FLOW_INSN &&
			 insn_is_atomic(&s->insn);
	}
	return count > 1;
}

bool can_have_lead(const struct emitter *e)
{
	if (e->analysis->has_loops)
		return false;
	for (uint32_t i = 0; i < e->flow->steps.count; i++)
		if (!is_quiet(e, &e->flow->steps.items[i], &e->analysis->facts[i]))
			return false;
	return true;
}
