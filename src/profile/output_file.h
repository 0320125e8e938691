/* SPDX-License-Identifier: MIT */
/*
 * The file of a profile: how it is opened, begun and removed.
 *
 *	open ----> what is there stays as it is ----> begin ----> the new one is there
 *	               ^ locked: a second recorder        an earlier profile is NAME.old
 *	                 is refused here
 *
 * A file that is no profile is overwritten where it stands, as is a profile in a folder where no
 * file can be made. All is done with the rights of a user, and for root with care (base/place.h).
 * A new file is its owner's alone (mode 0600).
 *
 * Functions return 0 or -errno with error_text set. One thread at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/place.h"

#define OUTPUT_FILE_OLD ".old"

struct output_file {
	struct place place; /* none: "/dev/fd/3" and the like */
	const char *path;   /* borrowed, for messages */
	int fd;		    /* to be written through once it has begun; -1: none yet */
	int earlier;	    /* the profile that is to be kept, held open for its lock; or -1 */
	bool keep;	    /* what stands there is renamed when the new one begins */
	bool kept;
	bool created; /* the file at fd: ours to remove */
	bool begun;
};

#define OUTPUT_FILE_NONE ((struct output_file){.place = PLACE_NONE, .fd = -1, .earlier = -1})

/* `user` and `path` are borrowed until output_file_close. Not `keep`: an earlier profile is
 * overwritten like anything else. */
int output_file_open(struct output_file *f, const struct user *user, const char *path, bool keep);
/* Puts an empty file there. */
int output_file_begin(struct output_file *f);
/* Removes a file that we made, and puts an earlier profile back in its place. What stood there and
 * was not overwritten stays. */
void output_file_remove(const struct output_file *f);
/* Closes what is open: 0 or -errno, without error_text. */
int output_file_close(struct output_file *f);
