/* SPDX-License-Identifier: MIT */
/* Translated programs as kernels that can be run by themselves. */
#pragma once

#include <string.h>

#include "base/buf.h"

/* What a body is given (src/ptx/splice.h). */
static const char *const ebpf_numbers[] = {"arena", "cookie", "kernel", "addr", "arg0", "arg1",
	"arg2", "arg3", "arg4", "arg5", "arg6", "arg7", "arg8", "arg9", "arg10", "arg11"};
static const char *const ebpf_words[] = {
	"lanes", "active", "argc", "size", "kind", "insn", "lines"};

#define EBPF_NUMBERS (sizeof(ebpf_numbers) / sizeof(ebpf_numbers[0]))
#define EBPF_WORDS   (sizeof(ebpf_words) / sizeof(ebpf_words[0]))

/* Whether the body is for all lanes of a warp: for one of them it would be the same. */
static inline bool ebpf_is_for_lanes(const struct buf *body)
{
	return body->size && memmem(body->data, body->size, "%xpu_below", 10);
}

/* A kernel whose threads, a warp at most, run the body with what `given` has. What the first
 * leaves is kept. */
static inline void ebpf_wrap(struct buf *out, const struct buf *body)
{
	buf_puts(out, ".version 7.8\n.target sm_80\n.address_size 64\n"
		      ".visible .entry k(.param .u64 given)\n{\n.reg .b64 %given;\n");
	for (size_t i = 0; i < EBPF_NUMBERS; i++)
		buf_printf(out, ".reg .b64 %%xpu_%s;\n", ebpf_numbers[i]);
	for (size_t i = 0; i < EBPF_WORDS; i++)
		buf_printf(out, ".reg .b32 %%xpu_%s;\n", ebpf_words[i]);
	buf_puts(out, "ld.param.u64 %given, [given];\n");
	for (size_t i = 0; i < EBPF_NUMBERS; i++)
		buf_printf(out, "ld.global.u64 %%xpu_%s, [%%given+%zu];\n", ebpf_numbers[i], i * 8);
	for (size_t i = 0; i < EBPF_WORDS; i++)
		buf_printf(out, "ld.global.u32 %%xpu_%s, [%%given+%zu];\n", ebpf_words[i],
			(EBPF_NUMBERS + i) * 8);
	buf_puts(out, ".reg .b32 %xpu_below;\nmov.u32 %xpu_below, %lanemask_lt;\n");
	buf_append(out, body->data, body->size);
	buf_puts(out, "xpu_rest:\n.reg .pred %first;\nsetp.eq.u32 %first, %xpu_below, 0;\n"
		      "@%first st.global.u64 [%given+8], %xpu_cookie;\nret;\n}\n");
}
