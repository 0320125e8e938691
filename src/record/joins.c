// SPDX-License-Identifier: MIT
#include "record/joins.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "gpu/gpu.h"
#include "join/join.h"
#include "profile/writer.h"

#define LOOK_NS	       (100 * NS_PER_MS)
#define RETRY_NS       (5 * NS_PER_SECOND) /* where another tool was */
#define AT_ONCE	       4		   /* processes of ours that join */
#define FINISH_NS      (3 * NS_PER_SECOND)
#define FINISH_POLL_MS 10
#define LEAVE_NS       (7 * NS_PER_SECOND) /* until a library says that it cannot leave */

struct pending {
	struct join *join;
	uint32_t pid, process; /* profile id */
	uint8_t api;	       /* that it is joined by */
};

struct joined {
	uint32_t pid, process;
	uint8_t api;
	bool woken;
	enum join_leave leave;
	uint64_t copy; /* of the library, to see when it has left */
};

/* One that could not be joined. */
struct refused {
	uint32_t pid, process;
	char *why;
};

struct joins {
	struct capture *capture;
	struct gpu *gpu;
	const char *sandbox;
	struct buf *lines;
	struct map known; /* process images (profile ids): when they were tried last */
	struct vec(struct pending) pending;
	struct vec(struct joined) joined;
	struct vec(struct refused) observed;
	uint64_t looked_ns;
	bool finished;
	int error;
};

int joins_new(struct joins **ret, struct capture *capture, struct gpu *gpu, const char *sandbox,
	struct buf *lines)
{
	struct joins *j = calloc(1, sizeof(*j));

	if (!j)
		return error_memory(NULL);
	j->capture = capture;
	j->gpu = gpu;
	j->sandbox = sandbox;
	j->lines = lines;
	*ret = j;
	return 0;
}

static bool is_observed(const struct joins *j, uint32_t process)
{
	vec_foreach (r, &j->observed)
		if (r->process == process)
			return true;
	return false;
}

/* What could not be joined is observed, where that is wanted. */
static int give_up(struct joins *j, uint32_t pid, uint32_t process)
{
	struct refused refused = {.pid = pid, .process = process};

	if (is_observed(j, process))
		return 0;
	if (!capture_observes(j->capture)) {
		buf_printf(j->lines, "the GPU work of process %" PRIu32 " is not recorded: %s\n",
			pid, error_text());
		return j->lines->failed ? error_memory(NULL) : 0;
	}
	refused.why = strdup(error_text());
	if (!refused.why || vec_push(&j->observed, refused)) {
		free(refused.why);
		return error_memory(NULL);
	}
	return capture_observe(j->capture, pid, process, gpu_new_instance(j->gpu));
}

static bool is_there(uint32_t pid)
{
	return !kill((pid_t)pid, 0) || errno != ESRCH;
}

static void begin(struct joins *j, uint32_t pid, uint32_t process, uint8_t api)
{
	struct gpu_joining how;
	struct pending p = {.pid = pid, .process = process, .api = api};
	struct join_options options = {.pid = pid, .sandbox = j->sandbox};

	if (!gpu_joining(j->gpu, api, &how) || !is_there(pid))
		return;
	if (map_put(&j->known, process, clock_now_ns())) {
		j->error = error_memory(NULL);
		return;
	}
	options.entry = how.entry;
	options.library = open(how.library, O_RDONLY | O_CLOEXEC);
	if (options.library < 0) {
		j->error = error_errno(-errno, "cannot read '%s'", how.library);
		return;
	}
	if (join_begin(&p.join, &options))
		j->error = give_up(j, pid, process);
	else if (vec_push(&j->pending, p))
		j->error = error_memory(NULL);
	close(options.library);
}

/* One that could not be joined is not tried again; one in which another tool was, is. */
static bool is_due(const struct joins *j, uint32_t process)
{
	const uint64_t *tried_ns = map_get(&j->known, process);

	if (!tried_ns)
		return !gpu_has_connected(j->gpu, process);
	return gpu_is_taken(j->gpu, process) && clock_now_ns() - *tried_ns > RETRY_NS;
}

static void look_at(void *context, uint32_t pid, uint32_t process, int api)
{
	struct joins *j = context;

	if (!j->error && api >= 0 && j->pending.count < AT_ONCE && is_due(j, process))
		begin(j, pid, process, (uint8_t)api);
}

/* One in which another tool is comes again and again. */
static int note_joined(struct joins *j, const struct joined *one)
{
	vec_foreach (known, &j->joined)
		if (known->process == one->process) {
			*known = *one;
			return 0;
		}
	return vec_push(&j->joined, *one) ? error_memory(NULL) : 0;
}

static int adopt(struct joins *j, const struct pending *p, const struct join_result *result)
{
	const struct joined joined = {.pid = p->pid,
		.process = p->process,
		.api = p->api,
		.woken = result->woken,
		.copy = result->copy};
	int error = note_joined(j, &joined);

	if (!error)
		return gpu_adopt(j->gpu, result->socket, p->pid);
	close(result->socket);
	return error;
}

/* A program that was too quick for us has ended: then there is nothing to report. */
static int pass_on(struct joins *j, const struct pending *p)
{
	struct join_result result;
	int error = join_end(p->join, &result);

	if (!error)
		return adopt(j, p, &result);
	return is_there(p->pid) ? give_up(j, p->pid, p->process) : 0;
}

static bool has_result(const struct pending *p)
{
	struct pollfd wanted = {.fd = join_fd(p->join), .events = POLLIN};

	return poll(&wanted, 1, 0) == 1;
}

static int pass_on_all(struct joins *j)
{
	int error = 0;

	for (size_t n = 0; !error && n < j->pending.count;) {
		struct pending p = j->pending.items[n];

		if (!has_result(&p)) {
			n++;
			continue;
		}
		j->pending.items[n] = j->pending.items[--j->pending.count];
		error = pass_on(j, &p);
	}
	return error;
}

int joins_round(struct joins *j)
{
	uint64_t now_ns = clock_now_ns();

	if (!j->finished && now_ns - j->looked_ns >= LOOK_NS) {
		j->looked_ns = now_ns;
		capture_each_gpu_process(j->capture, look_at, j);
	}
	return j->error ?: pass_on_all(j) ?: capture_observe_round(j->capture);
}

uint64_t joins_due_ns(const struct joins *j)
{
	return capture_observe_due_ns(j->capture);
}

int joins_finish(struct joins *j)
{
	uint64_t deadline_ns = clock_now_ns() + FINISH_NS;
	int error = 0;

	j->finished = true;
	while (!error && j->pending.count && clock_now_ns() < deadline_ns) {
		error = pass_on_all(j);
		if (j->pending.count)
			poll(NULL, 0, FINISH_POLL_MS);
	}
	return error;
}

/* In the profile, those whose calls were seen; in the lines, all. */
static int describe_observed(const struct joins *j, struct profile_writer *w)
{
	struct buf observed = BUF_INIT;
	int error;

	vec_foreach (r, &j->observed) {
		bool any;
		const char *why_not = capture_not_observed(j->capture, r->process, &any);

		buf_printf(j->lines,
			"the GPU work of process %" PRIu32 " is not recorded%s: %s%s%s\n", r->pid,
			any ? ", only its calls are" : "", r->why,
			!why_not ? ""
			: any	 ? "; these not to the end: "
				 : "; its calls are not, either: ",
			why_not ?: "");
		if (any)
			buf_printf(&observed, "%s%" PRIu32 ": %s", observed.size ? "\n" : "",
				r->pid, r->why);
	}
	error = observed.failed || j->lines->failed ? error_memory(NULL)
		: observed.size ? profile_set_meta(w, META_OBSERVED, buf_text(&observed))
				: 0;
	buf_release(&observed);
	return error;
}

/* A library that cannot leave says so after some seconds. */
static enum join_leave await_leave(const struct joined *joined, uint64_t deadline_ns)
{
	enum join_leave leave;

	while (!(leave = join_has_left(joined->pid, joined->copy)) && clock_now_ns() < deadline_ns)
		poll(NULL, 0, FINISH_POLL_MS);
	return leave;
}

static void put_stop_time(
	const struct joins *j, uint32_t process, const char *tracer, struct buf *out)
{
	struct gpu_stop_time time;
	char all[TEXT_CELL], part[TEXT_CELL];

	if (gpu_stop_time(j->gpu, process, &time))
		buf_printf(out, " in %s (%s of it in %s)", text_duration(all, time.ns),
			text_duration(part, time.tracer_ns), tracer);
}

/* Of those that go on without any library but with the tracer: "12 in 63 ms (5 ms of it in X), 14".
 * Where nothing stays, nothing is said. */
static void list_left(const struct joins *j, struct buf *left)
{
	struct gpu_joining how;
	const char *stays = NULL;

	vec_foreach (it, &j->joined)
		if (it->leave == JOIN_LEFT && is_there(it->pid) &&
			!gpu_is_finalized(j->gpu, it->process) &&
			gpu_joining(j->gpu, it->api, &how) && how.stays) {
			buf_printf(left, "%s%" PRIu32, stays ? ", " : "", it->pid);
			put_stop_time(j, it->process, how.tracer, left);
			stays = how.stays;
		}
	if (stays)
		buf_printf(left, ": %s", stays);
}

static void list_not_left(const struct joins *j, struct buf *lines)
{
	uint64_t deadline_ns = clock_now_ns() + LEAVE_NS;

	vec_foreach (it, &j->joined) {
		it->leave = await_leave(it, deadline_ns);
		if (it->leave == JOIN_STAYS)
			buf_printf(lines,
				"the library cannot leave process %" PRIu32
				" yet: it sleeps there, and leaves when it can\n",
				it->pid);
		else if (it->leave == JOIN_NOT_LEFT)
			buf_printf(lines,
				"the library has not left process %" PRIu32
				", and does not answer there\n",
				it->pid);
	}
}

static int write_pids(const struct joins *j, struct profile_writer *w, const char *key, bool all)
{
	struct buf pids = BUF_INIT;
	int error;

	vec_foreach (it, &j->joined)
		if (all || it->woken)
			buf_printf(&pids, "%s%" PRIu32, pids.size ? "\n" : "", it->pid);
	error = pids.failed ? error_memory(NULL)
		: pids.size ? profile_set_meta(w, key, buf_text(&pids))
			    : 0;
	buf_release(&pids);
	return error;
}

int joins_describe(const struct joins *j, struct profile_writer *w, struct buf *left)
{
	int error = write_pids(j, w, META_JOINED, true);

	error = error ?: write_pids(j, w, META_WOKEN, false);
	list_not_left(j, j->lines);
	list_left(j, left);
	error = error ?: left->failed || j->lines->failed ? error_memory(NULL) : 0;
	return error ?: describe_observed(j, w);
}

void joins_free(struct joins *j)
{
	struct join_result result;

	if (!j)
		return;
	vec_foreach (p, &j->pending)
		if (!join_end(p->join, &result))
			close(result.socket);
	vec_release(&j->pending);
	vec_release(&j->joined);
	vec_foreach (r, &j->observed)
		free(r->why);
	vec_release(&j->observed);
	map_release(&j->known);
	free(j);
}
