// SPDX-License-Identifier: MIT
/*
 * Calls of the driver by which contexts become a thread's, and end. What is in a context's arena is
 * read before the context ends.
 */
#include "preload/link.h"
#include "preload/nvidia/arenas.h"
#include "preload/nvidia/driver.h"
#include "preload/nvidia/hooks.h"
#include "preload/nvidia/modules.h"

static cu_result looked_at(cu_result result)
{
	if (!result)
		modules_look_here();
	return result;
}

#define CREATE(name)                                                                               \
	cu_result name(cu_context *ret, long a, long b, long c, long d)                            \
	{                                                                                          \
		return looked_at(REAL(name)(ret, a, b, c, d));                                     \
	}
CREATE(cuCtxCreate)
CREATE(cuCtxCreate_v2)
CREATE(cuCtxCreate_v3)
CREATE(cuCtxCreate_v4)

cu_result cuCtxSetCurrent(cu_context context)
{
	return looked_at(REAL(cuCtxSetCurrent)(context));
}

cu_result cuCtxPushCurrent(cu_context context)
{
	return looked_at(REAL(cuCtxPushCurrent)(context));
}

cu_result cuCtxPushCurrent_v2(cu_context context)
{
	return looked_at(REAL(cuCtxPushCurrent_v2)(context));
}

/* Which contexts end: one, or the primary one of a device. */
struct ending {
	cu_context context;
	cu_device device;
};

static bool ends(const struct arena *a, const struct ending *e)
{
	return e->context ? a->context == e->context : a->primary && a->device == e->device;
}

/* Returns a bit for the slot of each. */
static uint64_t begin(const struct ending *e)
{
	struct calls calls;
	uint64_t ending = 0;

	if (!link_is_alive())
		return 0;
	calls_begin(&calls);
	pthread_mutex_lock(&arenas_lock);
	for (uint32_t i = 0; i < PROBE_ARENAS_MAX; i++)
		if (arenas[i].live && ends(&arenas[i], e)) {
			arena_ends(&arenas[i]);
			ending |= 1ull << i;
		}
	pthread_mutex_unlock(&arenas_lock);
	calls_end(&calls);
	return ending;
}

static void finish(uint64_t ending, bool are_gone)
{
	if (!ending)
		return;
	pthread_mutex_lock(&arenas_lock);
	for (uint32_t i = 0; i < PROBE_ARENAS_MAX; i++) {
		if (!(ending >> i & 1))
			continue;
		if (are_gone)
			arena_is_gone(&arenas[i]);
		else
			arenas[i].live = true;
	}
	pthread_mutex_unlock(&arenas_lock);
}

static bool is_inactive(cu_device device)
{
	unsigned int flags;
	int active = 0;

	return driver.cuDevicePrimaryCtxGetState(device, &flags, &active) || !active;
}

#define DESTROY(name)                                                                              \
	cu_result name(cu_context context)                                                         \
	{                                                                                          \
		const struct ending e = {.context = context};                                      \
		uint64_t ending = context ? begin(&e) : 0;                                         \
		cu_result result = REAL(name)(context);                                            \
                                                                                                   \
		finish(ending, !result);                                                           \
		return result;                                                                     \
	}
DESTROY(cuCtxDestroy)
DESTROY(cuCtxDestroy_v2)

/* A primary context ends with its last user, or at once. */
#define DESTROY_PRIMARY(name, at_once)                                                             \
	cu_result name(cu_device device)                                                           \
	{                                                                                          \
		const struct ending e = {.device = device};                                        \
		uint64_t ending = begin(&e);                                                       \
		cu_result result = REAL(name)(device);                                             \
                                                                                                   \
		finish(ending, !result && ((at_once) || is_inactive(device)));                     \
		return result;                                                                     \
	}
DESTROY_PRIMARY(cuDevicePrimaryCtxRelease, false)
DESTROY_PRIMARY(cuDevicePrimaryCtxRelease_v2, false)
DESTROY_PRIMARY(cuDevicePrimaryCtxReset, true)
DESTROY_PRIMARY(cuDevicePrimaryCtxReset_v2, true)
