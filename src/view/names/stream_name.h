/* SPDX-License-Identifier: MIT */
/* What streams are called that stand alone: in rows of heatmaps, not below their device. */
#pragma once

#include "base/buf.h"
#include "view/names/device.h"

/* Appends "GPU 0, stream 7 of python3 (4711)": that of an operation. Use after the last event was
 * read. */
void stream_name(const struct profile_reader *r, const struct device_numbers *numbers, uint32_t op,
	struct buf *b);
