/* SPDX-License-Identifier: MIT */
/*
 * Exporters: a profile written in some format. Each is one file, and one row in the table of
 * exporter.c (docs/howto-add-an-exporter.md; docs/formats.md describes the formats).
 */
#pragma once

#include "export/output.h"
#include "view/diff/diff.h"
#include "view/view.h"

struct export_options {
	struct view_options view;
	bool exact_ns;		    /* folded: nanoseconds instead of microseconds */
	enum view_unit folded_unit; /* what the numbers of a folded text are */
	const char *title;	    /* of pictures; NULL: the recorded command */
	unsigned long svg_node_max; /* frames a picture may hold; 0: SVG_NODE_MAX */
	bool inverted;		    /* pictures: the root on top */
	bool scripted; /* pictures: for a page, without what only readers without scripts need */
	const char *against; /* pictures: the recording that this one is compared with */
	const struct range_wanted *against_range; /* then: its part; NULL: the same */
	enum diff_scale diff_scale;		  /* and how */
	size_t limit_bytes;			  /* of a page; 0: its own */
	const struct user *user; /* whose rights the file is written with; NULL: ours */
};

#define EXPORT_OPTIONS_INIT ((struct export_options){.folded_unit = VIEW_COUNT})

/* What a caller should report to the user of a conversion that went well. */
struct export_result {
	bool empty;		    /* nothing of the recording is in what was written */
	bool not_written;	    /* and it is a picture: there is no file */
	const char *lacking, *help; /* as in view_result */
	char incomplete[256];	    /* why the profile is not whole; "" when it is */
	char range[256];	    /* which part of the recording it has; "": all */
	uint64_t lines_left_out;    /* of a folded text */
	uint64_t first_left_out;    /* line number */
	const char *reason;	    /* of the first */
};

/* Options that mean something to an exporter, beside --view. */
enum {
	EXPORT_HEEDS_FRAMES = 1 << 0, /* what stacks look like */
	EXPORT_HEEDS_UNIT = 1 << 1,   /* exact_ns */
	EXPORT_HEEDS_TREE = 1 << 2,   /* weight, latency and reverse of view_options */
	EXPORT_HEEDS_LAYOUT = 1 << 3, /* inverted */
};

struct exporter {
	const char *name;
	const char *suffix; /* of its files, with the dot */
	const char *summary;
	unsigned int heeds; /* EXPORT_HEEDS_* */
	/* Reads the profile and writes `o`: 0 or -errno with error_text. Write errors may be left
	 * to output_commit. */
	int (*write)(const char *path, const struct export_options *options, struct output *o,
		struct export_result *ret);
};

/* The table; the row past the last has no name. */
extern const struct exporter exporters[];
/* NULL when there is none. */
const struct exporter *exporter_by_name(const char *name);
const struct exporter *exporter_by_suffix(const char *path);

/* 0, or -EINVAL with error_text: a file of this name would be taken for another kind of picture, or
 * for a page, than the one with `suffix`, of which `what` says what it is ("pictures are SVG"). */
int export_check_suffix(const char *path, const char *suffix, const char *what);
#define EXPORT_PICTURES_ARE "pictures are SVG, which browsers show"

/* Converts one file ("-": standard input, folded text only) to another ("-": standard output). 0,
 * or -errno with error_text and no file written. An empty picture is not written either. */
int export_file(const struct exporter *e, const char *path, const char *out_path,
	const struct export_options *options, struct export_result *ret);

/* The rows. */
int export_folded(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret);
int export_iaprof(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret);
int export_extended_folded(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret);
int export_chrome(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret);
int export_pprof(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret);
int export_speedscope(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret);
int export_firefox(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret);
int export_perfetto(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret);
int export_perf_script(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret);
int export_memheat(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret);
int export_svg(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret);

/* For exporters that show a view: what it found out on the way. */
void export_note_view(struct export_result *r, const struct view_result *v);

/* For those that write events: the part of a recording that is wanted. */
struct export_input {
	struct profile_reader *reader;
	struct range *range; /* NULL: all of it */
};

/* 0, or -errno with error_text and nothing to close. */
int export_open(struct export_input *ret, const char *path, const struct export_options *options);
/* Reads to the end, where names are final, and notes what the reader found out: 0 or -errno. */
int export_read_all(struct export_input *i, struct export_result *ret);
/* The latter half alone, of a reader that is at its end. */
void export_note_input(struct export_result *ret, const struct export_input *i);
void export_close(struct export_input *i);
