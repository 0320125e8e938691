/* SPDX-License-Identifier: MIT */
/*
 * The process that samples hardware counters, from its main on (counter_process.h starts it). It
 * loads NVIDIA's libraries, samples every device that the program may see, and sends the samples to
 * the recorder (counter_messages.h). It needs nothing in the program: counters are of the whole
 * device, whoever uses it. If the driver or CUPTI crashes or hangs in here, nothing else is hurt.
 */
#pragma once

#include <stdint.h>

/* The number of its socket. */
#define COUNTER_SOCKET 3

/* The arguments are the interval in ns. Its status, where they make no sense. */
int counter_sampler_main(int argc, char **argv);
/* How many counters can be followed at once at this interval. */
unsigned int counter_sampler_limit(uint64_t interval_ns);
