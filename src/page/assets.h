/* SPDX-License-Identifier: MIT */
/* The page itself: page.html with page.css and the files of script/ in it. */
#pragma once

#include "base/buf.h"

/* Appends all of it. */
void assets_page(struct buf *b);
/* A page that has its data with it: what is before these, as JSON without '<', and behind. */
void assets_file_head(struct buf *b);
void assets_file_end(struct buf *b);
