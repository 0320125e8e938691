/* SPDX-License-Identifier: MIT */
/*
 * Where instructions come from, in words that terminal and page share. Names may hold any bytes the profiled program
 * chose; writers escape the text.
 */
#pragma once

#include "base/buf.h"
#include "view/stalls/annotation.h"

/* Appends "kernel.cu:12", without folders; "(line not known)". */
void annotation_line_text(const struct profile_reader *r, uint32_t file, uint32_t line, struct buf *b);
/*
 * Appends how the instructions of a place came into the function, from the innermost function outwards; nothing where
 * they are its own:
 *
 *	square, inlined at kernel.cu:6 in load_tile, at :15
 *
 * Functions are without parameters and arguments, and files are named only where they change, the first time from
 * `file`. Of functions that were called the place of the call is not known: "norm, called".
 */
void annotation_way_text(
	const struct annotation *a, const struct annotation_place *p, uint32_t file, struct buf *b);
