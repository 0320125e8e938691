/* SPDX-License-Identifier: MIT */
/*
 * For an OpenCL driver of our own: does what AMD's does below, which hands each kernel to HSA; here
 * to the simulated one. It is opened when the first queue is made, as the driver is by its loader.
 */
#pragma once

#include <dlfcn.h>
#include <stdlib.h>

#include "hip.h"
#include "hsa.h"

static struct {
	struct hsa_agent gpu;
	struct hsa_queue *queue;
	struct hsa_signal done;
	uint64_t kernel;
	__typeof__(hsa_queue_add_write_index_screlease) *add;
	__typeof__(hsa_signal_store_relaxed) *store;
	__typeof__(hsa_signal_wait_scacquire) *wait;
} under_us;

static inline void *under_symbol(void *library, const char *name)
{
	void *at = library ? dlsym(library, name) : NULL;

	if (!at)
		exit(1);
	return at;
}

#define UNDER(library, name) ((__typeof__(&name))under_symbol(library, #name))

/* The first is a CPU. */
static int under_take_agent(struct hsa_agent agent, void *data)
{
	int *count = data;

	if ((*count)++ == 1)
		under_us.gpu = agent;
	return 0;
}

static inline void under_open(void)
{
	void *library = dlopen("libhsa-runtime64.so.1", RTLD_NOW);
	struct hsa_executable_symbol symbol;
	int agents = 0;

	under_us.add = UNDER(library, hsa_queue_add_write_index_screlease);
	under_us.store = UNDER(library, hsa_signal_store_relaxed);
	under_us.wait = UNDER(library, hsa_signal_wait_scacquire);
	if (UNDER(library, hsa_init)() ||
		UNDER(library, hsa_iterate_agents)(under_take_agent, &agents) ||
		UNDER(library, hsa_queue_create)(
			under_us.gpu, 64, 0, NULL, NULL, 0, 0, &under_us.queue) ||
		UNDER(library, hsa_executable_get_symbol_by_name)(
			(struct hsa_executable){1}, "first", &under_us.gpu, &symbol) ||
		UNDER(library, hsa_executable_symbol_get_info)(
			symbol, HSA_SYMBOL_KERNEL_OBJECT, &under_us.kernel) ||
		UNDER(library, hsa_signal_create)(1, 0, NULL, &under_us.done))
		exit(1);
}

static inline void under_dispatch(void)
{
	struct hsa_dispatch_packet *packets = under_us.queue->base_address;
	uint64_t index = under_us.add(under_us.queue, 1);

	under_us.store(under_us.done, 1);
	packets[index % under_us.queue->size] =
		(struct hsa_dispatch_packet){.header = HSA_PACKET_TYPE_DISPATCH,
			.setup = 1,
			.workgroup = {64, 1, 1},
			.grid = {64, 1, 1},
			.kernel_object = under_us.kernel,
			.completion = under_us.done};
	under_us.store(under_us.queue->doorbell, (int64_t)index);
	under_us.wait(under_us.done, 2, 1, UINT64_MAX, 0);
}
