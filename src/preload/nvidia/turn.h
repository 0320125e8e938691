/* SPDX-License-Identifier: MIT */
/*
 * The lock that guards arenas and modules: one thread at a time has its turn. Programs' threads
 * come here with locks of their own, as that of the loader where a library begins or ends, and the
 * Sanitizer library, which has the loader open others, is called in a turn. So where it is wanted
 * no such thread waits for ever.
 */
#pragma once

#include <stdbool.h>

/* Of a thread of the program's; false: another one has been busy for too long, and this one has to
 * go on without. */
bool turn_begin(void);
/* Where the process ends: none waits for ever. */
bool turn_begin_soon(void);
/* Of a thread of our own. */
void turn_wait(void);
void turn_end(void);

/* What a thread had to change and could not: whoever has the next turn does, before anything else.
 * (If there is no memory for that, all that is done with it from then on fails.) */
void turn_leave(void (*change)(void *), void *what);
