// SPDX-License-Identifier: MIT
/*
 * NVIDIA's GPUs: libraries inside of programs that use CUDA, and hardware counters from beside
 * them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "gpu/nvidia/counter_sampler.h"
#include "gpu/nvidia/counters.h"
#include "gpu/nvidia/nvidia.h"
#include "gpu/nvidia/tracer.h"
#include "vendor/nvidia/environment.h"

_Static_assert((int)GPU_STALLS_CONTINUOUS == (int)WIRE_STALLS_CONTINUOUS &&
		       (int)GPU_STALLS_EXACT == (int)WIRE_STALLS_EXACT,
	"kinds of sampling are numbered alike on both sides");

struct gpu_backend {
	struct injected *libraries;
	struct counters *counters; /* NULL: hardware counters are not sampled */
	char *library;		   /* path of the one to inject */
};

static int use_device(void *context, const uint8_t uuid[16], uint32_t device)
{
	struct gpu_backend *b = context;

	return b->counters ? counters_use(b->counters, uuid, device) : 0;
}

static const struct injected_api api = {
	.socket_name = "nvidia.sock",
	TRACER_API,
	.device_used = use_device,
};

static void nvidia_close(struct gpu_backend *b)
{
	if (!b)
		return;
	injected_close(b->libraries);
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
	int error;

	if (!o->counter_interval_ns)
		return 0;
	error = counters_open(&b->counters, &options, w);
	if (error || counters_fd(b->counters) < 0)
		return error;
	return injected_watch(b->libraries, counters_fd(b->counters));
}

static int open_backend(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	struct gpu_backend *b = calloc(1, sizeof(*b));
	int error;

	if (!b)
		return error_memory(NULL);
	b->library = strdup(options->library);
	error = b->library ? injected_open(&b->libraries, &api, b, options, shared)
			   : error_memory(NULL);
	error = error ?: open_counters(b, options, shared->writer);
	if (error) {
		nvidia_close(b);
		return error;
	}
	*ret = b;
	return 0;
}

static const char *variable_of(char **environment, const char *name)
{
	size_t size = strlen(name);

	for (char **e = environment ? environment : environ; *e; e++)
		if (!strncmp(*e, name, size) && (*e)[size] == '=')
			return *e + size + 1;
	return NULL;
}

/* The program may have a library of its own injected: ours would replace it. */
static int nvidia_open(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	const char *other = variable_of(options->environment, NVIDIA_INJECTION_VARIABLE);

	if (!options->runtime_dir || !options->notes || !other || !*other)
		return open_backend(ret, options, shared);
	buf_printf(options->notes,
		"no GPU work is recorded: " NVIDIA_INJECTION_VARIABLE " already names '%s'\n",
		other);
	return 0;
}

static int nvidia_environment(
	struct gpu_backend *b, int (*add)(void *, const char *, const char *), void *context)
{
	int error = add(context, WIRE_ENV_SOCKET, injected_address(b->libraries));

	return error ?: add(context, NVIDIA_INJECTION_VARIABLE, b->library);
}

static void nvidia_joining(struct gpu_backend *b, struct gpu_joining *ret)
{
	*ret = (struct gpu_joining){
		.library = b->library, .entry = "xpuprof_join", .stays = TRACER_STAYS};
}

static int nvidia_adopt(struct gpu_backend *b, int fd, uint32_t pid)
{
	return injected_adopt(b->libraries, fd, pid);
}

static bool nvidia_is_plausible(struct gpu_backend *b, const struct gpu_launch *e)
{
	return injected_is_plausible(b->libraries, e);
}

static int nvidia_code_mapped(struct gpu_backend *b, const struct code_change *change)
{
	return injected_code_mapped(b->libraries, change);
}

static int nvidia_space(struct gpu_backend *b, const struct walker_space *space)
{
	return injected_space(b->libraries, space);
}

static int nvidia_table_chunk(struct gpu_backend *b, uint32_t index, int fd)
{
	return injected_table_chunk(b->libraries, index, fd);
}

static int nvidia_leaves(struct gpu_backend *b, uint32_t pid)
{
	return injected_leaves(b->libraries, pid);
}

static int nvidia_poll_fd(struct gpu_backend *b)
{
	return injected_poll_fd(b->libraries);
}

static int nvidia_snapshot(struct gpu_backend *b)
{
	return injected_snapshot(b->libraries);
}

static int nvidia_drain(struct gpu_backend *b, bool *ret_busy)
{
	int error = injected_drain(b->libraries, ret_busy);

	return error || !b->counters ? error : counters_drain(b->counters);
}

static int nvidia_stop(struct gpu_backend *b)
{
	injected_stop(b->libraries);
	if (b->counters)
		counters_stop(b->counters);
	return 0;
}

static int nvidia_finish(struct gpu_backend *b)
{
	int error = injected_finish(b->libraries);

	if (!b->counters)
		return error;
	error = error ?: counters_drain(b->counters);
	return error ?: counters_finish(b->counters);
}

static bool nvidia_has_connected(const struct gpu_backend *b, uint32_t process)
{
	return injected_has_connected(b->libraries, process);
}

static bool nvidia_is_taken(const struct gpu_backend *b, uint32_t process)
{
	return injected_is_taken(b->libraries, process);
}

static void nvidia_stats(const struct gpu_backend *b, struct gpu_stats *ret)
{
	injected_stats(b->libraries, ret);
	if (!b->counters)
		return;
	ret->counters_refused = counters_refusals(b->counters);
	ret->instances_live += counters_are_live(b->counters);
}

const struct gpu_backend_ops nvidia_backend = {
	.name = "nvidia",
	.open = nvidia_open,
	.environment = nvidia_environment,
	.joining = nvidia_joining,
	.adopt = nvidia_adopt,
	.is_plausible = nvidia_is_plausible,
	.code_mapped = nvidia_code_mapped,
	.space = nvidia_space,
	.table_chunk = nvidia_table_chunk,
	.leaves = nvidia_leaves,
	.poll_fd = nvidia_poll_fd,
	.snapshot = nvidia_snapshot,
	.drain = nvidia_drain,
	.stop = nvidia_stop,
	.finish = nvidia_finish,
	.has_connected = nvidia_has_connected,
	.is_taken = nvidia_is_taken,
	.stats = nvidia_stats,
	.close = nvidia_close,
	.helper = counter_sampler_main,
};
