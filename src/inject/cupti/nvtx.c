// SPDX-License-Identifier: MIT
/*
 * NVTX, with which programs name stretches of time, is in their own code. Its first call loads the
 * library that $NVTX_INJECTION64_PATH names: with `xpuprof record --nvtx` that is this one. CUPTI
 * knows what to do then, and reports the names with its activity records. So it is found here, in
 * a program that has perhaps not called CUDA yet, and told.
 *
 * What is named before the program's first call of CUDA is not recorded: there is no recorder yet.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "inject/cupti/cupti.h"
#include "inject/library.h"
#include "vendor/nvidia/libraries.h"
#include "wire/wire.h"

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(void *get_export_table);

/* 1: CUPTI has put its functions in the place of those that do nothing. */
int InitializeInjectionNvtx2(void *get_export_table)
{
	static struct cupti found;
	static struct cuda_driver driver;
	int (*initialize)(void *);

	if (!getenv(WIRE_ENV_SOCKET))
		return 0;
	/* Which CUPTI fits depends on the driver. */
	if (!dlopen(NVIDIA_DRIVER_SONAME, RTLD_LAZY) || find_cupti(&found, &driver))
		return 0;
	*(void **)&initialize = dlsym(found.handle, "InitializeInjectionNvtx2");
	return initialize ? initialize(get_export_table) : 0;
}
