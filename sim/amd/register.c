// SPDX-License-Identifier: MIT
#include "register.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t own_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static bool has_text(const char *variable)
{
	const char *text = getenv(variable);

	return text && *text;
}

void register_runtime(struct sim_amd_tracer *ret)
{
	const char *path = has_text("ROCPROFILER_REGISTER_LIBRARY")
				   ? getenv("ROCPROFILER_REGISTER_LIBRARY")
				   : "librocprofiler-sdk.so.1";
	void (*enter)(struct sim_amd_tracer *);
	void *library;

	if (!has_text("ROCP_TOOL_LIBRARIES") && !has_text("ROCPROFILER_REGISTER_LIBRARY") &&
		!dlsym(RTLD_DEFAULT, "rocprofiler_configure"))
		return;
	library = dlopen(path, RTLD_GLOBAL | RTLD_LAZY);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		abort();
	}
	*(void **)&enter = dlsym(library, "sim_amd_begin");
	enter(ret);
}
