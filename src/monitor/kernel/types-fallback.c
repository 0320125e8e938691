// SPDX-License-Identifier: MIT
/* Replaces types.c in builds without libbpf. */
#include "monitor/kernel/types.h"

#include <errno.h>

#include "base/error.h"

static int missing(void)
{
	return error_set(-ENOTSUP,
		"this build cannot read the kernel's type information (libbpf is missing)");
}

void types_free(struct types *t)
{
}

int types_member(
	const struct monitor_kernel *k, const char *module, const char *path, uint32_t *ret_offset)
{
	return missing();
}

int types_argument(const struct monitor_kernel *k, const char *module, const char *function,
	unsigned int number, uint32_t *ret_size)
{
	return missing();
}

int types_result(const struct monitor_kernel *k, const char *module, const char *function,
	uint32_t *ret_size)
{
	return missing();
}
