// SPDX-License-Identifier: MIT
/*
 * The variables that have AMD's runtimes load rocprofiler-sdk, and it our library, into programs.
 * Tools that the user has named stay.
 *
 * A runtime that is told to load rocprofiler-sdk, and cannot, aborts its program. So nothing is set
 * where it is not installed; and where it is, its path is said, too, as a program's own copy of the
 * runtime may look for it elsewhere.
 */
#include "gpu/amd/amd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "gpu/variables.h"
#include "vendor/amd/amd.h"

struct gpu_backend {
	struct buf tools;  /* what the variable is to be */
	struct buf tracer; /* where it is; "": the user has said that */
};

static bool is_in(const char *folder, size_t size, struct buf *path)
{
	if (!size)
		return false;
	buf_reset(path);
	buf_append(path, folder, size);
	buf_puts(path, "/" AMD_TRACER_SONAME);
	return !path->failed && !access(buf_text(path), R_OK);
}

/* Where programs look for it, and where AMD installs it. */
static bool find_tracer(char **environment, struct buf *path)
{
	const char *paths = variable_of(environment, "LD_LIBRARY_PATH");
	const char *root = variable_of(environment, "ROCM_PATH");
	struct buf library = BUF_INIT;
	bool found = false;

	while (*paths && !found) {
		size_t size = strcspn(paths, ":");

		found = is_in(paths, size, path);
		paths += size + (paths[size] == ':');
	}
	if (*root && !found) {
		buf_printf(&library, "%s/lib", root);
		found = !library.failed && is_in(buf_text(&library), library.size, path);
	}
	for (const char *const *f = amd_folders; *f && !found; f++)
		found = is_in(*f, strlen(*f), path);
	buf_release(&library);
	return found;
}

static void amd_close(struct gpu_backend *b)
{
	if (!b)
		return;
	buf_release(&b->tools);
	buf_release(&b->tracer);
	free(b);
}

/* Version 1.0 and 1.1 leave out what has no colon behind it, if there is one before it. */
static void name_tools(const struct gpu_options *options, struct buf *tools)
{
	const char *slash = strrchr(options->library, '/');
	const char *users = variable_of(options->environment, AMD_TOOLS_VARIABLE);
	struct buf ours = BUF_INIT;

	buf_append(&ours, options->library, slash ? (size_t)(slash + 1 - options->library) : 0);
	buf_puts(&ours, AMD_TOOL_NAME);
	tools->failed |= ours.failed;
	if (!tools->failed && !access(buf_text(&ours), R_OK)) {
		variable_list(buf_text(&ours), users, tools);
		buf_puts(tools, ":");
	}
	buf_release(&ours);
}

static int amd_open(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	struct gpu_backend *b = calloc(1, sizeof(*b));

	*ret = NULL;
	if (!b)
		return error_memory(NULL);
	if (!find_tracer(options->environment, &b->tracer)) {
		if (options->notes && options->library && !access(AMD_DRIVER_NODE, F_OK))
			buf_puts(options->notes,
				"AMD's GPUs are not recorded: rocprofiler-sdk 1.x is not "
				"installed (" AMD_TRACER_SONAME ")\n");
		amd_close(b);
		return 0;
	}
	if (options->library)
		name_tools(options, &b->tools);
	if (b->tools.failed || b->tracer.failed) {
		amd_close(b);
		return error_memory(NULL);
	}
	if (*variable_of(options->environment, AMD_TRACER_VARIABLE))
		buf_reset(&b->tracer);
	if (b->tools.size)
		*ret = b;
	else
		amd_close(b);
	return 0;
}

static int amd_environment(
	struct gpu_backend *b, int (*add)(void *, const char *, const char *), void *context)
{
	int error = add(context, AMD_TOOLS_VARIABLE, buf_text(&b->tools));

	if (!error && b->tracer.size)
		error = add(context, AMD_TRACER_VARIABLE, buf_text(&b->tracer));
	return error;
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

const struct gpu_backend_ops amd_backend = {
	.name = "amd",
	.open = amd_open,
	.environment = amd_environment,
	.snapshot = do_nothing,
	.drain = drain_nothing,
	.stop = do_nothing,
	.finish = do_nothing,
	.stats = no_stats,
	.close = amd_close,
};
