/* SPDX-License-Identifier: MIT */
/* The library that is preloaded for programs in GPU kernels. */
#pragma once

#include <stdint.h>

#include "record/target.h"

/*
 * Puts it before what the user preloads; it finds us at `address`. And has Triton compile its
 * kernels with the programs: with a compiler of ours, and in folders for these programs alone
 * (`plan` is their hash), below the user's ~/.cache; not where that cannot be written to. 0 or
 * -errno with error_text.
 */
int preload_for_probes(struct target_user *u, const char *address, uint64_t plan);
