/* SPDX-License-Identifier: MIT */
/*
 * The library's functions for fork and exit.
 *
 * Where the library stays until the program ends, the C library calls them. A library that leaves
 * never registers anything that would have to be forgotten when it is unloaded: then the C library
 * holds the lock of exit handlers for a while, and a child that is forked meanwhile waits for it
 * for ever. There functions of the page that stays are registered (kept.h), once for all libraries
 * that come, and these call ours.
 *
 * For the same reason nothing in the library may use atexit or pthread_atfork, nor have
 * destructors: it is linked without the start files that would forget them (__cxa_finalize).
 */
#pragma once

#include <stdbool.h>

struct hooks {
	void (*before_fork)(void);
	void (*after_fork)(void);
	void (*in_child)(void);
	void (*at_exit)(void);
};

/* All but at_exit, from here on: 0 or -errno. */
int hooks_add(const struct hooks *hooks, bool leaves);
/* at_exit, too, before the exit handlers that were registered until now. Where the library
 * leaves: before those that there were when the first library of ours did this. 0 or -errno. */
int hooks_add_exit(void);
/* In a library that stays: one more function, after the exit handlers that are registered from now
 * on. 0 or -errno. */
int hooks_add_last(void (*function)(void *context));
/* They are not called any more, and nobody is in them. False: somebody is. */
bool hooks_remove(void);
/* Calls a function while nobody forks, as kept_unload does. */
void hooks_undisturbed(void *(*function)(void *), void *context);
/* What a library that leaves ends with (kept_unload, or dlclose). */
void *hooks_unload(void);
