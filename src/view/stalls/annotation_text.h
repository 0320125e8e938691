/* SPDX-License-Identifier: MIT */
/*
 * Where instructions come from, as text for terminal and page. Names may hold any bytes that the
 * profiled program chose; writers escape the text.
 */
#pragma once

#include "base/buf.h"
#include "view/stalls/annotation.h"

/* Appends "kernel.cu:12", without folders; "(line not known)". */
void annotation_line_text(
	const struct profile_reader *r, uint32_t file, uint32_t line, struct buf *b);
/*
 * Appends how the instructions of a site came into the function, from the innermost function
 * outwards; nothing where they are its own:
 *
 *	square, inlined at kernel.cu:6 in load_tile, at :15
 *
 * Functions are without parameters and arguments. A file is named only where it differs from the
 * one before, at first from `file`. A function that was called, not inlined, has no call site:
 * "norm, called".
 */
void annotation_way_text(
	const struct annotation *a, const struct annotation_site *p, uint32_t file, struct buf *b);
