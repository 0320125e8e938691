/* SPDX-License-Identifier: MIT */
/*
 * What a probe on a call costs the program, without our programs' own time, which they count. It is
 * measured on a function of ours whose first instruction the kernel has to single-step, the most
 * expensive case: some functions begin with one that it emulates.
 */
#pragma once

#include "capture/programs.h"

#define OBSERVE_SLOTS (BPF_OBSERVED_MAX - 1) /* the last one is for measuring */

struct observe_costs {
	uint32_t call_ns;
	/* 0: probes on returns would end programs with seccomp filters (Linux 6.11 to 6.13 return
	 * by a system call that filters are asked about) */
	uint32_t return_ns;
};

/* 0, or -errno with error_text: such probes do not work here, or (-ENOTSUP) see only the first
 * thread of a process (before Linux 6.10). */
int observe_costs_measure(struct observe_costs *ret, struct programs *p);
