/* SPDX-License-Identifier: MIT */
/* What each process had the GPUs do, and what they lacked when they did nothing: see struct
 * gap_process. */
#pragma once

#include "profile/reader.h"
#include "view/gaps/gaps.h"

/* Of the work and the gaps that were found: 0 or -ENOMEM with error_text. The reader has read all
 * of the file. */
int gap_processes_add(struct gaps *g, const struct profile_reader *r);
