/* SPDX-License-Identifier: MIT */
/*
 * Stacks that a watch kept, as names: kernel functions by /proc/kallsyms, user code by the files
 * that its process maps (code_files.h). What cannot be named is shown as module+0x and its address
 * in the file (an offset in it where the file cannot be read), or as the address where even that is
 * not known.
 *
 * Code of a process is named by what it maps now. Nothing of it is when the process has ended
 * since, or runs another program: its innermost function has to be among what is mapped. (Where
 * code is always mapped at the same place, as without ASLR, a program that came after it by exec
 * cannot be distinguished.)
 */
#pragma once

#include "base/buf.h"
#include "monitor/watch.h"

struct stack_names;

/* `program` as in code_files.h. 0 or -ENOMEM with error_text. */
int stack_names_new(struct watch *w, const char *program, struct stack_names **ret);
void stack_names_free(struct stack_names *n);
/* As of code_files.h. */
const char *stack_names_refusal(const struct stack_names *n);
uint64_t stack_names_unreadable(const struct stack_names *n);
/* Appends one frame a line, leaf first: the kernel's, then those of `pid`, which was there at
 * `time_ns` (CLOCK_MONOTONIC). A negative id is no stack. Returns why the process's frames are only
 * addresses, or NULL. */
const char *stack_names_write(struct stack_names *n, int32_t kernel_stack, int32_t user_stack,
	uint32_t pid, uint64_t time_ns, struct buf *out);
