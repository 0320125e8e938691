/* SPDX-License-Identifier: MIT */
/*
 * The type information (BTF) of the kernel and of its modules: where a member lies in a struct of a
 * driver, and how large arguments and results of its functions are. Most kernels from 5.11 on have
 * it for modules too (CONFIG_DEBUG_INFO_BTF_MODULES); static functions are in it, unless the
 * compiler changed how they are called.
 *
 * All return 0, or -errno with error_text: -ENOENT when there is no such information, -ENOTSUP when
 * this build cannot read any. `module` NULL: the kernel itself.
 */
#pragma once

#include <stdint.h>

#include "monitor/kernel/kernel.h"

/* What was read of types, kept with a kernel (kernel_kept.h). */
struct types;

void types_free(struct types *t);

/* The offset in bytes of "struct.member", or of "struct.member.member". */
int types_member(
	const struct monitor_kernel *k, const char *module, const char *path, uint32_t *ret_offset);
/* The size of an argument (from 0) that comes in a register: -ERANGE when the function has no such
 * argument. */
int types_argument(const struct monitor_kernel *k, const char *module, const char *function,
	unsigned int number, uint32_t *ret_size);
/* The size of what a function returns in a register: -ERANGE when that is nothing. */
int types_result(const struct monitor_kernel *k, const char *module, const char *function,
	uint32_t *ret_size);
