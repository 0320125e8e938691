// SPDX-License-Identifier: MIT
/*
 * Where a kernel is: a function of Intel's driver tells (zexKernelGetBaseAddress, no part of the
 * API's headers: it is asked for by its name).
 *
 * It is the driver's own, not the loader's. So it is asked only for kernels of devices of a driver
 * that has it, and with the handle that this driver knows: where there are several drivers, or
 * where it is told to, the loader gives the program handles of its own, and translates them.
 */
#include <stdlib.h>

#include "inject/levelzero/levelzero.h"

#define DRIVERS_MAX 16
#define DEVICES_MAX 64
#define IS_KERNEL   11 /* ZEL_HANDLE_KERNEL of level_zero/loader/ze_loader.h */

static struct {
	int32_t (*drivers)(uint32_t *count, void **ret);
	int32_t (*devices)(void *driver, uint32_t *count, void **ret);
	int32_t (*parts)(void *device, uint32_t *count, void **ret);
	int32_t (*function)(void *driver, const char *name, void **ret);
	int32_t (*translate)(int kind, void *handle, void **ret);
	void *handles[DRIVERS_MAX];
	address_function *functions[DRIVERS_MAX]; /* NULL: the driver has none */
	uint32_t count;
} all;

static bool is_one_of(int32_t (*list)(void *, uint32_t *, void **), void *of, const void *device)
{
	void *found[DEVICES_MAX];
	uint32_t count = DEVICES_MAX;

	if (list(of, &count, found))
		return false;
	for (uint32_t n = 0; n < count && n < DEVICES_MAX; n++)
		if (found[n] == device)
			return true;
	return false;
}

/* Or a part of one of its devices. */
static bool has_device(void *driver, const void *device)
{
	void *found[DEVICES_MAX];
	uint32_t count = DEVICES_MAX;

	if (is_one_of(all.devices, driver, device))
		return true;
	if (all.devices(driver, &count, found))
		return false;
	for (uint32_t n = 0; n < count && n < DEVICES_MAX; n++)
		if (is_one_of(all.parts, found[n], device))
			return true;
	return false;
}

address_function *addresses_of(void *device)
{
	for (uint32_t n = 0; n < all.count; n++)
		if (all.functions[n] && (all.count == 1 || has_device(all.handles[n], device)))
			return all.functions[n];
	return NULL;
}

uint64_t address_of(address_function *f, void *kernel)
{
	uint64_t address = 0;

	if (all.translate && all.translate(IS_KERNEL, kernel, &kernel))
		return 0;
	return f(kernel, &address) ? 0 : address;
}

/* Loaders that cannot translate may have handles of their own. */
static bool are_handles_the_drivers(void)
{
	return all.translate || (all.count == 1 && !getenv("ZE_ENABLE_LOADER_INTERCEPT"));
}

void addresses_init(void)
{
	uint32_t count = DRIVERS_MAX;

	*(void **)&all.drivers = loader_symbol("zeDriverGet");
	*(void **)&all.devices = loader_symbol("zeDeviceGet");
	*(void **)&all.parts = loader_symbol("zeDeviceGetSubDevices");
	*(void **)&all.function = loader_symbol("zeDriverGetExtensionFunctionAddress");
	*(void **)&all.translate = loader_symbol("zelLoaderTranslateHandle");
	if (!all.drivers || !all.devices || !all.parts || !all.function ||
		all.drivers(&count, all.handles))
		return;
	all.count = count < DRIVERS_MAX ? count : DRIVERS_MAX;
	if (!are_handles_the_drivers())
		all.count = 0;
	for (uint32_t n = 0; n < all.count; n++)
		if (all.function(
			    all.handles[n], "zexKernelGetBaseAddress", (void **)&all.functions[n]))
			all.functions[n] = NULL;
}
