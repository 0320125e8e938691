/* SPDX-License-Identifier: MIT */
/*
 * A terminal that is drawn on: its second screen, without echo, keys one by one. Whatever ends this
 * process, short of SIGKILL, the terminal is as it was before.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

struct terminal_size {
	unsigned int columns, rows;
};

/* Whether standard output is one that moves its cursor. */
bool terminal_is_there(void);
/* 0 or -errno with error_text. There is one terminal in a process. */
int terminal_begin(void);
/* Puts back what terminal_begin changed, if it did. */
void terminal_end(void);
struct terminal_size terminal_size(void);
/* Shows these lines, which may have colours, instead of what was there: 0 or -errno. */
int terminal_show(const struct buf *lines);
/* The next key, or 0: none was pressed. -1: there will be none. */
int terminal_key(void);
