// SPDX-License-Identifier: MIT
/*
 * NVIDIA's GPUs: the variable that loads a library into programs that use CUDA, and hardware
 * counters from beside them. What the library reports is decoded in gpu/injected/.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "gpu/nvidia/counter_sampler.h"
#include "gpu/nvidia/counters.h"
#include "gpu/nvidia/nvidia.h"
#include "vendor/nvidia/environment.h"

struct gpu_backend {
	struct counters *counters; /* NULL: hardware counters are not sampled */
	char *library;		   /* path of the one to inject */
	bool markers;		   /* it is NVTX's, too */
};

static int nvidia_device_used(struct gpu_backend *b, const uint8_t uuid[16], uint32_t device)
{
	return b->counters ? counters_use(b->counters, uuid, device) : 0;
}

static void nvidia_close(struct gpu_backend *b)
{
	if (!b)
		return;
	counters_close(b->counters);
	free(b->library);
	free(b);
}

static int open_counters(
	struct gpu_backend *b, const struct gpu_options *o, struct profile_writer *w)
{
	struct counters_options options = {.interval_ns = o->counter_interval_ns,
		.environment = o->environment,
		.user = o->user};

	return o->counter_interval_ns ? counters_open(&b->counters, &options, w) : 0;
}

static const char *variable_of(char **environment, const char *name)
{
	size_t size = strlen(name);

	for (char **e = environment ? environment : environ; *e; e++)
		if (!strncmp(*e, name, size) && (*e)[size] == '=')
			return *e + size + 1;
	return NULL;
}

static int open_backend(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	struct gpu_backend *b = calloc(1, sizeof(*b));
	int error;

	if (!b)
		return error_memory(NULL);
	b->library = strdup(options->library);
	b->markers =
		options->markers && !variable_of(options->environment, NVIDIA_MARKERS_VARIABLE);
	if (options->markers && !b->markers && options->notes)
		buf_printf(options->notes,
			"no markers are recorded: " NVIDIA_MARKERS_VARIABLE " already names '%s'\n",
			variable_of(options->environment, NVIDIA_MARKERS_VARIABLE));
	error = b->library ? 0 : error_memory(NULL);
	error = error ?: open_counters(b, options, shared->writer);
	if (error) {
		nvidia_close(b);
		return error;
	}
	*ret = b;
	return 0;
}

/* The program may have a library of its own injected: ours would replace it. */
static int nvidia_open(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	const char *other = variable_of(options->environment, NVIDIA_INJECTION_VARIABLE);

	if (!options->runtime_dir || !options->notes || !other || !*other ||
		nvidia_is_own_library(other))
		return open_backend(ret, options, shared);
	buf_printf(options->notes,
		"no GPU work of CUDA is recorded: " NVIDIA_INJECTION_VARIABLE
		" already names '%s'\n",
		other);
	return 0;
}

static int nvidia_environment(
	struct gpu_backend *b, int (*add)(void *, const char *, const char *), void *context)
{
	int error = add(context, NVIDIA_INJECTION_VARIABLE, b->library);

	return error || !b->markers ? error : add(context, NVIDIA_MARKERS_VARIABLE, b->library);
}

static int nvidia_poll_fd(struct gpu_backend *b)
{
	return b->counters ? counters_fd(b->counters) : -1;
}

static int nvidia_snapshot(struct gpu_backend *b)
{
	return 0;
}

static int nvidia_drain(struct gpu_backend *b, bool *ret_busy)
{
	return b->counters ? counters_drain(b->counters) : 0;
}

static int nvidia_stop(struct gpu_backend *b)
{
	if (b->counters)
		counters_stop(b->counters);
	return 0;
}

static int nvidia_finish(struct gpu_backend *b)
{
	int error = b->counters ? counters_drain(b->counters) : 0;

	return error || !b->counters ? error : counters_finish(b->counters);
}

static void nvidia_stats(const struct gpu_backend *b, struct gpu_stats *ret)
{
	if (!b->counters)
		return;
	ret->counters_refused = counters_refusals(b->counters);
	ret->instances_live += counters_are_live(b->counters);
}

const struct gpu_backend_ops nvidia_backend = {
	.name = "nvidia",
	.open = nvidia_open,
	.environment = nvidia_environment,
	.poll_fd = nvidia_poll_fd,
	.snapshot = nvidia_snapshot,
	.drain = nvidia_drain,
	.stop = nvidia_stop,
	.finish = nvidia_finish,
	.device_used = nvidia_device_used,
	.stats = nvidia_stats,
	.close = nvidia_close,
	.helper = counter_sampler_main,
};
