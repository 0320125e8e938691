/* SPDX-License-Identifier: MIT */
/* Which thread of a program is borrowed, and when. */
#pragma once

#include "join/subject.h"
#include "join/tracee.h"

/*
 * Stops a thread at a moment at which it holds no lock of the loader or the allocator, as far as
 * can be seen. Those that wait in a call that the kernel begins again come first, then those that run,
 * then those whose wait begins anew. One at a time; the others go on. 0, or -errno with error_text.
 */
int threads_borrow(const struct subject *t, uint32_t pid, struct tracee *ret);

/* The registers with which it goes back: a system call that was interrupted begins again. */
struct user_regs_struct threads_way_back(uint32_t pid, const struct tracee *t);

/* Waits until all threads of the program have been asleep or have used the CPU for a while: none is in
 * the middle of a few instructions any more. A second at most; false: some may be. */
bool threads_settle(uint32_t pid);
