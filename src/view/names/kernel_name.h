/* SPDX-License-Identifier: MIT */
/* What functions of GPU code are called. */
#pragma once

#include "base/buf.h"
#include "profile/reader.h"

/* Appends the readable name of a function of GPU code. One that a compiler made for one kernel
 * alone, "$kernel$name", becomes "name (called by kernel)". */
void kernel_readable(const struct profile_reader *r, uint32_t name, struct buf *b);
