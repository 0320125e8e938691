/* SPDX-License-Identifier: MIT */
/*
 * The text of a location in code, in all views and reports: `forward (train.py)`,
 * `math::step(int)`, `libx.so+0x1234`.
 *
 * Use after the last event was read, when names are final. Owned by the caller; holds on to the
 * reader.
 */
#pragma once

#include "base/buf.h"
#include "view/names/file_addresses.h"
#include "view/names/python_files.h"
#include "view/tree/tree.h"

struct location_texts {
	const struct profile_reader *reader;
	struct python_files files;
	struct file_addresses addresses;
	/* with the line in the file, if the profile has it: distinguishes the lines of a
	 * function */
	bool lines;
};

/* 0 or -errno with error_text; release it in either case. */
int location_texts_init(struct location_texts *t, const struct profile_reader *r, bool lines);
void location_texts_release(struct location_texts *t);

/* Puts the text of a location (NULL: of a damaged one) into `b`, which comes empty; the kind of its
 * frame. */
enum tree_kind location_text(
	const struct location_texts *t, const struct profile_location *l, struct buf *b);

/* Whether it is in code made at run time that nothing names: all of that in a process is one. */
bool location_is_nameless_jit(const struct profile_reader *r, const struct profile_location *l);

/* The same for all functions without a name in the location's module: "python3.11 [no symbols]". */
enum tree_kind location_text_nameless(
	const struct location_texts *t, const struct profile_location *l, struct buf *b);

/* Functions inlined into one another at one location; more are left out at the root side. */
#define INLINES_MAX 256

/* An inlined function (an inline id) and those it was inlined into, the outermost first: how
 * many. */
size_t inline_chain(const struct profile_reader *r, uint32_t innermost, uint32_t ret[INLINES_MAX]);
/* The functions inlined at a location (an id), from its own function inwards, as inline ids: how
 * many. */
size_t location_inlines(
	const struct profile_reader *r, uint32_t location, uint32_t ret[INLINES_MAX]);
/* An inlined function as a location, for location_text. */
struct profile_location location_of_inline(const struct profile_reader *r, uint32_t inlined);
