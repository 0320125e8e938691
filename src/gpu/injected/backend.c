// SPDX-License-Identifier: MIT
/*
 * Libraries inside of programs as one backend, whatever APIs the programs use. What loads the
 * library into a program is the matter of each vendor's own backend.
 */
#include "gpu/injected/backend.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gpu/injected/injected.h"

struct gpu_backend {
	struct injected *libraries;
	char *library; /* path of the one that joins programs */
};

static void backend_close(struct gpu_backend *b)
{
	if (!b)
		return;
	injected_close(b->libraries);
	free(b->library);
	free(b);
}

static int backend_open(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	struct gpu_backend *b = calloc(1, sizeof(*b));
	int error;

	if (!b)
		return error_memory(NULL);
	b->library = strdup(options->library);
	error = b->library ? injected_open(&b->libraries, options, shared) : error_memory(NULL);
	if (error) {
		backend_close(b);
		return error;
	}
	*ret = b;
	return 0;
}

static int backend_environment(
	struct gpu_backend *b, int (*add)(void *, const char *, const char *), void *context)
{
	return add(context, WIRE_ENV_SOCKET, injected_address(b->libraries));
}

static bool backend_joining(struct gpu_backend *b, uint8_t api, struct gpu_joining *ret)
{
	const struct injected_api *a = api < WIRE_APIS ? injected_apis[api] : NULL;

	if (!a || !a->entry)
		return false;
	*ret = (struct gpu_joining){
		.library = b->library, .entry = a->entry, .tracer = a->tracer, .stays = a->stays};
	return true;
}

static int backend_adopt(struct gpu_backend *b, int fd, uint32_t pid)
{
	return injected_adopt(b->libraries, fd, pid);
}

static bool backend_is_plausible(struct gpu_backend *b, const struct gpu_launch *e)
{
	return injected_is_plausible(b->libraries, e);
}

static int backend_code_mapped(struct gpu_backend *b, const struct code_change *change)
{
	return injected_code_mapped(b->libraries, change);
}

static int backend_space(struct gpu_backend *b, const struct walker_space *space)
{
	return injected_space(b->libraries, space);
}

static int backend_table_chunk(struct gpu_backend *b, uint32_t index, int fd)
{
	return injected_table_chunk(b->libraries, index, fd);
}

static int backend_leaves(struct gpu_backend *b, uint32_t pid)
{
	return injected_leaves(b->libraries, pid);
}

static int backend_poll_fd(struct gpu_backend *b)
{
	return injected_poll_fd(b->libraries);
}

static int backend_snapshot(struct gpu_backend *b)
{
	return injected_snapshot(b->libraries);
}

static int backend_drain(struct gpu_backend *b, bool *ret_busy)
{
	return injected_drain(b->libraries, ret_busy);
}

static int backend_stop(struct gpu_backend *b)
{
	injected_stop(b->libraries);
	return 0;
}

static int backend_finish(struct gpu_backend *b)
{
	return injected_finish(b->libraries);
}

static bool backend_has_connected(const struct gpu_backend *b, uint32_t process)
{
	return injected_has_connected(b->libraries, process);
}

static bool backend_reports(const struct gpu_backend *b, uint32_t process, uint32_t api)
{
	return injected_reports(b->libraries, process, api);
}

static int32_t backend_failure(const struct gpu_backend *b, uint32_t process, uint32_t api)
{
	return injected_failure(b->libraries, process, api);
}

static bool backend_is_taken(const struct gpu_backend *b, uint32_t process)
{
	return injected_is_taken(b->libraries, process);
}

static bool backend_is_finalized(const struct gpu_backend *b, uint32_t process)
{
	return injected_is_finalized(b->libraries, process);
}

static bool backend_stop_time(
	const struct gpu_backend *b, uint32_t process, struct gpu_stop_time *ret)
{
	return injected_stop_time(b->libraries, process, ret);
}

static void backend_stats(const struct gpu_backend *b, struct gpu_stats *ret)
{
	injected_stats(b->libraries, ret);
}

const struct gpu_backend_ops injected_backend = {
	.name = "injected",
	.open = backend_open,
	.environment = backend_environment,
	.joining = backend_joining,
	.adopt = backend_adopt,
	.is_plausible = backend_is_plausible,
	.code_mapped = backend_code_mapped,
	.space = backend_space,
	.table_chunk = backend_table_chunk,
	.leaves = backend_leaves,
	.poll_fd = backend_poll_fd,
	.snapshot = backend_snapshot,
	.drain = backend_drain,
	.stop = backend_stop,
	.finish = backend_finish,
	.has_connected = backend_has_connected,
	.reports = backend_reports,
	.failure = backend_failure,
	.is_taken = backend_is_taken,
	.is_finalized = backend_is_finalized,
	.stop_time = backend_stop_time,
	.stats = backend_stats,
	.close = backend_close,
};
