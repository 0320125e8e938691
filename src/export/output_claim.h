/* SPDX-License-Identifier: MIT */
/*
 * A file that will be written later, at the end of a recording: it is found out now whether that
 * can be done, and nobody else who asks so for the same file gets it meanwhile.
 *
 * What stands there is locked and stays as it is. Where nothing does, an empty file is made, and
 * removed again if nothing has taken its place. Pipes, devices and open files have no lock. One
 * thread at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/place.h"

struct output_claim {
	struct place place;
	int fd; /* -1: nothing is locked */
	bool created;
};

#define OUTPUT_CLAIM_NONE ((struct output_claim){.place = PLACE_NONE, .fd = -1})

/* 0, or -errno with error_text; -EBUSY: somebody else has it. `user` is borrowed until the release;
 * NULL: ourselves. */
int output_claim(struct output_claim *c, const struct user *user, const char *path);
/* After the file was written, or will not be. */
void output_claim_release(struct output_claim *c);
