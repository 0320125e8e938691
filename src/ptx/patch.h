/* SPDX-License-Identifier: MIT */
/*
 * Probes as functions of their own, for machine code without text. NVIDIA's Sanitizer API has such
 * functions ("patches") called from places of the code that is loaded: where each thread begins and
 * ends, and before accesses to global memory (sanitizer_patching.h of CUDA 11 to 13):
 *
 *	PTX_PATCH_ENTRY, PTX_PATCH_EXIT		(data, pc)
 *	PTX_PATCH_ACCESS			(data, pc, address, size, flags, new value)
 *
 * all of which return 0. `data` is what is set for the kernel: its struct ptx_patched, in memory of
 * the GPU; 0 where no body is for it. All bodies are in these functions, and the kernel's record
 * says which are for it.
 *
 * NVIDIA's assembler has to make them as patches (--compile-as-tools-patch): what the driver's own
 * linker makes of such text uses uniform registers of the kernel, which nobody keeps for it (seen
 * with CUDA 13.0 for sm_90: kernels ended with illegal instructions).
 *
 * A body is given what splice.h names, but for what a patch does not know: it has no parameters of
 * the kernel, and no register that stays from the entry to the exit. %xpu_insn is the number of
 * the instruction in its function, 16 bytes each. A body that ends its thread would end the warp.
 */
#pragma once

#include "ptx/splice.h"

#define PTX_PATCH_ENTRY	 "xpuprof_patch_entry"
#define PTX_PATCH_EXIT	 "xpuprof_patch_exit"
#define PTX_PATCH_ACCESS "xpuprof_patch_access"
#define PTX_PATCH_BODIES 256

/* What the patches of a kernel are called with. */
struct ptx_patched {
	uint64_t arena;
	uint64_t on;	 /* address of a word of 32 bits in global memory: 0, no body runs */
	uint64_t kernel; /* ptx_kernel_hash */
	uint64_t pc;	 /* where the function begins */
	uint64_t bodies[PTX_PATCH_BODIES / 64]; /* a bit for each */
};

struct ptx_patches {
	struct buf text; /* ends with a NUL */
	/* Which of the functions there are, by PTX_AT_ENTRY, PTX_AT_EXIT, PTX_AT_ACCESS. */
	bool has[PTX_AT_ACCESS + 1];
	uint64_t bodies[PTX_PATCH_BODIES / 64]; /* that are in them */
};

/* What the body would need that patches do not have, as words behind "needs"; NULL: nothing, or
 * it is damaged, which ptx_patches_make says. */
const char *ptx_patch_lacks(const struct ptx_body *body);

/* 0 or -errno with error_text: -ENOENT where no body can be one, -EINVAL where one is damaged,
 * -ENOMEM. `ret` is set only on success. Globs and bounds of the probes do not matter. */
int ptx_patches_make(const struct ptx_probes *probes, struct ptx_patches *ret);
void ptx_patches_release(struct ptx_patches *p);

/* Those bodies in the patches that are for a kernel, as in its record: how many, or -ENOMEM. */
int ptx_patches_for(const struct ptx_patches *p, const struct ptx_probes *probes,
	const char *kernel, uint64_t ret[PTX_PATCH_BODIES / 64]);
