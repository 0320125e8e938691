/* SPDX-License-Identifier: MIT */
/*
 * Runtimes that make code while a program runs: which file shows that a process has one, and what
 * has it name that code for profilers, which none does unless it is asked to.
 */
#pragma once

#include "profile/model.h"

struct runtime {
	const char *name;
	const char *hint; /* an imperative: how its code gets names */
};

/* The runtime that a file of this path is, or is the main library of. */
enum profile_runtime runtime_of_file(const char *path);
/* Never NULL: RUNTIME_UNKNOWN and numbers of later versions have a hint, too. */
const struct runtime *runtime_info(enum profile_runtime runtime);

/* In struct profile_module's flags. */
static inline enum profile_runtime runtime_of_flags(uint32_t flags)
{
	return (flags & MODULE_RUNTIME) >> MODULE_RUNTIME_SHIFT;
}
