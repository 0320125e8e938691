// SPDX-License-Identifier: MIT
/* The loader's tracing layer. */
#include "tracers.h"

#include <stdlib.h>
#include <string.h>

static struct tracer {
	bool enabled;
	void *user_data;
} tracers[TRACERS_MAX];

static int tracer_count;
static __thread bool in_callback;

SIM_EXPORT int32_t zelTracerCreate(const struct levelzero_tracer_desc *desc, void **ret)
{
	const char *wanted = getenv("ZE_ENABLE_TRACING_LAYER");

	if (!wanted || strcmp(wanted, "1"))
		return LEVELZERO_UNINITIALIZED;
	if (tracer_count == TRACERS_MAX)
		return LEVELZERO_UNSUPPORTED;
	tracers[tracer_count].user_data = desc->user_data;
	*ret = &tracers[tracer_count++];
	return 0;
}

SIM_EXPORT int32_t zelTracerDestroy(void *tracer)
{
	memset(tracer, 0, sizeof(struct tracer));
	return 0;
}

SIM_EXPORT int32_t zelTracerSetEnabled(void *tracer, uint8_t enable)
{
	((struct tracer *)tracer)->enabled = enable;
	return 0;
}

int32_t sim_set_callback(
	void *tracer, struct sim_traced *call, int when, levelzero_callback *callback)
{
	struct tracer *t = tracer;

	if (t->enabled || when < 0 || when > 1)
		return LEVELZERO_UNSUPPORTED;
	call->callbacks[t - tracers][when] = callback;
	return 0;
}

void sim_call_back(
	const struct sim_traced *call, int when, void **arguments, int32_t result, void **instances)
{
	if (in_callback)
		return;
	in_callback = true;
	for (int t = 0; t < tracer_count; t++)
		if (tracers[t].enabled && call->callbacks[t][when])
			call->callbacks[t][when](
				arguments, result, tracers[t].user_data, &instances[t]);
	in_callback = false;
}
