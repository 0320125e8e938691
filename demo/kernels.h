/* SPDX-License-Identifier: MIT */
/*
 * The demo's kernels as PTX text, compiled by the driver. Each thread works on its own element of
 * buffers of `count` floats, a power of two; an index is cut to that, so no launch can reach past a
 * buffer. `rounds` is how much work there is.
 */
#pragma once

/*
 * What every kernel begins with: %r1 the thread, %rd1.. the three buffers, %r2 count - 1, %r3
 * rounds.
 */
/* clang-format off */
#define KERNEL(name, body)                                                                         \
	".visible .entry " name "(\n"                                                              \
	"\t.param .u64 out, .param .u64 left, .param .u64 right,\n"                                \
	"\t.param .u32 count, .param .u32 rounds)\n"                                               \
	"{\n"                                                                                      \
	"\t.reg .pred %p<2>;\n"                                                                    \
	"\t.reg .b32 %r<8>;\n"                                                                     \
	"\t.reg .f32 %f<8>;\n"                                                                     \
	"\t.reg .b64 %rd<10>;\n"                                                                   \
	"\tld.param.u64 %rd1, [out];\n"                                                            \
	"\tld.param.u64 %rd2, [left];\n"                                                           \
	"\tld.param.u64 %rd3, [right];\n"                                                          \
	"\tld.param.u32 %r2, [count];\n"                                                           \
	"\tld.param.u32 %r3, [rounds];\n"                                                          \
	"\tcvta.to.global.u64 %rd1, %rd1;\n"                                                       \
	"\tcvta.to.global.u64 %rd2, %rd2;\n"                                                       \
	"\tcvta.to.global.u64 %rd3, %rd3;\n"                                                       \
	"\tsub.u32 %r2, %r2, 1;\n"                                                                 \
	"\tmov.u32 %r4, %ctaid.x;\n"                                                               \
	"\tmov.u32 %r5, %ntid.x;\n"                                                                \
	"\tmov.u32 %r6, %tid.x;\n"                                                                 \
	"\tmad.lo.u32 %r1, %r4, %r5, %r6;\n"                                                       \
	"\tand.b32 %r1, %r1, %r2;\n"                                                               \
	"\tmul.wide.u32 %rd4, %r1, 4;\n"                                                           \
	"\tadd.u64 %rd5, %rd1, %rd4;\n"                                                            \
	"\tadd.u64 %rd6, %rd2, %rd4;\n"                                                            \
	"\tld.global.f32 %f1, [%rd6];\n"                                                           \
	"\tmov.u32 %r4, 0;\n"                                                                      \
	"ROUND:\n" body                                                                            \
	"\tadd.u32 %r4, %r4, 1;\n"                                                                 \
	"\tsetp.lt.u32 %p1, %r4, %r3;\n"                                                           \
	"\t@%p1 bra ROUND;\n"                                                                      \
	"\tst.global.f32 [%rd5], %f1;\n"                                                           \
	"\tret;\n"                                                                                 \
	"}\n"

/* A row of one matrix with a column of the other. */
#define MULTIPLY                                                                                   \
	"\tadd.u32 %r5, %r1, %r4;\n"                                                               \
	"\tand.b32 %r5, %r5, %r2;\n"                                                               \
	"\tmul.wide.u32 %rd7, %r5, 4;\n"                                                           \
	"\tadd.u64 %rd8, %rd2, %rd7;\n"                                                            \
	"\tadd.u64 %rd9, %rd3, %rd7;\n"                                                            \
	"\tld.global.f32 %f2, [%rd8];\n"                                                           \
	"\tld.global.f32 %f3, [%rd9];\n"                                                           \
	"\tfma.rn.f32 %f1, %f2, %f3, %f1;\n"

static const char kernels_ptx[] =
	".version 6.0\n"
	".target sm_70\n"
	".address_size 64\n"
	KERNEL("matmul_tiled", MULTIPLY)
	KERNEL("matmul_backward_weights", MULTIPLY)
	KERNEL("matmul_backward_input", MULTIPLY)
	KERNEL("softmax_rows",
		"\tmul.f32 %f2, %f1, 0fBE800000;\n"
		"\tex2.approx.f32 %f3, %f2;\n"
		"\tfma.rn.f32 %f1, %f3, 0f3F000000, 0f3E800000;\n")
	KERNEL("layer_norm",
		"\tfma.rn.f32 %f2, %f1, %f1, 0f3F800000;\n"
		"\trsqrt.approx.f32 %f3, %f2;\n"
		"\tmul.f32 %f1, %f1, %f3;\n")
	KERNEL("gelu_activation",
		"\tmul.f32 %f2, %f1, 0fBFD9F9A3;\n"
		"\tex2.approx.f32 %f3, %f2;\n"
		"\tadd.f32 %f4, %f3, 0f3F800000;\n"
		"\trcp.approx.f32 %f5, %f4;\n"
		"\tmul.f32 %f1, %f1, %f5;\n")
	KERNEL("cross_entropy_loss",
		"\tfma.rn.f32 %f2, %f1, %f1, 0f3F800000;\n"
		"\tlg2.approx.f32 %f1, %f2;\n")
	KERNEL("adam_update",
		"\tfma.rn.f32 %f2, %f1, %f1, 0f322BCC77;\n"
		"\tsqrt.approx.f32 %f3, %f2;\n"
		"\tfma.rn.f32 %f1, %f3, 0fBA83126F, %f1;\n");
/* clang-format on */
