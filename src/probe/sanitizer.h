/* SPDX-License-Identifier: MIT */
/* Where the Sanitizer library is, through which programs run in machine code. */
#pragma once

#include "base/buf.h"

/* Only where the user's environment names it, as programs on a real GPU have ended by it: `get` is
 * that environment. 0 or -errno with error_text. */
int sanitizer_find(
	const char *(*get)(void *context, const char *name), void *context, struct buf *ret);
