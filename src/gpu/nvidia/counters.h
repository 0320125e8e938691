/* SPDX-License-Identifier: MIT */
/*
 * Hardware counters of the GPUs, the recorder's side: starts the process that samples them
 * (counter_sampler.h) and writes its samples into the profile, for the devices that the recorded
 * program uses. A library reports that a device is used some time after its first work. Samples
 * from before are kept until then, and dropped if the device is never used.
 *
 * What cannot be sampled is counted, with the reason in counters_refusals. Only short memory and
 * the writer make a recording fail here. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/writer.h"

struct counters;
struct user;

struct counters_options {
	uint64_t interval_ns;
	/* Used during counters_open only: */
	char **environment;	 /* the program's, NULL: ours */
	const struct user *user; /* with fewer rights than ours; NULL: nobody */
};

/* Starts the sampler and waits (some seconds at most) until it samples or has reported why not: 0
 * or -errno with error_text. It has our rights as long as it finds libraries that are trusted with
 * them, else those of the user. */
int counters_open(
	struct counters **ret, const struct counters_options *o, struct profile_writer *w);
/* The same without a process: its messages are passed to counters_handle. For tests. */
int counters_open_without_sampler(
	struct counters **ret, const struct counters_options *o, struct profile_writer *w);
/* Ends the sampler if it is still there. NULL is fine. */
void counters_close(struct counters *c);

/* Readable when messages have come; -1: none will come any more. */
int counters_fd(const struct counters *c);
/* Handles every message that has come. 0 or -errno. */
int counters_drain(struct counters *c);
/* One message: 0 or -errno. A message that makes no sense ends the sampler. */
int counters_handle(struct counters *c, const void *message, size_t size);
/* The program uses the device with this UUID, which is `device` of the profile. 0 or -errno. */
int counters_use(struct counters *c, const uint8_t uuid[16], uint32_t device);
/* Asks the sampler to send what is left. */
void counters_stop(struct counters *c);
/* After that, and after some time: handles what has come and does not wait. If more was to come,
 * that is counted, with a line in counters_refusals. 0 or -errno. */
int counters_finish(struct counters *c);
/* Whether something may still come. */
bool counters_are_live(const struct counters *c);
/* Lines: why some devices were not sampled, and what helps. Valid until the next call. */
const char *counters_refusals(const struct counters *c);
