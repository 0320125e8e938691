/* SPDX-License-Identifier: MIT */
/*
 * Rows of a timeline beside a thread's calls: when it did not run, and when it waited for the GPU.
 *
 * Waits have the name of their function, and names are final only at the end of a recording. So
 * they are written from a second reading of it, after the rest of the timeline. Memory is for the
 * tables, not for the events.
 */
#pragma once

#include <stdbool.h>

#include "export/output.h"
#include "profile/reader.h"

/*
 * Writes the waits of a recording that `done` has read to its end, and names their rows: 0 or
 * -errno with error_text.
 * *any: events stand before these; becomes true when some are written.
 */
int chrome_waits(const struct profile_reader *done, struct output *o, bool *any);
