/* SPDX-License-Identifier: MIT */
/*
 * Which addresses of this process are code, as /proc/self/maps said when the recorder last saw code being
 * mapped.
 *
 * Code built without frame pointers leaves anything at all in rbp, so a chain of frames ends in values
 * that are no return addresses, often other ones each time. The first value that is not code is where
 * the chain ends, for the recorder as for us.
 *
 * Read from any thread, without locks; refreshed by our own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reserves address space: 0 or -errno. */
int code_map_init(void);

/* Whether the map is as new as the recorder wants it, and of which generation of the recorder's that is; when
 * not, nothing may be concluded from it. */
bool code_map_is_current(uint32_t *ret_generation);
/* Whether reading the mappings again is due. From our own thread. */
bool code_map_is_wanted(void);
/* Whether `address` is in executable memory. */
bool code_map_has(uintptr_t address);

/* Our own thread reads /proc/self/maps: begin, add every executable mapping in order, end. */
void code_map_begin(void);
void code_map_add(uintptr_t start, uintptr_t end);
void code_map_end(void);
