// SPDX-License-Identifier: MIT
/*
 * The end of a recording. Sources stop and are drained, the GPU side first: its last records still
 * need markers that are drained after their snapshot. Then the rest is written: launches without
 * work, names of code, what was refused.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "gpucode/kept_images.h"
#include "profile/runtimes.h"
#include "record/joins.h"
#include "record/metrics.h"
#include "record/rest.h"
#include "record/session_internal.h"
#include "symbolize/gpu_code.h"
#include "symbolize/symbolize.h"

#define STOP_TIMEOUT_MS 3000
#define STOP_POLL_US	2000
/* How long the end of a recording may wait for debug files from servers, for one module's DWARF,
 * and for the text of GPU code. */
#define STRIPPED_MUCH	  5  /* one part in so many of all places in code is worth a line */
#define NAMELESS_JIT_MUCH 10 /* of all samples: such code has few places */
#define SERVERS_LIMIT_NS  (30 * NS_PER_SECOND)
#define DWARF_LIMIT_NS	  (60 * NS_PER_SECOND)
#define GPU_TEXT_LIMIT_NS (10 * NS_PER_SECOND)

struct unconnected {
	const struct gpu *gpu;
	uint64_t count;
};

static void visit_gpu_process(void *context, uint32_t pid, uint32_t process, int api)
{
	struct unconnected *u = context;

	if (!gpu_has_connected(u->gpu, process) && !gpu_is_probed(u->gpu, process))
		u->count++;
}

/* How many are named. */
#define UNSEEN_NAMED 8

struct unseen_apis {
	struct session *s;
	unsigned int count;
	int error;
};

/* One that could not begin has done nothing with a GPU: nothing is missing. */
static void note_failure(struct unseen_apis *u, const struct capture_api_use *use)
{
	int32_t result = gpu_failure(u->s->gpu, use->process, use->api);

	if (result && u->count++ < UNSEEN_NAMED)
		buf_printf(&u->s->refusals,
			"process %" PRIu32 " tried to use %s, which found no GPU, or none that it "
			"may open: its first call failed (%#x). 'xpuprof doctor' says what is "
			"missing\n",
			use->pid, use->name, (unsigned int)result);
}

static void visit_api_use(void *context, const struct capture_api_use *use)
{
	struct unseen_apis *u = context;

	if (u->error)
		return;
	if (gpu_reports(u->s->gpu, use->process, use->api)) {
		note_failure(u, use);
		return;
	}
	/* One that never connected is counted with all of those. */
	if (gpu_has_connected(u->s->gpu, use->process) && !gpu_is_probed(u->s->gpu, use->process))
		u->error = profile_count_loss(u->s->writer, LOSS_GPU_NEVER_CONNECTED, 1);
	if (u->count++ >= UNSEEN_NAMED)
		return;
	if (gpu_is_probed(u->s->gpu, use->process))
		buf_printf(&u->s->refusals,
			"process %" PRIu32 " uses %s: only its launches of kernels are recorded, "
			"without times, as its "
			"driver says them\n",
			use->pid, use->name);
	else
		buf_printf(&u->s->refusals,
			"process %" PRIu32 " uses %s, and that is not recorded: %s\n", use->pid,
			use->name, use->unseen);
}

/* A process may use an API of which nothing reports, beside one that is recorded. */
static int note_unseen_apis(struct session *s)
{
	struct unseen_apis u = {.s = s};

	if (gpu_is_open(s->gpu) && s->capture)
		capture_each_api_use(s->capture, visit_api_use, &u);
	return u.error;
}

static int count_unconnected(struct session *s)
{
	struct unconnected u = {.gpu = s->gpu};

	if (!gpu_is_open(s->gpu) || !s->capture)
		return 0;
	capture_each_gpu_process(s->capture, visit_gpu_process, &u);
	return profile_count_loss(s->writer, LOSS_GPU_NEVER_CONNECTED, u.count);
}

/* Gives the live libraries time to flush, and keeps emptying their rings meanwhile. */
static int stop_gpu(struct session *s)
{
	uint64_t deadline_ns = clock_now_ns() + STOP_TIMEOUT_MS * NS_PER_MS;
	int error = gpu_stop(s->gpu);
	bool busy;

	for (;;) {
		error = error ?: session_drain(s, &busy);
		if (error || !gpu_is_live(s->gpu) || clock_now_ns() > deadline_ns)
			return error;
		usleep(STOP_POLL_US);
	}
}

/* What is left, for a bounded time: a program that lives on may go on sending. */
static int drain_rest(struct session *s)
{
	uint64_t deadline_ns = clock_now_ns() + STOP_TIMEOUT_MS * NS_PER_MS;
	bool busy = true;
	int error = 0;

	while (!error && busy && clock_now_ns() < deadline_ns)
		error = session_drain(s, &busy);
	return error;
}

static int finish_probes(struct session *s)
{
	if (!probes_ran(s->probes))
		buf_puts(&s->refusals,
			"no kernel was loaded that the programs of --probe are for\n");
	return probes_finish(s->probes);
}

/* The GPU side first: its last records still need markers drained after their snapshot. */
static int stop_sources(struct session *s)
{
	int error = s->joins ? joins_finish(s->joins) : 0;

	if (!error && s->probes)
		error = probes_stop(s->probes);
	if (!error && gpu_is_open(s->gpu))
		error = stop_gpu(s);
	if (!error && s->drivers)
		error = drivers_stop(s->drivers);
	if (!error && s->capture)
		error = capture_stop(s->capture);
	error = error ?: drain_rest(s);
	if (!error && s->drivers)
		error = drivers_finish(s->drivers, s->end_ns);
	if (!error && s->probes)
		error = finish_probes(s);
	return error ?: gpu_finish(s->gpu);
}

struct refusals {
	struct buf *lines;
	bool lost; /* GPU work is missing */
};

static void note_refusals(void *context, const char *lines, enum gpu_missing what)
{
	struct refusals *r = context;
	const char *rest;

	r->lost |= what == GPU_MISSING_WORK && *lines;
	rest = r->lost || what == GPU_MISSING_NOTHING ? "" : "; everything else was recorded";
	while (*lines) {
		int size = (int)strcspn(lines, "\n");

		buf_printf(r->lines, "%.*s%s\n", size, lines, rest);
		lines += size + (lines[size] == '\n');
	}
}

static int describe_gpu(struct session *s)
{
	struct refusals refusals = {.lines = &s->refusals};
	uint64_t stacks = s->capture ? capture_launch_stacks(s->capture) : 0;
	int error;

	if (!gpu_is_open(s->gpu))
		return 0;
	gpu_each_refusal(s->gpu, note_refusals, &refusals);
	error = s->joins ? joins_describe(s->joins, s->writer, &s->left_behind) : 0;
	error = error ?: session_describe(s, META_STACKS_TAKEN, stacks);
	return error ?: session_describe(s, META_GPU_REPORTED, gpu_reported_ns(s->gpu));
}

/* A signal while names are looked up ends the look-up. */
static bool naming_stopped(void *context)
{
	return session_handle_signals(context);
}

static void report_naming(void *context, const char *what)
{
	session_report(context, &(struct session_progress){.text = what});
}

static void note_stripped(void *context, const char *path, uint64_t places)
{
	struct session *s = context;

	if (places <= s->stripped_places)
		return;
	s->stripped_places = places;
	buf_reset(&s->stripped);
	buf_puts(&s->stripped, path);
}

static void note_nameless_jit(void *context, enum profile_runtime runtime, uint64_t places)
{
	struct session *s = context;

	if (places <= s->nameless_jit_places)
		return;
	s->nameless_jit_places = places;
	s->nameless_jit = runtime_info(runtime);
}

static uint64_t samples(struct session *s)
{
	profile_writer_totals(s->writer, &s->totals);
	return s->totals.samples;
}

static uint64_t location_seen_ns(void *context, uint32_t location)
{
	const struct session *s = context;

	return s->capture ? capture_seen_ns(s->capture, location) : UINT64_MAX;
}

int session_name_code(
	struct session *s, const struct session_naming *how, struct symbolize_stats *ret)
{
	const struct files_processes processes =
		s->capture ? capture_files_processes(s->capture) : (struct files_processes){0};
	const struct symbolize_options options = {
		.opener = processes.opener,
		.reader = processes.reader,
		.if_gone = processes.if_gone,
		.kept = s->capture ? capture_kept_files(s->capture) : NULL,
		.inlines = s->options.inlines,
		.first = how->first,
		.same_boot = true,
		.servers_limit_ns = how->servers_ns,
		.dwarf_limit_ns = how->dwarf_ns,
		.user = session_lesser_user(s),
		.stopped = how->stopped,
		.progress = report_naming,
		.stripped = note_stripped,
		.nameless_jit = note_nameless_jit,
		.seen_ns = location_seen_ns,
		.context = s,
	};

	return symbolize_profile(s->writer, &options, ret);
}

static int name_code(struct session *s)
{
	const struct session_naming how = {.servers_ns = SERVERS_LIMIT_NS,
		.dwarf_ns = DWARF_LIMIT_NS,
		.stopped = naming_stopped};
	struct symbolize_stats stats = {0};
	int error = s->options.live ? 0 : session_name_code(s, &how, &stats);

	if (s->stripped_places < stats.locations / STRIPPED_MUCH || s->stripped.failed)
		buf_reset(&s->stripped);
	if (s->capture && capture_stacks_in_jit(s->capture) < samples(s) / NAMELESS_JIT_MUCH)
		s->nameless_jit = NULL;

	session_report(s, NULL);
	return error;
}

static int describe_code(struct session *s)
{
	const struct gpucode_user user = {.uid = s->user->account.uid, .gid = s->user->account.gid};
	const struct files_processes processes =
		s->capture ? capture_files_processes(s->capture) : (struct files_processes){0};
	const struct gpu_code_options options = {
		.images = s->images,
		.reader = processes.reader,
		.text_limit_ns = GPU_TEXT_LIMIT_NS,
		.text_user = s->user->account.switched ? &user : NULL,
		.program = s->options.sandbox,
		.stopped = naming_stopped,
		.progress = report_naming,
		.context = s,
	};
	struct gpu_code_stats stats = {0};
	int error = s->images ? symbolize_gpu_code(s->writer, &options, &stats) : 0;
	uint64_t unknown = stats.without_image + stats.not_found;

	session_report(s, NULL);
	if (!error && stats.unread[0])
		buf_printf(&s->refusals, "%s\n", stats.unread);
	if (!error && stats.text_failure[0])
		buf_printf(&s->refusals, "instructions are shown by name only: %s\n",
			stats.text_failure);
	if (!error && unknown)
		buf_printf(&s->refusals,
			"the code of %" PRIu64 " of %" PRIu64
			" sampled GPU functions was not available: "
			"no source lines and no instructions' names%s\n",
			unknown, stats.functions,
			s->joins ? "; code that was loaded before the recording cannot be had"
				 : "");
	return error;
}

static int write_metrics(struct session *s)
{
	const struct metrics_source source = {.path = s->options.metrics,
		.user = &s->user->account,
		.realtime_ns = s->realtime_ns,
		.start_ns = s->start_ns,
		.end_ns = s->end_ns};

	/* All else was recorded. */
	if (source.path && metrics_take_in(s->writer, &source, &s->refusals))
		buf_printf(&s->refusals, "no metrics: %s\n", error_text());
	return s->refusals.failed ? error_memory(NULL) : 0;
}

static int finish_profile(struct session *s)
{
	int error = correlator_finish(s->correlator);

	error = error ?: write_metrics(s);
	error = error ?: name_code(s);
	error = error ?: describe_code(s);
	error = error ?: session_describe(s, META_END_NS, s->end_ns);
	error = error ?: describe_gpu(s);
	if (!error && s->program_ended)
		error = session_describe(
			s, META_EXIT_STATUS, (uint64_t)target_shell_status(s->wait_status));
	return error ?: profile_writer_end(s->writer);
}

int session_finish(struct session *s)
{
	int error, close_error;

	s->end_ns = clock_now_ns();
	error = stop_sources(s);
	error = error
			?: session_describe(
				   s, META_RECORDER_CPU, clock_own_cpu_ns() - s->start_cpu_ns);
	session_report(s, NULL);
	error = error ?: rest_report(s);
	error = error ?: count_unconnected(s);
	error = error ?: note_unseen_apis(s);
	error = error ?: finish_profile(s);
	profile_writer_totals(s->writer, &s->totals);
	close_error = profile_writer_close(s->writer);
	s->writer = NULL;
	session_close_sources(s);
	return error ?: close_error;
}
