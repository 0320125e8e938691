/* SPDX-License-Identifier: MIT */
/*
 * One program as it is checked and translated: its instructions in one row of steps, with every
 * function that it calls put in where it is called, so that nothing but jumps is left.
 *
 * Each call has a frame: registers 6 to 10 and a stack of its own. Frame 0 is the program's;
 * what it calls has frame 1, and so on. Frames of calls that follow each other are the same.
 * bpf_loop becomes a loop around its function, whose frame keeps number, limit and context in
 * registers 11 to 13. bpf_ringbuf_reserve gets a frame, too, which has only a stack: the record is
 * made there, and sent when it is submitted.
 */
#pragma once

#include "ebpf/object.h"

#define FLOW_STEPS_MAX	8192
#define FLOW_FRAMES_MAX 16
#define FLOW_STACK	512 /* bytes of each frame */

/* Registers: 0 to 5 are the program's, 6 to 13 each frame's. */
#define FLOW_SHARED_REGISTERS 6
#define FLOW_FRAME_REGISTERS  8
#define FLOW_STACK_REGISTER   10
#define FLOW_LOOP_NUMBER      11
#define FLOW_LOOP_LIMIT	      12
#define FLOW_LOOP_CONTEXT     13

enum flow_what {
	FLOW_INSN,  /* as the instruction says; jumps go to `target` */
	FLOW_ENTER, /* a call begins: `frame` is the new one */
	FLOW_LEAVE, /* a call ends, and goes on at `target` */
	FLOW_END,   /* the program ends with r0 */
	/* number = 0, limit = r1, context = r3 of the frame */
	FLOW_LOOP_BEGIN,
	/* to `target` where number = limit; else r1 = number, r2 = context */
	FLOW_LOOP_HEAD,
	/* number++, and back to `target` where r0 is 0 */
	FLOW_LOOP_NEXT,
	/* r0 = number; r1 to r5 are gone */
	FLOW_LOOP_DONE,
};

struct flow_step {
	enum flow_what what;
	uint8_t frame;
	struct bpf_insn insn;
	uint64_t wide;	 /* of a wide instruction; where it refers to a map, its offset */
	uint32_t origin; /* instruction of the object */
	uint32_t target; /* step; of a call of bpf_ringbuf_reserve: number of the record */
};

struct flow {
	const struct ebpf_object *object;
	const struct ebpf_program *program;
	struct vec(struct flow_step) steps;
	uint8_t frame_count; /* the last `record_count` of them are records' */
	uint8_t record_count;
	/* Compilers merge calls at the ends of different ways, whose arguments are then not the
	 * same kind of pointer. With this such calls are apart again. */
	bool splits_calls;
};

/* The frame of a record. */
static inline uint8_t flow_record_frame(const struct flow *f, uint32_t record)
{
	return (uint8_t)(f->frame_count - f->record_count + record);
}

/* 0 or -errno with error_text. */
int flow_build(struct flow *f, const struct ebpf_object *o, const struct ebpf_program *p,
	bool splits_calls);
void flow_release(struct flow *f);
/* Whether the step can be followed by the next one. */
bool flow_goes_on(const struct flow_step *s);
/* Whether it can go to its target. */
bool flow_jumps(const struct flow_step *s);
/* Refuses the program: -EACCES, with a text that names the program, the instruction, the line of
 * source and what is wrong. */
int flow_refuse(const struct flow *f, uint32_t step, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
