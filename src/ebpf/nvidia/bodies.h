/* SPDX-License-Identifier: MIT */
/* All programs of an object, checked and translated together: they share its maps. */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "ebpf/layout.h"
#include "ptx/splice.h"

struct bodies_options {
	struct check_options check;
	struct layout_options layout;
};

/* One program's. What src/ptx/splice.h wants to know beside it is here or in its site. */
struct body {
	const struct ebpf_program *program;
	struct buf text;
	/* The entry and the exit programs that share a cookie; -1: none. */
	int pair;
	/* A bit for each of the kernel's parameters that it reads; those that a kernel does not
	 * have are 0. */
	uint16_t parameters;
	/* Of the one array by access that it uses; 1 copy where there is none. */
	uint32_t site_copies;
	uint64_t site_stride;
	/* Of its texts that are printed; their numbers are in the records. */
	char **texts;
	size_t text_count;
};

struct bodies {
	const struct ebpf_object *object;
	struct layout layout;
	struct vec(struct body) items; /* in the order of the object's programs */
	struct analysis *analyses;     /* the same */
};

/* 0 or -errno with error_text. The object has to outlive it. */
int bodies_make(
	struct bodies *b, const struct ebpf_object *o, const struct bodies_options *options);
void bodies_release(struct bodies *b);
/* What a program needs that it cannot have as a function for kernels without PTX (ptx/patch.h), in
 * words; NULL: nothing. */
const char *body_lacks_as_patch(const struct body *b);
/* The text of those of several objects that can be such: 0 or -errno with error_text, -ENOENT: none
 * can. */
int bodies_as_patches(const struct bodies *const *all, size_t count, struct buf *ret);
/* A body as the splicer wants it, with texts of ours. A kernel of its own is the entry of
 * the kernel of its name. */
void body_probe(const struct body *b, struct ptx_body *ret);
