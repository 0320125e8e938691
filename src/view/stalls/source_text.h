/* SPDX-License-Identifier: MIT */
/*
 * Source files, by the paths that line tables name them by: where they are here, and their lines.
 *
 * Paths come from untrusted files. Only regular files are read, of at most SOURCE_BYTES_MAX, and
 * only text: a file with NUL bytes is refused. Lines are the bytes of the file; whoever shows them
 * makes them harmless.
 *
 * A file is looked for
 *
 *	1. where the longest of the replacements (source_map_add) puts it,
 *	2. under its own path,
 *	3. in each folder of source_dir_add: its path there, then with one leading folder less, and so on to its name.
 *
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "profile/reader.h"
#include "view/stalls/annotation.h"

#define SOURCE_BYTES_MAX ((size_t)16 << 20)

struct source_replacement {
	char *old, *new;
};

struct source_map {
	struct vec(struct source_replacement) replacements;
	struct vec(char *) folders;
};

void source_map_release(struct source_map *m);
/* "OLD=NEW": 0 or -errno with error_text (-EINVAL: it is not of this form). */
int source_map_add(struct source_map *m, const char *text);
int source_dir_add(struct source_map *m, const char *folder);

struct source_text {
	char *path; /* where it was found; NULL: it was not, and there are no lines */
	char *why;  /* why it was not: "No such file or directory", of the path itself, and where
		      * else it was looked for: "; nor is it new/math.h; nor is it below src" */
	struct buf contents;
	struct vec(uint32_t) starts; /* of lines, in the contents */
	uint64_t changed_ns;	     /* CLOCK_REALTIME */
};

/* Looks for a file and reads it: 0, also where there is none (then `why` is set), or -ENOMEM with
 * error_text. `t` comes zeroed and is to be released in either case. */
int source_text_find(struct source_text *t, const struct source_map *m, const char *path);
/* Those of an annotation's files, by their number: 0 or -ENOMEM with error_text; *ret is to be
 * released in either case. */
int source_texts_find(struct source_text **ret, const struct annotation *a,
	const struct profile_reader *r, const struct source_map *m);
void source_texts_release(struct source_text *texts, const struct annotation *a);
void source_text_release(struct source_text *t);
/* A line, counted from 1, without its end: NULL and *ret_size 0 where there is none. */
const char *source_line(const struct source_text *t, uint32_t line, size_t *ret_size);
uint32_t source_line_count(const struct source_text *t);
/* What lines are of that no file has, by what line tables name instead of one ("[probe]"), as a
 * sentence without its end; NULL: of a file. */
const char *source_made_text(const char *path);
/* Whether the file was changed after the recording began, so that its lines may not be those of
 * the recorded code. */
bool source_is_newer(const struct source_text *t, const struct profile_reader *r);
