/* SPDX-License-Identifier: MIT */
/* Atomic instructions: what their imm says. */
#pragma once

#include "ebpf/insn.h"

#ifndef BPF_FETCH
#define BPF_FETCH 1
#endif
#define ATOMIC_EXCHANGE	   (0xe0 | BPF_FETCH)
#define ATOMIC_EXCHANGE_IF (0xf0 | BPF_FETCH)

static inline bool atomic_is_exchange_if(const struct bpf_insn *i)
{
	return i->imm == ATOMIC_EXCHANGE_IF;
}

static inline bool atomic_is_known(const struct bpf_insn *i)
{
	switch (i->imm & ~BPF_FETCH) {
	case BPF_ADD:
	case BPF_OR:
	case BPF_AND:
	case BPF_XOR:
		return true;
	}
	return i->imm == ATOMIC_EXCHANGE || i->imm == ATOMIC_EXCHANGE_IF;
}

static inline bool atomic_fetches(const struct bpf_insn *i)
{
	return i->imm & BPF_FETCH;
}

/* The register that gets what was there before. */
static inline uint8_t atomic_result(const struct bpf_insn *i)
{
	return atomic_is_exchange_if(i) ? 0 : i->src_reg;
}
