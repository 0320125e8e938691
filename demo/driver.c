// SPDX-License-Identifier: MIT
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

bool driver_open(struct driver *d, const char *program)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	if (!library) {
		fprintf(stderr,
			"%s: no CUDA driver: %s\n"
			"%s: without an NVIDIA GPU, use the simulated one: "
			"LD_LIBRARY_PATH=build/sim\n",
			program, dlerror(), program);
		return false;
	}
#define LOAD(name)                                                                                 \
	*(void **)&d->name = dlsym(library, #name);                                                \
	if (!d->name) {                                                                            \
		fprintf(stderr, "%s: this CUDA driver has no " #name "\n", program);               \
		return false;                                                                      \
	}
	DRIVER_FUNCTIONS(LOAD)
#undef LOAD
	return true;
}

void driver_check(
	const struct driver *d, CUresult result, const char *call, const char *file, int line)
{
	const char *name = NULL;

	if (result == CUDA_SUCCESS)
		return;
	d->cuGetErrorName(result, &name);
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, name ? name : "unknown error");
	exit(1);
}
