/* SPDX-License-Identifier: MIT */
/*
 * Reads code objects out of the memory of a process, for whoever keeps them (code.h). Nothing is
 * kept here, so that it can run in a process of its own:
 *
 *	request  struct python_code_request, then for each code object a struct
 *	         python_code_wanted, and the struct walk_python_code of it if there is one
 *	reply    for each, in their order, struct python_code_found; then its function, its file
 *	         and its line table, in bytes, and the addresses of its copies
 *
 * A reply that becomes too long ends early; what is not in it is asked for again. A long line table
 * is only in it where that is asked for: names are worth more than lines, and come first.
 */
#pragma once

#include "base/buf.h"
#include "python/objects.h"

#define PYTHON_CODES_MAX       256		  /* of a request */
#define PYTHON_REQUEST_BYTES   61440		  /* of it; a longer one ends */
#define PYTHON_CODES_BYTES     ((size_t)4 << 20)  /* a longer reply ends */
#define PYTHON_TABLE_SHORT     ((size_t)32 << 10) /* bytes of a line table; others are long */
#define PYTHON_CODE_HEADER_MAX 512		  /* bytes of a code object before its bytecode */
#define PYTHON_CHECK_BYTES     32		  /* at code_check (walk/python.h) */
#define PYTHON_NAME_MAX	       (4 * PYTHON_TEXT_MAX) /* bytes */
#define PYTHON_COPIES_MAX      4096		     /* of bytecode: threads */

/* Of struct walk_python, what says where things are. */
struct python_code_request {
	uint32_t version;
	uint32_t code_check;
	uint64_t runtime;
};

struct python_code_wanted {
	uint64_t code; /* as in struct walk_python_frame */
	uint32_t has_copy;
	uint32_t long_table; /* its line table, too, if that is long */
};

struct python_code_found {
	int32_t error; /* 0, or -ENOENT: it cannot be read, or is no such code object (any more) */
	uint32_t first_line;
	uint32_t first_traceable; /* units */
	uint32_t function_size;
	uint32_t file_size;
	uint32_t table_size; /* 0: lines are not known */
	uint32_t copy_count;
	uint32_t has_copies; /* it may have others by the next time */
	uint32_t table_left; /* its line table is long, and was not asked for */
	uint32_t reserved;
	uint64_t bytecode; /* 0: not needed */
	uint64_t bytecode_size;
};

/* Appends the reply: 0; -EINVAL; -ENOTSUP or -EIO (python_layout_load); or -ENOMEM. */
int python_code_read(
	const struct python_memory *m, const void *request, size_t size, struct buf *reply);
