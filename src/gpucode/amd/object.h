/* SPDX-License-Identifier: MIT */
/*
 * One code object: the linked ELF file that holds code of an AMD GPU, as the runtime loads it. Its
 * functions, their code, and what source an instruction came from.
 *
 * Code objects come from programs that are not trusted: every size is checked. A damaged one yields
 * less, and never crashes; what was rejected is counted. Nothing is copied: it must stay unchanged
 * until amd_object_close, and code and names point into it.
 *
 * A kernel has two symbols: its function, and beside it a description in data (`.kd`), which is
 * passed over here. Functions that were not inlined stand beside the kernels, not inside them.
 * Addresses are those that the file has. One thread at a time for each. docs/gpu-code.md has the
 * facts about the format.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpucode/line_table.h"

struct amd_object;

/* 0 or -errno with error_text: -ENOEXEC for what is no code object, -EINVAL for one whose headers
 * are damaged, -ENOMEM. */
int amd_object_open(const void *image, size_t size, struct amd_object **ret);
void amd_object_close(struct amd_object *o);

/* Which GPUs its code is for: EF_AMDGPU_MACH, as gcn.h takes it. */
unsigned int amd_object_target(const struct amd_object *o);

struct amd_function {
	const char *name; /* of its symbol; never NULL */
	uint32_t symbol;  /* its index in the table of symbols */
	uint32_t section; /* index of the section with its code */
	uint64_t address; /* as the file has it */
	uint64_t size;	  /* in bytes */
};

/* The functions with code, by address. */
size_t amd_object_function_count(const struct amd_object *o);
const struct amd_function *amd_object_function(const struct amd_object *o, size_t i);
/* By name, or NULL. */
const struct amd_function *amd_object_function_named(const struct amd_object *o, const char *name);
/* By the index of its symbol, or NULL. Of stripped files the symbols are the dynamic linker's. */
const struct amd_function *amd_object_function_of_symbol(
	const struct amd_object *o, uint32_t symbol);

/* The code of a function, in the image; NULL where a damaged one has none of it. */
const void *amd_object_code(
	const struct amd_object *o, const struct amd_function *f, size_t *ret_size);

/* Texts are valid until amd_object_close, never NULL, and "" when not known. */
struct amd_frame {
	const char *function; /* linker name */
	const char *path;
	uint32_t line; /* 0: not known */
};

#define AMD_FRAMES_MAX 64

/*
 * Fills in the source of the instruction at `offset` bytes into a function: ret[0] is the innermost
 * frame, each further one the line of the call that was inlined, and the last is in the function
 * that has the code. Returns how many: 0 outside of the function or when memory is short. Of a
 * chain of more than AMD_FRAMES_MAX the calls before the last are left out. The first call reads
 * the tables.
 */
size_t amd_object_frames(struct amd_object *o, const struct amd_function *f, uint64_t offset,
	struct amd_frame ret[AMD_FRAMES_MAX]);

/* What was passed over because it lies outside the image or makes no sense. */
struct amd_damage {
	size_t sections;
	size_t symbols;
	struct line_damage lines; /* none before the first amd_object_frames */
	size_t units;		  /* so too: of .debug_info */
};

struct amd_damage amd_object_damage(const struct amd_object *o);
