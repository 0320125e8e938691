// SPDX-License-Identifier: MIT
/*
 * How long it takes to name 100,000 locations: `symbolize [--inline] [FILE ...]` spreads them
 * evenly over the code of the given ELF files (this program without any) and prints a table. What a
 * worker of its own takes for lines and inlined functions is in the time and, as the larger of the
 * two, in the memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/error.h"
#include "elf/elf_file.h"
#include "profile/writer.h"
#include "symbolize/symbolize.h"

#define LOCATIONS 100000

static void add_locations(struct profile_writer *w, const char *path, unsigned int count)
{
	struct profile_module m = {.kind = MODULE_FILE};
	char *whole = realpath(path, NULL);
	struct elf_code code;
	struct elf_file *f;
	uint32_t module = 0, id;

	if (!whole || elf_file_open(&f, whole))
		return;
	m.build_id_size = (uint8_t)elf_file_build_id(f, m.build_id);
	(void)profile_add_string(w, whole, strlen(whole), &m.path);
	(void)profile_add_module(w, &m, &module);
	for (unsigned int i = 0; elf_file_code_at(f, 0, &code) && i < count; i++) {
		struct profile_location l = {.kind = FRAME_USER,
			.module = module,
			.address = code.offset + (uint64_t)((double)code.size / count * i)};

		(void)profile_add_location(w, &l, &id);
	}
	elf_file_close(f);
	free(whole);
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Of all CPUs, workers included. */
static double cpu_seconds(void)
{
	struct rusage own, workers;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &workers);
	return seconds_of(own.ru_utime) + seconds_of(own.ru_stime) + seconds_of(workers.ru_utime) +
	       seconds_of(workers.ru_stime);
}

static uint64_t peak_bytes(void)
{
	struct rusage own, workers;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &workers);
	return 1024ull *
	       (uint64_t)(own.ru_maxrss > workers.ru_maxrss ? own.ru_maxrss : workers.ru_maxrss);
}

static int measure(const char *what, char **paths, unsigned int count, bool inlines)
{
	char file[] = "/tmp/symbolize_bench.XXXXXX";
	int fd = mkstemp(file);
	struct symbolize_options options = {
		.same_boot = true, .inlines = inlines, .dwarf_limit_ns = 600 * NS_PER_SECOND};
	struct symbolize_stats stats;
	struct profile_writer *w;
	uint64_t start_ns;
	double cpu;

	if (fd < 0 || profile_writer_open(&w, file))
		return 1;
	for (unsigned int i = 0; i < count; i++)
		add_locations(w, paths[i], LOCATIONS / count);
	cpu = cpu_seconds();
	start_ns = clock_now_ns();
	if (symbolize_profile(w, &options, &stats))
		return 1;
	start_ns = clock_now_ns() - start_ns;
	cpu = cpu_seconds() - cpu;
	printf("%-24.24s %9lu %9lu %9lu %9.3f %9.3f %9.1f\n", what, stats.locations, stats.named,
		stats.with_lines, (double)start_ns / NS_PER_SECOND, cpu,
		(double)peak_bytes() / (1 << 20));
	profile_writer_abort(w);
	remove(file);
	return 0;
}

int main(int argc, char **argv)
{
	char self[] = "/proc/self/exe";
	char *own[] = {self};
	bool inlines = argc > 1 && !strcmp(argv[1], "--inline");

	argc -= inlines;
	argv += inlines;
	printf("symbolize%s\n%-24s %9s %9s %9s %9s %9s %9s\n", inlines ? " --inline" : "", "files",
		"locations", "named", "lines", "seconds", "CPU s", "peak MiB");
	if (argc > 1 ? measure(basename(argv[1]), argv + 1, (unsigned int)argc - 1, inlines)
		     : measure("this program", own, 1, inlines)) {
		fprintf(stderr, "symbolize: %s\n", error_text());
		return 1;
	}
	return 0;
}
