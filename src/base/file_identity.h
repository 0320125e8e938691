/* SPDX-License-Identifier: MIT */
/*
 * What tells one state of a file from any other: nobody but root can make a file that has all of
 * it. A build id does not: whoever makes a file chooses that.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

struct file_identity {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	uint64_t modified_ns; /* CLOCK_REALTIME */
	uint64_t changed_ns;  /* the change time; only the kernel sets it */
	uint64_t owner;	      /* a user, as we count them */
};

static inline uint64_t file_time_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

static inline struct file_identity file_identity_of(const struct stat *st)
{
	return (struct file_identity){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.modified_ns = file_time_ns(&st->st_mtim),
		.changed_ns = file_time_ns(&st->st_ctim),
		.owner = st->st_uid,
	};
}
