// SPDX-License-Identifier: MIT
/*
 * The variables by which the library comes into programs that use Level Zero: it is preloaded, as
 * nothing else loads a tool, and the loader's tracing layer is switched on. Where no loader is
 * installed, no program uses it: then nothing is preloaded into anything.
 */
#include "gpu/levelzero/levelzero.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "gpu/variables.h"
#include "vendor/intel/intel.h"

struct gpu_backend {
	struct buf preload; /* what the variable is to be */
};

static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	"/usr/lib64", "/usr/lib", "/usr/local/lib", NULL};

static bool has_loader(const char *folder, size_t size)
{
	struct buf path = BUF_INIT;
	bool found;

	buf_append(&path, folder, size);
	buf_puts(&path, "/" LEVELZERO_LOADER_SONAME);
	found = size && !path.failed && !access(buf_text(&path), R_OK);
	buf_release(&path);
	return found;
}

/* Where programs look for it. */
static bool is_installed(char **environment)
{
	const char *paths = variable_of(environment, "LD_LIBRARY_PATH");
	bool found = false;

	while (*paths && !found) {
		size_t size = strcspn(paths, ":");

		found = has_loader(paths, size);
		paths += size + (paths[size] == ':');
	}
	for (const char *const *f = folders; *f && !found; f++)
		found = has_loader(*f, strlen(*f));
	return found;
}

static void levelzero_close(struct gpu_backend *b)
{
	if (!b)
		return;
	buf_release(&b->preload);
	free(b);
}

static int levelzero_open(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	struct gpu_backend *b;

	*ret = NULL;
	if (!options->library || !is_installed(options->environment))
		return 0;
	if (strpbrk(options->library, " :")) {
		if (options->notes)
			buf_printf(options->notes,
				"Level Zero is not recorded: '%s' cannot be preloaded: its path "
				"has a blank or a colon\n",
				options->library);
		return 0;
	}
	b = calloc(1, sizeof(*b));
	if (!b)
		return error_memory(NULL);
	variable_list(
		options->library, variable_of(options->environment, "LD_PRELOAD"), &b->preload);
	if (b->preload.failed) {
		levelzero_close(b);
		return error_memory(NULL);
	}
	*ret = b;
	return 0;
}

static int levelzero_environment(
	struct gpu_backend *b, int (*add)(void *, const char *, const char *), void *context)
{
	int error = add(context, "LD_PRELOAD", buf_text(&b->preload));

	return error ?: add(context, LEVELZERO_TRACING_VARIABLE, "1");
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

const struct gpu_backend_ops levelzero_backend = {
	.name = "levelzero",
	.open = levelzero_open,
	.environment = levelzero_environment,
	.snapshot = do_nothing,
	.drain = drain_nothing,
	.stop = do_nothing,
	.finish = do_nothing,
	.stats = no_stats,
	.close = levelzero_close,
};
