/* SPDX-License-Identifier: MIT */
/* Our thread: gives xpuprof the values of maps and GPUs the tails of rings, and switches programs
 * off when xpuprof asks for that, or is gone. It sleeps until something of that is wanted. */
#pragma once

/* Once, from the first module with programs on. With the lock of the arenas. */
void thread_start(void);
