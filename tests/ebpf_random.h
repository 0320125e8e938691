/* SPDX-License-Identifier: MIT */
/*
 * Random programs that pass the check: r6, r7 and r8 always hold numbers, r9 the context; the stack
 * from -64 is written at the start. Below it: -72 and -80 count rounds of loops, -88 is a key of 4
 * bytes, -112 one of 12 bytes, -136 a value of 24 bytes, -144 a pointer, -152 what bpf_loop's
 * function adds to.
 */
#pragma once

#include "ebpf_program.h"
#include "random.h"

#define RANDOM_INSNS 700

struct writer {
	struct bpf_insn insns[RANDOM_INSNS];
	uint32_t count;
	/* Where calls of the two functions stand. */
	uint32_t calls[64], loops[64];
	unsigned int call_count, loop_count, depth;
	bool wild;	/* accesses at places that are not known */
	bool only_adds; /* nothing else is done with arrays */
	bool quiet;	/* nothing that only one lane of a warp may do, but for these additions */
};

static const uint8_t random_sizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW};

static inline void put_insn(struct writer *w, struct bpf_insn i)
{
	if (w->count < RANDOM_INSNS)
		w->insns[w->count++] = i;
}

#define PUT_ALL(w, ...)                                                                            \
	do {                                                                                       \
		const struct bpf_insn all_[] = {__VA_ARGS__};                                      \
		for (size_t i_ = 0; i_ < sizeof(all_) / sizeof(all_[0]); i_++)                     \
			put_insn(w, all_[i_]);                                                     \
	} while (0)

static inline uint8_t some_register(void)
{
	return (uint8_t)(6 + random_below(3));
}

static inline int32_t some_constant(void)
{
	switch (random_below(6)) {
	case 0:
		return (int32_t)random_below(3) - 1;
	case 1:
		return INT32_MIN;
	case 2:
		return (int32_t)random_below(64);
	case 3:
		return INT32_MAX;
	}
	return (int32_t)random_u64();
}

static inline void write_alu(struct writer *w)
{
	static const uint8_t ops[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_MOD, BPF_OR, BPF_AND,
		BPF_XOR, BPF_MOV, BPF_NEG, BPF_LSH, BPF_RSH, BPF_ARSH, BPF_END};
	uint8_t op = ops[random_below(sizeof(ops))], class = random_below(2) ? BPF_ALU : BPF_ALU64;
	uint8_t source = random_below(2) ? BPF_X : BPF_K;
	struct bpf_insn i = I(class | op | source, some_register(), 0, 0, 0);

	if (op == BPF_END)
		i.imm = 16 << random_below(3);
	else if (op == BPF_NEG)
		i.code = class | op;
	else if (source == BPF_X)
		i.src_reg = some_register();
	else
		i.imm = some_constant();
	if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
		i.imm &= class == BPF_ALU ? 31 : 63;
	if (op == BPF_END && class == BPF_ALU64)
		i.code = class | op;
	if (op == BPF_DIV || op == BPF_MOD)
		i.off = (int16_t)random_below(2);
	if (op == BPF_MOV && source == BPF_X && random_below(2))
		i.off = (int16_t)(8 << random_below(class == BPF_ALU ? 2 : 3));
	put_insn(w, i);
}

static inline void write_argument(struct writer *w)
{
	uint32_t size = random_below(4), bytes = 1u << size;

	put_insn(w, LOAD(random_sizes[size], some_register(), 9,
			    (int16_t)(random_below(96 / bytes) * bytes)));
}

static inline int16_t some_place(uint32_t bytes)
{
	if (random_below(6))
		return (int16_t)(-64 + (int)(random_below(64 / bytes) * bytes));
	return (int16_t)(-64 + (int)random_below(64 - bytes));
}

static inline void write_stack(struct writer *w)
{
	uint32_t size = random_below(4), bytes = 1u << size;
	int16_t at = some_place(bytes);
	uint8_t z = random_sizes[size];

	switch (random_below(5)) {
	case 0:
		put_insn(w, STORE(z, 10, at, some_register()));
		break;
	case 1:
		put_insn(w, PUT(z, 10, at, some_constant()));
		break;
	case 2:
		put_insn(w, LOAD(z, some_register(), 10, at));
		break;
	case 3:
		if (size < 3)
			put_insn(w, I(BPF_LDX | BPF_MEMSX | z, some_register(), 10, at, 0));
		break;
	case 4:
		if (size >= 2)
			put_insn(w, ATOM(z, 10, (int16_t)(at & -(int)bytes), some_register(),
					    random_below(2) ? BPF_ADD : BPF_XOR | BPF_FETCH));
		break;
	}
}

static inline void write_wild_stack(struct writer *w)
{
	uint8_t r = some_register(), z = random_sizes[random_below(4)];

	PUT_ALL(w, MOVX(1, 10), MOVX(2, r));
	if (random_below(4))
		put_insn(w, ALU(BPF_AND, 2, random_below(2) ? 56 : 63));
	PUT_ALL(w, ALUX(BPF_ADD, 1, 2), ALU(BPF_ADD, 1, -64));
	if (random_below(2))
		put_insn(w, STORE(z, 1, 0, some_register()));
	else
		put_insn(w, LOAD(z, some_register(), 1, 0));
}

/* What is done with a pointer in r0 into a value of so many bytes. */
static inline void write_access(struct writer *w, uint32_t value_bytes)
{
	static const int32_t atomics[] = {BPF_ADD, BPF_OR, BPF_AND, BPF_XOR, BPF_ADD | BPF_FETCH,
		BPF_OR | BPF_FETCH, BPF_AND | BPF_FETCH, BPF_XOR | BPF_FETCH, ATOMIC_EXCHANGE,
		ATOMIC_EXCHANGE_IF};
	uint32_t size = random_below(4), bytes = 1u << size;
	uint8_t z = random_sizes[size], r = some_register();
	int16_t at = (int16_t)random_below(value_bytes - bytes + 1);

	if (w->wild && random_below(3) == 0) {
		put_insn(w, MOVX(2, some_register()));
		if (random_below(4))
			put_insn(w, ALU(BPF_AND, 2, random_below(2) ? 31 : 7));
		put_insn(w, ALUX(BPF_ADD, 0, 2));
	}
	switch (random_below(4)) {
	case 0:
		put_insn(w, LOAD(z, r, 0, at));
		break;
	case 1:
		put_insn(w, STORE(z, 0, at, r));
		break;
	case 2:
		put_insn(w, PUT(z, 0, at, some_constant()));
		break;
	case 3:
		if (size < 2)
			break;
		PUT_ALL(w, MOVX(1, 0), MOVX(0, some_register()),
			ATOM(z, 1, (int16_t)(at & -(int)bytes), r, atomics[random_below(10)]));
		PUT_ALL(w, ALUX(BPF_XOR, r, 0));
		break;
	}
}

/* r2 = a key of 4 bytes, mostly one that is there. */
static inline void write_key(struct writer *w)
{
	PUT_ALL(w, MOVX(1, some_register()));
	if (random_below(4))
		put_insn(w, ALU(BPF_AND, 1, random_below(2) ? 3 : 15));
	if (random_below(4) == 0)
		put_insn(w, MOV(1, (int32_t)random_below(4)));
	PUT_ALL(w, STORE(BPF_W, 10, -88, 1), MOVX(2, 10), ALU(BPF_ADD, 2, -88));
}

static inline void write_array(struct writer *w)
{
	int map = random_below(2) ? COUNTS : PER_SM;
	uint32_t jump;

	write_key(w);
	if (w->only_adds) {
		PUT_ALL(w, MAP(1, map), CALL(1), JUMP(BPF_JEQ, 0, 0, 1),
			ATOM(BPF_DW, 0, 0, some_register(), BPF_ADD));
		return;
	}
	if (random_below(4) == 0) {
		PUT_ALL(w, MOVX(3, 10), ALU(BPF_ADD, 3, -(int)(8 + random_below(7) * 8)),
			MOV(4, (int)random_below(2)), MAP(1, map), CALL(2), ALUX(BPF_XOR, 6, 0));
		return;
	}
	PUT_ALL(w, MAP(1, map), CALL(1));
	jump = w->count;
	put_insn(w, JUMP(BPF_JEQ, 0, 0, 0));
	if (random_below(3) == 0)
		PUT_ALL(w, STORE(BPF_DW, 10, -144, 0), MOV(0, 1), LOAD(BPF_DW, 0, 10, -144));
	write_access(w, 8);
	if (jump < RANDOM_INSNS)
		w->insns[jump].off = (int16_t)(w->count - jump - 1);
}

static inline void write_variables(struct writer *w)
{
	PUT_ALL(w, VARIABLE(0, random_below(3) ? VARIABLES : CONSTANTS, 0));
	if (w->insns[w->count - 2].imm == CONSTANTS || w->quiet)
		put_insn(w, LOAD(random_sizes[random_below(4)], some_register(), 0,
				    (int16_t)random_below(24)));
	else
		write_access(w, 32);
}

static inline void write_hash_key(struct writer *w)
{
	for (int i = 0; i < 3; i++)
		PUT_ALL(w, MOVX(1, some_register()), ALU(BPF_AND, 1, 3),
			STORE(BPF_W, 10, (int16_t)(-112 + i * 4), 1));
	PUT_ALL(w, MOVX(2, 10), ALU(BPF_ADD, 2, -112));
}

static inline void write_hash(struct writer *w)
{
	uint32_t what = random_below(5), jump;

	write_hash_key(w);
	if (what < 2) {
		for (int i = 0; i < 3; i++)
			put_insn(w, STORE(BPF_DW, 10, (int16_t)(-136 + i * 8), some_register()));
		PUT_ALL(w, MOVX(3, 10), ALU(BPF_ADD, 3, -136), MOV(4, (int)random_below(3)));
		if (random_below(8) == 0)
			PUT_ALL(w, MOVX(4, some_register()), ALU(BPF_AND, 4, 1));
		PUT_ALL(w, MAP(1, PAIRS), CALL(2), ALUX(BPF_XOR, 7, 0));
		return;
	}
	PUT_ALL(w, MAP(1, PAIRS), CALL(what == 2 ? 3 : 1));
	if (what == 2) {
		put_insn(w, ALUX(BPF_ADD, 8, 0));
		return;
	}
	jump = w->count;
	put_insn(w, JUMP(BPF_JEQ, 0, 0, 0));
	write_access(w, 24);
	if (jump < RANDOM_INSNS)
		w->insns[jump].off = (int16_t)(w->count - jump - 1);
}

static inline void write_sent(struct writer *w)
{
	if (random_below(2)) {
		PUT_ALL(w, MOV(1, 0), MAP(2, RING), MOV(3, 0), MOVX(4, 10), ALU(BPF_ADD, 4, -64),
			MOV(5, (int)(1 + random_below(64))), CALL(25), ALUX(BPF_XOR, 6, 0));
		return;
	}
	PUT_ALL(w, MAP(1, RING), MOV(2, 20), MOV(3, 0), CALL(131), JUMP(BPF_JEQ, 0, 0, 5),
		STORE(BPF_DW, 0, 8, some_register()), PUT(BPF_H, 0, 2, some_constant()), MOVX(1, 0),
		MOV(2, 0), CALL(132));
}

static inline void write_call(struct writer *w)
{
	PUT_ALL(w, MOVX(1, some_register()), MOVX(2, some_register()), CALL_AT(0),
		MOVX(some_register(), 0));
	if (w->count <= RANDOM_INSNS && w->call_count < 64)
		w->calls[w->call_count++] = w->count - 2;
}

static inline void write_loop_call(struct writer *w)
{
	PUT_ALL(w, STORE(BPF_DW, 10, -152, some_register()), MOVX(1, some_register()),
		ALU(BPF_AND, 1, 15));
	/* Of its number of rounds only the lower half counts. */
	if (random_below(2))
		PUT_ALL(w, MOV(2, 1), ALU(BPF_LSH, 2, 33), ALUX(BPF_OR, 1, 2));
	PUT_ALL(w, FUNCTION(2, 0), MOVX(3, 10), ALU(BPF_ADD, 3, -152), MOV(4, 0), CALL(181),
		LOAD(BPF_DW, 7, 10, -152), ALUX(BPF_ADD, 6, 0));
	if (w->count <= RANDOM_INSNS && w->loop_count < 64)
		w->loops[w->loop_count++] = w->count - 8;
}

static inline void write_statement(struct writer *w);

static inline void write_jump(struct writer *w)
{
	static const uint8_t ops[] = {BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE,
		BPF_JSET, BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE};
	uint8_t source = random_below(2) ? BPF_X : BPF_K;
	uint32_t jump = w->count, n = random_below(4);

	put_insn(w,
		I((random_below(2) ? BPF_JMP : BPF_JMP32) | ops[random_below(sizeof(ops))] | source,
			some_register(), source == BPF_X ? some_register() : 0, 0,
			source == BPF_X ? 0 : some_constant()));
	w->depth++;
	while (n--)
		write_statement(w);
	w->depth--;
	if (jump < RANDOM_INSNS)
		w->insns[jump].off = (int16_t)(w->count - jump - 1);
}

/* Over one instruction, also the way cpu v4 does it. */
static inline void write_goto(struct writer *w)
{
	put_insn(w, random_below(2) ? GOTO(1) : I(INSN_JA32, 0, 0, 0, 1));
	put_insn(w, MOV(6, 3));
}

static inline void write_loop(struct writer *w)
{
	int16_t at = (int16_t)(-72 - 8 * (int)(w->depth & 1));
	uint32_t begin, n = 1 + random_below(3);

	put_insn(w, PUT(BPF_DW, 10, at, (int)(1 + random_below(5))));
	begin = w->count;
	w->depth++;
	while (n--)
		write_statement(w);
	w->depth--;
	PUT_ALL(w, LOAD(BPF_DW, 1, 10, at), ALU(BPF_SUB, 1, 1), STORE(BPF_DW, 10, at, 1));
	put_insn(w, JUMP(BPF_JNE, 1, 0, (int16_t)((int)begin - (int)w->count - 1)));
}

static inline void write_statement(struct writer *w)
{
	uint32_t what = random_below(16);

	if (w->count > RANDOM_INSNS - 250)
		return;
	if (w->quiet && (what > 14 || (what > 10 && what < 14)))
		what = 9;
	if (what < 5)
		write_alu(w);
	else if (what == 5)
		write_argument(w);
	else if (what < 8)
		write_stack(w);
	else if (what == 8 && w->wild)
		write_wild_stack(w);
	else if (what == 9)
		write_array(w);
	else if (what == 10)
		write_variables(w);
	else if (what == 11)
		write_hash(w);
	else if (what == 12 && random_below(3) == 0)
		write_sent(w);
	else if (what == 13)
		random_below(2) ? write_call(w) : write_loop_call(w);
	else if (what == 14 && w->depth < 3)
		write_jump(w);
	else if (what == 15 && w->depth < 2)
		write_loop(w);
	else if (random_below(4) == 0)
		write_goto(w);
	else
		write_alu(w);
}

/* The functions: one of two numbers, and one that bpf_loop calls. */
static inline void write_functions(struct writer *w, uint32_t lengths[4])
{
	lengths[0] = w->count;
	for (unsigned int i = 0; i < w->call_count; i++)
		w->insns[w->calls[i]].imm = (int32_t)w->count;
	PUT_ALL(w, STORE(BPF_DW, 10, -8, 1), STORE(BPF_DW, 10, -16, 2), MOVX(6, 1), MOVX(7, 2),
		MOVX(8, 2));
	for (int i = 0; i < 4; i++)
		write_alu(w);
	PUT_ALL(w, LOAD(BPF_W, 0, 10, -12), ALUX(BPF_ADD, 0, 6), JUMPX(BPF_JSGT, 7, 8, 1), EXIT,
		ALUX(BPF_SUB, 0, 7), EXIT);
	lengths[1] = w->count - lengths[0];
	for (unsigned int i = 0; i < w->loop_count; i++)
		w->insns[w->loops[i]].imm = (int32_t)w->count;
	PUT_ALL(w, LOAD(BPF_DW, 3, 2, 0), ALU(BPF_MUL, 3, 3), ALUX(BPF_ADD, 3, 1),
		STORE(BPF_DW, 2, 0, 3), MOV(0, 0), JUMP(BPF_JLT, 1, 9, 1), MOV(0, 1), EXIT);
	lengths[2] = w->count - lengths[0] - lengths[1];
	lengths[3] = 0;
}

/* Something else in place of some of it. */
static inline void change_program(struct writer *w)
{
	for (uint32_t n = 1 + random_below(3); n; n--) {
		struct bpf_insn *i = &w->insns[random_below(w->count)];

		switch (random_below(6)) {
		case 0:
			i->imm =
				random_below(2) ? some_constant() : (int32_t)((uint32_t)i->imm + 1);
			break;
		case 1:
			i->off = (int16_t)(i->off + (int)random_below(17) - 8);
			break;
		case 2:
			i->dst_reg = (uint8_t)random_below(11);
			break;
		case 3:
			i->src_reg = (uint8_t)random_below(11);
			break;
		case 4:
			i->code ^= (uint8_t)(1u << random_below(8));
			break;
		case 5:
			*i = w->insns[random_below(w->count)];
			break;
		}
	}
}

static inline void write_program(struct writer *w, uint32_t lengths[4])
{
	uint32_t statements = 5 + random_below(40);

	*w = (struct writer){.wild = random_below(2), .only_adds = random_below(4) == 0};
	w->quiet = w->only_adds && random_below(2);
	PUT_ALL(w, MOVX(9, 1), LOAD(BPF_DW, 6, 9, 0), LOAD(BPF_DW, 7, 9, 8),
		LOAD(BPF_DW, 8, 9, 16));
	for (int at = -64; at < 0; at += 8)
		put_insn(w, PUT(BPF_DW, 10, (int16_t)at, some_constant()));
	while (statements--)
		write_statement(w);
	PUT_ALL(w, MOVX(0, 6), ALUX(BPF_XOR, 0, 7), ALUX(BPF_ADD, 0, 8), LOAD(BPF_DW, 1, 10, -8),
		ALUX(BPF_XOR, 0, 1), EXIT);
	write_functions(w, lengths);
}
