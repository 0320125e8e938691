/* SPDX-License-Identifier: MIT */
/*
 * What code is mapped where in a process: a sorted array of executable mappings.
 *
 * A forked child shares its parent's array until one of them changes (copy on write), so a tree of
 * thousands of workers costs one. Every array has a number, its generation, which changes whenever
 * code is mapped over other code; results that depend on addresses can be kept under it. `changes`
 * counts all changes, for results that depend on an address not being mapped; `replaced` counts
 * mappings over other code. A mapping that replaced another has the generation since which it did
 * (`since`): a result of an earlier generation is wrong for its addresses.
 *
 * Overlapping mappings cannot exist: a new one replaces what it covers. The kernel reports no
 * unmapping, so old mappings stay until new ones cover them. That does no harm: no code runs there.
 * So most mappings of a process may cost the kernel nothing, and a fork that copies them here so
 * too: the sum over all arrays has a bound of its own (struct address_spaces).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t base;	 /* what to subtract from an address; see mapping_offset */
	uint32_t module; /* index in modules.h */
	uint64_t since;	 /* generation in which it replaced another one; 0: nothing was there */
	/* when it was mapped, or (without mapping events) first seen; 0: not known, long ago */
	uint64_t since_ns;
};

/* What an address is called in its module (profile_location.address). */
static inline uint64_t mapping_offset(const struct mapping *m, uint64_t address)
{
	return address - m->base;
}

/* What all arrays have in common. */
struct address_spaces {
	uint64_t generations; /* counts them: a new one is the next number */
	uint64_t mappings;    /* in all arrays */
	uint64_t most;	      /* of these; 0: MAPPINGS_MAX_IN_ALL */
};

struct address_space {
	struct address_spaces *all; /* outlives it */
	unsigned int references;
	unsigned int pending; /* references of pending.h */
	uint64_t generation;
	uint64_t image_generation; /* the first one since exec, or since we know of the process */
	uint64_t changes;
	uint64_t replaced;
	struct vec(struct mapping) mappings; /* sorted, disjoint */
};

/* At most this many per process (the kernel's own default limit is 65,530 for all kinds). */
#define MAPPINGS_MAX 65536
/* And at most this many in all, 48 to 96 MiB, but for those of small processes: of these the kernel
 * keeps more itself. */
#define MAPPINGS_MAX_IN_ALL ((uint64_t)1 << 20)
#define MAPPINGS_SMALL	    256

/* NULL when memory is short. */
struct address_space *address_space_new(struct address_spaces *all);
struct address_space *address_space_ref(struct address_space *s);
void address_space_unref(struct address_space *s);
/* Adds to *space, which is replaced by a copy when it is shared: 0, -ENOMEM, or -ENOSPC at
 * MAPPINGS_MAX or where all spaces have no more room, with *space as before. */
int address_space_add(struct address_space **space, const struct mapping *m);
/* The mapping that covers the address, or NULL. */
const struct mapping *address_space_find(const struct address_space *s, uint64_t address);
/* Whether a result for this mapping (NULL: nothing is mapped) is wrong by now. `generation`: the
 * lowest bits of the generation that the result is of. */
bool address_space_outdated(
	const struct address_space *s, const struct mapping *m, uint32_t generation);
