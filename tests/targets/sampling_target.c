// SPDX-License-Identifier: MIT
/*
 * A CUDA program whose contexts and modules come and go, to be recorded with samples of its
 * instructions: tests/cli/sampling.t.
 *
 * usage: sampling_target WHAT [COUNT]
 *
 *	one          COUNT launches in one context, a synchronization, and the end
 *	contexts     COUNT launches in each of three contexts, made and destroyed one after the other
 *	devices      a thread for each device with a context of its own: COUNT launches, and its destruction
 *	reset        COUNT launches, a reset of the device, COUNT launches
 *	both         two contexts at once, and a third when the first has ended: COUNT launches in each
 *	churn        contexts of the second device are made and destroyed in one thread while another launches COUNT times
 *	             in the first
 *	modules      COUNT modules, no two alike, loaded as fast as it goes
 *	cancel       a thread that is cancelled makes a context of the second device, then COUNT launches
 *	beside       while a thread makes one, or waits for it for ever, COUNT launches
 *
 * Says "done" at the end, so that a test sees it got there.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "driver.h"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry busy_us200(.param .u64 a) { ret; }\n";

enum { DEVICES_MAX = 4, CONTEXTS = 3, CHURNS = 12 };

static struct driver cuda;

#define CHECK(call) driver_check(&cuda, (call), #call, __FILE__, __LINE__)

/* In the thread's context. */
static void launch(int count)
{
	CUfunction busy;
	CUmodule module;

	CHECK(cuda.cuModuleLoadData(&module, ptx));
	CHECK(cuda.cuModuleGetFunction(&busy, module, "busy_us200"));
	for (int n = 0; n < count; n++)
		CHECK(cuda.cuLaunchKernel(busy, 64, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cuda.cuCtxSynchronize());
}

static void begin_primary(void)
{
	CUcontext context;

	CHECK(cuda.cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuda.cuCtxSetCurrent(context));
}

static void one(int count)
{
	begin_primary();
	launch(count);
}

static void in_a_context(int device, int count)
{
	CUcontext context;

	CHECK(cuda.cuCtxCreate_v2(&context, 0, device));
	launch(count);
	CHECK(cuda.cuCtxDestroy_v2(context));
}

static void contexts(int count)
{
	for (int n = 0; n < CONTEXTS; n++)
		in_a_context(0, count);
}

struct share {
	int device, count;
};

static void *on_a_device(void *context)
{
	const struct share *share = context;

	in_a_context(share->device, share->count);
	return NULL;
}

static void devices(int count)
{
	struct share shares[DEVICES_MAX];
	pthread_t threads[DEVICES_MAX];
	int devices;

	CHECK(cuda.cuDeviceGetCount(&devices));
	for (int n = 0; n < devices && n < DEVICES_MAX; n++) {
		shares[n] = (struct share){n, count};
		pthread_create(&threads[n], NULL, on_a_device, &shares[n]);
	}
	for (int n = 0; n < devices && n < DEVICES_MAX; n++)
		pthread_join(threads[n], NULL);
}

static void reset(int count)
{
	begin_primary();
	launch(count);
	CHECK(cuda.cuDevicePrimaryCtxReset_v2(0));
	begin_primary();
	launch(count);
}

static void both(int count)
{
	CUcontext first, second;

	CHECK(cuda.cuCtxCreate_v2(&first, 0, 0));
	launch(count);
	CHECK(cuda.cuCtxCreate_v2(&second, 0, 0));
	launch(count);
	CHECK(cuda.cuCtxDestroy_v2(first));
	in_a_context(0, count);
	CHECK(cuda.cuCtxDestroy_v2(second));
}

static void *churning(void *unused)
{
	for (int n = 0; n < CHURNS; n++)
		in_a_context(1, 3);
	return NULL;
}

static void churn(int count)
{
	pthread_t thread;

	begin_primary();
	pthread_create(&thread, NULL, churning, NULL);
	launch(count);
	pthread_join(thread, NULL);
}

static void modules(int count)
{
	char text[sizeof(ptx) + 64];
	CUmodule module;

	begin_primary();
	for (int n = 0; n < count; n++) {
		snprintf(text, sizeof(text), "%s// %d\n", ptx, n);
		CHECK(cuda.cuModuleLoadData(&module, text));
	}
	launch(10);
}

/* A request to end that comes before or in the call is heeded at the first point where it can
 * be. */
static void *cancelled(void *unused)
{
	CUcontext context;

	pthread_cancel(pthread_self());
	CHECK(cuda.cuCtxCreate_v2(&context, 0, 1));
	pthread_testcancel();
	return NULL;
}

static void cancel(int count)
{
	pthread_t thread;

	begin_primary();
	pthread_create(&thread, NULL, cancelled, NULL);
	pthread_join(thread, NULL);
	launch(count);
}

static void *making(void *unused)
{
	CUcontext context;

	CHECK(cuda.cuCtxCreate_v2(&context, 0, 1));
	return NULL;
}

static void beside(int count)
{
	const struct timespec begun = {.tv_nsec = 100000000};
	pthread_t thread;

	begin_primary();
	pthread_create(&thread, NULL, making, NULL);
	nanosleep(&begun, NULL);
	launch(count);
}

static const struct {
	const char *name;
	void (*run)(int count);
} programs[] = {
	{"one", one},
	{"contexts", contexts},
	{"devices", devices},
	{"reset", reset},
	{"both", both},
	{"churn", churn},
	{"modules", modules},
	{"cancel", cancel},
	{"beside", beside},
};

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 100;

	for (size_t n = 0; argc > 1 && n < sizeof(programs) / sizeof(programs[0]); n++)
		if (!strcmp(programs[n].name, argv[1])) {
			if (!driver_open(&cuda, "sampling_target"))
				return 2;
			CHECK(cuda.cuInit(0));
			programs[n].run(count);
			puts("done");
			return 0;
		}
	fprintf(stderr, "usage: sampling_target WHAT [COUNT]\n");
	return 2;
}
