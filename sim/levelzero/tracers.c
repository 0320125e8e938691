// SPDX-License-Identifier: MIT
/* The loader's tracing layer. */
#include "tracers.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct tracer {
	bool taken, enabled;
	uint32_t number; /* of the tracer that has this place */
	uint32_t inside; /* calls that it has seen begin, and not end */
	void *user_data;
} tracers[TRACERS_MAX];

static int tracer_count;
static uint32_t switched_on;
static __thread bool in_callback;

static bool is_on(void)
{
	const char *wanted = getenv("ZE_ENABLE_TRACING_LAYER");

	return (wanted && !strcmp(wanted, "1")) || __atomic_load_n(&switched_on, __ATOMIC_SEQ_CST);
}

SIM_EXPORT int32_t zelEnableTracingLayer(void);
int32_t zelEnableTracingLayer(void)
{
	if (getenv("XPUPROF_SIM_ZE_OLD"))
		return LEVELZERO_UNSUPPORTED;
	if (getenv("XPUPROF_SIM_ZE_NO_LAYER"))
		abort(); /* the real one's table is empty then */
	__atomic_add_fetch(&switched_on, 1, __ATOMIC_SEQ_CST);
	return 0;
}

SIM_EXPORT int32_t zelDisableTracingLayer(void);
int32_t zelDisableTracingLayer(void)
{
	__atomic_sub_fetch(&switched_on, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* The place of one that is gone is used again. */
SIM_EXPORT int32_t zelTracerCreate(const struct levelzero_tracer_desc *desc, void **ret)
{
	static uint32_t number;
	int n = 0;

	if (getenv("XPUPROF_SIM_ZE_NO_LAYER") || (getenv("XPUPROF_SIM_ZE_OLD") && !is_on()))
		return LEVELZERO_UNINITIALIZED;
	while (n < tracer_count && tracers[n].taken)
		n++;
	if (n == TRACERS_MAX)
		return LEVELZERO_UNSUPPORTED;
	tracer_count = n == tracer_count ? n + 1 : tracer_count;
	tracers[n] =
		(struct tracer){.taken = true, .number = ++number, .user_data = desc->user_data};
	*ret = &tracers[n];
	return 0;
}

SIM_EXPORT int32_t zelTracerDestroy(void *tracer)
{
	struct timespec pause = {.tv_nsec = 1000000};
	struct tracer *t = tracer;

	while (__atomic_load_n(&t->inside, __ATOMIC_SEQ_CST))
		nanosleep(&pause, NULL);
	memset(t, 0, sizeof(*t));
	return 0;
}

SIM_EXPORT int32_t zelTracerSetEnabled(void *tracer, uint8_t enable)
{
	__atomic_store_n(&((struct tracer *)tracer)->enabled, enable, __ATOMIC_SEQ_CST);
	return 0;
}

int32_t sim_set_callback(
	void *tracer, struct sim_traced *call, int when, levelzero_callback *callback)
{
	struct tracer *t = tracer;

	if (t->enabled || when < 0 || when > 1)
		return LEVELZERO_UNSUPPORTED;
	call->of[t - tracers][when] = t->number;
	call->callbacks[t - tracers][when] = callback;
	return 0;
}

/* It counts before it is looked at whether the tracer is enabled: who disables it sees that. */
static void enter(struct sim_call *call)
{
	for (int t = 0; is_on() && t < tracer_count; t++) {
		__atomic_add_fetch(&tracers[t].inside, 1, __ATOMIC_SEQ_CST);
		call->traced[t] = __atomic_load_n(&tracers[t].enabled, __ATOMIC_SEQ_CST);
		if (!call->traced[t])
			__atomic_sub_fetch(&tracers[t].inside, 1, __ATOMIC_SEQ_CST);
	}
}

static void leave(const struct sim_call *call)
{
	for (int t = 0; t < TRACERS_MAX; t++)
		if (call->traced[t])
			__atomic_sub_fetch(&tracers[t].inside, 1, __ATOMIC_SEQ_CST);
}

void sim_call_back(const struct sim_traced *of, int when, void **arguments, int32_t result,
	struct sim_call *call)
{
	if (in_callback)
		return;
	if (!when)
		enter(call);
	in_callback = true;
	for (int t = 0; t < TRACERS_MAX; t++)
		if (call->traced[t] && of->of[t][when] == tracers[t].number)
			of->callbacks[t][when](
				arguments, result, tracers[t].user_data, &call->instances[t]);
	in_callback = false;
	if (when)
		leave(call);
}
