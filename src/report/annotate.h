/* SPDX-License-Identifier: MIT */
/* The two forms of `xpuprof annotate`: one kernel with its source, for terminals and
 * (export/annotate_html.h) as HTML. */
#pragma once

#include "base/buf.h"
#include "report/accesses.h"
#include "view/stalls/annotation.h"
#include "view/stalls/source_text.h"

struct annotate {
	const char *path;  /* of the recording */
	const char *range; /* which part of it; NULL: all */
	const struct annotation *annotation;
	const struct source_text *sources; /* one for each of its files */
	const struct kernel_accesses *accesses;
	bool source, instructions; /* what is wanted; both: instructions below their lines */
	bool all;		   /* lines and instructions without samples, too */
	bool colour;
	unsigned int width; /* columns; 0: no limit */
};

void annotate_text(const struct annotate *t, struct buf *out);
