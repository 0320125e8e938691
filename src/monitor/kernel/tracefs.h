/* SPDX-License-Identifier: MIT */
/*
 * The kernel's tracepoints as tracefs lists them, and the format of their records.
 *
 * A format file is the kernel's own text, but which file it is, and what it says, depends on the
 * kernel, its modules and what is mounted: it is read like any other foreign data. A line that is
 * not understood, or a field that lies outside the record or over another one, makes the whole
 * format unusable; a field of a size that its type cannot have, or of a type that we do not read,
 * is TRACE_OTHER.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define TRACE_FIELDS_MAX 128
#define TRACE_NAME_BYTES 64
#define TRACE_RECORD_MAX 8192 /* PERF_MAX_TRACE_SIZE of the kernel */

/* What a BPF program does not get to see: the kernel keeps a pointer there (perf_call_bpf_enter,
 * trace_call_bpf). */
#define TRACE_HIDDEN_BYTES 8

enum trace_field_type {
	/* of 1, 2, 4 or 8 bytes; also enums, bool, and pointers (8 bytes) but those to char */
	TRACE_UNSIGNED = 1,
	TRACE_SIGNED,
	TRACE_CHARS,	/* an array of char: a string inside the record */
	TRACE_DATA_LOC, /* __data_loc char[], 4 bytes */
	TRACE_REL_LOC,	/* __rel_loc char[], 4 bytes */
	TRACE_POINTER,	/* char *: the string's address, 8 bytes */
	/* arrays, structs, sizes that are not as above, one name for two fields: not read */
	TRACE_OTHER,
};

struct trace_field {
	char name[TRACE_NAME_BYTES];
	enum trace_field_type type;
	uint32_t offset;
	uint32_t size;
};

struct trace_format {
	char name[TRACE_NAME_BYTES];
	uint32_t id;
	struct trace_field fields[TRACE_FIELDS_MAX];
	size_t field_count;
};

/*
 * Where tracefs is ("/sys/kernel/tracing"), mounted there when it is not and we may: 0, or -errno
 * with error_text that says what to do: -EACCES (no rights), -ENODEV (this kernel has none), ...
 * `ret_path` owns the path.
 */
int tracefs_find(struct buf *ret_path);
/* The same below `root`, "" or a folder that stands for "/", and without mounting anything: -ENOENT
 * when it is not mounted. */
int tracefs_find_below(const char *root, struct buf *ret_path);

/* Parses the text of a format file: 0, or -EINVAL with error_text naming the line. */
int trace_format_parse(const char *text, size_t size, struct trace_format *ret);
/* Reads the one of "group:event": 0, or -errno with error_text; -ENOENT when the kernel has no such
 * event. */
int trace_format_read(const char *tracefs, const char *event, struct trace_format *ret);
const struct trace_field *trace_format_field(const struct trace_format *f, const char *name);
