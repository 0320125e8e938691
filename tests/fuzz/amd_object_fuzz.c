// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as a code object of AMD's, which is asked for everything that it may know;
 * and as instructions of each kind of GPU. */
#include <string.h>

#include "fuzz.h"
#include "gpucode/amd/format.h"
#include "gpucode/amd/gcn.h"
#include "gpucode/amd/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define QUESTIONS_MAX 64 /* for each function */

static void ask_source(struct amd_object *o, const struct amd_function *f)
{
	uint64_t step = f->size / QUESTIONS_MAX + 1;
	size_t sum = 0;

	for (uint64_t at = 0; at < f->size; at += step) {
		struct amd_frame frames[AMD_FRAMES_MAX];
		size_t count = amd_object_frames(o, f, at, frames);

		require(count > 0 && count <= AMD_FRAMES_MAX);
		for (size_t n = 0; n < count; n++)
			sum += strlen(frames[n].function) + strlen(frames[n].path);
	}
	/* So that no reading is left out. */
	__asm__ volatile("" : : "r"(sum));
}

static void ask_code(struct amd_object *o, const struct amd_function *f)
{
	struct gpucode_function found;
	char text[GPUCODE_NAME_MAX];
	int left = QUESTIONS_MAX;

	require(amd_object_format.find((struct gpucode_image *)o, f->name, f->symbol, &found));
	for (uint64_t at = 0; at < found.size && left; left--) {
		size_t bytes = amd_object_format.instruction_size(&found, at);

		amd_object_format.instruction_name(&found, at, text, sizeof(text));
		require(*text && strlen(text) < GCN_TEXT_MAX);
		require(bytes > 0 && bytes <= found.size - at);
		at += bytes;
	}
}

static void decode(const uint8_t *data, size_t size)
{
	for (unsigned int target = 0x2c; target < 0x60; target++) {
		char text[GCN_TEXT_MAX];
		size_t bytes = gcn_size(target, data, size);

		(void)gcn_text(target, data, size, text, sizeof(text));
		require(*text && strlen(text) < GCN_TEXT_MAX && bytes <= GCN_BYTES_MAX);
		require(size < GCN_BYTES_MIN ? bytes == size : bytes >= GCN_BYTES_MIN);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct amd_object *o;

	if (amd_object_open(data, size, &o)) {
		decode(data, size);
		return 0;
	}
	for (size_t i = 0; i < amd_object_function_count(o); i++) {
		const struct amd_function *f = amd_object_function(o, i);

		require(amd_object_function_named(o, f->name));
		require(amd_object_function_of_symbol(o, f->symbol));
		ask_source(o, f);
		ask_code(o, f);
	}
	amd_object_close(o);
	return 0;
}
