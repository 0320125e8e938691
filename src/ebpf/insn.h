/* SPDX-License-Identifier: MIT */
/*
 * What linux/bpf.h of older kernels does not name yet: instructions of cpu v4, and what our
 * programs' instructions refer to once an object is read.
 *
 * Instruction numbers count through all code of an object. Behind the relocations,
 *
 *	ld_imm64, src BPF_PSEUDO_MAP_FD		imm: number of the map
 *	ld_imm64, src BPF_PSEUDO_MAP_VALUE	imm: number of the map, next imm: offset in it
 *	ld_imm64, src BPF_PSEUDO_FUNC		imm: first instruction of a function
 *	call, src BPF_PSEUDO_CALL		imm: first instruction of a function
 *	either, src INSN_UNBOUND		nothing that the object has
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80
#endif
#ifndef BPF_PSEUDO_FUNC
#define BPF_PSEUDO_FUNC 4
#endif

#define INSN_UNBOUND 15

#define INSN_LD_IMM64 (BPF_LD | BPF_IMM | BPF_DW)
#define INSN_CALL     (BPF_JMP | BPF_CALL)
#define INSN_EXIT     (BPF_JMP | BPF_EXIT)
#define INSN_JA	      (BPF_JMP | BPF_JA)
#define INSN_JA32     (BPF_JMP32 | BPF_JA) /* cpu v4: the distance is in imm */

static inline bool insn_is_wide(const struct bpf_insn *i)
{
	return i->code == INSN_LD_IMM64;
}

static inline bool insn_is_jump_class(const struct bpf_insn *i)
{
	return BPF_CLASS(i->code) == BPF_JMP || BPF_CLASS(i->code) == BPF_JMP32;
}

/* Whether it may go elsewhere than on: not calls and exits. */
static inline bool insn_is_jump(const struct bpf_insn *i)
{
	return insn_is_jump_class(i) && BPF_OP(i->code) != BPF_CALL && BPF_OP(i->code) != BPF_EXIT;
}

static inline bool insn_is_goto(const struct bpf_insn *i)
{
	return i->code == INSN_JA || i->code == INSN_JA32;
}

/* How far a jump goes, from the instruction behind it. */
static inline int32_t insn_distance(const struct bpf_insn *i)
{
	return i->code == INSN_JA32 ? i->imm : i->off;
}

static inline bool insn_is_function_call(const struct bpf_insn *i)
{
	return i->code == INSN_CALL && i->src_reg == BPF_PSEUDO_CALL;
}

static inline bool insn_refers_to_map(const struct bpf_insn *i)
{
	return insn_is_wide(i) &&
	       (i->src_reg == BPF_PSEUDO_MAP_FD || i->src_reg == BPF_PSEUDO_MAP_VALUE);
}

/* Bytes of a memory access. */
static inline unsigned int insn_bytes(const struct bpf_insn *i)
{
	switch (BPF_SIZE(i->code)) {
	case BPF_DW:
		return 8;
	case BPF_W:
		return 4;
	case BPF_H:
		return 2;
	}
	return 1;
}

static inline bool insn_is_atomic(const struct bpf_insn *i)
{
	return BPF_CLASS(i->code) == BPF_STX && BPF_MODE(i->code) == BPF_ATOMIC;
}

/* Whether the fields that it has no use for are 0, as the kernel demands: one that has something
 * there means something that is not known here. Of a wide one both halves are read. */
bool insn_is_well_formed(const struct bpf_insn *i);
