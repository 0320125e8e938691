// SPDX-License-Identifier: MIT
/*
 * Unwind tables of given files: how long they take to make, how large they are, how long they take
 * to come back from the disk; and what a walk costs.
 *
 * usage: unwind tables FILE...     a line for each file
 *        unwind walk [FRAMES]      of a stack of our own
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../tests/unwind_process.h"
#include "base/clock.h"
#include "base/error.h"
#include "unwind/cache.h"
#include "unwind/cfi.h"

#define RUNS	   5
#define WALKS	   20000
#define SOME_BYTES 8

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double wall_ms(void)
{
	return (double)clock_now_ns() / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* ------------------------------------------------------------------ tables */

static int build(const char *path, uint32_t **ret_words, struct unwind_stats *ret_stats)
{
	struct elf_file *f;
	int error = elf_file_open(&f, path);

	if (error)
		return error;
	error = unwind_build(f, ret_words, ret_stats);
	elf_file_close(f);
	return error;
}

/* Into memory that is shared and there already, as the recorder's is. */
static double reload_ms(struct unwind_cache *cache, const uint32_t *words)
{
	const struct unwind_cache_key key = {.id_size = 20, .id = {1}};
	size_t size = (size_t)words[1] * 4;
	uint32_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct unwind_cached found;
	double times[RUNS];

	if (memory == MAP_FAILED || unwind_cache_store(cache, &key, words))
		return -1;
	for (int i = 0; i < RUNS; i++) {
		double start = wall_ms();

		if (unwind_cache_find(cache, &key, &found) ||
			unwind_cache_load(cache, &found, memory))
			return -1;
		times[i] = wall_ms() - start;
	}
	munmap(memory, size);
	return median(times, RUNS);
}

static void print_tables(const char *path, struct unwind_cache *cache)
{
	const struct walk_table_header *h;
	struct unwind_stats stats;
	double times[RUNS], reload;
	uint32_t *words = NULL;
	struct stat st = {0};

	(void)stat(path, &st);
	for (int i = 0; i < RUNS; i++) {
		double start = cpu_ms();

		free(words);
		words = NULL;
		if (build(path, &words, &stats)) {
			printf("%-34.34s %s\n", strrchr(path, '/') ? strrchr(path, '/') + 1 : path,
				error_text());
			return;
		}
		times[i] = cpu_ms() - start;
	}
	h = (const struct walk_table_header *)words;
	reload = reload_ms(cache, words);
	printf("%-34.34s %7.1f %9" PRIu64 " %9u %7u %9.0f %9.2f %9.2f %9ld\n",
		strrchr(path, '/') ? strrchr(path, '/') + 1 : path, (double)st.st_size / 1e6,
		stats.functions, h->row_count, h->rule_count, median(times, RUNS),
		(double)h->words * 4 / 1e6, reload, peak_kib() / 1024);
	free(words);
}

/* Each file in a process of its own, for its peak of memory. */
static int bench_tables(int count, char **paths)
{
	char folder[] = "/tmp/unwind-bench-XXXXXX", command[64];
	struct unwind_cache *cache;

	if (!mkdtemp(folder) || unwind_cache_open(&cache, folder, UNWIND_CACHE_LIMIT))
		return 1;
	printf("%-34s %7s %9s %9s %7s %9s %9s %9s %9s\n", "file", "MB", "functions", "rows",
		"rules", "build ms", "table MB", "reload ms", "peak MiB");
	fflush(stdout);
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (!pid) {
			print_tables(paths[i], cache);
			fflush(stdout);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	unwind_cache_close(cache);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) != 0;
}

/* ------------------------------------------------------------------ walks */

struct moment {
	struct process_image image;
	struct process_stack stack;
	ucontext_t context;
};

static struct moment moment;

static __attribute__((noinline)) int take(const void *a, const void *b)
{
	const greg_t *r = moment.context.uc_mcontext.gregs;
	extern void *__libc_stack_end;

	getcontext(&moment.context);
	moment.stack.registers.rip = (uint64_t)r[REG_RIP];
	moment.stack.registers.rsp = (uint64_t)r[REG_RSP];
	moment.stack.registers.rbp = (uint64_t)r[REG_RBP];
	moment.stack.size = (uintptr_t)__libc_stack_end - moment.stack.registers.rsp;
	if (moment.stack.size > sizeof(moment.stack.bytes))
		moment.stack.size = sizeof(moment.stack.bytes);
	memcpy(moment.stack.bytes, (void *)moment.stack.registers.rsp, moment.stack.size);
	return 0;
}

/* Without frame pointers, and through the C library now and then. */
static __attribute__((noinline, optimize("omit-frame-pointer"))) int descend(unsigned int frames)
{
	int pair[] = {1, 2};

	if (frames < 2 || frames % 8 == 0)
		qsort(pair, 2, sizeof(pair[0]), take);
	return frames < 2 ? pair[0] : descend(frames - 1) + pair[1];
}

static void print_walk(void)
{
	struct unwind_start start = process_start(&moment.image, &moment.stack);
	uint64_t frames[WALK_FRAMES_MAX];
	double times[RUNS];
	enum walk_end end;
	uint32_t depth = 0;

	for (int i = 0; i < RUNS; i++) {
		double begin = cpu_ms();

		for (int j = 0; j < WALKS; j++)
			depth = unwind_walk(&start, frames, &end);
		times[i] = (cpu_ms() - begin) * 1e6 / WALKS;
	}
	printf("a walk of %u frames%s: %.0f ns, %.1f ns a frame\n", depth,
		end == WALK_COMPLETE ? "" : " (not complete)", median(times, RUNS),
		median(times, RUNS) / depth);
}

static int bench_walk(unsigned int frames)
{
	if (unwind_tables_new(&moment.image.tables, &(struct unwind_tables_options){0}))
		return 1;
	process_image_update(&moment.image, getpid());
	descend(frames);
	print_walk();
	buf_release(&moment.image.maps);
	unwind_tables_free(moment.image.tables);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "tables"))
		return bench_tables(argc - 2, argv + 2);
	if (argc >= 2 && !strcmp(argv[1], "walk"))
		return bench_walk(argc > 2 ? (unsigned int)atoi(argv[2]) : 25);
	fprintf(stderr, "usage: unwind tables FILE... | unwind walk [FRAMES]\n");
	return 2;
}
