/* SPDX-License-Identifier: MIT */
/*
 * The page of a recording as one file with its data, which a browser opens without a server:
 *
 *	about		what the recording is (about.h), and how coarse the data are
 *	axis		the time axis (axis_json.h), in columns of about.column_ns
 *	sums		flame graphs of ranges (file_sums.h)
 *	pictures	flame graphs of the whole recording, of each view that has one, as SVG
 *	report		its tables, as text
 *
 * A file has a limit. To keep it, columns and slices of time become longer, and then pictures are
 * left out; the page says so.
 */
#pragma once

#include "export/exporter.h"

/* A row like those of exporter.c, which cannot know it: `export --to html`. */
extern const struct exporter page_file_exporter;
