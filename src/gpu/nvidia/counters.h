/* SPDX-License-Identifier: MIT */
/*
 * Hardware counters of the GPUs, the recorder's side: starts the process that samples them
 * (counter_sampler.h) and writes what it tells into the profile, for the devices that the recorded
 * program uses. A device is known to be used when a library tells of it, some time after its first
 * work; samples from before are kept until then, and dropped when it never is.
 *
 * What cannot be sampled is counted and said in counters_refusals; nothing here fails the recording
 * but short memory and the writer. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/writer.h"

struct counters;

struct counters_options {
	uint64_t interval_ns;
	char **environment; /* the program's, NULL: ours; used during counters_open only */
};

/* Starts the sampler and waits (some seconds at most) until it samples or has said why not: 0 or
 * -errno with error_text. */
int counters_open(
	struct counters **ret, const struct counters_options *o, struct profile_writer *w);
/* The same without a process: what would come from it is given to counters_take. For tests. */
int counters_open_without_sampler(
	struct counters **ret, const struct counters_options *o, struct profile_writer *w);
/* Ends the sampler if it is still there. NULL is fine. */
void counters_close(struct counters *c);

/* Readable when there is something to drain; -1: nothing will come any more. */
int counters_fd(const struct counters *c);
/* Takes everything that has come. 0 or -errno. */
int counters_drain(struct counters *c);
/* One message: 0 or -errno. One that cannot be ends the sampler. */
int counters_take(struct counters *c, const void *message, size_t size);
/* The program uses the device with this UUID, which is `device` of the profile. 0 or -errno. */
int counters_use(struct counters *c, const uint8_t uuid[16], uint32_t device);
/* Asks the sampler to send what is left. */
void counters_stop(struct counters *c);
/* After that, and after some time: takes what has come and waits for no more. If there was to be
 * more, that is counted and said. 0 or -errno. */
int counters_finish(struct counters *c);
/* Whether something may still come. */
bool counters_are_live(const struct counters *c);
/* Lines: why some devices were not sampled, and what helps. Valid until the next call. */
const char *counters_refusals(const struct counters *c);
