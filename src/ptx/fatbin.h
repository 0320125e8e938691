/* SPDX-License-Identifier: MIT */
/*
 * What a program hands to the driver as a module: PTX text, a cubin, or a fatbin, which has several
 * of both, for several GPUs, packed or not; or a wrapper with a pointer to a fatbin, as compiled
 * programs have it.
 *
 * The layout is not documented by NVIDIA. It is what nvcc 13.0 writes (docs/gpu-code.md):
 *
 *	wrapper  u32 magic, u32 version, pointer to the fatbin
 *	fatbin   u32 magic, u16 version, u16 bytes of this header, u64 bytes behind it
 *	entry    u16 kind @0, u32 bytes of this header @4, u64 bytes behind it @8, u32 bytes of
 *		 them that are packed @16, u32 where the place of the options is @20, u16 minor
 *		 and u16 major version of PTX @24, u32 architecture @28, u64 flags @40, u64 bytes
 *		 when unpacked @56
 *
 * Sizes are checked: a damaged image yields an error. Nothing is copied but text that is unpacked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum ptx_image {
	PTX_IMAGE_OTHER,
	PTX_IMAGE_TEXT,
	PTX_IMAGE_CUBIN,
	PTX_IMAGE_FATBIN,
	PTX_IMAGE_WRAPPER,
};

enum ptx_packing { PTX_PLAIN, PTX_LZ4, PTX_ZSTD };

/* Which GPUs an entry is for, beside its architecture. */
enum ptx_scope {
	PTX_ALL_LATER, /* sm_90: this one and all later ones */
	PTX_FAMILY,    /* sm_100f: this one and later ones of the same major version */
	PTX_ONLY_THIS, /* sm_90a */
};

struct ptx_fatbin_entry {
	bool is_ptx, is_code; /* text, machine code; or something else */
	unsigned int sm;      /* 90 */
	enum ptx_scope scope;
	unsigned int version; /* of PTX: major * 10 + minor */
	enum ptx_packing packing;
	const uint8_t *data;
	size_t packed_bytes, bytes; /* bytes: unpacked, with what may be behind the text's NUL */
	/* What the compiler wants the text to be compiled with: " --generate-line-info ". */
	const char *options;
	size_t options_bytes;
};

/* By its first bytes. There must be at least 16, or a NUL among them. */
enum ptx_image ptx_image_of(const void *image);

/* The bytes of a fatbin, by its header (16 bytes), which is one; 0: it is not possible. */
size_t ptx_fatbin_bytes(const void *fatbin);

struct ptx_fatbin {
	const uint8_t *at, *end;
};

/* 0 or -EINVAL with error_text. The entries stay in the image. */
int ptx_fatbin_open(const void *fatbin, size_t size, struct ptx_fatbin *ret);
/* The next entry: 1, 0 at the end, -EINVAL. */
int ptx_fatbin_next(struct ptx_fatbin *f, struct ptx_fatbin_entry *ret);

/*
 * The PTX of the newest architecture that a GPU takes (sm 90: compute capability 9.0). 0 or -errno
 * with error_text: -ENOENT where there is none, and why; -EINVAL.
 */
int ptx_fatbin_choose(
	const void *fatbin, size_t size, unsigned int sm, struct ptx_fatbin_entry *ret);
/* The machine code that a GPU runs, of the newest architecture: 1, 0 where there is none, or
 * -EINVAL with error_text. */
int ptx_fatbin_choose_code(
	const void *fatbin, size_t size, unsigned int sm, struct ptx_fatbin_entry *ret);
/* Appends what an entry has, unpacked. 0 or -errno with error_text, as ptx_fatbin_text. */
int ptx_fatbin_unpack(const struct ptx_fatbin_entry *e, struct buf *ret);
/* Appends its text, with a NUL behind it that `size` does not count. 0 or -errno with error_text:
 * -EINVAL damaged, -ENOTSUP libzstd is not there, -ENOMEM. */
int ptx_fatbin_text(const struct ptx_fatbin_entry *e, struct buf *ret);
