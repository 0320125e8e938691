/* SPDX-License-Identifier: MIT */
/*
 * Recognizes, by the code of a file, the functions that every thread begins with. Names do not
 * help: libc is usually stripped of them. What cannot be stripped is the code at the return
 * address: see thread_start_x86_64.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What the address of a stack's outermost frame is. */
enum root_address {
	ROOT_RETURN_ADDRESS,
	ROOT_INTERRUPTED, /* at the very instruction */
	/* and nothing can be read where the caller should be: a new thread has not used its stack
	 * yet */
	ROOT_INTERRUPTED_NO_STACK,
};

/* True when the call before `offset` (in this file; a return address) was made by a function that
 * begins a thread, or when a thread that is interrupted at `offset` is just about to begin. The
 * descriptor stays the caller's. What cannot be read: false. */
bool thread_starts_at(int fd, uint64_t offset, enum root_address at);
