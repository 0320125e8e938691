/* SPDX-License-Identifier: MIT */
/*
 * A recorder of nothing but the GPU side, for tests: the backend of libraries in programs with a
 * profile writer, whose events are kept. NVIDIA's own adds its variable.
 */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "gpu/injected/backend.h"
#include "gpu/nvidia/nvidia.h"

struct test_recorder {
	char folder[64];
	int folder_fd;
	struct profile_writer *writer;
	struct tasks *tasks;
	struct gpu_shared shared;
	struct gpu_backend *backend, *nvidia;
	struct vec(struct gpu_launch) launches;
	struct vec(struct gpu_call) calls;
	struct vec(struct gpu_work) works;
	struct vec(struct gpu_node) nodes;
	struct vec(struct gpu_event_record) event_records;
	size_t ended;
	size_t broken; /* and had not ended then */
	char socket_path[108];
	char injection[256]; /* what CUDA_INJECTION64_PATH is to be; empty: left alone */
};

static int keep_launch(void *context, const struct gpu_launch *e)
{
	struct test_recorder *r = context;

	return vec_push(&r->launches, *e);
}

static int keep_call(void *context, const struct gpu_call *e)
{
	struct test_recorder *r = context;

	return vec_push(&r->calls, *e);
}

static int keep_work(void *context, const struct gpu_work *e)
{
	struct test_recorder *r = context;

	return vec_push(&r->works, *e);
}

static int keep_node(void *context, const struct gpu_node *e)
{
	struct test_recorder *r = context;

	return vec_push(&r->nodes, *e);
}

static int keep_event_record(void *context, const struct gpu_event_record *e)
{
	struct test_recorder *r = context;

	return vec_push(&r->event_records, *e);
}

static int keep_end(void *context, uint32_t instance)
{
	struct test_recorder *r = context;

	r->ended++;
	return 0;
}

static int keep_break(void *context, uint32_t instance)
{
	struct test_recorder *r = context;

	r->broken += !r->ended;
	return 0;
}

static int keep_variable(void *context, const char *name, const char *value)
{
	struct test_recorder *r = context;

	if (!strcmp(name, "XPUPROF_SOCKET"))
		snprintf(r->socket_path, sizeof(r->socket_path), "%s", value);
	if (!strcmp(name, "CUDA_INJECTION64_PATH"))
		snprintf(r->injection, sizeof(r->injection), "%s", value);
	return 0;
}

/* NULL when it cannot be opened. `library` and `options` may be NULL. */
static inline struct test_recorder *test_recorder_open(
	const char *library, const struct gpu_options *options)
{
	struct test_recorder *r = calloc(1, sizeof(*r));
	struct gpu_options o = options ? *options : (struct gpu_options){.target_uid = getuid()};
	char path[128];

	snprintf(r->folder, sizeof(r->folder), "%s/xpuprof-test-XXXXXX",
		getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(r->folder))
		return NULL;
	snprintf(path, sizeof(path), "%s/profile.xpu", r->folder);
	o.runtime_dir = r->folder;
	o.runtime_fd = r->folder_fd = open(r->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	o.library = library ? library : "/nowhere/libxpuprof-inject.so";
	if (profile_writer_open(&r->writer, path) || tasks_new(&r->tasks, r->writer))
		return NULL;
	r->shared = (struct gpu_shared){.writer = r->writer,
		.tasks = r->tasks,
		.events = {.context = r,
			.launch = keep_launch,
			.call = keep_call,
			.work = keep_work,
			.node = keep_node,
			.event_record = keep_event_record,
			.instance_broken = keep_break,
			.instance_end = keep_end}};
	if (injected_backend.open(&r->backend, &o, &r->shared))
		return NULL;
	if (nvidia_backend.open(&r->nvidia, &o, &r->shared))
		return NULL;
	injected_backend.environment(r->backend, keep_variable, r);
	nvidia_backend.environment(r->nvidia, keep_variable, r);
	return r;
}

/* One round: snapshot and drain. */
static inline int test_recorder_pump(struct test_recorder *r)
{
	bool busy = false;
	int error = injected_backend.snapshot(r->backend);

	return error ?: injected_backend.drain(r->backend, &busy);
}

static inline uint64_t test_recorder_loss(const struct test_recorder *r, enum profile_loss loss)
{
	struct profile_totals totals;

	profile_writer_totals(r->writer, &totals);
	return totals.losses[loss];
}

static inline struct gpu_stats test_recorder_stats(const struct test_recorder *r)
{
	struct gpu_stats stats = {.stalls_refused = "",
		.counters_refused = "",
		.stalls_contested = "",
		.stalls_held = "",
		.ended = "",
		.finalized = "",
		.late = ""};

	injected_backend.stats(r->backend, &stats);
	return stats;
}

static inline void test_recorder_close(struct test_recorder *r)
{
	char path[128];

	injected_backend.close(r->backend);
	nvidia_backend.close(r->nvidia);
	tasks_free(r->tasks);
	profile_writer_abort(r->writer);
	snprintf(path, sizeof(path), "%s/profile.xpu", r->folder);
	unlink(path);
	rmdir(r->folder);
	close(r->folder_fd);
	vec_release(&r->launches);
	vec_release(&r->calls);
	vec_release(&r->works);
	vec_release(&r->nodes);
	vec_release(&r->event_records);
	free(r);
}
