// SPDX-License-Identifier: MIT
/* The loader's tracing layer. */
#include "tracers.h"

#include <stdlib.h>
#include <string.h>

#define TRACED_CALLS 64

struct traced {
	const char *name;
	levelzero_callback *callbacks[2];
};

static struct tracer {
	bool enabled;
	void *user_data;
	struct traced calls[TRACED_CALLS + 1];
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

int32_t sim_set_callback(void *tracer, const char *name, int when, levelzero_callback *callback)
{
	struct tracer *t = tracer;
	struct traced *c = t->calls;

	if (t->enabled || when < 0 || when > 1)
		return LEVELZERO_UNSUPPORTED;
	while (c->name && strcmp(c->name, name))
		c++;
	if (c == t->calls + TRACED_CALLS)
		return LEVELZERO_UNSUPPORTED;
	c->name = name;
	c->callbacks[when] = callback;
	return 0;
}

void sim_call_back(
	const char *name, int when, void **arguments, int32_t result, void **instances)
{
	if (in_callback)
		return;
	in_callback = true;
	for (int t = 0; t < tracer_count; t++)
		for (struct traced *c = tracers[t].calls; tracers[t].enabled && c->name; c++)
			if (!strcmp(c->name, name) && c->callbacks[when])
				c->callbacks[when](
					arguments, result, tracers[t].user_data, &instances[t]);
	in_callback = false;
}
