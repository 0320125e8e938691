// SPDX-License-Identifier: MIT
/*
 * Somebody else's tracer of Level Zero, preloaded before or behind ours. It follows launches on
 * immediate lists as profilers do: those without an event get one of its own, whose times it reads
 * when the program has waited for the list, and which it resets then. At the end it writes to the
 * file that $OTHER_SAYS names how many launches it saw, and how many of its own events had times.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "levelzero.h"

#define EVENTS 64

/* Of the loader, or of who stands before it. */
#define FUNCTIONS(FUNCTION)                                                                        \
	FUNCTION(zeEventPoolCreate)                                                                \
	FUNCTION(zeEventCreate)                                                                    \
	FUNCTION(zeEventHostReset)                                                                 \
	FUNCTION(zeEventQueryKernelTimestamp)                                                      \
	FUNCTION(zelTracerCreate)                                                                  \
	FUNCTION(zelTracerSetEnabled)

#define FUNCTION(name) static __typeof__(name) *next_##name;
FUNCTIONS(FUNCTION)
#undef FUNCTION

static void *tracer, *events[EVENTS];
static uint32_t used, launched, timed;

typedef int32_t on_callback(void *tracer, int when, levelzero_callback *callback);

static void follow(const char *name, int when, levelzero_callback *callback)
{
	on_callback *function = (on_callback *)dlsym(RTLD_NEXT, name);

	if (!function || function(tracer, when, callback))
		exit(9);
}

/* (context, device, description, ret) */
static void list_is_made(void **arguments, int32_t result, void *user_data, void **instance)
{
	const struct levelzero_event_pool_desc of_pool = {.stype = LEVELZERO_IS_EVENT_POOL_DESC,
		.flags = LEVELZERO_POOL_HOST_VISIBLE | LEVELZERO_POOL_TIMESTAMPS,
		.count = EVENTS};
	struct levelzero_event_desc of_event = {.stype = LEVELZERO_IS_EVENT_DESC};
	void *pool;

	if (events[0] || next_zeEventPoolCreate(*(void **)arguments[0], &of_pool, 0, NULL, &pool))
		return;
	for (; of_event.index < EVENTS; of_event.index++)
		if (next_zeEventCreate(pool, &of_event, &events[of_event.index]))
			exit(9);
}

/* (list, kernel, groups, event, ...) */
static void launches(void **arguments, int32_t result, void *user_data, void **instance)
{
	void **event = arguments[3];

	launched++;
	if (!*event && used < EVENTS)
		*event = events[used++];
}

/* (list, timeout) */
static void has_waited(void **arguments, int32_t result, void *user_data, void **instance)
{
	struct levelzero_timestamps times;

	for (; used; used--) {
		timed += !next_zeEventQueryKernelTimestamp(events[used - 1], &times);
		next_zeEventHostReset(events[used - 1]);
	}
}

int32_t zeInit(uint32_t flags)
{
	const struct levelzero_tracer_desc desc = {.stype = LEVELZERO_IS_TRACER_DESC};
	__typeof__(zeInit) *next = (__typeof__(zeInit) *)dlsym(RTLD_NEXT, "zeInit");
	int32_t result = next(flags);

	if (tracer)
		return result;
#define FUNCTION(name) next_##name = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);
	FUNCTIONS(FUNCTION)
#undef FUNCTION
	if (next_zelTracerCreate(&desc, &tracer))
		exit(9);
	follow("zelTracerCommandListCreateImmediateRegisterCallback", LEVELZERO_EPILOGUE,
		list_is_made);
	follow("zelTracerCommandListAppendLaunchKernelRegisterCallback", LEVELZERO_PROLOGUE,
		launches);
	follow("zelTracerCommandListHostSynchronizeRegisterCallback", LEVELZERO_EPILOGUE,
		has_waited);
	next_zelTracerSetEnabled(tracer, 1);
	return result;
}

__attribute__((destructor)) static void say(void)
{
	const char *path = getenv("OTHER_SAYS");
	FILE *f = path && tracer ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "%u %u\n", (unsigned int)launched, (unsigned int)timed);
	fclose(f);
}
