/* SPDX-License-Identifier: MIT */
/*
 * Where a file is to be written: a name in a folder.
 *
 * The folder is found once and held open, so that whoever replaces a part of the path later, by a
 * link for instance, moves nothing of ours. All that happens there is done with the rights of a
 * user (base/user.h). Root, when it writes for itself, follows no link that somebody else may have
 * made: neither in a folder where others may make files, nor one of another owner; and in such a
 * folder it writes into no file that is another's, or has a second name.
 *
 * Functions return 0 (or a descriptor) or -errno; those that are given what they are `doing`
 * ("create": "cannot create 'x'") set error_text, the others leave it to place_error. One thread at
 * a time.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/user.h"

struct place {
	const struct user *user; /* borrowed; NULL: ourselves */
	int folder;		 /* -1: none */
	bool shared;		 /* we are root, and others may make files in the folder */
	bool opened_by_name;	 /* a link of /proc that leads to something without a name */
	char name[NAME_MAX + 1];
};

#define PLACE_NONE ((struct place){.folder = -1})

/* Finds the place, which needs not exist; links are followed, also the last. */
int place_find(struct place *p, const struct user *user, const char *path, const char *doing);
void place_release(struct place *p);
/* -errno, with a text that names the path, and the user whose rights did not suffice. */
int place_error(const struct user *user, int code, const char *doing, const char *path);

/* What stands there now; a link is not followed. */
int place_stat(const struct place *p, struct stat *ret);
/* Opens it without following a link; a new one (O_CREAT) must not be there yet. */
int place_open(const struct place *p, int flags, mode_t mode);
/* Opens what stands there, `st`, for writing into it: a pipe when somebody reads it, which is
 * waited for until a signal comes. -EMLINK: not for root, see above. */
int place_open_present(const struct place *p, const struct stat *st, int flags);
int place_remove(const struct place *p);
/* The file gets another name in its folder, or `p` gets the file of another name. */
int place_rename(const struct place *from, const struct place *to);
/* Whether a file can be written there, without doing so. */
int place_check(const struct place *p);
/* Whether what is open there has that name still. */
bool place_holds(const struct place *p, int fd);
/* Nobody else has the lock of a file, and we have it from now on: 0, or -EBUSY. Where locks do not
 * work there is none; devices and pipes need none. */
int place_lock(int fd);
/* A new file in the folder of `p`, at `ret`, which shares the descriptor of the folder. */
int place_temporary(const struct place *p, mode_t mode, struct place *ret);
/* `ret`, which shares the folder of `p`, has this behind its name. */
int place_beside(const struct place *p, const char *suffix, struct place *ret);

/* The descriptor that a path means ("/dev/stdout", "/dev/fd/3"); -1: none. */
int place_descriptor(const char *path);
/* Another one for what is open there, for writing: a file anew from its beginning. */
int place_reopen(int descriptor);
