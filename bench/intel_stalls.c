// SPDX-License-Identifier: MIT
/*
 * A stream of stall records of Intel's GPUs, 1 GB, with 2,000 instructions of 20 kernels, read as
 * if it came with 16 MB/s: a window every 80 KB, in which hardly two records are of one
 * instruction. Prints how fast it becomes a profile, what that is of a core at 16 MB/s, and how
 * much memory it took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "gpu/intel/sampler.h"
#include "random.h"

#define RECORD	     64
#define READ_RECORDS 1280u /* 5 ms of 16 MB/s */
#define READS	     13000u
#define KERNELS	     20u
#define INSTRUCTIONS 100u /* of each */
#define STREAM_MB_S  16.0
#define WINDOW_NS    5000000ull
#define BASE	     0x8000ffbe0000ull
#define KERNEL_BYTES 0x1000u

static uint8_t records[READ_RECORDS][RECORD];

static void make_records(void)
{
	for (uint32_t i = 0; i < READ_RECORDS; i++) {
		uint64_t address = BASE + random_below(KERNELS) * KERNEL_BYTES +
				   random_below(INSTRUCTIONS) * 16;
		uint32_t ip = (uint32_t)((address & 0xfffffff8) >> 3);

		memset(records[i], 0, RECORD);
		memcpy(records[i], &ip, sizeof(ip));
		records[i][5] = (uint8_t)random_below(8) << 5; /* of "other" */
		records[i][10] = (uint8_t)random_below(8);     /* of "sbid" */
	}
}

static int add_places(struct profile_writer *w, struct code_places *places, uint32_t device)
{
	struct profile_module m = {.kind = MODULE_GPU_CODE, .build_id_size = 8};
	struct profile_process p = {.pid = 1};
	uint32_t process = 0, module = 0;
	int error = profile_add_process(w, &p, &process);

	error = error ?: profile_add_module(w, &m, &module);
	for (uint32_t i = 0; !error && i < KERNELS; i++) {
		struct profile_gpu_function f = {.module = module, .index = i + 1};
		struct code_place place = {.address = BASE + i * KERNEL_BYTES,
			.size = KERNEL_BYTES,
			.process = process,
			.instance = 1,
			.device = device,
			.module = module};

		error = profile_add_gpu_function(w, &f, &place.function);
		error = error ?: code_places_add(places, &place);
	}
	return error;
}

static int run(struct sampler *s)
{
	uint64_t now_ns = 0;
	int error = 0;

	for (uint32_t n = 0; !error && n < READS; n++) {
		if (n % 64 == 0)
			make_records();
		error = sampler_add(s, records, sizeof(records));
		now_ns += WINDOW_NS;
		error = error ?: sampler_end_window(s, now_ns, now_ns - 200 * WINDOW_NS);
	}
	return error ?: sampler_end_window(s, now_ns, UINT64_MAX);
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void print(uint64_t start_ns)
{
	double mb = (double)READS * sizeof(records) / 1e6;
	double seconds = (double)(clock_now_ns() - start_ns) / 1e9, cpu;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
	printf("%.0f MB of records in %.2f s, %.2f s of CPU time: %.0f MB/s; at %.0f MB/s %.1f %% "
	       "of a core\n",
		mb, seconds, cpu, mb / cpu, STREAM_MB_S, 100 * STREAM_MB_S * cpu / mb);
	printf("memory: %.0f MB\n", (double)usage.ru_maxrss / 1e3);
}

int main(void)
{
	char path[] = "/tmp/intel_stalls.XXXXXX";
	struct sampler_options o = {.layout = stall_layout_of(20, 1, RECORD)};
	struct profile_device d = {.uuid = {1}};
	struct code_places *places = code_places_new();
	struct sampler *s = NULL;
	uint32_t device = 0;
	uint64_t start_ns;
	int error;

	close(mkstemp(path));
	error = places ? profile_writer_open(&o.writer, path) : -1;
	error = error ?: profile_add_device(o.writer, &d, &device);
	error = error ?: add_places(o.writer, places, device);
	o.places = places;
	s = error ? NULL : sampler_new(&o, 0);
	start_ns = clock_now_ns();
	if (s)
		sampler_add_device(s, device);
	error = s ? run(s) : -1;
	error = error ?: profile_writer_close(o.writer);
	if (error)
		fprintf(stderr, "%s\n", error_text());
	else
		print(start_ns);
	unlink(path);
	sampler_free(s);
	code_places_free(places);
	return error != 0;
}
