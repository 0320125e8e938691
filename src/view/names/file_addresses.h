/* SPDX-License-Identifier: MIT */
/*
 * From offsets in files to the addresses at which the files were linked to run, which are those
 * that `nm` prints and `addr2line -e FILE` reads.
 *
 * A profile keeps offsets. Of each file that was read for names it also has where its code was
 * linked to run; for other files there is no address.
 *
 * Use after the last event was read. Owned by the caller.
 */
#pragma once

#include "base/vec.h"
#include "profile/reader.h"

struct file_addresses {
	struct vec(struct profile_segment) segments; /* by module and offset */
};

/* 0 or -ENOMEM with error_text; release it in either case. */
int file_addresses_init(struct file_addresses *a, const struct profile_reader *r);
void file_addresses_release(struct file_addresses *a);

/* The address of an offset in a file (a module); the offset itself where it is not known. */
uint64_t file_address(const struct file_addresses *a, uint32_t module, uint64_t offset);
