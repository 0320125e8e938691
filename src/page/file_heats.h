/* SPDX-License-Identifier: MIT */
/*
 * Heatmaps by row as JSON, for a page without a server: {"threads-cpu": as heat.json has it, ...},
 * of all rows but those of functions, of which the page has the sums (file_sums.h).
 */
#pragma once

#include "page/recording.h"

/* With as many columns as fit into so many bytes, at most; where few do not fit, and of recordings
 * that have none, {}. 0 or -errno with error_text. */
int file_heats_json(struct buf *out, const struct recording_reading *g, size_t most_bytes);
