// SPDX-License-Identifier: MIT
/*
 * The variable that has OpenCL's loader put our library between a program and its drivers. Layers
 * that the user has named stay, nearer to the program than ours: we see what they ask for, too.
 */
#include <stdlib.h>

#include "base/error.h"
#include "gpu/opencl/opencl.h"
#include "gpu/variables.h"
#include "vendor/opencl/opencl.h"

struct gpu_backend {
	struct buf layers; /* what the variable is to be */
};

static void opencl_close(struct gpu_backend *b)
{
	if (!b)
		return;
	buf_release(&b->layers);
	free(b);
}

static int opencl_open(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	struct gpu_backend *b = calloc(1, sizeof(*b));

	if (!b)
		return error_memory(NULL);
	variable_list(options->library, variable_of(options->environment, OPENCL_LAYERS_VARIABLE),
		&b->layers);
	if (b->layers.failed) {
		opencl_close(b);
		return error_memory(NULL);
	}
	*ret = b;
	return 0;
}

static int opencl_environment(
	struct gpu_backend *b, int (*add)(void *, const char *, const char *), void *context)
{
	return add(context, OPENCL_LAYERS_VARIABLE, buf_text(&b->layers));
}

static int do_nothing(struct gpu_backend *b)
{
	return 0;
}

static int drain_nothing(struct gpu_backend *b, bool *ret_busy)
{
	return 0;
}

static void no_stats(const struct gpu_backend *b, struct gpu_stats *ret)
{
}

const struct gpu_backend_ops opencl_backend = {
	.name = "opencl",
	.open = opencl_open,
	.environment = opencl_environment,
	.snapshot = do_nothing,
	.drain = drain_nothing,
	.stop = do_nothing,
	.finish = do_nothing,
	.stats = no_stats,
	.close = opencl_close,
};
