/* SPDX-License-Identifier: MIT */
/*
 * What stays of us in a program that goes on without the library: a page of functions, and one of
 * their data.
 *
 * Some of what the library hands out is never given back: An API never forgets who gives it
 * buffers, and the C library forgets functions for fork and exit only under a lock of its own,
 * which a child that is forked just then would find locked for ever. So they get functions of this
 * page (kept_code.S). The page is read-only and executable, of a file in memory. The next library
 * of ours that comes into the program finds it again, and uses it again: nothing grows.
 */
#pragma once

#define KEPT_PAGE  4096
#define KEPT_SLOTS 8 /* libraries of ours in the program at a time */

/* Offsets in kept_slot. */
#define KEPT_SLOT_BYTES	 64
#define KEPT_INSIDE	 4
#define KEPT_BEFORE_FORK 8
#define KEPT_AFTER_FORK	 16
#define KEPT_IN_CHILD	 24
#define KEPT_AT_EXIT	 32

/* Offsets in kept_data. */
#define KEPT_FORKING	  8
#define KEPT_UNLOADING	  12
#define KEPT_SLOTS_OFFSET 64

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

/* One library's. */
struct kept_slot {
	uint32_t taken;
	uint32_t inside; /* threads that may be in one of the functions */
	void (*before_fork)(void);
	void (*after_fork)(void);
	void (*in_child)(void);
	void (*at_exit)(void);
	uint64_t unused[3];
};

struct kept_data {
	uint32_t fork_registered, exit_registered;
	int32_t forking;    /* threads that fork just now */
	uint32_t unloading; /* threads that unload a library */
	uint64_t unused[6];
	struct kept_slot slots[KEPT_SLOTS];
};

_Static_assert(sizeof(struct kept_slot) == KEPT_SLOT_BYTES, "size");
_Static_assert(sizeof(struct kept_data) <= KEPT_PAGE, "size");
_Static_assert(offsetof(struct kept_slot, inside) == KEPT_INSIDE, "offset");
_Static_assert(offsetof(struct kept_slot, before_fork) == KEPT_BEFORE_FORK, "offset");
_Static_assert(offsetof(struct kept_slot, after_fork) == KEPT_AFTER_FORK, "offset");
_Static_assert(offsetof(struct kept_slot, in_child) == KEPT_IN_CHILD, "offset");
_Static_assert(offsetof(struct kept_slot, at_exit) == KEPT_AT_EXIT, "offset");
_Static_assert(offsetof(struct kept_data, forking) == KEPT_FORKING, "offset");
_Static_assert(offsetof(struct kept_data, unloading) == KEPT_UNLOADING, "offset");
_Static_assert(offsetof(struct kept_data, slots) == KEPT_SLOTS_OFFSET, "offset");

/* The page as it is in the library: what stays is a copy of it. */
extern const uint8_t kept_begin[], kept_end[];
/* For an API that asks for buffers: they offer nothing. */
extern const uint8_t kept_requested[], kept_completed[];
/* For fork and exit: they call what is in the slots, and do nothing for those that are empty. */
extern const uint8_t kept_before_fork[], kept_after_fork[], kept_in_child[], kept_at_exit[];
/* void (*)(void *handle, int (*dlclose)(void *)): unloads a library while nobody forks. A child
 * that is forked in the middle of that has lists of libraries that do not fit together, and ends
 * by an assertion of the loader's. */
extern const uint8_t kept_unload[];

/* The page of this process, which is made if there is none: 0 or -errno. */
int kept_page(const uint8_t **ret);

/* Where a function of the page is. */
static inline void *kept_function(const uint8_t *page, const uint8_t *function)
{
	return (void *)(uintptr_t)(page + (function - kept_begin));
}

static inline struct kept_data *kept_data(const uint8_t *page)
{
	return (struct kept_data *)(uintptr_t)(page + KEPT_PAGE);
}

#endif
