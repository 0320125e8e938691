/* SPDX-License-Identifier: MIT */
/* Threads of ours in the program: nobody waits for them, and no signal of the program's is handled
 * there. */
#pragma once

/* In any thread of the program's. 0 or -errno. */
int own_thread_start(void *(*run)(void *), void *context);
