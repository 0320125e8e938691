/* SPDX-License-Identifier: MIT */
/*
 * The folder for what a recording needs only while it runs: the socket of the GPU side.
 *
 *	root	/run/xpuprof/recording-ID, as long as nobody but root can change what is above
 *	others	$XDG_RUNTIME_DIR/xpuprof/recording-ID
 *	where that cannot be had
 *		/tmp/xpuprof-recording-ID
 *
 * It is made, used and removed through its descriptor, so no other folder or link can take its
 * place. The program finds it by its path. It stays ours: the program's user, where that is another
 * one, may pass through it and can change nothing in it.
 *
 * The descriptor is locked until the recording ends, however it ends. Whoever makes the next folder
 * first removes those of its own user that nobody has locked.
 */
#pragma once

#include <stdbool.h>

#define RUNTIME_DIR_PATH_BYTES 90 /* leaves room for a name behind it in a socket's address */
#define RUNTIME_DIR_NAME_BYTES 36

struct runtime_dir {
	int parent;
	int fd; /* -1 until made */
	char name[RUNTIME_DIR_NAME_BYTES];
	char path[RUNTIME_DIR_PATH_BYTES];
};

#define RUNTIME_DIR_INIT ((struct runtime_dir){.parent = -1, .fd = -1})

/* `shared`: the program runs as another user, who has to reach what is in it. 0 or -errno. */
int runtime_dir_open(struct runtime_dir *d, bool shared);
/* Removes the folder, which has to be empty by now. Closing one that was not made is fine. */
void runtime_dir_close(struct runtime_dir *d);
