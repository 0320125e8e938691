// SPDX-License-Identifier: MIT
/* Loads, stores and atomics. */
#include "ebpf/check/transfer.h"
#include "ebpf/atomic.h"

/* Fields of struct gpu_memory_context (src/ebpf/tools/xpuprof_gpu.h). */
static const struct {
	uint8_t first, end;
} memory_fields[] = {{0, 8}, {8, 12}, {12, 16}, {16, 20}};

#define ARGUMENTS_END (12 * 8)

static bool is_in_context(const struct ebpf_site *site, int64_t offset, uint32_t size)
{
	if (!site->has_context || offset < 0 || offset % size)
		return false;
	if (!ebpf_where_is_memory(site->where))
		return offset + size <= ARGUMENTS_END;
	for (unsigned int i = 0; i < sizeof(memory_fields) / sizeof(memory_fields[0]); i++)
		if (offset >= memory_fields[i].first && offset + size <= memory_fields[i].end)
			return true;
	return false;
}

static int check_context(const struct checking *c, const struct place *p, uint32_t size)
{
	const struct ebpf_site *site = &c->flow->program->site;

	if (!site->has_context)
		return refuse(c, "reads its context; programs of section '%s' have none",
			c->flow->program->section);
	if (!p->is_constant || !is_in_context(site, p->constant, size))
		return refuse(c, "reads %u bytes at %lld of its context, where there is no field",
			size, (long long)p->offset.smin);
	return 0;
}

static void put_fact(struct checking *c, const struct place *p)
{
	if (!c->fact)
		return;
	c->fact->in_bounds = p->in_bounds;
	c->fact->aligned = p->aligned;
	if ((p->kind == VALUE_STACK || p->kind == VALUE_ELEMENT) && !p->in_bounds)
		c->analysis->needs_guards = true;
	if (p->kind == VALUE_STACK && !p->is_constant)
		c->analysis->frame_in_memory[p->which] = true;
}

int check_load(struct checking *c)
{
	const struct bpf_insn *i = &step_of(c)->insn;
	bool with_sign = BPF_MODE(i->code) == BPF_MEMSX;
	uint32_t size = insn_bytes(i);
	struct value loaded;
	struct place p;
	int error = check_set(c, i->src_reg);

	if ((BPF_MODE(i->code) != BPF_MEM && !with_sign) || (with_sign && size == 8))
		return refuse(c, "unknown instruction 0x%02x", i->code);
	if (i->dst_reg == FLOW_STACK_REGISTER)
		return refuse(c, "changes r10");
	error = error ?: check_place(c, register_of(c, i->src_reg), i->off, size, false, &p);
	if (error)
		return error;
	put_fact(c, &p);
	loaded = value_number(number_low(number_unknown(), size * 8, false));
	if (p.kind == VALUE_CONTEXT)
		error = check_context(c, &p, size);
	else if (p.kind == VALUE_ELEMENT)
		use_map(c, p.which, MAP_READ);
	else if (p.kind == VALUE_STACK)
		error = stack_read(c, &p, size, &loaded);
	/* An access outside reads 0. */
	if (!p.in_bounds && loaded.kind == VALUE_NUMBER)
		loaded.number = number_join(loaded.number, number_constant(0));
	if (with_sign)
		loaded.number = number_low(loaded.number, size * 8, true);
	*register_of(c, i->dst_reg) = loaded;
	return error;
}

static int store_value(struct checking *c, const struct value *pointer, const struct value *v)
{
	const struct bpf_insn *i = &step_of(c)->insn;
	uint32_t size = insn_bytes(i);
	struct place p;
	int error = check_place(c, pointer, i->off, size, true, &p);

	if (error)
		return error;
	put_fact(c, &p);
	if (p.kind == VALUE_STACK)
		return stack_write(c, &p, size, v);
	use_map(c, p.which, MAP_WRITTEN);
	return v->kind == VALUE_NUMBER ? 0 : refuse(c, "puts a pointer into a map");
}

static int atomic_on_stack(struct checking *c, const struct place *p, uint32_t size)
{
	struct value before, unknown = value_number(number_unknown());
	int error = stack_read(c, p, size, &before);

	if (!error && before.kind != VALUE_NUMBER)
		return refuse(c, "calculates with a pointer on the stack");
	return error ?: stack_write(c, p, size, &unknown);
}

static void use_by_atomic(struct checking *c, uint8_t map)
{
	const struct bpf_insn *i = &step_of(c)->insn;

	if (i->imm == BPF_ADD)
		use_map(c, map, insn_bytes(i) == 8 ? MAP_ADDED_8 : MAP_ADDED_4);
	else
		use_map(c, map, MAP_ATOMIC | MAP_WRITTEN | (atomic_fetches(i) ? MAP_READ : 0));
}

static int check_atomic(struct checking *c)
{
	const struct bpf_insn *i = &step_of(c)->insn;
	uint32_t size = insn_bytes(i);
	struct place p;
	int error;

	if (size < 4 || !atomic_is_known(i))
		return refuse(c, "unknown atomic 0x%02x", (unsigned int)i->imm);
	error = check_place(c, register_of(c, i->dst_reg), i->off, size, true, &p);
	if (atomic_is_exchange_if(i))
		error = error ?: check_set(c, 0);
	if (error)
		return error;
	put_fact(c, &p);
	if (register_of(c, i->src_reg)->kind != VALUE_NUMBER ||
		(atomic_is_exchange_if(i) && register_of(c, 0)->kind != VALUE_NUMBER))
		return refuse(c, "calculates with a pointer");
	if (p.is_constant && !p.aligned)
		return refuse(c, "an atomic of %u bytes is not aligned", size);
	if (p.kind == VALUE_STACK)
		error = atomic_on_stack(c, &p, size);
	else
		use_by_atomic(c, p.which);
	if (!error && atomic_fetches(i))
		*register_of(c, atomic_result(i)) =
			value_number(number_low(number_unknown(), size * 8, false));
	return error;
}

int check_store(struct checking *c)
{
	const struct bpf_insn *i = &step_of(c)->insn;
	struct value v = value_number(number_constant((uint64_t)(int64_t)i->imm));
	int error = check_set(c, i->dst_reg);

	if (BPF_CLASS(i->code) == BPF_STX) {
		error = error ?: check_set(c, i->src_reg);
		v = *register_of(c, i->src_reg);
	}
	if (error)
		return error;
	if (insn_is_atomic(i))
		return check_atomic(c);
	if (BPF_MODE(i->code) != BPF_MEM)
		return refuse(c, "unknown instruction 0x%02x", i->code);
	return store_value(c, register_of(c, i->dst_reg), &v);
}
