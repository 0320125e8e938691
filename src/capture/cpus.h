/* SPDX-License-Identifier: MIT */
/* The CPUs that are online. */
#pragma once

/* Calls visit for each, in order, until one returns other than 0: 0 or that, or
 * -errno with error_text when the list cannot be read. */
int cpus_each_online(int (*visit)(void *context, int cpu), void *context);
