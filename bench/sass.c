// SPDX-License-Identifier: MIT
/*
 * The instructions of a kernel in a cubin, one a line: where it stands, its lower bits, and its
 * text without operands. For ptx_sass.py.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/io.h"
#include "gpucode/nvidia/cubin.h"
#include "gpucode/nvidia/sass.h"

#define IMAGE_MAX (64u << 20)

static void print_code(const struct cubin *cubin, const struct cubin_function *f)
{
	size_t size;
	const uint8_t *code = cubin_code(cubin, f, &size);

	for (size_t at = 0; at + SASS_INSTRUCTION_BYTES <= size; at += SASS_INSTRUCTION_BYTES) {
		char text[SASS_TEXT_MAX];
		uint64_t low;

		memcpy(&low, code + at, sizeof(low));
		sass_text(cubin_sm(cubin), code + at, text, sizeof(text));
		printf("%zu %016llx %s\n", at, (unsigned long long)low, text);
	}
}

static int print_kernel(const char *path, const char *name)
{
	struct buf image = BUF_INIT;
	struct cubin *cubin = NULL;
	int error = io_read_file(path, IMAGE_MAX, &image);

	error = error ?: cubin_open(image.data, image.size, &cubin);
	for (size_t i = 0; !error && i < cubin_function_count(cubin); i++)
		if (!strcmp(cubin_function(cubin, i)->name, name))
			print_code(cubin, cubin_function(cubin, i));
	cubin_close(cubin);
	buf_release(&image);
	return error;
}

int main(int argc, char **argv)
{
	int error = argc == 3 ? print_kernel(argv[1], argv[2]) : -1;

	if (argc != 3)
		fprintf(stderr, "usage: sass CUBIN KERNEL\n");
	else if (error)
		fprintf(stderr, "sass: %s\n", error_text());
	return error ? 1 : 0;
}
