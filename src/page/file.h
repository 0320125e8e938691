/* SPDX-License-Identifier: MIT */
/*
 * The page of a recording as one file with its data, which a browser opens without a server:
 *
 *	about		what the recording is (about.h), and how coarse the data are
 *	axis		the time axis (axis_json.h), in columns of about.column_ns; where there are
 *			more rows than about.rows has, also of all together, by kind
 *	sums		flame graphs of ranges (file_sums.h)
 *	heats		heatmaps by row (file_heats.h)
 *	events		single events: what happens again, and arrows (file_events.h)
 *	pictures	flame graphs of the whole recording, of each view that has one, as SVG
 *	report		its tables, as text
 *
 * A file has a limit. Of it single events may take a part, and heatmaps. To keep it, columns and
 * slices of time become longer, first those of older parts (ages.h, "ages" in both), and then
 * single events and pictures are left out; the page says so.
 */
#pragma once

#include "export/exporter.h"

/* A row like those of exporter.c, which cannot know it: `export --to html`. */
extern const struct exporter page_file_exporter;
