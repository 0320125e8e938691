// SPDX-License-Identifier: MIT
#include "probe/coalescing.h"

#define LANES 32

/* As ebpf/tools/coalesce.bpf.c has it: what is different from 32 lanes and one line. In a hash, as
 * recordings have it that were made before, are the sums. */
struct coalescing coalescing_of(const struct values *v, const struct value_entry *e)
{
	uint64_t place = values_key_number(v, e, 8);
	struct coalescing c = {.kernel = values_key_number(v, e, 0),
		.insn = (uint32_t)place,
		.size_bytes = (uint32_t)(place >> 32),
		.accesses = values_number(v, e, 0),
		.lanes = values_number(v, e, 8),
		.lines = values_number(v, e, 16)};

	if (v->place->shape == EBPF_HASH)
		return c;
	c.lanes = c.accesses * LANES - c.lanes;
	c.lines += c.accesses;
	return c;
}

double coalescing_least(const struct coalescing *c)
{
	double bytes = (double)c->lanes / (double)c->accesses * c->size_bytes;

	return bytes < COALESCING_LINE_BYTES ? 1 : bytes / COALESCING_LINE_BYTES;
}
