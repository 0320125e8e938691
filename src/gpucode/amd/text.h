/* SPDX-License-Identifier: MIT */
/* The full text of instructions, from LLVM's llvm-objdump where it is installed: ROCm's, else the
 * newest of the system. $XPUPROF_LLVM_OBJDUMP names another; empty: none. */
#pragma once

#include "gpucode/format.h"

/* As gpucode_format's `text`. */
int amd_text(const struct gpucode_text_request *request);

/* What a line of llvm-objdump says: false, it is no instruction, or one that it does not know. The
 * text is cut out of the line, which is changed. */
bool amd_text_line(char *line, uint64_t *ret_address, char **ret_text);
