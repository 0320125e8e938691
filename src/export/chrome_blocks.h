/* SPDX-License-Identifier: MIT */
/*
 * Rows of a timeline beside the streams of a GPU: the blocks of kernels on each multiprocessor, as
 * programs inside the kernels saw them. For events that come after a recording was read to its end.
 */
#pragma once

#include <stdbool.h>

#include "export/output.h"
#include "profile/reader.h"

struct chrome_blocks;

/* `done` has read the recording. *any: events stand before these; becomes true when some are
 * written. All: 0 or -errno with error_text. */
int chrome_blocks_new(
	struct chrome_blocks **ret, const struct profile_reader *done, struct output *o, bool *any);
void chrome_blocks_free(struct chrome_blocks *b);
/* Those of a kernel, in the rows of its device, whose "process" is `pid`; of a device all have the
 * same. */
int chrome_blocks_work(struct chrome_blocks *b, const struct profile_work *w, uint32_t pid);
/* Names the rows that have events. */
void chrome_blocks_name(struct chrome_blocks *b);
/* How many are in no row: there were too many, or it is not known of which work they are. */
uint64_t chrome_blocks_missing(const struct chrome_blocks *b);
