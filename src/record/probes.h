/* SPDX-License-Identifier: MIT */
/*
 * Programs inside GPU kernels, in a recording: they run in the command's processes, and what they
 * find goes into the profile.
 *
 *	probes_open -> probes_drain* -> probes_stop -> probes_finish -> probes_close
 *
 * One thread. All functions return 0 or -errno with error_text.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probe/programs.h"
#include "profile/tasks.h"
#include "profile/writer.h"
#include "record/target.h"

struct probes;

struct probes_options {
	const struct programs *programs;
	struct target_user *user; /* borrowed; gets the environment */
	int folder_fd;		  /* the recording's own */
	const char *folder;
	struct buf *notes;
};

/* `notes` gets lines that the user should read. */
int probes_open(struct probes **ret, const struct probes_options *options, struct profile_writer *w,
	struct tasks *t);
void probes_close(struct probes *p);
int probes_poll_fd(const struct probes *p);
/* When probes_drain has something to do at the latest; UINT64_MAX: whenever something comes. */
uint64_t probes_due_ns(const struct probes *p);
/* Records that have come; sets *ret_busy where there were some. */
int probes_drain(struct probes *p, bool *ret_busy);
/* The last values of all processes that still run; then their programs are switched off. Waits for
 * them for a bounded time. */
int probes_stop(struct probes *p);
/* What is in maps, and what was lost. */
int probes_finish(struct probes *p);
/* Whether some kernel had programs in it. */
bool probes_ran(const struct probes *p);
