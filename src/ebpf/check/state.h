/* SPDX-License-Identifier: MIT */
/*
 * What is known at a point of a program, whichever way led there: what each register and each 8
 * bytes of each frame's stack hold.
 */
#pragma once

#include "ebpf/check/number.h"
#include "ebpf/flow.h"

enum value_kind {
	VALUE_UNSET, /* or not the same on all ways: not to be used */
	VALUE_NUMBER,
	VALUE_STACK,	/* which: frame; number: offset from its upper end */
	VALUE_CONTEXT,	/* number: offset */
	VALUE_MAP,	/* which: the map itself */
	VALUE_ELEMENT,	/* which: map; number: offset in a value of it */
	VALUE_FUNCTION, /* number: its first instruction */
};

struct value {
	uint8_t kind;
	uint8_t which;
	/* Of elements: it may be NULL, until it was compared. Those with the same identity (0:
	 * none) are the same pointer. */
	bool maybe_null;
	uint32_t identity;
	struct number number;
};

#define SLOT_BYTES 8
#define SLOTS	   (FLOW_STACK / SLOT_BYTES)

/* A pointer lies in a whole slot. Bytes that were not written are zeros. */
struct slot {
	struct value value;
	uint8_t written; /* a bit for each byte */
	/* By how much each half, as a number of 4 bytes, at least stays below the largest: of two
	 * numbers side by side the bounds are not in `value`. */
	uint32_t spare[2];
};

struct frame {
	struct value registers[FLOW_FRAME_REGISTERS];
	struct slot slots[SLOTS];
};

struct state {
	struct value registers[FLOW_SHARED_REGISTERS];
	uint32_t frame_count;
	struct frame frames[];
};

/* NULL: no memory. */
struct state *state_new(uint32_t frame_count);
void state_copy(struct state *to, const struct state *from);
/* A register as an instruction of this frame names it. */
struct value *state_register(struct state *s, uint8_t frame, uint8_t number);
/* Nothing is known of a frame but where its stack is, and that it is empty. */
void state_enter(struct state *s, uint8_t frame);
/* Pointers into a frame are no more to be used. */
void state_forget_frame(struct state *s, uint8_t frame);
/* What has this identity is not NULL, or is. */
void state_set_null(struct state *s, uint32_t identity, bool is_null);
/* What had this identity is no longer known to be the same. */
void state_drop_identity(struct state *s, uint32_t identity);
/*
 * Adds another way to a point, which is the step with this number: whether that made less known.
 * `widen`: as number_widen.
 */
bool state_join(struct state *into, const struct state *from, uint32_t step, bool widen);

struct value value_number(struct number n);
/* The identity of what the look-up at this step finds. */
uint32_t state_lookup_identity(uint32_t step);
