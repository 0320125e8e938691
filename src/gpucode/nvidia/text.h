/* SPDX-License-Identifier: MIT */
/* The full text of instructions, as nvdisasm writes it where it is installed. */
#pragma once

#include "gpucode/format.h"

/* A nvdisasm that is not installed, cannot be run, fails or is late is no error: text is missing
 * then. If it cannot be run or fails, the reason is appended to the request's `failure`. 0 or
 * -errno. */
int cubin_text(const struct gpucode_text_request *request);
