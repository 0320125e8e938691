/* SPDX-License-Identifier: MIT */
/*
 * Programs for the operating system's kernel in the objects of a plan: uprobes, tracepoints, and
 * what else libbpf loads by its section. They run for every process of the machine, as they do
 * elsewhere.
 *
 * An array that these and programs in GPU kernels use is one memory: the kernel's, which is mapped
 * here and in each process. The plan gets what is shared here, for as long as this is open.
 */
#pragma once

#include "probe/programs.h"

struct kernel_programs;

/* Loads and attaches all of a plan that was sealed; *ret is NULL where there are none. Files that
 * uprobes are put into are opened with the rights of `user`. 0 or -errno with error_text. */
int kernel_programs_open(struct kernel_programs **ret, struct plan *plan,
	const struct programs *programs, const struct user *user);
void kernel_programs_close(struct kernel_programs *k);
