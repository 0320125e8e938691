/* SPDX-License-Identifier: MIT */
/*
 * What a recording is, as JSON: title, command, host, elapsed_ns, realtime_ms, simulated,
 * incomplete, the views there are, the rows of the time axis (rows_json.h), and
 *
 *	column_ns	the finest columns of the time axis that are at hand
 *	whole		whether all events were read; else percent_read says how many
 *	recordings	of each that is shown: file, elapsed_ns, incomplete, error (which says why it
 *			cannot be read any more)
 */
#pragma once

#include "page/recording.h"

struct about_state {
	uint64_t column_ns;
	bool whole;
	unsigned int percent_read;
	size_t lanes_most; /* rows of so many lanes of each class */
	struct recording *const *recordings;
	size_t count;		      /* of these; 0: a page without a server */
	enum recording_growth growth; /* how they are looked at */
};

/* 0 or -ENOMEM with error_text. */
int about_json(struct buf *out, const struct recording_reading *g, const struct about_state *state);
