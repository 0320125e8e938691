/* SPDX-License-Identifier: MIT */
/*
 * Gives up rights, for good: called by the processes of the sandbox before they read anything. What
 * a kernel does not have (Landlock before 5.13) is left out; without one of the others they do not
 * go on.
 */
#pragma once

#include <stdbool.h>

/* A build that needs more than any other does, and prints what it found. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* The reader: no capability, not root, no file to open, a few system calls, limits of memory and
 * descriptors. 0 or -errno. */
int confine_reader(void);
/* Before the reader's rest, for one that loads a library first: no capability, certainly not root.
 * 0 or -errno: -EPERM where root cannot become anybody else. */
int confine_loader(void);
/* The opener: of the capabilities we have those that mappings of other users need, and to be such a
 * user. That it opens files for reading only is enforced for openat, not for openat2, whose flags
 * no filter sees. 0 or -errno. */
int confine_opener(void);
/* What reads memory: of the capabilities we have the one for that, not root, a few system calls, no
 * files. 0 or -errno. */
int confine_memory(void);

/* For a child of ours that reads what may come from strangers, and that refers to other files: if
 * we have rights that others have not, it loses them, and opens nothing but below that folder
 * (where the kernel has Landlock), as nobody; where neither can be had it does not go on. 0 or
 * -errno. */
int confine_worker(const char *folder);
