/* SPDX-License-Identifier: MIT */
/* What one step does to a state; for the files of src/ebpf/check/ only. */
#pragma once

#include "ebpf/check/check.h"

struct checking {
	const struct flow *flow;
	const struct check_options *options;
	struct analysis *analysis;
	/* NULL until all states are final: then what holds at the step is put there. */
	struct fact *fact;
	uint32_t step;
	struct state *state; /* before, then behind the step */
};

/* Where a step can lead; both states are the same but for what the jump tells. */
struct outcome {
	bool goes_on, jumps;
	struct state *jumped; /* the state at its target */
};

/* Refuses the step. */
#define refuse(c, ...) flow_refuse((c)->flow, (c)->step, __VA_ARGS__)

static inline const struct flow_step *step_of(const struct checking *c)
{
	return &c->flow->steps.items[c->step];
}

static inline struct value *register_of(const struct checking *c, uint8_t number)
{
	return state_register(c->state, step_of(c)->frame, number);
}

/* Each: 0 or -errno with error_text. */
int check_alu(struct checking *c);
int check_load(struct checking *c);
int check_store(struct checking *c);
int check_call(struct checking *c);
/* Narrows c->state and out->jumped. */
int check_jump(struct checking *c, struct outcome *out);
int check_loop_head(struct checking *c, struct outcome *out);
int check_loop_next(struct checking *c, struct outcome *out);

/* Refuses where the register holds nothing. */
int check_set(const struct checking *c, uint8_t number);
struct operand operand_of(const struct value *v);

/*
 * Memory that `pointer` + `offset` points to, for `size` bytes.
 *
 * check_place refuses what is never allowed there, and says whether all of it is inside and
 * aligned, and where it is, if that is known.
 */
struct place {
	uint8_t kind, which;
	bool is_constant, in_bounds, aligned;
	struct number offset;
	int64_t constant; /* offset, where it is known */
};

int check_place(const struct checking *c, const struct value *pointer, int64_t offset,
	uint32_t size, bool writes, struct place *ret);
/* The stack as bytes: reading says what is there, as a number of at most 8 bytes. */
int stack_read(struct checking *c, const struct place *p, uint32_t size, struct value *ret);
int stack_write(struct checking *c, const struct place *p, uint32_t size, const struct value *v);
/* The largest number that the 4 bytes there can be; of those that were not all written, or are not
 * aligned, nothing is known. */
uint32_t stack_most(const struct checking *c, const struct value *pointer);
/* A helper reads so many bytes of it. */
int stack_read_region(struct checking *c, const struct place *p, uint32_t size);
void use_map(struct checking *c, uint8_t map, enum map_use use);

static inline const struct ebpf_map *map_at(const struct checking *c, uint8_t map)
{
	return &c->flow->object->maps.items[map];
}

/* A byte of what is on the stack, or in a section for reading, at an offset; -1: not known. */
int text_byte(const struct checking *c, const struct value *v, int64_t at);
/* A whole text with its NUL: 0, or -EINVAL where it is not known or longer. */
int text_read(const struct checking *c, const struct value *v, char *ret, size_t size);
/* How many numbers it wants: "%lu" counts, "%%" does not. */
unsigned int text_conversions(const char *text);
/* Whether one of them is a text (%s). */
bool text_has_text(const char *text);
/* Puts it among the program's, and its number into the fact: 0 or -ENOMEM. */
int text_keep(struct checking *c, const char *text);
