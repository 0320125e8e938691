/* SPDX-License-Identifier: MIT */
/* Images that programs hand to the driver, and the same with programs of ours in their kernels. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/vec.h"
#include "ptx/splice.h"
#include "wire/probe.h"

struct image_size {
	struct probe_size with, without; /* programs */
};

struct image {
	const void *original;
	const char *path; /* of the file that it is of; NULL: of none */
	struct buf file;  /* where the original is, of a file */
	struct buf text;  /* its PTX */
	struct ptx_spliced spliced;
	struct vec(
		struct image_size) sizes; /* of its kernels, in turn; fewer: they are not known */
	bool has_lines;			  /* its compiler was asked to keep lines of source */
	bool is_code;			  /* there is no text in it, only machine code */
	bool is_compiled;		  /* the original has programs in it: compiled.h */
	uint64_t first_site; /* number of its first access; PROBE_NO_SITE: none has one */
};

/* What is to be loaded: the text with programs, or an image that has them already. */
const void *image_with_programs(const struct image *i);

/* False: the image is to be loaded as it is. Why, if that is worth knowing, has been sent. */
bool image_splice(struct image *i, const void *image);
/* The same of a file, whose bytes are at most what a GPU's image may be. */
bool image_splice_file(struct image *i, const char *path);
/* Once more, with kernels for which so large blocks have to stay possible. */
bool image_splice_again(struct image *i, const struct ptx_bound *bounds, size_t count);
void image_release(struct image *i);
/* Gives its accesses numbers (sites.h), and tells xpuprof what is in it. */
void image_send(struct image *i);
