// SPDX-License-Identifier: MIT
/*
 * Writes a profile of many launches, each a call and a piece of work: `profile_gen FILE PAIRS`.
 * 250 kernels in 1,000 shapes, 8 GPUs, 8 threads, 200 stacks of 25 frames, as a busy program has them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer.h"

#define GPUS	8
#define THREADS 8
#define OPS	1000
#define SHAPES	4
#define STACKS	200
#define DEPTH	25
#define SHARED_DEPTH 20

struct made {
	struct profile_writer *w;
	uint32_t api, process;
	uint32_t threads[THREADS], devices[GPUS], ops[OPS], stacks[STACKS];
};

/* Errors are sticky and come back from profile_writer_close. */
static uint32_t string(struct made *m, const char *text)
{
	uint32_t id = 0;

	(void)profile_add_string(m->w, text, strlen(text), &id);
	return id;
}

static void make_tasks(struct made *m)
{
	struct profile_process p = {.pid = 100, .comm = string(m, "train")};

	(void)profile_add_process(m->w, &p, &m->process);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct profile_thread t = {.process = m->process, .tid = 100 + i, .name = p.comm};

		(void)profile_add_thread(m->w, &t, &m->threads[i]);
	}
	for (uint32_t i = 0; i < GPUS; i++) {
		struct profile_device d = {.ordinal = i, .name = string(m, "Some GPU"),
			.uuid = {(uint8_t)i}};

		(void)profile_add_device(m->w, &d, &m->devices[i]);
	}
}

static void make_ops(struct made *m)
{
	for (uint32_t i = 0; i < OPS; i++) {
		struct profile_op op = {.kind = OP_KERNEL, .process = m->process,
			.device = m->devices[i % GPUS], .stream = 7, .grid = {i + 1, 1, 1}};
		char name[64];

		snprintf(name, sizeof(name), "_Z6kernelILi%uEEvPf", i / SHAPES);
		op.name = string(m, name);
		(void)profile_add_op(m->w, &op, &m->ops[i]);
	}
}

/* Alike up to SHARED_DEPTH, as the stacks of a program are. */
static void make_stacks(struct made *m)
{
	for (uint32_t i = 0; i < STACKS; i++)
		for (uint32_t depth = 0; depth < DEPTH; depth++) {
			struct profile_location l = {.kind = FRAME_USER,
				.address = depth < SHARED_DEPTH ? depth : i * 100 + depth};
			uint32_t location = 0;

			(void)profile_add_location(m->w, &l, &location);
			(void)profile_add_stack_node(m->w, m->stacks[i], location, &m->stacks[i]);
		}
}

static void write_pairs(struct made *m, unsigned long pairs)
{
	uint64_t now_ns = 1000000000;
	unsigned int seed = 1;

	for (unsigned long i = 0; i < pairs; i++) {
		unsigned int random = (unsigned int)rand_r(&seed), op = random % OPS;
		struct profile_call call = {.start_ns = now_ns, .duration_ns = 2000 + random % 1000,
			.thread = m->threads[op % THREADS], .stack = m->stacks[op % STACKS],
			.api = m->api, .kind = CALL_LAUNCH, .instance = 1,
			.correlation = (uint32_t)i + 1};
		struct profile_work work = {.start_ns = now_ns + 5000 + (random >> 4) % 3000,
			.duration_ns = 500 + random % 700, .launch_ns = now_ns, .op = m->ops[op],
			.thread = call.thread, .stack = call.stack, .api = m->api, .instance = 1,
			.correlation = call.correlation};

		(void)profile_write_call(m->w, &call);
		(void)profile_write_work(m->w, &work);
		now_ns += 1000 + random % 500;
	}
}

int main(int argc, char **argv)
{
	struct made m = {0};

	if (argc != 3) {
		fprintf(stderr, "usage: profile_gen FILE PAIRS\n");
		return 2;
	}
	if (!profile_writer_open(&m.w, argv[1])) {
		m.api = string(&m, "cudaLaunchKernel");
		make_tasks(&m);
		make_ops(&m);
		make_stacks(&m);
		write_pairs(&m, strtoul(argv[2], NULL, 10));
		if (!profile_writer_close(m.w))
			return 0;
	}
	fprintf(stderr, "profile_gen: %s\n", error_text());
	return 1;
}
