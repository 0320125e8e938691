/* SPDX-License-Identifier: MIT */
/*
 * What the files of the translation share. Registers of a body:
 *
 *	%e0 - %e5	the program's registers 0 to 5
 *	%e0r6 - %e0r13	frame 0's registers 6 to 13, and so on
 *	%eb...		where the map's value begins that such a register points into; only where
 *			accesses are guarded
 *	%es0_63_0	the stack of frame 0: word, and unit within the word
 *	%ex, %ew, %ep	numbers of 64 and 32 bits and predicates for in between
 *	%ek		parts of a key
 *	%efuel		rounds of loops that are left
 *	%elead		this is the lane that has effects (lead.c)
 *	%esm		in that lane the number of the SM
 *
 * Labels: E and a step's number, EA and another, EEND. Steps that cannot be reached have no text.
 */
#pragma once

#include "ebpf/nvidia/translate.h"

#define FUEL	   65536
#define NAME_BYTES 24
#define WORDS	   (FLOW_STACK / 8)
#define STACK_SIZE FLOW_STACK

struct emitter {
	struct buf *out;
	const struct flow *flow;
	const struct analysis *analysis;
	const struct layout *layout;
	const struct body_options *options;
	const struct map_place *site_map; /* whose copy %xpu_sites is; NULL: no map's */
	uint32_t step;
	uint32_t labels;  /* EA... so far */
	bool has_lead;	  /* it runs in all lanes, with effects in the lowest */
	const char *lead; /* before what has effects: "@%elead ", or "" */
	bool has_jumped;  /* somewhere before */
	/* Bytes of the units that each word of a stack is made of; 0: not used. */
	uint8_t units[FLOW_FRAMES_MAX][WORDS];
	bool failed; /* something that the check should have refused */
};

struct name {
	char text[NAME_BYTES];
};

#define emit(e, ...) emit_line((e)->out, __VA_ARGS__)
void emit_line(struct buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void emit_label(struct emitter *e, uint32_t label);
uint32_t new_label(struct emitter *e);

static inline const struct flow_step *step_now(const struct emitter *e)
{
	return &e->flow->steps.items[e->step];
}

static inline const struct fact *fact_now(const struct emitter *e)
{
	return &e->analysis->facts[e->step];
}

/* A register as the current step's instruction names it, and the one beside it. */
struct name reg(const struct emitter *e, uint8_t number);
struct name base_reg(const struct emitter *e, uint8_t number);
struct name frame_reg(uint8_t frame, uint8_t number);
/* Whether a pointer has a value when the program runs. */
bool has_value(const struct emitter *e, const struct operand *o);
bool in_memory(const struct emitter *e, uint8_t frame);

/* Whether it points to a place of a stack that is known beforehand. */
static inline bool is_known_stack(const struct operand *o)
{
	return o->kind == VALUE_STACK && o->is_constant;
}

/* Raises a loss of this SM. Uses %ew7, %ex7. */
void emit_loss(struct emitter *e, enum arena_loss loss);
/* %ew<n> = this SM's number below ARENA_SMS. */
void emit_sm(struct emitter *e, unsigned int w);

/* stack: bytes at a place that is known; offset from the upper end. */
void stack_plan(struct emitter *e);
void stack_declare(struct emitter *e);
void stack_zero(struct emitter *e, uint8_t frame);
/* Into and from a 64-bit register. Uses %ex6, %ew6. */
void stack_get(struct emitter *e, uint8_t frame, int64_t offset, uint32_t size, const char *into);
void stack_put(struct emitter *e, uint8_t frame, int64_t offset, uint32_t size, const char *from);
/* The largest piece that begins there, of so many bytes; of what is copied to where 0 is
 * aligned. */
uint32_t stack_piece(int64_t offset, uint32_t left);
uint32_t copy_piece(int64_t offset, uint32_t at, uint32_t left);
struct name stack_base(uint8_t frame, int64_t offset);

/* Whether the program may run in all lanes if it has effects in one only (lead.c). */
bool can_have_lead(const struct emitter *e);
bool has_many_effects(const struct emitter *e);

void emit_alu(struct emitter *e);
void emit_jump(struct emitter *e);
void emit_load(struct emitter *e);
void emit_store(struct emitter *e);
void emit_call(struct emitter *e);
/* Goes to a step, or ends the program where that is a step back and no fuel is left; `negated`
 * and `condition` as in "@!%ep0", NULL: always. */
void emit_go(struct emitter *e, uint32_t target, const char *condition);

/* Look-ups leave where a value is, or NULL, in %e0; others 0 or -errno. */
void emit_lookup(struct emitter *e);
void emit_update(struct emitter *e);
void emit_of_access(struct emitter *e);
void emit_hash(struct emitter *e, int32_t helper);
/* %ex5 = where this SM's copy of a map begins. Uses %ew5. */
void emit_map_base(struct emitter *e, uint8_t map);
/* Goes to the label where the flags of an update are these. */
void emit_if_flags(struct emitter *e, uint64_t flags, uint32_t label);
/* What an argument, a register, points to: some of it into a register, with zeros above; into
 * memory at a register's address and `at`, which is a multiple of 8. Use %ex4 to %ex7, %ew6. */
void emit_argument_part(
	struct emitter *e, unsigned int argument, uint32_t at, uint32_t size, const char *into);
void emit_copy(
	struct emitter *e, unsigned int argument, uint32_t size, const char *to, uint32_t at);
/* 8 bytes from a register to where an argument points. */
void emit_result(struct emitter *e, unsigned int argument, const char *from);

/* A record for a ring. %e0 = 0, or `full` where there is no place. */
struct sending {
	const struct map_place *place;
	uint32_t address; /* which of the arena's header is the ring's */
	uint32_t size;
	unsigned int data; /* argument; 0: the record are registers from `first` on */
	unsigned int first, count;
	uint16_t text;
	int64_t full;
};

void emit_send(struct emitter *e, const struct sending *s);
/* %ex0 = linear number of the block, of the thread in the grid. Use %ex1, %ex2, %ew0 to %ew3. */
void emit_block_number(struct emitter *e);
void emit_thread_number(struct emitter *e);
