/* SPDX-License-Identifier: MIT */
/* The two forms of `xpuprof report`: a summary as text for people and as JSON for programs. */
#pragma once

#include "base/buf.h"
#include "view/location_text.h"
#include "view/summary.h"

struct report {
	const char *path;
	const struct profile_reader *reader;
	const struct summary *summary;
	const struct location_texts *texts;
	bool inlines;       /* functions that were inlined, too */
	size_t top;         /* rows of each table; 0: all */
	unsigned int width; /* columns; 0: no limit */
};

void report_text(const struct report *r, struct buf *out);
/* Appends what an incomplete stack's note says of the reason. */
void report_reason(const struct report *r, uint32_t note, struct buf *b);
/* The form is documented in xpuprof-report(1). */
void report_json(const struct report *r, struct buf *out);
