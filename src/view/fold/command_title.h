/* SPDX-License-Identifier: MIT */
/* What a recording is called: its command without what is not about the program. */
#pragma once

#include "base/buf.h"

/* Appends "train --epochs 2" for "env LD_LIBRARY_PATH=/opt/lib /opt/bin/train --epochs 2": without
 * env and its settings and the folder of the program, in one line. The whole command where no
 * program is left. */
void command_title(const char *command, struct buf *b);
