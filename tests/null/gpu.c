// SPDX-License-Identifier: MIT
/*
 * The backend of a vendor that does not exist: reads the log of its driver (null.h), and makes up
 * samples of instructions.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/map.h"
#include "code.h"
#include "gpucode/kept_images.h"
#include "null.h"
#include "tables.h"
#include "walk/frame.h"

#define CONTEXT	 1
#define STREAM	 7
#define LOG_NAME "null.log"

struct gpu_backend {
	struct gpu_shared *shared;
	struct gpu_options options;
	char path[128];
	int log;
	off_t read;
	off_t limit;
	uint32_t device;
	uint32_t module;
	uint64_t reported_ns;
	struct map instances; /* pid -> number */
	struct map connected; /* processes (profile ids) */
};

static void null_close(struct gpu_backend *b)
{
	if (b->log >= 0) {
		close(b->log);
		unlinkat(b->options.runtime_fd, LOG_NAME, 0);
	}
	map_release(&b->instances);
	map_release(&b->connected);
	free(b);
}

static int add_string(struct gpu_backend *b, const char *text, uint32_t *ret_id)
{
	return profile_add_string(b->shared->writer, text, strlen(text), ret_id);
}

static int add_device(struct gpu_backend *b)
{
	struct profile_device d = {.uuid = "null", .ordinal = 0, .sm_count = 1};
	int error = add_string(b, "Null GPU", &d.name);

	return error ?: profile_add_device(b->shared->writer, &d, &b->device);
}

static int keep_image(struct gpu_backend *b)
{
	struct profile_module m = {.kind = MODULE_GPU_CODE, .build_id_size = 1, .build_id = {1}};
	int fd = memfd_create("null", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;

	if (fd < 0 || write(fd, null_image, sizeof(null_image)) != sizeof(null_image) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		return error_errno(-errno, "cannot make an image");
	error = add_string(b, "nullcode:01", &m.path);
	error = error ?: profile_add_module(b->shared->writer, &m, &b->module);
	error = error ?: kept_images_add(b->options.images, b->module, fd, sizeof(null_image));
	close(fd);
	return error;
}

static int open_log(struct gpu_backend *b, const struct gpu_options *o)
{
	snprintf(b->path, sizeof(b->path), "%s/" LOG_NAME, o->runtime_dir);
	b->log = openat(o->runtime_fd, LOG_NAME, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (b->log < 0 ||
		(geteuid() != o->target_uid && fchown(b->log, o->target_uid, o->target_gid)))
		return error_errno(-errno, "cannot make '%s'", b->path);
	return 0;
}

static int null_open(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	struct gpu_backend *b = calloc(1, sizeof(*b));
	int error;

	if (!b)
		return error_memory(NULL);
	b->shared = shared;
	b->options = *options;
	b->log = -1;
	error = open_log(b, options);
	error = error ?: add_device(b);
	if (!error && options->images)
		error = keep_image(b);
	if (error) {
		null_close(b);
		return error;
	}
	*ret = b;
	return 0;
}

static int null_environment(
	struct gpu_backend *b, int (*add)(void *, const char *, const char *), void *context)
{
	return add(context, NULL_LOG_VARIABLE, b->path);
}

/* --- one record ------------------------------------------------------------------------------- */

static int find_instance(struct gpu_backend *b, uint32_t pid, uint32_t process, uint32_t *ret)
{
	const uint64_t *found = map_get(&b->instances, pid);

	*ret = found ? (uint32_t)*found : ++b->shared->last_instance;
	if (!found && (map_put(&b->instances, pid, *ret) || map_put(&b->connected, process, 1)))
		return error_memory(NULL);
	return 0;
}

static int send_launch(struct gpu_backend *b, const struct null_record *r, struct gpu_launch *e)
{
	const struct stack_resolver *resolver = &b->options.stacks;
	const struct gpu_events *events = &b->shared->events;
	const struct walked_stack stack = {.pid = r->pid,
		.walk_end = WALK_COMPLETE,
		.time_ns = r->call_start_ns,
		.user = r->frames,
		.user_depth = r->depth};
	int error = 0;

	if (resolver->resolve)
		error = resolver->resolve(resolver->context, &stack, &e->stack, &e->incomplete);
	return error ?: events->launch(events->context, e);
}

static int send_call(struct gpu_backend *b, const struct null_record *r, const struct gpu_launch *l)
{
	struct gpu_call e = {.instance = l->instance,
		.correlation = l->correlation,
		.start_ns = r->call_start_ns,
		.end_ns = r->call_end_ns,
		.thread = l->thread,
		.kind = l->kind};
	int error = add_string(b, r->kind == NULL_SYNC ? "nullSynchronize" : "nullLaunch", &e.api);

	if (r->kind == NULL_SYNC && b->options.syncs)
		e.waits_for = (struct gpu_wait_target){.kind = SYNC_STREAM,
			.device = b->device,
			.context = CONTEXT,
			.stream = STREAM};
	return error ?: b->shared->events.call(b->shared->events.context, &e);
}

static int send_work(struct gpu_backend *b, const struct null_record *r, const struct gpu_launch *l,
	uint32_t process)
{
	struct profile_op op = {.kind = OP_KERNEL,
		.process = process,
		.device = b->device,
		.context = CONTEXT,
		.stream = STREAM};
	struct gpu_work e = {.instance = l->instance,
		.correlation = l->correlation,
		.start_ns = r->work_start_ns,
		.end_ns = r->work_end_ns};
	int error = add_string(b, r->kernel, &op.name);

	error = error ?: profile_add_op(b->shared->writer, &op, &e.op);
	b->reported_ns += e.end_ns - e.start_ns;
	return error ?: b->shared->events.work(b->shared->events.context, &e);
}

/* A window for each piece of work: it began, then it did nothing for twice as long. */
static int send_samples(struct gpu_backend *b, const struct null_record *r,
	const struct gpu_launch *l, uint32_t process)
{
	static const char *const reasons[] = {"null_stall_selected", "null_stall_nothing"};
	struct profile_writer *w = b->shared->writer;
	struct profile_window window = {.process = process,
		.instance = l->instance,
		.device = b->device,
		.context = CONTEXT,
		.start_ns = r->work_start_ns,
		.end_ns = r->work_end_ns,
		.samples = 3,
		.exact = true};
	struct profile_gpu_function function = {.module = b->module};
	struct profile_instruction instruction = {0};
	struct profile_stall stall = {.correlation = l->correlation};
	int error = add_string(b, r->kernel, &function.name);

	error = error ?: profile_add_gpu_function(w, &function, &instruction.function);
	error = error ?: profile_add_window(w, &window, &stall.window);
	kept_images_need(b->options.images, b->module);
	for (uint32_t n = 0; !error && n < 2; n++) {
		instruction.offset = 8 * n;
		stall.samples = 1 + n;
		error = profile_add_instruction(w, &instruction, &stall.instruction);
		error = error ?: add_string(b, reasons[n], &stall.reason);
		error = error ?: profile_write_stall(w, &stall);
	}
	return error;
}

static int decode(struct gpu_backend *b, const struct null_record *r)
{
	struct gpu_launch l = {.correlation = r->correlation,
		.time_ns = r->call_start_ns,
		.pid = r->pid,
		.kind = r->kind == NULL_SYNC ? CALL_SYNC : CALL_LAUNCH};
	uint32_t process;
	int error = tasks_process(b->shared->tasks, r->pid, &process);

	error = error ?: find_instance(b, r->pid, process, &l.instance);
	error = error ?: tasks_thread_of(b->shared->tasks, process, r->tid, NULL, &l.thread);
	error = error ?: send_launch(b, r, &l);
	error = error ?: send_call(b, r, &l);
	if (error || r->kind != NULL_LAUNCH)
		return error;
	error = send_work(b, r, &l, process);
	return error || !b->options.images ? error : send_samples(b, r, &l, process);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static int null_snapshot(struct gpu_backend *b)
{
	struct stat st;

	if (fstat(b->log, &st))
		return error_errno(-errno, "cannot look at '%s'", b->path);
	b->limit = st.st_size;
	return 0;
}

static int null_drain(struct gpu_backend *b, bool *ret_busy)
{
	struct null_record r;
	int error = 0;

	while (!error && b->read + (off_t)sizeof(r) <= b->limit &&
		pread(b->log, &r, sizeof(r), b->read) == sizeof(r)) {
		b->read += sizeof(r);
		error = decode(b, &r);
	}
	return error;
}

static int null_leaves(struct gpu_backend *b, uint32_t pid)
{
	bool busy = false;
	int error = null_snapshot(b);

	return error ?: null_drain(b, &busy);
}

static int null_stop(struct gpu_backend *b)
{
	return 0;
}

static int null_finish(struct gpu_backend *b)
{
	const struct gpu_events *events = &b->shared->events;
	const struct map *m = &b->instances;
	int error = null_leaves(b, 0);

	for (size_t n = 0; m->slots && n <= m->mask; n++)
		if (m->slots[n].used)
			error = error
					?: events->instance_end(
						   events->context, (uint32_t)m->slots[n].value);
	return error;
}

static bool null_has_connected(const struct gpu_backend *b, uint32_t process)
{
	return map_get(&b->connected, process);
}

static void null_stats(const struct gpu_backend *b, struct gpu_stats *ret)
{
	ret->reported_ns = b->reported_ns;
}

const struct gpu_backend_ops null_backend = {
	.name = "null",
	.open = null_open,
	.environment = null_environment,
	.leaves = null_leaves,
	.snapshot = null_snapshot,
	.drain = null_drain,
	.stop = null_stop,
	.finish = null_finish,
	.has_connected = null_has_connected,
	.stats = null_stats,
	.close = null_close,
};
