// SPDX-License-Identifier: MIT
/* Which fields an instruction has no use for. */
#include "ebpf/insn.h"

enum field { DST = 1, SRC = 2, OFF = 4, IMM = 8 };

static unsigned int used_by_alu(const struct bpf_insn *i)
{
	switch (BPF_OP(i->code)) {
	case BPF_NEG:
		return DST;
	case BPF_END:
		return DST | IMM;
	}
	/* the offset says what kind of division or move it is */
	return DST | OFF | (BPF_SRC(i->code) == BPF_X ? SRC : IMM);
}

static unsigned int used_by_jump(const struct bpf_insn *i)
{
	switch (BPF_OP(i->code)) {
	case BPF_EXIT:
		return 0;
	case BPF_CALL:
		return i->code == INSN_CALL ? SRC | IMM : DST | IMM; /* others are not known */
	case BPF_JA:
		return i->code == INSN_JA32 ? IMM : OFF;
	}
	return DST | OFF | (BPF_SRC(i->code) == BPF_X ? SRC : IMM);
}

static unsigned int used_fields(const struct bpf_insn *i)
{
	switch (BPF_CLASS(i->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return used_by_alu(i);
	case BPF_JMP:
	case BPF_JMP32:
		return used_by_jump(i);
	case BPF_LDX:
		return DST | SRC | OFF;
	case BPF_ST:
		return DST | OFF | IMM;
	case BPF_STX:
		return DST | SRC | OFF | (insn_is_atomic(i) ? IMM : 0);
	}
	return DST | SRC | IMM; /* wide */
}

bool insn_is_well_formed(const struct bpf_insn *i)
{
	unsigned int used = used_fields(i);
	const struct bpf_insn *rest = i + 1;

	if (insn_is_wide(i) && (rest->code || rest->dst_reg || rest->src_reg || rest->off))
		return false;
	return (used & DST || !i->dst_reg) && (used & SRC || !i->src_reg) &&
	       (used & OFF || !i->off) && (used & IMM || !i->imm);
}
