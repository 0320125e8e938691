/* SPDX-License-Identifier: MIT */
/* The full text of instructions, as Intel's disassembler writes it where that is installed. */
#pragma once

#include "gpucode/format.h"

/* A library (iga.h) that is not installed, cannot be loaded, fails or is late is no error: text is
 * missing then. Where a user can do something about it, the reason is appended to the request's
 * `failure`. 0 or -errno. */
int zebin_text(const struct gpucode_text_request *request);
