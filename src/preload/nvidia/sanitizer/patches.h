/* SPDX-License-Identifier: MIT */
/*
 * Programs in kernels that are machine code: patches (ptx/patch.h), which NVIDIA's Sanitizer
 * library has called from them.
 *
 * Patches are added to a context once, when the first module comes that has a kernel they are for.
 * Each such kernel has a record in that context's memory, which is its patches' data; a module
 * without such a kernel is left as it is. The API patches modules, so other kernels of the module
 * call the patches, too, with a record that names no program.
 *
 * Records are not taken back when a module is unloaded: there are PATCH_RECORDS in the life of a
 * context, and a kernel that finds none runs without programs. All kernels that programs are for
 * and that have none are sent by name (unprobed.h).
 *
 * All with the lock of the arenas, and between calls_begin and calls_end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/nvidia/abi.h"

#define PATCH_RECORDS 65536

struct arena;

/* Whether the user wants patches, and some program can be one. Without the lock. */
bool patches_are_possible(void);
/* Whether a program is for some kernel of it. No context is needed. */
bool patches_name(void *handle, bool is_library);
/* Patches a module, or that of a library, in the arena's context, which is current. What became of
 * it is sent. */
void patches_apply(struct arena *a, void *handle, bool is_library);
/* Programs run in the context's patched kernels, or not. */
cu_result patches_switch(struct arena *a, uint32_t off);
/* Another context has the arena's slot now. */
void patches_forget(const struct arena *a);
