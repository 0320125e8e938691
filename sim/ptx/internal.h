/* SPDX-License-Identifier: MIT */
/* What the files of the interpreter share: a decoded module, and a kernel that runs. */
#pragma once

#include "base/vec.h"
#include "ptx/lex.h"
#include "ptx/module.h"
#include "sim/ptx/ptx.h"
#include "sim/ptx/words.h"

enum {
	LANES = 32,
	DEPTH_MAX = 24, /* of calls */
	OPERANDS_MAX = 20,
	BARRIERS = 16,
	LOCAL_MAX = 512 << 10, /* bytes of local memory of a thread */
	SHARED_MAX = 227 << 10,
};

/* Generic addresses that are in no global memory: a window each, which no process has. */
#define SHARED_WINDOW 0xfff1000000000000ull
#define LOCAL_WINDOW  0xfff2000000000000ull
#define PARAM_WINDOW  0xfff3000000000000ull
#define WINDOW_BYTES  0x0000000100000000ull

#define WORD_NUMBER(w) WORD_##w,
enum word { SIM_PTX_WORDS(WORD_NUMBER) WORD_COUNT };

/* 'b', 's', 'u', 'f', or 'p' of a predicate; 0: none. */
struct type {
	char kind;
	uint8_t bytes;
};

enum operand_kind {
	REGISTER,
	IMMEDIATE,
	SPECIAL,
	SINK,	   /* "_" as a destination */
	FRAME,	   /* an address in local memory, from the frame's beginning */
	PARAMETER, /* a place in the frame's parameters */
};

struct operand {
	uint8_t kind;
	uint8_t bytes;	/* of a register; 0 of a predicate */
	bool negated;	/* !%p */
	bool in_memory; /* [...] */
	bool paired;	/* the next is joined to it: "p|q" */
	uint8_t vector; /* the first of so many in braces; 0: none */
	uint32_t index; /* register, or enum special */
	uint64_t value; /* immediate, or what is added to an address */
};

struct lanes;
struct insn;

/* Runs an instruction in the lanes of the mask, all at it: what becomes of them. */
enum outcome {
	NEXT,	 /* they go on behind it */
	MOVED,	 /* it has set their places */
	STALLED, /* they wait at it for others of their warp */
	FAILED,	 /* the launch has the error */
};
typedef enum outcome run_insn(struct lanes *w, const struct insn *i, uint32_t mask);

struct insn {
	run_insn *run;
	const struct op *op;
	struct type type, from; /* the last two types; `from` of one alone is that one */
	uint64_t words[2];	/* bits of enum word */
	bool guarded, guard_negated;
	uint32_t guard;		/* register */
	uint8_t count, results; /* operands; of a call, those that it sets */
	struct operand *operands;
	uint32_t target; /* of a branch */
	struct function *called;
	struct targets *targets; /* of brx.idx */
	struct ptx_text text;	 /* for errors: the statement */
};

static inline bool has(const struct insn *i, enum word w)
{
	return i->words[w / 64] >> (w % 64) & 1;
}

/* A name of an instruction. */
struct op {
	const char *name;
	run_insn *run;
	uint8_t least, most; /* operands */
	/* How a value is computed from up to four, of integers and of floats; NULL: not so. */
	uint64_t (*value)(const struct insn *i, const uint64_t s[4]);
	uint64_t (*of_floats)(const struct insn *i, const uint64_t s[4]);
};

const struct op *sim_ptx_op(const struct ptx_token *name);

/* Parameters and results of a function. */
struct formal {
	bool in_register;
	uint32_t place; /* register, or offset in the frame's parameters */
	uint32_t bytes;
};

struct targets {
	struct targets *next;
	struct ptx_text name;
	uint32_t scope;
	uint32_t *pcs;
	size_t count;
};

struct function {
	struct sim_ptx *module;
	char *name;
	bool entry, defined;
	uint32_t start; /* its first instruction */
	uint32_t registers, params_bytes, local_bytes;
	struct ptx_bounds bounds;
	uint32_t formals_bytes; /* of a kernel */
	size_t formals_count, results_count;
	struct vec(struct formal) formals;
	struct vec(struct formal) results;
	struct targets *targets;
};

/* A variable of the module: in memory of its own, or at an offset in each block's shared memory. */
struct variable {
	char *name;
	enum ptx_space space;
	uint8_t *data;
	uint64_t bytes;
	uint32_t offset;
};

struct sim_ptx {
	char *text; /* its own copy */
	struct ptx_module read;
	struct vec(struct insn) code;
	struct vec(struct function *) functions;
	struct vec(struct variable) variables;
	uint32_t shared_bytes; /* declared, of all its kernels */
};

/* decode.c: the body of a function. 0 or -errno. */
int sim_ptx_decode(struct sim_ptx *m, struct function *f, const struct ptx_function *read);
/* load.c */
struct function *sim_ptx_function(const struct sim_ptx *m, struct ptx_text name);
struct variable *sim_ptx_find(const struct sim_ptx *m, struct ptx_text name);

struct frame {
	const struct function *function;
	uint64_t *registers;
	uint8_t *params;
	uint32_t local; /* where its local memory begins */
	uint32_t back;	/* where to go on behind it */
	const struct insn *call;
};

struct thread {
	uint32_t pc;
	bool ended, carry;
	uint8_t barrier; /* waits there: number + 1 */
	uint8_t depth;	 /* of its frame */
	uint32_t id[3];
	struct frame kernel, *called; /* the first frame; those above it, once there was one */
	uint8_t *local;
	size_t local_bytes;
};

struct block {
	struct launch *launch;
	uint32_t id[3];
	uint64_t number;
	uint32_t sm;
	uint8_t *shared;
	uint32_t shared_bytes;
	struct thread *threads;
	uint64_t *registers; /* of the kernels' frames */
	uint8_t *params;
	struct lanes *warps;
	uint32_t thread_count, warp_count, left; /* threads that have not ended */
	uint32_t waiting[BARRIERS], expected[BARRIERS];
	bool running;
};

struct lanes { /* a warp */
	struct block *block;
	struct thread *threads; /* its first */
	uint32_t number, count;
	uint32_t stalled; /* lanes that wait for others of the warp */
	uint64_t steps;
};

struct launch {
	const struct sim_ptx_launch *asked;
	const struct function *kernel;
	struct sim_ptx *module;
	uint64_t found_base, found_bytes; /* the allocation that was found last */
	uint64_t steps;
	int error; /* of the instruction that failed, with error_text */
};

static inline struct frame *frame_of(struct thread *t)
{
	return t->depth ? &t->called[t->depth - 1] : &t->kernel;
}

#define each_lane(lane, mask)                                                                      \
	for (uint32_t rest_##lane = (mask), lane;                                                  \
		rest_##lane && (lane = (uint32_t)__builtin_ctz(rest_##lane), true);                \
		rest_##lane &= rest_##lane - 1)

/* values.c */
uint64_t read_operand(const struct lanes *w, uint32_t lane, const struct operand *o);
void write_operand(struct lanes *w, uint32_t lane, const struct operand *o, uint64_t value);
uint64_t sign_extend(uint64_t value, unsigned int bytes);
uint64_t cut(uint64_t value, unsigned int bytes);
/* special.c */
bool sim_ptx_special(struct ptx_text name, uint32_t *ret);
uint64_t special_value(const struct lanes *w, uint32_t lane, uint32_t special);
/* lanes.c: those that have not ended. */
uint32_t live_lanes(const struct lanes *w);

run_insn run_compute, run_set_predicate, run_set, run_move, run_convert_address, run_is_space,
	run_nothing, run_load, run_store, run_atomic, run_copy_async, run_branch, run_branch_table,
	run_call, run_return, run_exit, run_trap, run_barrier, run_warp_barrier, run_shuffle,
	run_vote, run_match, run_active_mask, run_reduce, run_add_carry;
