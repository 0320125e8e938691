/* SPDX-License-Identifier: MIT */
/* Where code of this program is, for probes of our own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The file that an address of ours lies in, and its offset there. */
struct own_code {
	const char *path;
	uint64_t offset;
};

/* False: it is in no file. */
bool own_code_find(struct own_code *ret, uintptr_t address);
