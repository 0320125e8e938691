// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as a zebin, which is asked for everything that it may know. */
#include <string.h>

#include "fuzz.h"
#include "gpucode/intel/format.h"
#include "gpucode/intel/isa.h"
#include "gpucode/intel/zebin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define QUESTIONS_MAX 64 /* for each function */

static void ask_source(struct zebin *z, const struct zebin_function *f)
{
	uint64_t step = f->size / QUESTIONS_MAX + 1;
	size_t sum = 0;

	/* A size may be all that 64 bits hold. */
	for (uint64_t at = 0; at < f->size && at <= UINT64_MAX - step; at += step) {
		struct zebin_frame frame;
		bool called;

		require(zebin_source(z, f, at, &frame, &called));
		sum += strlen(frame.function) + strlen(frame.path);
	}
	/* So that no reading is left out. */
	__asm__ volatile("" : : "r"(sum));
}

static void ask_code(struct zebin *z, const char *name)
{
	struct gpucode_function f;
	char text[GPUCODE_NAME_MAX];
	int left = QUESTIONS_MAX;

	require(zebin_format.find((struct gpucode_image *)z, name, 0, &f));
	for (uint64_t at = 0; at + ISA_COMPACTED_BYTES <= f.size && left; left--) {
		zebin_format.instruction_name(&f, at, text, sizeof(text));
		require(*text && strlen(text) < ISA_TEXT_MAX);
		require(zebin_format.instruction_size(&f, at) >= ISA_COMPACTED_BYTES);
		at += zebin_format.instruction_size(&f, at);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct zebin *z;

	if (zebin_open(data, size, &z))
		return 0;
	for (size_t i = 0; i < zebin_function_count(z); i++) {
		const struct zebin_function *f = zebin_function(z, i);

		require(zebin_function_named(z, f->name));
		ask_source(z, f);
		ask_code(z, f->name);
	}
	zebin_close(z);
	return 0;
}
