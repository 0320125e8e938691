/* SPDX-License-Identifier: MIT */
/* What programs in machine code need of the vendor's toolkit. */
#pragma once

#include "base/buf.h"

struct sanitizer_paths {
	struct buf library; /* which has them called */
	struct buf assembler;
};

#define SANITIZER_PATHS_INIT                                                                       \
	{                                                                                          \
		.library = BUF_INIT, .assembler = BUF_INIT                                         \
	}

/* Where they are: what the user's environment names (`get`), else in a toolkit. 0 or -errno with
 * error_text: -ENOENT, one is not there. */
int sanitizer_find(const char *(*get)(void *context, const char *name), void *context,
	struct sanitizer_paths *ret);
void sanitizer_paths_release(struct sanitizer_paths *p);
