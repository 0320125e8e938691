/* SPDX-License-Identifier: MIT */
/*
 * Modules and libraries that have programs in them: the words of each (ptx/splice.h) are set in
 * every context that it is in. A module is in one context. A library comes into a context when the
 * program first uses it there, without a call that says so; so its words are set in each context as
 * soon as both are known, which loads it there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;

/* One has been loaded, and no kernel of it has run. Its accesses have numbers from `first_site`
 * on. */
void modules_add(void *handle, bool is_library, uint64_t first_site);
/* The same of one that is machine code: its kernels are patched, if programs are for some. */
void modules_add_code(void *handle, bool is_library);
/* It is about to be unloaded. */
void modules_remove(void *handle);
/* The thread has a context, perhaps a new one. */
void modules_look_here(void);
/* In a turn, with the arena's context: programs run, or not. */
void modules_switch(struct arena *a, uint32_t off);
