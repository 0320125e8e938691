// SPDX-License-Identifier: MIT
/*
 * A program that uses HSA without HIP: dispatches two kernels from two places, copies, and waits.
 * Prints "NAME COUNT NANOSECONDS", as the simulated GPUs take.
 */
#include <stdio.h>
#include <stdlib.h>

#include "hip.h"
#include "hsa.h"

#define STEP __attribute__((noinline, used))

enum { ROUNDS = 50, GROUPS = 20, ITEMS = 64, BYTES = 4096, QUEUE_SIZE = 64 };

static struct hsa_agent cpu, gpu;
static struct hsa_queue *queue;

static int take_agent(struct hsa_agent agent, void *data)
{
	if (!cpu.handle)
		cpu = agent;
	else if (!gpu.handle)
		gpu = agent;
	return 0;
}

static uint64_t kernel(const char *name)
{
	struct hsa_executable_symbol symbol;
	uint64_t object = 0;

	if (hsa_executable_get_symbol_by_name((struct hsa_executable){1}, name, &gpu, &symbol) ||
		hsa_executable_symbol_get_info(symbol, HSA_SYMBOL_KERNEL_OBJECT, &object))
		exit(1);
	return object;
}

static struct hsa_signal make_signal(void)
{
	struct hsa_signal signal;

	if (hsa_signal_create(1, 0, NULL, &signal))
		exit(1);
	return signal;
}

static uint64_t write_packet(uint64_t object, uint32_t groups, struct hsa_signal completion)
{
	uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
	struct hsa_dispatch_packet *packets = queue->base_address;

	packets[index % queue->size] =
		(struct hsa_dispatch_packet){.header = HSA_PACKET_TYPE_DISPATCH,
			.setup = 1,
			.workgroup = {ITEMS, 1, 1},
			.grid = {groups * ITEMS, 1, 1},
			.kernel_object = object,
			.completion = completion};
	return index;
}

STEP static int dispatch_first(uint64_t object, struct hsa_signal completion)
{
	hsa_signal_store_screlease(
		queue->doorbell, (int64_t)write_packet(object, GROUPS, completion));
	return 1;
}

/* Two packets, and the doorbell once. */
STEP static int dispatch_second(uint64_t object, struct hsa_signal completion)
{
	write_packet(object, 1, (struct hsa_signal){0});
	hsa_signal_store_relaxed(queue->doorbell, (int64_t)write_packet(object, 1, completion));
	return 2;
}

STEP static int copy_something(struct hsa_signal completion)
{
	static char from[BYTES], to[BYTES];

	hsa_amd_memory_async_copy(to, gpu, from, cpu, BYTES, 0, NULL, completion);
	return 3;
}

STEP static int wait_for(struct hsa_signal completion)
{
	hsa_signal_wait_scacquire(completion, 2, 1, UINT64_MAX, 0);
	return 4;
}

int main(void)
{
	struct hsa_signal done;
	uint64_t first, second;

	if (hsa_init() || hsa_iterate_agents(take_agent, NULL) ||
		hsa_queue_create(gpu, QUEUE_SIZE, 0, NULL, NULL, 0, 0, &queue))
		return 1;
	first = kernel("first");
	second = kernel("second");
	done = make_signal();
	for (int n = 0; n < ROUNDS; n++) {
		hsa_signal_store_relaxed(done, 1);
		dispatch_first(first, done);
		wait_for(done);
		hsa_signal_store_relaxed(done, 1);
		dispatch_second(second, done);
		wait_for(done);
		hsa_signal_store_relaxed(done, 1);
		copy_something(done);
		wait_for(done);
	}
	printf("first %d %llu\n", ROUNDS, ROUNDS * (unsigned long long)SIM_AMD_KERNEL_NS(GROUPS));
	printf("second %d %llu\n", 2 * ROUNDS,
		2 * ROUNDS * (unsigned long long)SIM_AMD_KERNEL_NS(1));
	printf("copies %d %llu\n", ROUNDS, ROUNDS * (unsigned long long)SIM_AMD_COPY_NS(BYTES));
	return 0;
}
