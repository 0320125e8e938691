// SPDX-License-Identifier: MIT
/*
 * Threads call the driver all the time, from before there is a context, while two others make one
 * each at the same moment (tests/cli/armed.t). Then it says "ready", and "done" in the end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "driver.h"

enum { ASKERS = 3, MAKERS = 2, BEFORE_US = 50000, AFTER_US = 500000 };

#define CHECK(call) driver_check(&cuda, (call), #call, __FILE__, __LINE__)

static struct driver cuda;
static _Atomic bool over;

static void *ask(void *unused)
{
	CUdevice device;

	while (!over)
		CHECK(cuda.cuDeviceGet(&device, 0));
	return NULL;
}

static void *make(void *barrier)
{
	CUcontext context;

	pthread_barrier_wait(barrier);
	CHECK(cuda.cuCtxCreate_v2(&context, 0, 0));
	return NULL;
}

int main(void)
{
	pthread_t askers[ASKERS], makers[MAKERS];
	pthread_barrier_t barrier;

	if (!driver_open(&cuda, "early_target"))
		return 2;
	CHECK(cuda.cuInit(0));
	pthread_barrier_init(&barrier, NULL, MAKERS);
	for (int n = 0; n < ASKERS; n++)
		pthread_create(&askers[n], NULL, ask, NULL);
	usleep(BEFORE_US);
	for (int n = 0; n < MAKERS; n++)
		pthread_create(&makers[n], NULL, make, &barrier);
	for (int n = 0; n < MAKERS; n++)
		pthread_join(makers[n], NULL);
	puts("ready");
	fflush(stdout);
	usleep(AFTER_US);
	over = true;
	for (int n = 0; n < ASKERS; n++)
		pthread_join(askers[n], NULL);
	puts("done");
	return 0;
}
