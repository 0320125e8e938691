// SPDX-License-Identifier: MIT
/* Each function asks every open backend in the order of the table. */
#include "gpu/gpu.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/vec.h"
#include "gpu/code_places.h"
#include "gpu/driver_queue.h"

struct open_backend {
	const struct gpu_backend_ops *ops;
	struct gpu_backend *backend;
};

struct gpu {
	struct gpu_shared shared;
	struct vec(struct open_backend) backends;
	struct driver_queue queue; /* of kernels that a library may report, too */
};

static int pass_device_used(void *context, const uint8_t uuid[16], uint32_t device)
{
	struct gpu *g = context;
	int error = 0;

	vec_foreach (b, &g->backends)
		if (b->ops->device_used)
			error = error ?: b->ops->device_used(b->backend, uuid, device);
	return error;
}

int gpu_new(
	struct gpu **ret, struct profile_writer *w, struct tasks *tasks, struct gpu_events events)
{
	struct gpu *g = calloc(1, sizeof(*g));

	if (g)
		g->shared.places = code_places_new();
	if (!g || !g->shared.places) {
		free(g);
		return error_memory(NULL);
	}
	g->shared.writer = w;
	g->shared.tasks = tasks;
	g->shared.events = events;
	g->shared.device_used = pass_device_used;
	g->shared.context = g;
	*ret = g;
	return 0;
}

void gpu_free(struct gpu *g)
{
	if (!g)
		return;
	vec_foreach (b, &g->backends)
		b->ops->close(b->backend);
	vec_release(&g->backends);
	driver_queue_release(&g->queue);
	code_places_free(g->shared.places);
	free(g);
}

static int open_one(
	struct gpu *g, const struct gpu_backend_ops *ops, const struct gpu_options *options)
{
	struct open_backend b = {.ops = ops};
	int error = ops->open(&b.backend, options, &g->shared);

	if (error || !b.backend)
		return error;
	if (!vec_push(&g->backends, b))
		return 0;
	ops->close(b.backend);
	return error_memory(NULL);
}

uint32_t gpu_new_instance(struct gpu *g)
{
	return ++g->shared.last_instance;
}

int gpu_open(struct gpu *g, const struct gpu_options *options)
{
	int error = 0;

	for (const struct gpu_backend_ops *const *ops = gpu_backends; !error && *ops; ops++)
		error = open_one(g, *ops, options);
	return error;
}

int gpu_helper(int argc, char **argv)
{
	for (const struct gpu_backend_ops *const *ops = gpu_backends; argc && *ops; ops++)
		if ((*ops)->helper && !strcmp(argv[0], (*ops)->name))
			return (*ops)->helper(argc - 1, argv + 1);
	return 1;
}

bool gpu_is_open(const struct gpu *g)
{
	return g->backends.count;
}

int gpu_environment(struct gpu *g, int (*add)(void *, const char *, const char *), void *context)
{
	int error = 0;

	vec_foreach (b, &g->backends)
		if (b->ops->environment)
			error = error ?: b->ops->environment(b->backend, add, context);
	return error;
}

/* The one backend that joins programs. */
static const struct open_backend *joiner(const struct gpu *g)
{
	vec_foreach (b, &g->backends)
		if (b->ops->joining && b->ops->adopt)
			return b;
	return NULL;
}

bool gpu_joining(struct gpu *g, uint8_t api, struct gpu_joining *ret)
{
	const struct open_backend *b = joiner(g);

	return b && b->ops->joining(b->backend, api, ret);
}

int gpu_adopt(struct gpu *g, int fd, uint32_t pid)
{
	const struct open_backend *b = joiner(g);

	if (b)
		return b->ops->adopt(b->backend, fd, pid);
	close(fd);
	return 0;
}

int gpu_each_poll_fd(struct gpu *g, int (*watch)(void *context, int fd), void *context)
{
	int error = 0;

	vec_foreach (b, &g->backends)
		if (!error && b->ops->poll_fd) {
			int fd = b->ops->poll_fd(b->backend);

			error = fd < 0 ? 0 : watch(context, fd);
		}
	return error;
}

/* --- from capture ----------------------------------------------------------------------------- */

static bool is_plausible(const struct gpu *g, const struct gpu_launch *e)
{
	vec_foreach (b, &g->backends)
		if (b->ops->is_plausible && !b->ops->is_plausible(b->backend, e))
			return false;
	return e->instance <= g->shared.last_instance;
}

/* Without a backend it is a launch of another recording. */
static int forward_launch(void *context, const struct gpu_launch *e)
{
	struct gpu *g = context;
	const struct gpu_events *events = &g->shared.events;
	int error;

	if (!gpu_is_open(g))
		return 0;
	if (!is_plausible(g, e))
		return profile_count_loss(g->shared.writer, LOSS_GPU_INVALID, 1);
	error = profile_count_incomplete(g->shared.writer, e->incomplete);
	return error ?: events->launch(events->context, e);
}

struct gpu_events gpu_marker_launches(struct gpu *g)
{
	return (struct gpu_events){.context = g, .launch = forward_launch};
}

static int pass_code_mapped(void *context, const struct code_change *change)
{
	struct gpu *g = context;
	int error = 0;

	vec_foreach (b, &g->backends)
		if (b->ops->code_mapped)
			error = error ?: b->ops->code_mapped(b->backend, change);
	return error;
}

static int pass_space(void *context, const struct walker_space *space)
{
	struct gpu *g = context;
	int error = 0;

	vec_foreach (b, &g->backends)
		if (b->ops->space)
			error = error ?: b->ops->space(b->backend, space);
	return error;
}

static int pass_table_chunk(void *context, uint32_t index, int fd)
{
	struct gpu *g = context;
	int error = 0;

	vec_foreach (b, &g->backends)
		if (b->ops->table_chunk)
			error = error ?: b->ops->table_chunk(b->backend, index, fd);
	return error;
}

static int leave_backends(struct gpu *g, uint32_t pid, bool hear_drivers)
{
	int error = 0;

	vec_foreach (b, &g->backends)
		if (b->ops->leaves && hear_drivers == !!b->ops->driver_kernel)
			error = error ?: b->ops->leaves(b->backend, pid);
	return error;
}

static int pass_queued_kernel(void *context, const struct driver_kernel *k)
{
	struct gpu *g = context;
	bool reported = gpu_reports(g, k->process, k->api);
	int error = 0;

	vec_foreach (b, &g->backends)
		if (b->ops->driver_kernel)
			error = error ?: b->ops->driver_kernel(b->backend, k, reported);
	return error;
}

static int pass_queued_leaves(void *context, uint32_t pid)
{
	return leave_backends(context, pid, true);
}

static struct driver_queue_receiver queue_receiver(struct gpu *g)
{
	return (struct driver_queue_receiver){
		.context = g, .kernel = pass_queued_kernel, .leaves = pass_queued_leaves};
}

static int pass_leaves(void *context, uint32_t pid)
{
	struct gpu *g = context;
	struct driver_queue_receiver to = queue_receiver(g);
	int error = leave_backends(g, pid, false);

	return error ?: driver_queue_leaves(&g->queue, &to, pid);
}

struct walker_news gpu_walker_news(struct gpu *g)
{
	return (struct walker_news){
		.context = g,
		.code_mapped = pass_code_mapped,
		.space = pass_space,
		.table_chunk = pass_table_chunk,
		.leaves = pass_leaves,
	};
}

static int pass_driver_kernel(void *context, const struct driver_kernel *k)
{
	struct gpu *g = context;
	struct driver_queue_receiver to = queue_receiver(g);

	return driver_queue_kernel(&g->queue, &to, k);
}

/* Is no work: of a program whose library is not known yet it is one too many, and no more. */
static int pass_driver_image(void *context, const struct driver_image *i)
{
	struct gpu *g = context;
	bool reported = gpu_reports(g, i->process, i->api);
	int error = 0;

	vec_foreach (b, &g->backends)
		if (b->ops->driver_image)
			error = error ?: b->ops->driver_image(b->backend, i, reported);
	return error;
}

static int pass_driver_refused(void *context, const char *why)
{
	struct gpu *g = context;
	int error = 0;

	vec_foreach (b, &g->backends)
		if (b->ops->driver_refused)
			error = error ?: b->ops->driver_refused(b->backend, why);
	return error;
}

struct driver_news gpu_driver_news(struct gpu *g)
{
	bool heard = false;

	for (const struct gpu_backend_ops *const *ops = gpu_backends; *ops; ops++)
		heard |= (*ops)->hears_drivers && (*ops)->hears_drivers();
	return heard ? (struct driver_news){.context = g,
			       .kernel = pass_driver_kernel,
			       .image = pass_driver_image,
			       .refused = pass_driver_refused}
		     : (struct driver_news){.context = NULL};
}

/* --- rounds ----------------------------------------------------------------------------------- */

int gpu_snapshot(struct gpu *g)
{
	int error = 0;

	vec_foreach (b, &g->backends)
		error = error ?: b->ops->snapshot(b->backend);
	driver_queue_snapshot(&g->queue);
	return error;
}

/* Kernels go to those behind the rings before these look at samples of them. */
int gpu_drain(struct gpu *g, bool *ret_busy)
{
	struct driver_queue_receiver to = queue_receiver(g);
	bool passed = false;
	int error = 0;

	*ret_busy = false;
	vec_foreach (b, &g->backends) {
		if (!error && !passed && b->ops->driver_kernel) {
			error = driver_queue_drained(&g->queue, &to, *ret_busy);
			passed = true;
		}
		error = error ?: b->ops->drain(b->backend, ret_busy);
	}
	return error;
}

int gpu_stop(struct gpu *g)
{
	int error = 0;

	vec_foreach (b, &g->backends)
		error = error ?: b->ops->stop(b->backend);
	return error;
}

int gpu_finish(struct gpu *g)
{
	struct driver_queue_receiver to = queue_receiver(g);
	bool passed = false;
	int error = 0;

	vec_foreach (b, &g->backends) {
		if (!error && !passed && b->ops->driver_kernel) {
			error = driver_queue_finish(&g->queue, &to);
			passed = true;
		}
		error = error ?: b->ops->finish(b->backend);
	}
	return error;
}

/* --- what came of it -------------------------------------------------------------------------- */

static struct gpu_stats stats_of(const struct open_backend *b)
{
	struct gpu_stats stats = {.stalls_refused = "",
		.counters_refused = "",
		.stalls_contested = "",
		.stalls_held = "",
		.ended = "",
		.finalized = "",
		.late = ""};

	b->ops->stats(b->backend, &stats);
	return stats;
}

bool gpu_is_live(const struct gpu *g)
{
	vec_foreach (b, &g->backends)
		if (stats_of(b).instances_live)
			return true;
	return false;
}

uint64_t gpu_reported_ns(const struct gpu *g)
{
	uint64_t sum = 0;

	vec_foreach (b, &g->backends)
		sum += stats_of(b).reported_ns;
	return sum;
}

void gpu_each_refusal(const struct gpu *g,
	void (*visit)(void *context, const char *lines, enum gpu_missing what), void *context)
{
	vec_foreach (b, &g->backends)
		visit(context, stats_of(b).ended, GPU_MISSING_WORK);
	vec_foreach (b, &g->backends) {
		struct gpu_stats stats = stats_of(b);

		visit(context, stats.stalls_refused, GPU_MISSING_SAMPLES);
		visit(context, stats.counters_refused, GPU_MISSING_SAMPLES);
		visit(context, stats.stalls_contested, GPU_MISSING_NOTHING);
		visit(context, stats.stalls_held, GPU_MISSING_NOTHING);
		visit(context, stats.finalized, GPU_MISSING_NOTHING);
		visit(context, stats.late, GPU_MISSING_NOTHING);
	}
}

bool gpu_has_connected(const struct gpu *g, uint32_t process)
{
	vec_foreach (b, &g->backends)
		if (b->ops->has_connected && b->ops->has_connected(b->backend, process))
			return true;
	return false;
}

bool gpu_reports(const struct gpu *g, uint32_t process, uint32_t api)
{
	vec_foreach (b, &g->backends)
		if (b->ops->reports && b->ops->reports(b->backend, process, api))
			return true;
	return false;
}

int32_t gpu_failure(const struct gpu *g, uint32_t process, uint32_t api)
{
	int32_t result = 0;

	vec_foreach (b, &g->backends)
		if (b->ops->failure && !result)
			result = b->ops->failure(b->backend, process, api);
	return result;
}

bool gpu_is_probed(const struct gpu *g, uint32_t process)
{
	vec_foreach (b, &g->backends)
		if (b->ops->is_probed && b->ops->is_probed(b->backend, process))
			return true;
	return false;
}

bool gpu_is_taken(const struct gpu *g, uint32_t process)
{
	const struct open_backend *b = joiner(g);

	return b && b->ops->is_taken && b->ops->is_taken(b->backend, process);
}

bool gpu_is_finalized(const struct gpu *g, uint32_t process)
{
	const struct open_backend *b = joiner(g);

	return b && b->ops->is_finalized && b->ops->is_finalized(b->backend, process);
}

bool gpu_stop_time(const struct gpu *g, uint32_t process, struct gpu_stop_time *ret)
{
	const struct open_backend *b = joiner(g);

	return b && b->ops->stop_time && b->ops->stop_time(b->backend, process, ret);
}
