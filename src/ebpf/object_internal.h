/* SPDX-License-Identifier: MIT */
/* The steps of reading an object, in their order; nobody else includes this. Each: 0 or -errno with
 * error_text. */
#pragma once

#include "ebpf/image.h"
#include "ebpf/object.h"

#define EBPF_CODE_NONE UINT32_MAX

/* Where the code of each section is in the object's instructions; EBPF_CODE_NONE: it has none. */
struct ebpf_code_map {
	struct vec(uint32_t) first;
};

/* The number of a position in a section of code. */
static inline uint32_t ebpf_code_at(
	const struct ebpf_object *o, const struct ebpf_code_map *code, size_t section, uint64_t at)
{
	const struct ebpf_section *s;

	if (section >= code->first.count || code->first.items[section] == EBPF_CODE_NONE)
		return EBPF_CODE_NONE;
	s = &o->image->sections.items[section];
	if (at >= s->size || at % sizeof(struct bpf_insn))
		return EBPF_CODE_NONE;
	return code->first.items[section] + (uint32_t)(at / sizeof(struct bpf_insn));
}

int ebpf_read_code(struct ebpf_object *o, struct ebpf_code_map *code);
int ebpf_read_functions(struct ebpf_object *o, const struct ebpf_code_map *code);
int ebpf_read_maps(struct ebpf_object *o);
/* The map that a symbol of the file stands for, -1: none. *ret_offset: where in its value. */
int ebpf_map_of_symbol(
	const struct ebpf_object *o, const struct ebpf_symbol *symbol, uint64_t *ret_offset);
int ebpf_relocate(struct ebpf_object *o, const struct ebpf_code_map *code);
int ebpf_read_lines(struct ebpf_object *o, const struct ebpf_code_map *code);
/* Which maps programs for the kernel name, also in functions that they call. */
void ebpf_mark_cpu_maps(struct ebpf_object *o);
