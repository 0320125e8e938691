/* SPDX-License-Identifier: MIT */
/*
 * How the thread that was made is scheduled. It has begun as the borrowed one is, which may be
 * pinned to a core that is busy, be a real-time thread, or one of the lowest priority.
 */
#pragma once

#include <stdint.h>

/*
 * From now on it is an ordinary thread (SCHED_OTHER) of the nice value of the program's first, and
 * runs where any of the program's threads may; where that is a single CPU, on all that the kernel
 * gives it. `tid` is as the program counts. This is done from outside, as the program's seccomp
 * filters may forbid these calls; where we may not do it either, the thread stays as it is.
 */
void schedule_thread(uint32_t pid, int32_t tid);
