/* SPDX-License-Identifier: MIT */
/*
 * What Intel GPUs write about their threads: records, each about one instruction, with how many
 * threads were seen at it and why they did not go on. Which bits are which differs by generation: a
 * row of a table.
 *
 * A record has no time, no process and no context. Its address of the instruction is in units of 8
 * bytes; in older generations the lowest 29 bits of it, so addresses are known modulo 4 GiB.
 *
 * Records come from the kernel, which copies what the hardware wrote: nothing in them is trusted.
 * Pure functions; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vendor/intel/stalls.h"

struct stall_layout;

/* What the records of a GPU of this architecture (major, minor version) look like; NULL: it is not
 * known, or records of this size cannot be those. */
const struct stall_layout *stall_layout_of(
	unsigned int major, unsigned int minor, uint64_t record_bytes);
size_t stall_layout_bytes(const struct stall_layout *l);
/* The bits of an address that its records have. */
uint64_t stall_layout_mask(const struct stall_layout *l);

struct stall_record {
	uint64_t address;		       /* of the instruction, in stall_layout_mask */
	uint32_t samples[INTEL_STALL_REASONS]; /* by reason */
	uint32_t sum;			       /* of these; 0: nothing was seen */
};

/* `record` has stall_layout_bytes. */
void stall_record_decode(
	const struct stall_layout *l, const uint8_t *record, struct stall_record *ret);
