/* SPDX-License-Identifier: MIT */
/*
 * The process that samples hardware counters, from its fork on. It loads NVIDIA's libraries,
 * samples every device that the program may see, and sends the samples to the recorder
 * (counter_messages.h). It needs nothing in the program: counters are of the whole device, whoever
 * uses it. If the driver or CUPTI crashes or hangs in here, nothing else is hurt.
 */
#pragma once

#include <stdint.h>

struct counter_sampler_options {
	int socket;
	uint64_t interval_ns;
	char **environment; /* the program's: which devices it may see, and where CUPTI is */
};

_Noreturn void counter_sampler_run(const struct counter_sampler_options *o);
/* How many counters can be followed at once at this interval. */
unsigned int counter_sampler_limit(uint64_t interval_ns);
