// SPDX-License-Identifier: MIT
/*
 * The simulated command streamer (sim/xe/): what it does of the commands that drivers write, and
 * that no batch, whatever is in it, is walked without end or reaches beyond what is bound.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fence.h"
#include "memory.h"
#include "queue.h"
#include "random.h"
#include "tap.h"

#define BATCH	  0x800000000000ull /* with two pages */
#define BATCH_LOW 0u
#define DATA	  0x10000ull /* with one */
#define PAGE	  0x10000u
#define VM	  3

enum {
	END = 0x05000000,
	JUMP = 0x18800001,
	CALL = 0x18c00001,
	WAIT = 0x0e000003 | 4 << 12, /* until it is that */
	STORE = 0x10000002,
	STORE_8 = 0x10200003,
	LOAD = 0x11000001,
	STORE_REGISTER = 0x12000002,
	COUNT_UP = 0x17800001 | 5 << 8,
	PIPE_CONTROL = 0x7a000004,
	BASES = 0x61010014,
	WALKER = 0x72080026,
	COPY = 0x56800008,
};

static int file;
static struct memory *memory;
static uint32_t *batch, *data;
static struct streamer streamer;

static void bind(uint64_t address, uint64_t size, uint32_t handle)
{
	const struct xe_bind_op op = {
		.op = XE_MAP, .handle = handle, .size = size, .address = address};

	CHECK(!memory_bind(memory, VM, &op));
}

static void begin(void)
{
	uint32_t handles[2];

	file = memfd_create("node", MFD_CLOEXEC);
	memory = memory_new(file, 48);
	CHECK(memory && !memory_make(memory, 2 * PAGE, &handles[0]) &&
		!memory_make(memory, PAGE, &handles[1]));
	bind(BATCH, 2 * PAGE, handles[0]);
	bind(DATA, PAGE, handles[1]);
	batch = memory_at(memory, VM, BATCH, 2 * PAGE);
	data = memory_at(memory, VM, DATA, PAGE);
	memset(&streamer, 0, sizeof(streamer));
	streamer.memory = memory;
	streamer.device = device_here();
	streamer.vm = VM;
}

static void end(void)
{
	memory_free(memory);
	close(file);
}

/* What a failing batch says is not for who reads the test. */
static int run_quietly(uint64_t address)
{
	int kept = dup(2), error;

	CHECK(freopen("/dev/null", "w", stderr));
	error = streamer_run(&streamer, address);
	fflush(stderr);
	dup2(kept, 2);
	close(kept);
	return error;
}

static int run_words(const uint32_t *words, size_t size)
{
	memcpy(batch, words, size);
	return run_quietly(BATCH);
}

#define RUN_WORDS(...) run_words((uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}))

static void writes_are_done(void)
{
	begin();
	CHECK(!RUN_WORDS(STORE, DATA, 0, 7, STORE_8, DATA + 8, 0, 8, 9, LOAD, 0x2600, 5,
		STORE_REGISTER, 0x2600, DATA + 16, 0, COUNT_UP, DATA, 0, PIPE_CONTROL, 1 << 14,
		DATA + 24, 0, 11, 12, END));
	CHECK(data[0] == 8 && data[2] == 8 && data[3] == 9 && data[4] == 5);
	CHECK(data[6] == 11 && data[7] == 12);
	end();
}

static void kernels_take_time_and_leave_it(void)
{
	uint64_t before = device_cycles(), stamps[4];
	uint32_t words[22 + 40 + 1] = {BASES};

	begin();
	words[10] = (uint32_t)BATCH | 1;
	words[11] = BATCH >> 32;
	words[22] = WALKER;
	words[22 + 7] = 10, words[22 + 8] = 3, words[22 + 9] = 1;
	words[22 + 19] = PAGE; /* its code: nothing, which is all the same */
	words[22 + 27] = 3;
	words[22 + 28] = DATA + 64;
	words[22 + 40] = END;
	CHECK(!run_words(words, sizeof(words)));
	memcpy(stamps, data + 16, sizeof(stamps));
	CHECK(stamps[0] == stamps[1] && stamps[2] == stamps[3] && stamps[0] >= before);
	CHECK(stamps[2] - stamps[0] == 1000 + 10 * 30 && device_cycles() >= stamps[2]);
	words[22 + 19] = 3 * PAGE; /* not bound */
	CHECK(run_words(words, sizeof(words)) == -ECANCELED);
	end();
}

static void copies_are_done(void)
{
	begin();
	memset(data, 42, 100);
	CHECK(!RUN_WORDS(COPY, 99, 0, 0, 0, DATA, 0, DATA + 1000, 0, 0, END));
	CHECK(!memcmp(data, data + 250, 100) && !data[275]);
	CHECK(RUN_WORDS(COPY, 0xffffff, 0, 0, 0, DATA, 0, DATA + 1000, 0, 0, END) == -ECANCELED);
	end();
}

static void calls_return(void)
{
	begin();
	memcpy(batch + 64, (uint32_t[]){STORE, DATA, 0, 1, END}, 20);
	batch[128] = END;
	CHECK(!RUN_WORDS(CALL, BATCH_LOW + 256, BATCH >> 32, STORE, DATA + 4, 0, 2, JUMP,
		BATCH_LOW + 512, BATCH >> 32));
	CHECK(data[0] == 1 && data[1] == 2);
	end();
}

/* What another thread stands for: the program. */
static void *write_later(void *argument)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	atomic_store((_Atomic uint32_t *)argument, 1);
	return NULL;
}

static void *stop_later(void *argument)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	atomic_store(&((struct streamer *)argument)->stop, true);
	return NULL;
}

static void waits_end_with_the_value_or_the_queue(void)
{
	pthread_t thread;

	begin();
	pthread_create(&thread, NULL, write_later, data);
	CHECK(!RUN_WORDS(WAIT, 1, DATA, 0, 0, STORE, DATA + 4, 0, 2, END) && data[1] == 2);
	pthread_join(thread, NULL);
	pthread_create(&thread, NULL, stop_later, &streamer);
	data[1] = 0;
	CHECK(!RUN_WORDS(WAIT, 9, DATA, 0, 0, STORE, DATA + 4, 0, 2, END) && !data[1]);
	pthread_join(thread, NULL);
	end();
}

static void batches_that_loop_end(void)
{
	begin();
	CHECK(RUN_WORDS(JUMP, BATCH_LOW, BATCH >> 32) == -ECANCELED);
	CHECK(RUN_WORDS(CALL, BATCH_LOW, BATCH >> 32) == -ECANCELED);
	CHECK(RUN_WORDS(0, 0, 0, JUMP, BATCH_LOW, BATCH >> 32) == -ECANCELED);
	/* by two others, and out of one that returns */
	memcpy(batch + 64, (uint32_t[]){JUMP, BATCH_LOW + 512, BATCH >> 32}, 12);
	memcpy(batch + 128, (uint32_t[]){JUMP, BATCH_LOW, BATCH >> 32}, 12);
	CHECK(RUN_WORDS(JUMP, BATCH_LOW + 256, BATCH >> 32) == -ECANCELED);
	memcpy(batch + 64, (uint32_t[]){STORE, DATA, 0, 1, JUMP, BATCH_LOW, BATCH >> 32}, 28);
	CHECK(RUN_WORDS(CALL, BATCH_LOW + 256, BATCH >> 32) == -ECANCELED);
	end();
}

/* As the rings that drivers write do, whose waits may have what they wait for. */
static void loops_that_wait_end_with_the_queue(void)
{
	pthread_t thread;

	begin();
	pthread_create(&thread, NULL, stop_later, &streamer);
	CHECK(!RUN_WORDS(WAIT, 0, DATA, 0, 0, COUNT_UP, DATA + 4, 0, JUMP, BATCH_LOW, BATCH >> 32));
	pthread_join(thread, NULL);
	CHECK(data[1] > 0);
	end();
}

static void what_is_not_known_is_not_guessed(void)
{
	begin();
	CHECK(RUN_WORDS(0x0d000001, 0, 0, END) == -ECANCELED);	       /* arithmetic */
	CHECK(RUN_WORDS(STORE, DATA + PAGE, 0, 1, END) == -ECANCELED); /* beyond its page */
	CHECK(RUN_WORDS(STORE_8, DATA + PAGE - 4, 0, 1, 1) == -ECANCELED);
	CHECK(run_quietly(BATCH + 2 * PAGE) == -ECANCELED);
	CHECK(run_quietly(BATCH + 2 * PAGE - 2) == -ECANCELED);
	end();
}

static void any_words_at_all_end(void)
{
	unsigned int failed = 0;

	begin();
	atomic_store(&streamer.stop, true); /* no wait goes on */
	for (int n = 0; n < 2000; n++) {
		for (unsigned int i = 0; i < PAGE / 4; i += n % 2 ? 1 : 16)
			batch[i] = (uint32_t)random_u64();
		failed += run_quietly(BATCH + random_below(PAGE / 4) * 4) != 0;
	}
	CHECK(failed > 1000);
	end();
}

static void binds_may_lie_over_each_other(void)
{
	struct xe_bind_op op = {.op = XE_UNMAP, .size = 0x1000, .address = BATCH + 0x4000};

	begin();
	CHECK(!memory_bind(memory, VM, &op));
	CHECK(!memory_at(memory, VM, BATCH + 0x4000, 4) &&
		!memory_at(memory, VM, BATCH + 0x3ffe, 4));
	CHECK((uint32_t *)memory_at(memory, VM, BATCH, 0x4000) == batch);
	CHECK((uint32_t *)memory_at(memory, VM, BATCH + 0x5000, 4) == batch + 0x1400);
	CHECK(!memory_at(memory, VM + 1, BATCH, 4));
	op = (struct xe_bind_op){.op = XE_MAP, .handle = 1, .from = PAGE, .size = 2 * PAGE};
	CHECK(memory_bind(memory, VM, &op) == -EINVAL); /* beyond the buffer */
	op.handle = 9;
	CHECK(memory_bind(memory, VM, &op) == -EINVAL);
	CHECK(!memory_close(memory, 1) && memory_close(memory, 1) == -EINVAL);
	end();
}

/* By a queue, whose fence is in memory; one that has failed is banned. */
static void queues_run_and_are_banned(void)
{
	struct xe_sync sync = {.type = XE_FENCE, .address = DATA + 8, .value = 77};
	struct xe_exec exec = {.address = BATCH,
		.batches = 1,
		.sync_count = 1,
		.syncs = (uint64_t)(uintptr_t)&sync};
	struct xe_instance on = {.class = XE_ENGINE_COMPUTE};
	struct xe_queue wanted = {
		.vm = VM, .width = 1, .placements = 1, .instances = (uint64_t)(uintptr_t)&on};
	struct queues *queues;
	uint64_t banned = 1;

	begin();
	queues = queues_new(memory, device_here());
	CHECK(queues && !queues_make(queues, &wanted, &exec.queue));
	memcpy(batch, (uint32_t[]){STORE, DATA, 0, 1, END}, 20);
	CHECK(!queues_exec(queues, &exec));
	CHECK(!fence_wait(&(struct xe_wait){.address = (uint64_t)(uintptr_t)(data + 2),
		.value = 77,
		.mask = UINT64_MAX,
		.timeout_ns = 10000000000}));
	CHECK(data[0] == 1 && !queues_is_banned(queues, exec.queue, &banned) && !banned);
	batch[0] = 0xffffffff;
	sync.value = 78;
	CHECK(!queues_exec(queues, &exec));
	CHECK(!fence_wait(&(struct xe_wait){.address = (uint64_t)(uintptr_t)(data + 2),
		.value = 78,
		.mask = UINT64_MAX,
		.timeout_ns = 10000000000}));
	CHECK(!queues_is_banned(queues, exec.queue, &banned) && banned);
	CHECK(queues_exec(queues, &exec) == -ECANCELED);
	CHECK(fence_wait(&(struct xe_wait){.address = (uint64_t)(uintptr_t)(data + 2),
		      .value = 79,
		      .mask = UINT64_MAX,
		      .timeout_ns = 1000}) == -ETIME);
	queues_free(queues);
	end();
}

int main(void)
{
	RUN(writes_are_done);
	RUN(kernels_take_time_and_leave_it);
	RUN(copies_are_done);
	RUN(calls_return);
	RUN(waits_end_with_the_value_or_the_queue);
	RUN(batches_that_loop_end);
	RUN(loops_that_wait_end_with_the_queue);
	RUN(what_is_not_known_is_not_guessed);
	RUN(any_words_at_all_end);
	RUN(binds_may_lie_over_each_other);
	RUN(queues_run_and_are_banned);
	return tap_end();
}
