/* SPDX-License-Identifier: MIT */
/*
 * Tries to load a library in a child process, so that only the child is affected when it crashes,
 * hangs or prints. Nothing of it stays in this process.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

struct library_probe {
	bool loaded;
	bool simulated;	     /* it belongs to the simulated driver */
	int version;	     /* what the version function returned; 0: nothing */
	char path[PATH_MAX]; /* where it was found */
	char problem[256];   /* why it was not loaded */
};

/* Looks for `name` as the loader does and asks `version_function` (an `int f(int *)`, 0 for
 * success; NULL: none) of it. Always fills in *ret, within a few seconds. */
void library_probe(const char *name, const char *version_function, struct library_probe *ret);
