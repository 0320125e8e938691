// SPDX-License-Identifier: MIT
/*
 * Back-to-back launches of an empty kernel, on request: the counterpart of torch_worker.py for the
 * cost of one launch. Reads lines "tiny COUNT", answers each with the seconds it took. Driver API
 * by dlopen, kernel as PTX: builds without CUDA.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char ptx[] = ".version 6.4\n"
			  ".target sm_52\n"
			  ".address_size 64\n"
			  ".visible .entry tiny()\n"
			  "{\n"
			  "	ret;\n"
			  "}\n";

typedef int (*cu_init)(unsigned int);
typedef int (*cu_device)(int *, int);
typedef int (*cu_retain)(void **, int);
typedef int (*cu_set_current)(void *);
typedef int (*cu_load)(void **, const void *);
typedef int (*cu_function)(void **, void *, const char *);
typedef int (*cu_launch)(void *, unsigned int, unsigned int, unsigned int, unsigned int,
	unsigned int, unsigned int, unsigned int, void *, void **, void **);
typedef int (*cu_synchronize)(void);

static void *driver;

static void *find(const char *name)
{
	void *function = dlsym(driver, name);

	if (!function) {
		fprintf(stderr, "tiny_worker: libcuda.so.1 has no '%s'\n", name);
		exit(1);
	}
	return function;
}

static void check(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "tiny_worker: %s failed: CUDA error %d\n", what, result);
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(void)
{
	void *context, *module, *kernel;
	cu_launch launch;
	cu_synchronize synchronize;
	unsigned long count;
	int device;

	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	if (!driver) {
		fprintf(stderr, "tiny_worker: %s\n", dlerror());
		return 1;
	}
	check(((cu_init)find("cuInit"))(0), "cuInit");
	check(((cu_device)find("cuDeviceGet"))(&device, 0), "cuDeviceGet");
	check(((cu_retain)find("cuDevicePrimaryCtxRetain"))(&context, device),
		"cuDevicePrimaryCtxRetain");
	check(((cu_set_current)find("cuCtxSetCurrent"))(context), "cuCtxSetCurrent");
	check(((cu_load)find("cuModuleLoadData"))(&module, ptx), "cuModuleLoadData");
	check(((cu_function)find("cuModuleGetFunction"))(&kernel, module, "tiny"),
		"cuModuleGetFunction");
	launch = (cu_launch)find("cuLaunchKernel");
	synchronize = (cu_synchronize)find("cuCtxSynchronize");
	printf("ready\n");
	fflush(stdout);
	while (scanf(" tiny %lu", &count) == 1) {
		double start = now();

		for (unsigned long i = 0; i < count; i++)
			check(launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
				"cuLaunchKernel");
		check(synchronize(), "cuCtxSynchronize");
		printf("%.9f\n", now() - start);
		fflush(stdout);
	}
	return 0;
}
