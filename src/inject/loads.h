/* SPDX-License-Identifier: MIT */
/*
 * Whether libraries have been loaded, for recordings in which the kernel does not tell the recorder.
 *
 * The C library counts them and says how many there were (dl_iterate_phdr), but only behind a lock. On the launch path
 * the counter itself is read, once it has been found; until then, what our own thread was told last.
 */
#pragma once

#include <stdint.h>

/* Libraries ever loaded, as the C library says. Looks for the counter, too: it has changed with this when it did
 * before. Not on the launch path. */
uint64_t loads_ask(void);
/* The same, on the launch path: as it is now, or as it was asked for last. It has changed before any code of a new
 * library can run. */
uint64_t loads_now(void);
/* Libraries ever unloaded, as the C library says: as it is now, or as it was when loads_ask asked last. */
uint64_t loads_undone(void);
