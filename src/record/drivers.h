/* SPDX-License-Identifier: MIT */
/*
 * The kernel's GPU drivers in a recording: monitors are watched while it runs, and what they see
 * goes into the profile.
 *
 *	drivers_open -> drivers_begin -> (drivers_drain -> drivers_write)* -> drivers_stop -> the same -> drivers_finish
 *
 * Between drain and write, the registry of processes must be brought up to date with the processes
 * that began and ended. A machine without such events, or no rights to see them, is no error: a
 * note and the profile give the reason. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "profile/tasks.h"
#include "profile/writer.h"

struct drivers;

struct drivers_options {
	const char *monitors; /* "drm,vblank"; "": those that suit the machine */
	bool whole_system;    /* all processes are recorded */
	struct buf *notes;    /* gets a line for each thing that the user should know */
};

/* Checks a list of monitors: 0, or -EINVAL with error_text. */
int drivers_check_names(const char *monitors);

/* All other functions return 0 or -errno with error_text. */
int drivers_open(struct drivers **ret, const struct drivers_options *options,
	struct profile_writer *w, struct tasks *t);
void drivers_close(struct drivers *d);
/* A descriptor that is readable when there is much to drain; negative past the last. */
int drivers_poll_fd(const struct drivers *d, size_t n);
void drivers_begin(struct drivers *d, uint64_t from_ns);
int drivers_drain(struct drivers *d);
int drivers_write(struct drivers *d);
/* No more events come after this. */
int drivers_stop(struct drivers *d);
/* After the last was written: what had not ended by `end_ns`, and what was lost. */
int drivers_finish(struct drivers *d, uint64_t end_ns);
