/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether that is what is to go wrong: $XPUPROF_SIM_XE_FAULT (node.c). */
static inline bool has_fault(const char *name)
{
	const char *fault = getenv("XPUPROF_SIM_XE_FAULT");

	return fault && !strcmp(fault, name);
}
