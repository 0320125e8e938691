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
#include "preload/nvidia/turn.h"

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
	uint64_t arenas; /* a bit for the slot of each */
	bool unread;	 /* nobody could look at them */
};

static bool ends(const struct arena *a, const struct ending *e)
{
	return e->context ? a->context == e->context : a->primary && a->device == e->device;
}

static void begin(struct ending *e)
{
	struct calls calls;

	if (!link_is_alive() || xpuprof_probe_is_calling())
		return;
	calls_begin(&calls);
	e->unread = !turn_begin();
	for (uint32_t i = 0; !e->unread && i < PROBE_ARENAS_MAX; i++)
		if (arenas[i].live && ends(&arenas[i], e)) {
			arena_ends(&arenas[i]);
			e->arenas |= 1ull << i;
		}
	if (!e->unread)
		turn_end();
	calls_end(&calls);
}

/* Its last values were not read. */
static void lose(const struct ending *e)
{
	for (uint32_t i = 0; i < PROBE_ARENAS_MAX; i++)
		if (arenas[i].live && ends(&arenas[i], e)) {
			arena_is_gone(&arenas[i]);
			__atomic_fetch_add(
				&link_to_xpuprof.control->arenas_unread, 1, __ATOMIC_RELAXED);
		}
}

static void lose_context(void *context)
{
	lose(&(struct ending){.context = context});
}

static void lose_primary(void *device)
{
	lose(&(struct ending){.device = (cu_device)(intptr_t)device});
}

/* One that nobody could look at, and that has ended. */
static void finish_unread(const struct ending *e)
{
	if (turn_begin()) {
		lose(e);
		turn_end();
	} else if (e->context)
		turn_leave(lose_context, e->context);
	else
		turn_leave(lose_primary, (void *)(intptr_t)e->device);
}

static void is_gone(void *arena)
{
	arena_is_gone(arena);
}

static void goes_on(void *arena)
{
	struct arena *a = arena;

	a->live = true;
}

static void finish_read(const struct ending *e, bool are_gone)
{
	void (*change)(void *) = are_gone ? is_gone : goes_on;
	bool mine = turn_begin();

	for (uint32_t i = 0; i < PROBE_ARENAS_MAX; i++) {
		if (!(e->arenas >> i & 1))
			continue;
		if (mine)
			change(&arenas[i]);
		else
			turn_leave(change, &arenas[i]);
	}
	if (mine)
		turn_end();
}

static void finish(const struct ending *e, bool are_gone)
{
	if (e->arenas)
		finish_read(e, are_gone);
	else if (e->unread && are_gone)
		finish_unread(e);
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
		struct ending e = {.context = context};                                            \
		cu_result result;                                                                  \
                                                                                                   \
		if (context)                                                                       \
			begin(&e);                                                                 \
		result = REAL(name)(context);                                                      \
		finish(&e, !result);                                                               \
		return result;                                                                     \
	}
DESTROY(cuCtxDestroy)
DESTROY(cuCtxDestroy_v2)

/* A primary context ends with its last user, or at once. */
#define DESTROY_PRIMARY(name, at_once)                                                             \
	cu_result name(cu_device device)                                                           \
	{                                                                                          \
		struct ending e = {.device = device};                                              \
		cu_result result;                                                                  \
                                                                                                   \
		begin(&e);                                                                         \
		result = REAL(name)(device);                                                       \
		finish(&e, !result && ((at_once) || is_inactive(device)));                         \
		return result;                                                                     \
	}
DESTROY_PRIMARY(cuDevicePrimaryCtxRelease, false)
DESTROY_PRIMARY(cuDevicePrimaryCtxRelease_v2, false)
DESTROY_PRIMARY(cuDevicePrimaryCtxReset, true)
DESTROY_PRIMARY(cuDevicePrimaryCtxReset_v2, true)
