/* SPDX-License-Identifier: MIT */
/* Accesses of a kernel to memory, as the probe `coalesce` saw them: by place in its code. */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "profile/reader.h"

struct kernel_access {
	uint32_t file; /* index + 1 of its text in `files`; 0: not known */
	uint32_t line;
	uint32_t insn;	       /* its number among the accesses of the kernel */
	uint64_t accesses;     /* of warps */
	uint64_t lanes, lines; /* of all of them; lines of 128 bytes */
	double least;	       /* the fewest lines that such an access can take */
};

struct kernel_accesses {
	struct vec(struct kernel_access) items; /* those with the most lines first */
	struct vec(char *) files;
};

/* Of the kernel with this linker name; none where the recording has none. `done` has read
 * everything. 0 or -errno with error_text. */
int kernel_accesses_read(
	struct kernel_accesses *a, const struct profile_reader *done, const char *kernel);
void kernel_accesses_release(struct kernel_accesses *a);
