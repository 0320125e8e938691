// SPDX-License-Identifier: MIT
/*
 * Writes a profile of threads that launch, wait for the GPU and for each other: `wall_gen FILE
 * EVENTS`.
 *
 * 16 threads; of ten events one is a CPU sample, three are waits, one a call that waits for a
 * stream, five the kernels of that stream; 400 stacks of 30 frames.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer.h"

#define THREADS 16
#define KERNELS 200
#define STACKS	400
#define DEPTH	30

static struct profile_writer *w;
static uint32_t threads[THREADS], ops[THREADS][KERNELS], stacks[STACKS], launch, sync_call;

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "wall_gen: %s\n", error_text());
	exit(1);
}

static uint32_t string(const char *text)
{
	uint32_t id;

	check(profile_add_string(w, text, strlen(text), &id));
	return id;
}

static void add_stacks(void)
{
	char name[64];

	for (uint32_t n = 0; n < STACKS; n++)
		for (uint32_t depth = 0; depth < DEPTH; depth++) {
			struct profile_location l = {
				.kind = FRAME_PYTHON, .file = string("app.py")};
			uint32_t location;

			snprintf(
				name, sizeof(name), "f%u_%u", depth, depth < DEPTH / 2 ? n % 8 : n);
			l.name = string(name);
			check(profile_add_location(w, &l, &location));
			check(profile_add_stack_node(w, stacks[n], location, &stacks[n]));
		}
}

static void add_tables(void)
{
	struct profile_process p = {.pid = 1};
	struct profile_device d = {.uuid = {1}};
	struct profile_op op = {.kind = OP_KERNEL, .context = 1};
	char name[64];

	check(profile_add_process(w, &p, &op.process));
	check(profile_add_device(w, &d, &op.device));
	for (uint32_t t = 0; t < THREADS; t++) {
		struct profile_thread thread = {.process = op.process, .tid = 1 + t};

		check(profile_add_thread(w, &thread, &threads[t]));
		for (uint32_t k = 0; k < KERNELS; k++) {
			snprintf(name, sizeof(name), "kernel_%u", k);
			op.name = string(name);
			op.stream = 7 + t;
			check(profile_add_op(w, &op, &ops[t][k]));
		}
	}
	launch = string("cudaLaunchKernel");
	sync_call = string("cudaStreamSynchronize");
	add_stacks();
}

/* 100 us of a thread: it runs and sleeps, then launches five kernels and waits for them. */
static void write_round(uint64_t start_ns, uint32_t t, uint32_t n)
{
	struct profile_sync sync = {.start_ns = start_ns + 40000,
		.duration_ns = 60000,
		.instance = 1,
		.correlation = n,
		.thread = threads[t],
		.stack = stacks[n % STACKS],
		.api = sync_call,
		.device = 1,
		.context = 1,
		.stream = 7 + t,
		.kind = SYNC_STREAM};
	struct profile_sample sample = {
		start_ns + 5000, 10000, threads[t], stacks[n * 7 % STACKS], 0};

	check(profile_write_sample(w, &sample));
	for (uint32_t k = 0; k < 3; k++) {
		struct profile_wait wait = {.start_ns = start_ns + 10000 + k * 25000,
			.duration_ns = 8000,
			.queued_ns = 1000,
			.thread = threads[t],
			.stack = stacks[(n + k) * 3 % STACKS],
			.reason = k ? WAIT_LOCK : WAIT_IO};

		check(profile_write_wait(w, &wait));
	}
	for (uint32_t k = 0; k < 5; k++) {
		struct profile_work work = {.start_ns = start_ns + 42000 + k * 11000,
			.duration_ns = 10000,
			.launch_ns = start_ns + 30000 + k,
			.op = ops[t][(n + k) % KERNELS],
			.thread = threads[t],
			.stack = stacks[(n + k) % STACKS],
			.api = launch,
			.instance = 1,
			.correlation = n + k};

		check(profile_write_work(w, &work));
	}
	check(profile_write_sync(w, &sync));
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc == 3 ? strtoull(argv[2], NULL, 10) / 10 : 0;

	if (!rounds) {
		fprintf(stderr, "usage: wall_gen FILE EVENTS\n");
		return 2;
	}
	check(profile_writer_open(&w, argv[1]));
	add_tables();
	check(profile_set_meta(w, META_OFF_CPU, "0"));
	for (uint64_t n = 0; n < rounds; n++)
		write_round(n / THREADS * 100000, n % THREADS, (uint32_t)n);
	for (uint32_t t = 0; t < THREADS; t++) {
		struct profile_life life = {0, (rounds / THREADS + 1) * 100000,
			(rounds / THREADS + 1) * 76000, threads[t]};

		check(profile_write_life(w, &life));
	}
	check(profile_writer_close(w));
	return 0;
}
