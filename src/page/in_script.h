/* SPDX-License-Identifier: MIT */
/* JSON as it can stand in a script element: it has '<' in strings only, where that can be written
 * otherwise. */
#pragma once

#include "base/buf.h"

/* Takes `text` over. 0 or -ENOMEM with error_text. */
int in_script(struct buf *text, struct buf *ret);
