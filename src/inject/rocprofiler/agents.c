// SPDX-License-Identifier: MIT
/*
 * The GPUs among rocprofiler-sdk's agents, which are the same for the whole process; and its clock.
 * All times are of one: in its sources CLOCK_BOOTTIME, to which the times of devices are converted
 * before we get them. So it is not assumed but measured (inject/device_clock.h).
 */
#include "inject/rocprofiler/rocprofiler.h"

#define ASK_NS	   100000000ull
#define NAME_BYTES 256u

static struct gpu {
	uint64_t agent;
	bool sent;
	char name[NAME_BYTES];
	struct wire_device record;
} gpus[AGENTS_MAX];

static uint32_t gpu_count;
struct device_clock agents_clock;

static void describe(struct gpu *g, uint32_t index, const struct rocprofiler_agent *a)
{
	const char *name = a->product_name && *a->product_name ? a->product_name : a->name;
	size_t size = name ? strnlen(name, NAME_BYTES - 1) : 0;

	g->agent = a->id;
	memcpy(g->name, name ? name : "", size);
	g->record = (struct wire_device){.type = WIRE_DEVICE,
		.number = AMD_API * WIRE_API_DEVICES + index,
		.sm_count = a->cu_count,
		.clock_khz = a->mhz * 1000,
		.memory_bytes = a->memory_bytes,
		.name_size = (uint32_t)size};
	if (a->size >= sizeof(*a))
		memcpy(g->record.uuid, a->uuid, sizeof(g->record.uuid));
}

static int on_agents(uint32_t version, const void **agents, size_t count, void *data)
{
	for (size_t n = 0; n < count; n++) {
		const struct rocprofiler_agent *a = agents[n];

		if (!a || a->size < offsetof(struct rocprofiler_agent, model_name) ||
			a->type != ROCPROFILER_AGENT_IS_GPU || gpu_count == AGENTS_MAX)
			continue;
		describe(&gpus[gpu_count], gpu_count, a);
		gpu_count++;
	}
	return 0;
}

bool agents_find(void)
{
	return !rocprofiler.query_available_agents(ROCPROFILER_AGENTS_VERSION, on_agents,
		offsetof(struct rocprofiler_agent, model_name), NULL);
}

int agents_index(uint64_t agent)
{
	for (uint32_t n = 0; n < gpu_count; n++)
		if (gpus[n].agent == agent)
			return (int)n;
	return -1;
}

uint32_t agents_count(void)
{
	return gpu_count;
}

uint64_t agents_handle(uint32_t index)
{
	return gpus[index].agent;
}

uint32_t agents_context(uint32_t index)
{
	return AMD_API << WIRE_API_SHIFT | (index + 1);
}

uint32_t agents_introduce(uint32_t index)
{
	struct gpu *g = &gpus[index];

	if (!g->sent)
		g->sent = send_long(&g->record, sizeof(g->record), g->name, g->record.name_size);
	return g->record.number;
}

void agents_ask(void)
{
	uint64_t before_ns = now_ns(), theirs_ns = 0;
	int error;

	if (agents_clock.asked_ns && before_ns - agents_clock.asked_ns < ASK_NS)
		return;
	pthread_mutex_lock(&library.no_fork);
	before_ns = now_ns();
	error = rocprofiler.get_timestamp(&theirs_ns);
	agents_clock.asked_ns = now_ns();
	pthread_mutex_unlock(&library.no_fork);
	if (!error && theirs_ns)
		clock_bound(&agents_clock, theirs_ns, before_ns, agents_clock.asked_ns, 1);
}
