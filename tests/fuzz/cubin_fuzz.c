// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as a cubin, which is asked for everything that it may know. */
#include <string.h>

#include "gpucode/nvidia/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define QUESTIONS_MAX 64 /* for each function */

static void ask(struct cubin *c, const struct cubin_function *f)
{
	struct cubin_frame frames[CUBIN_FRAMES_MAX];
	uint64_t step = f->size / QUESTIONS_MAX + 1;
	size_t code_size, sum = 0;
	const uint8_t *code = cubin_code(c, f, &code_size);

	for (uint64_t at = 0; at < f->size; at += step) {
		size_t n = cubin_frames(c, f, at, frames, NULL);

		if (!n || n > CUBIN_FRAMES_MAX)
			__builtin_trap();
		for (size_t i = 0; i < n; i++)
			sum += strlen(frames[i].function) + strlen(frames[i].path);
	}
	if (code_size)
		sum += code[0] + code[code_size - 1];
	/* So that no reading is left out. */
	__asm__ volatile("" : : "r"(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cubin *c;

	if (cubin_open(data, size, &c))
		return 0;
	(void)cubin_sm(c);
	for (size_t i = 0; i < cubin_function_count(c); i++) {
		const struct cubin_function *f = cubin_function(c, i);

		if (!cubin_function_named(c, f->name) || !cubin_function_of_symbol(c, f->symbol) ||
			!cubin_function_at(c, f->section, f->offset))
			__builtin_trap();
		ask(c, f);
	}
	cubin_close(c);
	return 0;
}
