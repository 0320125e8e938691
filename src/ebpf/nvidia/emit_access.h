/* SPDX-License-Identifier: MIT */
/* Accesses to memory, for loads, stores and atomics. */
#pragma once

#include "ebpf/nvidia/emit.h"

/* An access: what points to it, and with which words of PTX it is made. */
struct access {
	struct emitter *e;
	const struct operand *pointer;
	uint8_t pointer_register;
	int16_t offset;
	uint32_t size;
	bool in_bounds, aligned;
	const char *space; /* ".global", ".local", "" */
	char address[NAME_BYTES + 8];
	uint32_t outside, end; /* labels */
};

/* The access that the step's instruction makes by this pointer. */
struct access access_of(struct emitter *e, const struct operand *pointer, uint8_t pointer_register);
/* Whether the access has a way that does not make it; that begins with close_guard. `by_bytes`: it
 * need not be aligned. */
bool open_guard(struct access *a, bool by_bytes);
/* Where it is not made, `zero` (NULL: none) becomes 0. */
void close_guard(struct access *a, const char *zero);
void emit_atomic(struct emitter *e, const char *operand);
