/* SPDX-License-Identifier: MIT */
/* The library that is preloaded for programs in GPU kernels. */
#pragma once

#include "record/target.h"

/* Puts it before what the user preloads; it finds us at `address`. 0 or -errno with error_text. */
int preload_for_probes(struct target_user *u, const char *address);
