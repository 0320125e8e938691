/* SPDX-License-Identifier: MIT */
/*
 * One kernel as a page: source and instructions side by side, linked by line. The page is one file
 * that loads nothing else; without its script it still is two tables with links. All text of the
 * profile and the sources is escaped, and a Content-Security-Policy forbids the page to load
 * anything.
 */
#pragma once

#include "export/output.h"
#include "view/stalls/annotation.h"
#include "view/stalls/source_text.h"

struct annotate_page {
	const struct annotation *annotation;
	const struct source_text *sources; /* one for each of its files */
	bool all;			   /* lines without code between those with code, too */
	const char *const *remarks;	   /* sentences on the samples, NULL behind the last */
};

/* 0 or -errno with error_text; write errors may be left to output_commit. */
int annotate_html(const struct annotate_page *page, struct output *o);
