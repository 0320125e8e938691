/* SPDX-License-Identifier: MIT */
/*
 * Whether libraries have been loaded, for recordings in which the kernel does not report that to
 * the recorder.
 *
 * The C library counts them, but returns the count (dl_iterate_phdr) only under a lock. So the
 * launch path reads the counter itself, once it has been found; until then, the latest count that
 * our own thread has asked for.
 */
#pragma once

#include <stdint.h>

/* Libraries ever loaded, as the C library counts them. Also looks for the counter. Not on the
 * launch path. */
uint64_t loads_ask(void);
/* The same, on the launch path: the count now, or that of the latest loads_ask. It changes before
 * any code of a new library can run. */
uint64_t loads_now(void);
/* Libraries ever unloaded: the count now, or that of the latest loads_ask. */
uint64_t loads_undone(void);
