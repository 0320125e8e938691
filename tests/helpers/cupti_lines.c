// SPDX-License-Identifier: MIT
/*
 * Prints what CUPTI says of a cubin: its checksum and, for each function that has a section to
 * itself, the place in the source of each instruction, where that differs from the one before.
 *
 * Works without a GPU. Exits with 77 where there is no libcupti ($CUPTI_LIBRARY, else the usual
 * places).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/io.h"
#include "gpucode/nvidia/cubin.h"

#define SKIPPED	   77
#define IMAGE_MAX  (256u << 20)
#define CODE_BYTES 16 /* of an instruction, sm_70 and later */

/* As cupti_pcsampling.h has them (13.0); `size` is that of the structure. */
struct sass_to_source {
	size_t size;
	const void *cubin;
	const char *function;
	size_t cubin_size;
	uint32_t line;
	uint64_t offset;
	char *file;
	char *folder;
};

struct cubin_crc {
	size_t size;
	size_t cubin_size;
	const void *cubin;
	uint64_t crc;
};

static void *open_cupti(void)
{
	const char *named = getenv("CUPTI_LIBRARY");
	const char *const places[] = {
		named ? named : "libcupti.so.13",
		"/usr/local/cuda/lib64/libcupti.so.13",
		"/usr/local/cuda/lib/libcupti.so.13",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
	};

	for (size_t i = 0; i < (named ? 1 : sizeof(places) / sizeof(places[0])); i++) {
		void *library = dlopen(places[i], RTLD_NOW);

		if (library)
			return library;
	}
	return NULL;
}

static int print_function(int (*correlate)(struct sass_to_source *), const struct buf *image,
	const struct cubin_function *f)
{
	char now[8192], last[8192] = "";

	printf("function %s\n", f->name);
	for (uint64_t offset = 0; offset < f->size; offset += CODE_BYTES) {
		struct sass_to_source s = {
			.size = sizeof(s),
			.cubin = image->data,
			.function = f->name,
			.cubin_size = image->size,
			.offset = offset,
		};

		if (correlate(&s)) {
			fprintf(stderr, "CUPTI does not know %s\n", f->name);
			return 1;
		}
		snprintf(now, sizeof(now), "%s%s%s:%u", s.folder ? s.folder : "",
			s.folder && s.folder[0] ? "/" : "", s.file ? s.file : "", s.line);
		if (strcmp(now, last))
			printf("%04llx %s\n", (unsigned long long)offset, now);
		memcpy(last, now, sizeof(now));
		free(s.file);
		free(s.folder);
	}
	return 0;
}

static int print_image(void *library, const struct buf *image, const struct cubin *c)
{
	int (*correlate)(struct sass_to_source *) =
		(int (*)(struct sass_to_source *))dlsym(library, "cuptiGetSassToSourceCorrelation");
	int (*checksum)(struct cubin_crc *) =
		(int (*)(struct cubin_crc *))dlsym(library, "cuptiGetCubinCrc");
	struct cubin_crc crc = {
		.size = sizeof(crc), .cubin_size = image->size, .cubin = image->data};
	int failed;

	if (!correlate || !checksum || checksum(&crc)) {
		fprintf(stderr, "this libcupti does not do it\n");
		return SKIPPED;
	}
	printf("crc %08llx\n", (unsigned long long)crc.crc);
	for (size_t i = 0; i < cubin_function_count(c); i++) {
		const struct cubin_function *f = cubin_function(c, i);

		if (f->outer != CUBIN_NONE)
			continue;
		failed = print_function(correlate, image, f);
		if (failed)
			return failed;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct buf image = BUF_INIT;
	struct cubin *c = NULL;
	void *library;
	int status;

	if (argc != 2 || io_read_file(argv[1], IMAGE_MAX, &image)) {
		fprintf(stderr, "usage: cupti_lines CUBIN\n");
		buf_release(&image);
		return 2;
	}
	if (cubin_open(image.data, image.size, &c)) {
		fprintf(stderr, "%s\n", error_text());
		buf_release(&image);
		return 1;
	}
	library = open_cupti();
	if (!library)
		fprintf(stderr, "no libcupti.so.13\n");
	status = library ? print_image(library, &image, c) : SKIPPED;
	cubin_close(c);
	buf_release(&image);
	return status;
}
