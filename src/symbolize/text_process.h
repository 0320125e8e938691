/* SPDX-License-Identifier: MIT */
/*
 * The process in which a library writes the text of GPU instructions (sandbox/writer.h), for one
 * format. It begins with the first question. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "gpucode/format.h"

struct child;

struct text_process {
	const char *program;
	const struct gpucode_format *format;
	bool (*stopped)(void *stop_context); /* NULL: never */
	void *stop_context;
	struct buf role;
	struct child *child;
};

/* As `ask` of struct gpucode_text_request; the context is a struct text_process, and the library
 * always the same. */
int text_process_ask(void *process, const char *library, const struct buf *question,
	uint64_t limit_ns, struct buf *ret_answer);
/* Ends it. */
void text_process_release(struct text_process *p);
