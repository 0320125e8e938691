/* SPDX-License-Identifier: MIT */
/*
 * What all threads of a profile of Firefox Profiler share: frames, stacks, sources and strings, of
 * a tree of frames.
 *
 *	tree      root  a  a/b  a/c        nodes 0 1 2 3
 *	stacks          0   1    2         a node's number, less one; a parent is so many before
 *	strings         labels of frames, then what is added
 */
#pragma once

#include "base/buf.h"
#include "base/intern.h"
#include "export/exporter.h"
#include "export/frame_places.h"

struct firefox_tables {
	struct output *output;
	const struct profile_reader *reader;
	struct tree *tree;
	struct frame_place *places; /* of frames */
	struct interner *strings;   /* those that are added */
	uint32_t frame_count;
	uint32_t string_count; /* of those that are added */
	struct buf text, name;
};

/* Of a tree that has all its nodes. 0 or -errno with error_text; release it in either case. */
int firefox_tables_init(struct firefox_tables *t, struct output *o, const struct profile_reader *r,
	struct tree *tree, bool lines);
void firefox_tables_release(struct firefox_tables *t);

/* The number of a string: 0 or -ENOMEM with error_text. */
int firefox_string(struct firefox_tables *t, const char *text, uint32_t *ret);
/* The stack of a node, or "null". */
void firefox_put_stack(struct firefox_tables *t, uint32_t node);
/* A string of JSON, with what stands before it. 0 or -errno with error_text. */
int firefox_put_text(struct firefox_tables *t, const char *before, const char *text);

/* "categories":[...] */
void firefox_put_categories(struct firefox_tables *t);
unsigned int firefox_category(const struct firefox_tables *t, uint32_t node);
/* "shared":{...}, behind the last string. 0 or -errno with error_text. */
int firefox_put_shared(struct firefox_tables *t);
