/* SPDX-License-Identifier: MIT */
/*
 * One zebin: the ELF image that holds the code of an Intel GPU, as the driver loads it. Its
 * functions, their code, and what source an instruction came from.
 *
 * Images come from programs that are not trusted: every size is checked. A damaged image yields
 * less, and never crashes; what was rejected is counted. Nothing is copied: the image must stay
 * unchanged until zebin_close, and code and names point into it.
 *
 * Each kernel has a section `.text.NAME`. Functions that were not inlined are further symbols: in
 * the section of a kernel, or in one that all share. One thread at a time for each zebin.
 * docs/gpu-code.md has the facts about the format.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpucode/line_table.h"

struct zebin;

/* 0 or -errno with error_text: -ENOEXEC for what is no zebin, -EINVAL for one whose headers are
 * damaged, -ENOMEM. */
int zebin_open(const void *image, size_t size, struct zebin **ret);
void zebin_close(struct zebin *z);

/* Which GPUs its code is for: 100 * major + minor of the architecture's version (2001: Xe2, 20.1);
 * 0: the image does not say. */
unsigned int zebin_target(const struct zebin *z);

struct zebin_function {
	const char *name; /* of its symbol; never NULL */
	uint32_t section; /* index of the section with its code */
	uint64_t offset;  /* of its code in the section */
	uint64_t size;	  /* in bytes */
	bool kernel;	  /* launched from the CPU, not called from GPU code */
};

/* The functions with code in this image, by section and offset. */
size_t zebin_function_count(const struct zebin *z);
const struct zebin_function *zebin_function(const struct zebin *z, size_t i);
/* By name, kernels first; or NULL. */
const struct zebin_function *zebin_function_named(const struct zebin *z, const char *name);

/* Where a section is in the GPU's memory, of an image as a debugger gets it; else 0. */
uint64_t zebin_section_address(const struct zebin *z, uint32_t section);

/* The code of a function, in the image. *ret_size may be less than its size in a damaged image. */
const void *zebin_code(const struct zebin *z, const struct zebin_function *f, size_t *ret_size);

/* Texts are valid until zebin_close, never NULL, and "" when not known. */
struct zebin_frame {
	const char *function;
	const char *path;
	uint32_t line; /* 0: not known */
};

/*
 * What source the instruction at `offset` bytes into a function is from. Calls that were inlined
 * are not among it: the compiler (IGC 2.40) writes the lines, but not who called. *ret_called: the
 * code belongs to another function that stands inside this one, and the frame is that one's. False
 * outside of the function, or when memory is short. The first call reads the lines.
 */
bool zebin_source(struct zebin *z, const struct zebin_function *f, uint64_t offset,
	struct zebin_frame *ret, bool *ret_called);

/* What was passed over because it lies outside the image or makes no sense. */
struct zebin_damage {
	size_t sections;
	size_t symbols;
	struct line_damage lines; /* none before the first zebin_source */
};

struct zebin_damage zebin_damage(const struct zebin *z);
