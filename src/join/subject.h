/* SPDX-License-Identifier: MIT */
/*
 * A program that is to be joined: what has to be known of it before anything in it is changed.
 *
 * The program is not trusted: its files and mappings may be anything, and what they say is used to
 * read and write nothing but its own memory. That goes through one descriptor, which stands for the
 * memory of the program that ran when this was opened, and for no other that runs in its process
 * later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct subject;

/* Addresses in the program. */
struct subject_functions {
	uint64_t pthread_create, pthread_self, pthread_detach, pthread_join;
	uint64_t pthread_attr_init, pthread_attr_setstack;
	uint64_t dlopen, dlsym, dlerror;
};

/* `program` is executed for the processes that read its files (subject_files.h): borrowed. 0, or
 * -errno with error_text: why it cannot be joined, in one line that goes behind "process 12". */
int subject_open(struct subject **ret, uint32_t pid, const char *program);
/* NULL is fine. */
void subject_close(struct subject *t);

const struct subject_functions *subject_functions(const struct subject *t);
/* A pidfd, which stays the subject's. */
int subject_pidfd(const struct subject *t);
/* What is there of its memory: bytes, or -errno. */
ssize_t subject_read(const struct subject *t, uint64_t address, void *ret, size_t size);
/* Also where the program may not write itself: whether all was written. */
bool subject_write(const struct subject *t, uint64_t address, const void *data, size_t size);

/* Whether code there may hold a lock of the loader or the allocator, or be about to. */
bool subject_is_unsafe(const struct subject *t, uint64_t address);
/* Whether it is code of the C library or the loader. */
bool subject_is_library(const struct subject *t, uint64_t address);

/* Zero bytes behind the end of code, in a page that is executable and never unmapped, or those of
 * an earlier joiner that `is_ours` takes for its own: where they begin, a multiple of 16; 0: there
 * are none. */
uint64_t subject_find_cave(
	struct subject *t, size_t size, bool (*is_ours)(const uint8_t *bytes, size_t size));
/* Where so many bytes are not mapped, far from what grows; 0: nowhere. */
uint64_t subject_find_place(const struct subject *t, size_t size);
