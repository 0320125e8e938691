// SPDX-License-Identifier: MIT
/*
 * How long `xpuprof annotate` takes for a kernel whose accesses to memory are known, line by line:
 * the part behind the reading of the file. The recording is made here: one kernel, LINES lines of a
 * file with one sample each, and as many accesses, on every second line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/writer.h"
#include "report/annotate.h"

#define FILE_NAME "/kernel.cu"

static int add_string(struct profile_writer *w, const char *text, uint32_t *ret)
{
	return profile_add_string(w, text, strlen(text), ret);
}

static int write_lines(struct profile_writer *w, uint32_t lines)
{
	struct profile_module m = {.kind = MODULE_GPU_CODE};
	struct profile_gpu_function f = {0};
	struct profile_instruction i = {0};
	struct profile_window window = {.samples = lines};
	struct profile_stall stall = {.samples = 1};
	int error = add_string(w, "kernel", &f.name);

	error = error ?: add_string(w, FILE_NAME, &i.file);
	error = error ?: add_string(w, "smsp__pcsamp_warps_issue_stalled_wait", &stall.reason);
	error = error ?: profile_add_window(w, &window, &stall.window);
	error = error ?: profile_add_module(w, &m, &f.module);
	error = error ?: profile_add_gpu_function(w, &f, &i.function);
	for (uint32_t n = 0; !error && n < lines; n++) {
		i.offset = 16 * n;
		i.line = n + 1;
		error = profile_add_instruction(w, &i, &stall.instruction);
		error = error ?: profile_describe_instruction(w, stall.instruction, &i);
		error = error ?: profile_write_stall(w, &stall);
	}
	return error;
}

static int add_accesses(struct kernel_accesses *a, uint32_t lines)
{
	int error = vec_push(&a->files, strdup(FILE_NAME));

	for (uint32_t n = 0; !error && n < lines; n++)
		error = vec_push(&a->items, (struct kernel_access){.file = 1,
						    .line = n / 2 * 2 + 1,
						    .insn = n,
						    .accesses = 1,
						    .lines = 1});
	return error;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int annotate(const char *path, uint32_t lines)
{
	struct profile_writer *w = NULL;
	struct profile_reader *r = NULL;
	struct kernel_stalls k = {0};
	struct annotation a = {0};
	struct kernel_accesses accesses = {0};
	struct source_text source = {.why = "it is made up"};
	struct annotate t = {.path = path,
		.annotation = &a,
		.sources = &source,
		.accesses = &accesses,
		.source = true};
	struct buf out = BUF_INIT;
	double begin;
	int error = profile_writer_open(&w, path);

	error = error ?: write_lines(w, lines);
	error = error ?: profile_writer_close(w);
	error = error ?: profile_reader_open(&r, path);
	error = error ?: kernel_stalls_read(&k, r);
	error = error ?: annotation_make(&a, &k, 0, 0);
	error = error ?: add_accesses(&accesses, lines);
	begin = seconds();
	if (!error)
		annotate_text(&t, &out);
	if (!error)
		printf("%u lines, %u accesses: %.3f s of processor time, %zu bytes of text\n",
			lines, lines, seconds() - begin, out.size);
	buf_release(&out);
	kernel_accesses_release(&accesses);
	annotation_release(&a);
	kernel_stalls_release(&k);
	profile_reader_close(r);
	return error;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/annotate_bench.XXXXXX";
	uint32_t lines = argc > 1 ? (uint32_t)atoi(argv[1]) : 20000;
	int fd = mkstemp(path), error = fd < 0 ? -1 : annotate(path, lines);

	if (error)
		fprintf(stderr, "annotate: %s\n", error_text());
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	return error ? 1 : 0;
}
