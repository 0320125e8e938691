/* SPDX-License-Identifier: MIT */
/*
 * Whether a program can do harm, and what is known at each of its steps. The program is followed
 * once for all ways: what holds on each of them holds where they meet (state.h). Refused is what
 * is wrong whatever happens: registers and stack that nothing set, pointers used as something else,
 * accesses that are always outside, look-ups that are used untested, functions that the place does
 * not have. Accesses that may be outside, or not aligned, and loops, are left to the translation,
 * which guards them when the program runs.
 */
#pragma once

#include "ebpf/check/state.h"
#include "ebpf/helpers.h"

struct check_options {
	bool allow_exit;  /* end the thread */
	bool allow_reads; /* read any memory */
};

/* What an operand is known to be. */
struct operand {
	uint8_t kind;  /* enum value_kind */
	uint8_t which; /* map or frame */
	bool maybe_null;
	bool is_constant;
	uint64_t value; /* constant number, or offset of a pointer */
};

enum check_jump { JUMP_EITHER, JUMP_ALWAYS, JUMP_NEVER };

/* What holds at a step whenever it is reached. */
struct fact {
	bool reached;
	uint8_t jump;	/* enum check_jump */
	bool in_bounds; /* its access to memory is */
	bool aligned;	/* the same: to its size */
	bool is_there;	/* its look-up finds an entry in any case */
	uint16_t text;	/* of a call that prints: which of the texts */
	struct operand destination, source;
	struct operand arguments[FLOW_SHARED_REGISTERS]; /* registers 0 to 5 before a call */
};

/* What programs do with a map: bits. */
enum map_use {
	MAP_LOOKED_UP = 1,
	MAP_READ = 2, /* its values */
	MAP_WRITTEN = 4,
	MAP_ADDED_4 = 8, /* by atomics whose result is not used */
	MAP_ADDED_8 = 16,
	MAP_CREATED = 32, /* entries, of zeros, where there are none */
	MAP_SET = 64,	  /* by other updates */
	MAP_DELETED = 128,
	MAP_SENT = 256,	  /* into rings */
	MAP_ATOMIC = 512, /* by other atomics */
};

struct analysis {
	struct fact *facts; /* of each step */
	uint16_t map_use[EBPF_MAPS_MAX];
	uint32_t record_bytes[EBPF_MAPS_MAX];  /* the largest that is sent */
	uint32_t frame_bytes[FLOW_FRAMES_MAX]; /* of records: their size */
	uint8_t frame_map[FLOW_FRAMES_MAX];    /* of records: their ring */
	/* Its stack is accessed at places that are not known beforehand. */
	bool frame_in_memory[FLOW_FRAMES_MAX];
	/* Bytes of it may be read that were not written, and are to be zeros. */
	bool frame_needs_zeros[FLOW_FRAMES_MAX];
	bool has_loops; /* fuel is needed */
	bool needs_guards;
	struct vec(char *) texts; /* that are printed */
};

/* 0, or -EACCES with the reason, or -ENOMEM. */
int ebpf_check(struct analysis *a, const struct flow *f, const struct check_options *options);
void analysis_release(struct analysis *a);
