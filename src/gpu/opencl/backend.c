// SPDX-License-Identifier: MIT
/*
 * The variable that has OpenCL's loader put our library between a program and its drivers. Layers
 * that the user has named stay, nearer to the program than ours: we see what they ask for, too.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "gpu/opencl/opencl.h"
#include "vendor/opencl/opencl.h"

struct gpu_backend {
	struct buf layers; /* what the variable is to be */
};

static const char *variable_of(char **environment, const char *name)
{
	size_t size = strlen(name);

	for (char **e = environment ? environment : environ; *e; e++)
		if (!strncmp(*e, name, size) && (*e)[size] == '=')
			return *e + size + 1;
	return "";
}

static bool is_named(const char *path, size_t size, const char *name)
{
	size_t name_size = strlen(name);

	return size >= name_size && !memcmp(path + size - name_size, name, name_size) &&
	       (size == name_size || path[size - name_size - 1] == '/');
}

/* Ours, and then the user's without other copies of ours. */
static void list_layers(const char *ours, const char *users, struct buf *layers)
{
	buf_puts(layers, ours);
	while (*users) {
		size_t size = strcspn(users, ":");

		if (size && !is_named(users, size, "libxpuprof-inject.so")) {
			buf_putc(layers, ':');
			buf_append(layers, users, size);
		}
		users += size + (users[size] == ':');
	}
}

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
	list_layers(options->library, variable_of(options->environment, OPENCL_LAYERS_VARIABLE),
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
