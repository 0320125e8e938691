/* SPDX-License-Identifier: MIT */
/* The full text of instructions, as nvdisasm writes it where it is installed. */
#pragma once

#include "gpucode/format.h"

/* That nvdisasm is not installed, cannot be run, fails, or is late costs its text and is no error; that it cannot be run
 * or fails is appended to the request's `failure`. 0 or -errno. */
int cubin_text(const struct gpucode_text_request *request);
