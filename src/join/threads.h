/* SPDX-License-Identifier: MIT */
/* Which thread of a program is borrowed, and when. */
#pragma once

#include "join/subject.h"
#include "join/tracee.h"

/*
 * Stops a thread at a moment at which it holds no lock of the loader or the allocator, as far as
 * can be seen. Those that wait in a call that the kernel begins again come first, then those that
 * run, then those whose wait begins anew, and last those that run in real time. One at a time; the
 * others go on. 0, or -errno with error_text.
 */
int threads_borrow(const struct subject *t, uint32_t pid, struct tracee *ret);

/* The registers with which it goes back: a system call that was interrupted begins again. */
struct user_regs_struct threads_way_back(const struct tracee *t);

/* The system call that a thread waits in; -1: none, or it runs. */
long threads_call(uint32_t pid, pid_t tid);
/* Nanoseconds of CPU time; 0: it is gone. */
uint64_t threads_time_run(uint32_t pid, pid_t tid);

struct code_range {
	uint64_t start, size;
};

/* Waits until the thread that was borrowed (0: it is not known), or all of the program's, have been
 * seen elsewhere than in that code, or have run for a while: none is in the middle of a few
 * instructions of it any more. A second at most; false: some may be. */
bool threads_settle(const struct subject *t, uint32_t pid, pid_t borrowed, bool all,
	const struct code_range *code);
