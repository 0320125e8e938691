// SPDX-License-Identifier: MIT
/*
 * What AMD's rocprofiler-sdk loads into programs ($ROCP_TOOL_LIBRARIES): it finds our library
 * beside itself, and hands over.
 *
 * This is a library of its own for the sake of programs without a recorder. AMD's runtime looks for
 * the function below in everything that a process has loaded, and where it finds one, it wants
 * rocprofiler-sdk, and aborts the process if that is not installed. So our other library, which may
 * be preloaded into any program, must not have it.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vendor/amd/amd.h"

#define INJECTED_NAME "libxpuprof-inject.so"

__attribute__((visibility("default"))) void *rocprofiler_configure(
	uint32_t version, const char *text, uint32_t priority, void *client);

/* The library in our folder; NULL: it is not there. */
static void *open_injected(void)
{
	char path[PATH_MAX];
	const char *name;
	Dl_info own;
	size_t folder;

	if (!dladdr((const void *)rocprofiler_configure, &own) || !own.dli_fname)
		return NULL;
	name = strrchr(own.dli_fname, '/');
	folder = name ? (size_t)(name + 1 - own.dli_fname) : 0;
	if (folder + sizeof(INJECTED_NAME) > sizeof(path))
		return NULL;
	memcpy(path, own.dli_fname, folder);
	memcpy(path + folder, INJECTED_NAME, sizeof(INJECTED_NAME));
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* `tracer` is where rocprofiler-sdk calls us: the library knows by that which one it is. */
void *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority, void *client)
{
	void *(*entry)(const void *tracer, uint32_t version, void *client);
	void *injected = open_injected();

	if (!injected)
		return NULL;
	*(void **)&entry = dlsym(injected, AMD_TOOL_ENTRY);
	return entry ? entry(__builtin_return_address(0), version, client) : NULL;
}
