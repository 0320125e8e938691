// SPDX-License-Identifier: MIT
#include "preload/nvidia/driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include "guest/dlsym.h"
#include "preload/nvidia/hooks.h"

struct driver driver;

static bool complete;

void *driver_symbol(const char *name)
{
	void *handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *symbol = handle ? dlsym_real(handle, name) : NULL;

	/* It stays, as the program has it. */
	if (handle)
		dlclose(handle);
	return symbol;
}

static void find(void)
{
	complete = true;
#define FIND_MAYBE(name, arguments) *(void **)&driver.name = driver_symbol(#name);
#define FIND(name, arguments)                                                                      \
	FIND_MAYBE(name, arguments)                                                                \
	complete &= driver.name != NULL;
	DRIVER(FIND)
	DRIVER_MAYBE(FIND_MAYBE)
#undef FIND
#undef FIND_MAYBE
}

bool driver_open(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find);
	return complete;
}
