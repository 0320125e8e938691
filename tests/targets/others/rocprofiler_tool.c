// SPDX-License-Identifier: MIT
/*
 * Somebody else's tool of rocprofiler-sdk, which samples instructions of all GPUs. At the end it
 * writes to the file that $OTHER_SAYS names of how many it may, of how many it may not, and how
 * many samples it got.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "inject/rocprofiler/abi.h"

#define BUFFER_BYTES	(1 << 20)
#define WATERMARK_BYTES (1 << 18)
#define MICROSECONDS	3
#define EACH		100

static struct rocprofiler_functions sdk;
static uint64_t context, buffer, samples;
static int granted, refused;

__attribute__((visibility("default"))) struct rocprofiler_tool *rocprofiler_configure(
	uint32_t version, const char *text, uint32_t priority, struct rocprofiler_client *client);

static bool find_functions(void)
{
	bool all = true;

#define FUNCTION(name, parameters)                                                                 \
	*(void **)&sdk.name = dlsym(RTLD_DEFAULT, "rocprofiler_" #name);                           \
	all &= sdk.name != NULL;
	ROCPROFILER_FUNCTIONS(FUNCTION)
	ROCPROFILER_OPTIONAL(FUNCTION)
#undef FUNCTION
	return all;
}

static void on_samples(uint64_t its_context, uint64_t its_buffer,
	struct rocprofiler_header **headers, size_t n, void *data, uint64_t dropped)
{
	for (size_t i = 0; i < n; i++)
		samples += headers[i]->category == ROCPROFILER_CATEGORY_SAMPLES;
}

static int on_agents(uint32_t version, const void **agents, size_t count, void *data)
{
	for (size_t n = 0; n < count; n++) {
		const struct rocprofiler_agent *a = agents[n];

		if (a->type != ROCPROFILER_AGENT_IS_GPU)
			continue;
		if (sdk.configure_pc_sampling_service(
			    context, a->id, ROCPROFILER_HOST_TRAP, MICROSECONDS, EACH, buffer, 0))
			refused++;
		else
			granted++;
	}
	return 0;
}

static int initialize(void *finalize, void *data)
{
	if (!find_functions() || sdk.create_context(&context) ||
		sdk.create_buffer(context, BUFFER_BYTES, WATERMARK_BYTES,
			ROCPROFILER_POLICY_LOSSLESS, on_samples, NULL, &buffer) ||
		sdk.query_available_agents(ROCPROFILER_AGENTS_VERSION, on_agents,
			sizeof(struct rocprofiler_agent), NULL) ||
		sdk.start_context(context))
		exit(9);
	return 0;
}

static void finalize(void *data)
{
	const char *path = getenv("OTHER_SAYS");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "%d %d %llu\n", granted, refused, (unsigned long long)samples);
	fclose(f);
}

struct rocprofiler_tool *rocprofiler_configure(
	uint32_t version, const char *text, uint32_t priority, struct rocprofiler_client *client)
{
	static struct rocprofiler_tool tool = {sizeof(tool), initialize, finalize, NULL};

	return &tool;
}
