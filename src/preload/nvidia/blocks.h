/* SPDX-License-Identifier: MIT */
/*
 * Programs take registers, and a kernel that has more of them may not run in blocks as large as
 * before. A launch with such blocks would fail that did not fail alone; so that is found out before
 * the program has the module.
 */
#pragma once

#include <stdbool.h>

#include "preload/nvidia/images.h"
#include "preload/nvidia/loader.h"

/*
 * The image has been loaded with programs as *handle. True: its kernels take blocks as large as
 * those of the original, perhaps now that it was spliced and loaded once more, under another
 * handle. False: they do not, or that is not to be found out; it has been unloaded.
 */
bool blocks_stay(const struct loader *l, struct image *i, void **handle);
