/* SPDX-License-Identifier: MIT */
/* eBPF programs written down instruction by instruction, as objects that were read. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "ebpf/atomic.h"
#include "ebpf/helpers.h"
#include "ebpf/object.h"

#define I(code_, dst, src, off_, imm_)                                                             \
	((struct bpf_insn){.code = (code_),                                                        \
		.dst_reg = (dst),                                                                  \
		.src_reg = (src),                                                                  \
		.off = (off_),                                                                     \
		.imm = (imm_)})
#define MOV(d, n)	     I(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, n)
#define MOVX(d, s)	     I(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ALU(op, d, n)	     I(BPF_ALU64 | (op) | BPF_K, d, 0, 0, n)
#define ALUX(op, d, s)	     I(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define LOAD(z, d, s, o)     I(BPF_LDX | BPF_MEM | (z), d, s, o, 0)
#define STORE(z, d, o, s)    I(BPF_STX | BPF_MEM | (z), d, s, o, 0)
#define PUT(z, d, o, n)	     I(BPF_ST | BPF_MEM | (z), d, 0, o, n)
#define ATOM(z, d, o, s, op) I(BPF_STX | BPF_ATOMIC | (z), d, s, o, op)
#define JUMP(op, d, n, o)    I(BPF_JMP | (op) | BPF_K, d, 0, o, n)
#define JUMPX(op, d, s, o)   I(BPF_JMP | (op) | BPF_X, d, s, o, 0)
#define GOTO(o)		     I(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define CALL(n)		     I(BPF_JMP | BPF_CALL, 0, 0, 0, n)
#define CALL_AT(n)	     I(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, n)
#define MAP(d, n)	     I(INSN_LD_IMM64, d, BPF_PSEUDO_MAP_FD, 0, n), I(0, 0, 0, 0, 0)
#define VARIABLE(d, n, o)    I(INSN_LD_IMM64, d, BPF_PSEUDO_MAP_VALUE, 0, n), I(0, 0, 0, 0, o)
#define WIDE(d, low, high)   I(INSN_LD_IMM64, d, 0, 0, low), I(0, 0, 0, 0, high)
#define FUNCTION(d, n)	     I(INSN_LD_IMM64, d, BPF_PSEUDO_FUNC, 0, n), I(0, 0, 0, 0, 0)
#define EXIT		     I(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* Maps of all programs here, by their numbers in MAP(). */
enum { COUNTS, PAIRS, RING, PER_THREAD, CONSTANTS, VARIABLES, PER_SM, THREE, NO_GPU_MAP };

static const struct {
	const char *name;
	uint32_t type, key_size, value_size, max_entries;
	bool is_section, is_readonly;
} program_maps[] = {
	{"counts", 2, 4, 8, 16, false, false},
	{"pairs", 1, 12, 24, 100, false, false},
	{"ring", 1527, 4, 64, 4096, false, false},
	{"per_thread", 1502, 4, 16, 2, false, false},
	{".rodata", 2, 4, 32, 1, true, true},
	{".data", 2, 4, 32, 1, true, false},
	{"per_sm", 6, 4, 8, 4, false, false},
	{"three", 2, 4, 8, 3, false, false},
	{"lru", 9, 4, 8, 16, false, false},
};

static const uint8_t program_constants[32] = "hello %d %s\n";

/* `lengths`: of each function, the first of which is the program; ends with 0. */
static inline void program_make(struct ebpf_object *o, enum ebpf_where where,
	const struct bpf_insn *insns, const uint32_t *lengths)
{
	uint32_t first = 0;

	*o = (struct ebpf_object){.license = "GPL"};
	for (size_t i = 0; i < sizeof(program_maps) / sizeof(program_maps[0]); i++) {
		struct ebpf_map m = {
			.name = program_maps[i].name,
			.kind = ebpf_map_kind(program_maps[i].type),
			.type = program_maps[i].type,
			.key_size = program_maps[i].key_size,
			.value_size = program_maps[i].value_size,
			.max_entries = program_maps[i].max_entries,
			.is_section = program_maps[i].is_section,
			.is_readonly = program_maps[i].is_readonly,
			.initial = program_maps[i].is_readonly ? program_constants : NULL,
		};

		if (vec_push(&o->maps, m))
			abort();
	}
	for (; *lengths; lengths++) {
		struct ebpf_function f = {
			.name = first ? "function" : "program", .first = first, .count = *lengths};

		first += *lengths;
		if (vec_push(&o->functions, f))
			abort();
	}
	for (uint32_t i = 0; i < first; i++)
		if (vec_push(&o->insns, insns[i]))
			abort();
	if (vec_push(&o->programs, (struct ebpf_program){.name = "program",
					   .section = "gpu/test",
					   .site = {.where = where,
						   .per_thread = true,
						   .has_context = true,
						   .pattern = "*"}}))
		abort();
}

static inline void program_release(struct ebpf_object *o)
{
	vec_release(&o->insns);
	vec_release(&o->functions);
	vec_release(&o->programs);
	vec_release(&o->maps);
}
