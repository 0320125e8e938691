/* SPDX-License-Identifier: MIT */
/*
 * Machine code that a compiler of the program's own has made of text with programs in it (ptxas/).
 * The text as it was before is kept in a folder, in a file that is named after the code, so that
 * whoever loads the code later learns which kernels and lines are in it. The folder is the user's
 * own and stays, as compilers keep what they have made, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Whether there is such a folder. */
bool compiled_is_kept(void);
/* The text of an image in memory, and the hash of the text with programs it was made of. False: it
 * was not made here. Of an image that is damaged nothing is read beyond what is mapped. */
bool compiled_find(const void *image, struct buf *ret_text, uint64_t *ret_spliced);
/* An image of machine code in memory, of so many bytes at most. False: it is damaged or larger. */
bool compiled_copy(const void *image, size_t most, struct buf *ret);
/* Once it is there, the image is found. */
bool compiled_keep(const struct buf *image, const struct buf *text, uint64_t spliced);
