// SPDX-License-Identifier: MIT
/*
 * Code and functions. Several programs may share a section, as functions do: each begins at its
 * symbol. A program is a global function outside of .text, as libbpf has it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ebpf/object_internal.h"

#define INSNS_MAX     (1u << 18)
#define FUNCTIONS_MAX 1024

static int read_section_code(struct ebpf_object *o, const struct ebpf_section *s)
{
	size_t count = s->size / sizeof(struct bpf_insn);

	if (s->size % sizeof(struct bpf_insn))
		return error_set(-EINVAL, "section '%s' ends in an instruction", s->name);
	if (count > INSNS_MAX - o->insns.count)
		return error_set(-E2BIG, "an eBPF object has more than %u instructions", INSNS_MAX);
	if (vec_reserve(&o->insns, count))
		return -ENOMEM;
	if (count)
		memcpy(o->insns.items + o->insns.count, s->data, s->size);
	o->insns.count += count;
	return 0;
}

int ebpf_read_code(struct ebpf_object *o, struct ebpf_code_map *code)
{
	vec_foreach (s, &o->image->sections) {
		bool has_code = s->is_code && s->has_bytes;
		uint32_t first = has_code ? (uint32_t)o->insns.count : EBPF_CODE_NONE;
		int error = vec_push(&code->first, first);

		if (!error && has_code)
			error = read_section_code(o, s);
		if (error)
			return error;
	}
	return 0;
}

/* The second half of a wide instruction is nowhere to begin or to end, and has no code. */
static int check_whole(const struct ebpf_object *o, const struct ebpf_function *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		const struct bpf_insn *insn = &o->insns.items[f->first + i];

		if (insn->dst_reg > 10 || insn->src_reg > 10)
			return error_set(-EINVAL, "'%s', instruction %u: there is no such register",
				f->name, i);
		if (!insn_is_wide(insn))
			continue;
		if (++i >= f->count || insn[1].code)
			return error_set(-EINVAL,
				"'%s', instruction %u: half of a wide one is missing", f->name,
				i - 1);
	}
	return 0;
}

static int add_function(
	struct ebpf_object *o, const struct ebpf_code_map *code, const struct ebpf_symbol *s)
{
	const struct ebpf_section *section = &o->image->sections.items[s->section];
	struct ebpf_function f = {
		.name = s->name,
		.first = ebpf_code_at(o, code, s->section, s->value),
		.count = (uint32_t)(s->size / sizeof(struct bpf_insn)),
		.section = s->section,
		.is_global = s->binding != STB_LOCAL,
	};

	if (f.first == EBPF_CODE_NONE || !s->size || s->size % sizeof(struct bpf_insn) ||
		s->size > section->size - s->value)
		return error_set(
			-EINVAL, "function '%s' of an eBPF object lies outside its code", s->name);
	if (o->functions.count >= FUNCTIONS_MAX)
		return error_set(
			-E2BIG, "an eBPF object has more than %d functions", FUNCTIONS_MAX);
	return check_whole(o, &f) ?: vec_push(&o->functions, f);
}

static int by_position(const void *a, const void *b)
{
	const struct ebpf_function *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static int add_program(struct ebpf_object *o, uint32_t function)
{
	const struct ebpf_function *f = &o->functions.items[function];
	struct ebpf_program p = {
		.name = f->name,
		.section = o->image->sections.items[f->section].name,
		.function = function,
	};
	int kind = ebpf_section_parse(p.section, p.name, &p.site);

	if (kind < 0)
		return kind;
	if (!kind) {
		o->cpu_program_count++;
		return 0;
	}
	if (o->programs.count >= EBPF_PROGRAMS_MAX)
		return error_set(-E2BIG, "an eBPF object has more than %d programs for GPUs",
			EBPF_PROGRAMS_MAX);
	return vec_push(&o->programs, p);
}

/* Functions that overlap would make one instruction belong to two of them. */
static int check_apart(const struct ebpf_object *o)
{
	for (size_t i = 1; i < o->functions.count; i++) {
		const struct ebpf_function *f = &o->functions.items[i - 1];

		if (f->first + f->count > f[1].first)
			return error_set(
				-EINVAL, "functions '%s' and '%s' overlap", f->name, f[1].name);
	}
	return 0;
}

int ebpf_read_functions(struct ebpf_object *o, const struct ebpf_code_map *code)
{
	int error = 0;

	vec_foreach (s, &o->image->symbols) {
		if (s->type == STT_FUNC && s->section)
			error = add_function(o, code, s);
		if (error)
			return error;
	}
	if (o->functions.count)
		qsort(o->functions.items, o->functions.count, sizeof(struct ebpf_function),
			by_position);
	error = check_apart(o);
	for (uint32_t i = 0; !error && i < o->functions.count; i++) {
		const struct ebpf_function *f = &o->functions.items[i];

		if (f->is_global && strcmp(o->image->sections.items[f->section].name, ".text"))
			error = add_program(o, i);
	}
	return error;
}

static void mark_function(struct ebpf_object *o, size_t function, bool *seen)
{
	const struct ebpf_function *f = &o->functions.items[function];

	if (seen[function])
		return;
	seen[function] = true;
	for (uint32_t i = f->first; i < f->first + f->count; i++) {
		const struct bpf_insn *insn = &o->insns.items[i];

		if (insn_refers_to_map(insn) && (size_t)insn->imm < o->maps.count)
			o->maps.items[insn->imm].used_by_cpu = true;
		if (insn_is_function_call(insn) ||
			(insn_is_wide(insn) && insn->src_reg == BPF_PSEUDO_FUNC)) {
			const struct ebpf_function *called =
				ebpf_object_function(o, (uint32_t)insn->imm);

			if (called)
				mark_function(o, (size_t)(called - o->functions.items), seen);
		}
	}
}

static bool is_gpu_program(const struct ebpf_object *o, size_t function)
{
	vec_foreach (p, &o->programs)
		if (p->function == function)
			return true;
	return false;
}

void ebpf_mark_cpu_maps(struct ebpf_object *o)
{
	bool seen[FUNCTIONS_MAX] = {false};

	for (size_t i = 0; i < o->functions.count; i++) {
		const struct ebpf_function *f = &o->functions.items[i];

		if (f->is_global && !is_gpu_program(o, i) &&
			strcmp(o->image->sections.items[f->section].name, ".text"))
			mark_function(o, i, seen);
	}
}
