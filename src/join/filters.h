/* SPDX-License-Identifier: MIT */
/*
 * Seccomp: what the filters of a thread will say to the system calls that joining makes, before any
 * is made. A call that is not foreseen may end the program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sock_filter;

/* What a filter says to a call: SECCOMP_RET_ALLOW and so on, without its data. The program is
 * `count` instructions of classic BPF; one that is not sound kills, as far as we know.
 * `arguments` are six. */
uint32_t filters_run(const struct sock_filter *program, size_t count, unsigned int call,
	const uint64_t *arguments);

/* Whether all filters of a stopped thread let pass what joining does, or waking (wake.h), too:
 * 0, or -errno with error_text (-EPERM: they do not, or cannot be read). */
int filters_check(pid_t tid, bool wakes);
