/* SPDX-License-Identifier: MIT */
/* What comes from a recorder: its profile, and what it says. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/user.h"
#include "profile/recent.h"
#include "top/recorder.h"

struct feed {
	struct recorder recorder;
	struct recent *recent;
	struct buf messages; /* lines */
	bool ended;	     /* all has come */
	struct user user;
};

/* Starts the recorder; then this process becomes the caller of sudo, who may only see: 0 or -errno
 * with error_text. Release it in either case. */
int feed_open(struct feed *f, const struct recorder_options *o);
/* Waits for something from the recorder, or from `others` descriptors at `extra` (which may be -1),
 * for so long at most, and takes it: 0 or -errno. */
int feed_wait(struct feed *f, const int *extra, unsigned int others, int wait_ms);
/* Waits for the end of the recorder, reading all that it says: its exit status. */
int feed_close(struct feed *f);
void feed_release(struct feed *f);
