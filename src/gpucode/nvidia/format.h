/* SPDX-License-Identifier: MIT */
/* Code of NVIDIA GPUs: cubins (cubin.h), with the text of nvdisasm (text.h) and names from a table
 * (sass.h). */
#pragma once

#include "gpucode/format.h"

extern const struct gpucode_format cubin_format;
