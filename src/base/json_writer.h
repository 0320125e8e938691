/* SPDX-License-Identifier: MIT */
/* JSON member by member, with the commas between them. Names are NULL inside arrays. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct json_writer {
	struct buf *out;
	bool comma; /* the next member follows another */
};

/* What stands before a value. */
void json_key(struct json_writer *w, const char *name);
/* Opens and closes an object or array. */
void json_begin(struct json_writer *w, const char *name, char bracket);
void json_end(struct json_writer *w, char bracket);
void json_number(struct json_writer *w, const char *name, uint64_t value);
void json_real(struct json_writer *w, const char *name, double value);
void json_bool(struct json_writer *w, const char *name, bool value);
/* NULL: null. */
void json_text(struct json_writer *w, const char *name, const char *value);
/* The same of text that has several lines. */
void json_text_lines(struct json_writer *w, const char *name, const char *value);
