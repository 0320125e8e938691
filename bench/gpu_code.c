// SPDX-License-Identifier: MIT
/*
 * How long it takes at the end of a recording to describe GPU code: `gpu_code CUBIN COPIES [here]`,
 * as of a program that ran every function of so many images. They are read by a process of the
 * sandbox, or here.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "gpucode/nvidia/cubin.h"
#include "sandbox/child.h"
#include "sandbox/sandbox.h"
#include "symbolize/gpu_code.h"

/* A sample in every function of the image, which is another module each time. Errors are sticky and
 * come back later. */
static void add_image(
	struct profile_writer *w, struct kept_images *images, const struct buf *image, uint32_t n)
{
	struct profile_module m = {.kind = MODULE_GPU_CODE, .build_id_size = 8};
	struct profile_gpu_function f = {0};
	struct profile_instruction i = {0};
	struct cubin *c;
	uint32_t id;
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	memcpy(m.build_id, &n, sizeof(n));
	(void)profile_add_string(w, "cubin:0123456789abcdef", 22, &m.path);
	(void)profile_add_module(w, &m, &f.module);
	if (fd < 0 || io_write_all(fd, image->data, image->size) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) ||
		kept_images_add(images, f.module, fd, image->size) ||
		cubin_open(image->data, image->size, &c))
		exit(1);
	close(fd);
	for (size_t k = 0; k < cubin_function_count(c); k++) {
		const char *name = cubin_function(c, k)->name;

		f.index = cubin_function(c, k)->symbol;
		(void)profile_add_string(w, name, strlen(name), &f.name);
		(void)profile_add_gpu_function(w, &f, &i.function);
		(void)profile_add_instruction(w, &i, &id);
	}
	cubin_close(c);
}

static void print(const struct profile_writer *w, const struct gpu_code_stats *s, uint64_t ns,
	uint64_t bytes_before)
{
	struct profile_totals totals;

	profile_writer_totals(w, &totals);
	printf("%llu functions, %llu instructions: %.3f s (%.0f ns an instruction), %.1f MiB of "
	       "profile\n",
		(unsigned long long)s->described, (unsigned long long)s->instructions,
		(double)ns / NS_PER_SECOND, (double)ns / (double)s->instructions,
		(double)(totals.file_bytes - bytes_before) / (1 << 20));
}

static struct child *begin_reader(void)
{
	struct child *reader = child_new("/proc/self/exe", SANDBOX_READER, -1);

	if (!reader || child_greet(reader)) {
		fprintf(stderr, "gpu_code: no process of the sandbox can begin\n");
		exit(1);
	}
	return reader;
}

static int measure(const char *path, uint32_t copies, bool here)
{
	struct kept_images *images = kept_images_new((uint64_t)4 << 30);
	struct gpu_code_options options = {
		.images = images, .reader = here ? NULL : begin_reader()};
	struct gpu_code_stats stats = {0};
	struct profile_totals before;
	struct buf image = BUF_INIT;
	struct profile_writer *w;
	uint64_t start_ns;

	if (io_read_file(path, 1 << 30, &image) || !images ||
		profile_writer_open(&w, "/dev/null")) {
		fprintf(stderr, "gpu_code: %s\n", error_text());
		return 1;
	}
	for (uint32_t n = copies; n; n--)
		add_image(w, images, &image, n);
	(void)profile_writer_flush(w);
	profile_writer_totals(w, &before);
	start_ns = clock_now_ns();
	if (symbolize_gpu_code(w, &options, &stats) || profile_writer_flush(w)) {
		fprintf(stderr, "gpu_code: %s\n", error_text());
		return 1;
	}
	print(w, &stats, clock_now_ns() - start_ns, before.file_bytes);
	profile_writer_abort(w);
	kept_images_free(images);
	child_free(options.reader);
	buf_release(&image);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], SANDBOX_COMMAND))
		return sandbox_run(argv[2]);
	if (argc != 3 && (argc != 4 || strcmp(argv[3], "here"))) {
		fprintf(stderr, "usage: gpu_code CUBIN COPIES [here]\n");
		return 2;
	}
	return measure(argv[1], (uint32_t)atoi(argv[2]), argc == 4);
}
