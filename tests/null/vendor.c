// SPDX-License-Identifier: MIT
/* What the names of a vendor mean that does not exist. */
#include <stddef.h>

#include "tables.h"

static const struct vendor_api apis[] = {{"null", "Null", "Null_API"}, {NULL}};
static const char *const launching_calls[] = {"nullLaunch", NULL};
static const char *const prefixes[] = {"null_stall_", NULL};
static const struct stall_reason reasons[] = {
	{"nothing", "waiting for nothing at all", STALL_MEMORY, false},
	{"selected", "doing nothing", STALL_ISSUING, true},
	{NULL},
};
static const struct stall_names stalls = {.prefixes = prefixes, .reasons = reasons};

const struct vendor vendor_null = {
	.name = "Null",
	.apis = apis,
	.launching_calls = launching_calls,
	.stalls = &stalls,
};
