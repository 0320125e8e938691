/* SPDX-License-Identifier: MIT */
/* Python objects in the memory of a process: text and bytes, with their types checked and their
 * sizes bounded. */
#pragma once

#include "base/buf.h"
#include "python/layout.h"

#define PYTHON_TEXT_MAX	 4096	    /* characters; longer text is cut off */
#define PYTHON_BYTES_MAX (1u << 20) /* a function of a million lines */

struct python_objects {
	struct python_memory memory;
	struct python_layout layout;
	uint64_t type_code; /* addresses of types once seen; 0: not yet */
	uint64_t type_text;
	uint64_t type_bytes;
};

/* True when the object's type has this name; *known remembers its address. */
bool python_is_type(struct python_objects *o, uint64_t object, const char *name, uint64_t *known);
/* Appends a str as valid UTF-8 without NUL, at most the beginning of it: false when it is none. */
bool python_append_text(struct python_objects *o, uint64_t object, struct buf *b);
/* Appends a bytes object whole: 0, -ENOENT (it is none, or too long) or -E2BIG (it has more than
 * `most` bytes). */
int python_append_bytes(struct python_objects *o, uint64_t object, size_t most, struct buf *b);
