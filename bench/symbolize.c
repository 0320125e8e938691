// SPDX-License-Identifier: MIT
/*
 * How long it takes to name 100,000 locations: `symbolize [FILE ...]` spreads them evenly over the code of
 * the given ELF files (this program without any) and prints a table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "elf/elf_file.h"
#include "profile/writer.h"
#include "symbolize/symbolize.h"

#define LOCATIONS 100000

static void add_locations(struct profile_writer *w, const char *path, unsigned int count)
{
	struct profile_module m = {.kind = MODULE_FILE};
	struct elf_file *f;
	uint32_t module = 0, id;
	struct stat st;
	uint64_t vaddr;

	if (stat(path, &st) || elf_file_open(&f, path))
		return;
	m.build_id_size = (uint8_t)elf_file_build_id(f, m.build_id);
	(void)profile_add_string(w, path, strlen(path), &m.path);
	(void)profile_add_module(w, &m, &module);
	for (unsigned int i = 0; i < count; i++) {
		struct profile_location l = {.kind = FRAME_USER, .module = module,
			.address = (uint64_t)st.st_size / count * i};

		if (!elf_file_offset_to_vaddr(f, l.address, &vaddr))
			(void)profile_add_location(w, &l, &id);
	}
	elf_file_close(f);
}

static int measure(const char *what, char **paths, unsigned int count)
{
	char file[] = "/tmp/symbolize_bench.XXXXXX";
	int fd = mkstemp(file);
	struct symbolize_options options = {.same_boot = true};
	struct symbolize_stats stats;
	struct profile_writer *w;
	struct rusage usage;
	uint64_t start_ns;

	if (fd < 0 || profile_writer_open(&w, file))
		return 1;
	for (unsigned int i = 0; i < count; i++)
		add_locations(w, paths[i], LOCATIONS / count);
	start_ns = clock_now_ns();
	if (symbolize_profile(w, &options, &stats))
		return 1;
	start_ns = clock_now_ns() - start_ns;
	getrusage(RUSAGE_SELF, &usage);
	printf("%-24.24s %9lu %9lu %9.3f %9.1f\n", what, stats.locations, stats.named,
		(double)start_ns / NS_PER_SECOND, (double)usage.ru_maxrss / 1024);
	profile_writer_abort(w);
	remove(file);
	return 0;
}

int main(int argc, char **argv)
{
	char self[] = "/proc/self/exe";
	char *own[] = {self};

	printf("symbolize\n%-24s %9s %9s %9s %9s\n", "files", "locations", "named", "seconds", "peak MiB");
	if (argc > 1 ? measure(basename(argv[1]), argv + 1, (unsigned int)argc - 1) :
		       measure("this program", own, 1)) {
		fprintf(stderr, "symbolize: %s\n", error_text());
		return 1;
	}
	return 0;
}
