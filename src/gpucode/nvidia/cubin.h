/* SPDX-License-Identifier: MIT */
/*
 * One cubin: the ELF image that holds the code of an NVIDIA GPU, as the driver loads it. Its
 * functions, their code, and what source an instruction came from.
 *
 * Images come from programs that are not trusted: every size is checked. A damaged image yields
 * less, and never crashes; what was rejected is counted. Nothing is copied: the image must stay
 * unchanged until cubin_close, and code and names point into it.
 *
 * A position in the code is (section, offset in it): sections of a cubin have no addresses before
 * they are loaded. Each kernel has a section; device functions that were not inlined are symbols
 * behind the kernel in its section, inside the bounds of the kernel's symbol.
 *
 * One thread at a time for each cubin. docs/gpu-code.md has the facts about the format.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cubin;

/* 0 or -errno with error_text: -ENOEXEC for what is no cubin (a fatbin, PTX text, an ELF file for
 * another machine), -EINVAL for one whose headers are damaged. */
int cubin_open(const void *image, size_t size, struct cubin **ret);
void cubin_close(struct cubin *c);

/* The compute capability of its code, times 10: 90 for sm_90 and sm_90a. */
unsigned int cubin_sm(const struct cubin *c);

struct cubin_function {
	const char *name; /* of its symbol; never NULL */
	/* Its name in the source, mangled: `name` without the "$KERNEL$" or "$__internal_N_$" that
	 * stands before the names of device functions that are not inlined. Points into `name`. */
	const char *linkage_name;
	uint32_t symbol;  /* its index in the symbol table: CUPTI's functionIndex */
	uint32_t section; /* index of the section with its code */
	uint64_t offset;  /* of its code in the section; a multiple of the instruction size */
	uint64_t size;	  /* in bytes; of a kernel with those of the device functions behind it */
	bool kernel;	  /* launched from the CPU, not called from GPU code */
	/* It stands inside this one (the index of the innermost), or CUBIN_NONE. */
	uint32_t outer;
};

#define CUBIN_NONE UINT32_MAX

/* The functions with code in this image, by section and offset, outer before inner; aliases (the
 * same code under two names) stand side by side. */
size_t cubin_function_count(const struct cubin *c);
const struct cubin_function *cubin_function(const struct cubin *c, size_t i);
/* By the name of the symbol (the first of several), else by the linkage name when only one function
 * has it; or NULL. */
const struct cubin_function *cubin_function_named(const struct cubin *c, const char *name);
/* By index in the symbol table, or NULL. */
const struct cubin_function *cubin_function_of_symbol(const struct cubin *c, uint32_t symbol);
/* The innermost function that covers this position, or NULL. */
const struct cubin_function *cubin_function_at(
	const struct cubin *c, uint32_t section, uint64_t offset);

/* The code of a function, in the image. *ret_size may be less than its size in a damaged image. */
const void *cubin_code(const struct cubin *c, const struct cubin_function *f, size_t *ret_size);

/* Where lines are from. */
enum cubin_line_kind {
	CUBIN_LINES_NONE,
	CUBIN_LINES_SOURCE, /* the program's source files */
	CUBIN_LINES_PTX,    /* the PTX that the code was assembled from */
};

/* A line of the source, and the function that it is in. Texts are valid until cubin_close, never
 * NULL, and "" when not known. */
struct cubin_frame {
	const char *function; /* linkage name, of an inlined function or of the symbol */
	/* Directory and file as the compiler wrote them, or the section with the text of the PTX.
	 */
	const char *path;
	uint32_t line; /* 0: not known */
};

#define CUBIN_FRAMES_MAX 64

/*
 * Fills in the source of the instruction at `offset` bytes into a function (not into its section):
 * ret[0] is the innermost frame, each further one is the line of the call that was inlined, and the
 * last is in the function that has the code, which may be one inside `f`. Returns
 * how many: at least 1 inside the function, 0 outside of it or when memory is short. Of a chain of
 * more than CUBIN_FRAMES_MAX the calls before the last are left out. *ret_kind (may be NULL) is
 * what the lines are lines of. The first call reads the tables.
 */
size_t cubin_frames(struct cubin *c, const struct cubin_function *f, uint64_t offset,
	struct cubin_frame ret[CUBIN_FRAMES_MAX], enum cubin_line_kind *ret_kind);
