/* SPDX-License-Identifier: MIT */
/*
 * From checked programs to bodies of PTX text, which src/ptx/splice.h puts into kernels: what a
 * body is given, and how it ends, is said there.
 *
 * All of a program is one block without calls. Its registers are registers; so are the words of its
 * stack, unless the program takes them as memory at places that are only known when it runs. What
 * the checker could not prove is tested by the body itself.
 */
#pragma once

#include "base/buf.h"
#include "ebpf/check/check.h"
#include "ebpf/layout.h"

/* The oldest PTX (major * 10 + minor) that has all instructions of a body. */
#define BODY_PTX 63

struct body_options {
	uint16_t program;  /* its number, which its records have */
	bool keeps_cookie; /* an exit program wants this entry program's result */
	/* It is for the lowest lane of each warp. If it can, it runs in all of them and has effects
	 * in that one: lanes that are parted, and have to meet again, cost more than that. */
	bool once_per_warp;
};

/* Where the array by access is that the program uses; NULL: it uses none, or several. %xpu_sites is
 * a copy of that one. */
const struct map_place *body_site_map(
	const struct flow *f, const struct analysis *a, const struct layout *l);
/* Appends the body. 0 or -errno with error_text. */
int body_translate(struct buf *text, const struct flow *f, const struct analysis *a,
	const struct layout *l, const struct body_options *options);
