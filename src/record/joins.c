// SPDX-License-Identifier: MIT
#include "record/joins.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
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

struct pending {
	struct join *join;
	uint32_t pid;
};

struct joins {
	struct capture *capture;
	struct gpu *gpu;
	struct buf *lines;
	struct map known; /* process images (profile ids): when they were tried last */
	struct vec(struct pending) pending;
	struct vec(uint32_t) joined; /* pids */
	const char *stays;
	uint64_t looked_ns;
	bool finished;
	int error;
};

int joins_new(struct joins **ret, struct capture *capture, struct gpu *gpu, struct buf *lines)
{
	struct joins *j = calloc(1, sizeof(*j));

	if (!j)
		return error_memory(NULL);
	j->capture = capture;
	j->gpu = gpu;
	j->lines = lines;
	*ret = j;
	return 0;
}

static void report_failure(struct joins *j, uint32_t pid)
{
	buf_printf(j->lines, "the GPU work of process %" PRIu32 " is not recorded: %s\n", pid,
		error_text());
}

static bool is_there(uint32_t pid)
{
	return !kill((pid_t)pid, 0) || errno != ESRCH;
}

static void begin(struct joins *j, uint32_t pid, uint32_t process)
{
	struct gpu_joining how;
	struct pending p = {.pid = pid};
	struct join_options options = {.pid = pid};

	if (!gpu_joining(j->gpu, &how) || !is_there(pid))
		return;
	if (map_put(&j->known, process, clock_now_ns())) {
		j->error = error_memory(NULL);
		return;
	}
	j->stays = how.stays;
	options.entry = how.entry;
	options.library = open(how.library, O_RDONLY | O_CLOEXEC);
	if (options.library < 0) {
		j->error = error_errno(-errno, "cannot read '%s'", how.library);
		return;
	}
	if (join_begin(&p.join, &options))
		report_failure(j, pid);
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

static void look_at(void *context, uint32_t pid, uint32_t process)
{
	struct joins *j = context;

	if (!j->error && j->pending.count < AT_ONCE && is_due(j, process))
		begin(j, pid, process);
}

/* A program that was too quick for us has ended: then there is nothing to report. */
static int pass_on(struct joins *j, const struct pending *p)
{
	int socket, error = join_end(p->join, &socket);

	if (!error && vec_push(&j->joined, p->pid)) {
		close(socket);
		return error_memory(NULL);
	}
	if (!error)
		return gpu_adopt(j->gpu, socket, p->pid);
	if (is_there(p->pid))
		report_failure(j, p->pid);
	return j->lines->failed ? error_memory(NULL) : 0;
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
	return j->error ?: pass_on_all(j);
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

int joins_describe(const struct joins *j, struct profile_writer *w, struct buf *left)
{
	struct buf pids = BUF_INIT;
	size_t alive = 0;
	int error;

	vec_foreach (pid, &j->joined) {
		buf_printf(&pids, "%s%" PRIu32, pids.size ? "\n" : "", *pid);
		if (is_there(*pid))
			buf_printf(left, "%s%" PRIu32, alive++ ? ", " : "", *pid);
	}
	if (alive)
		buf_printf(left, ": %s", j->stays);
	error = pids.failed || left->failed ? error_memory(NULL)
		: pids.size		    ? profile_set_meta(w, META_JOINED, buf_text(&pids))
					    : 0;
	buf_release(&pids);
	return error;
}

void joins_free(struct joins *j)
{
	int socket;

	if (!j)
		return;
	vec_foreach (p, &j->pending)
		if (!join_end(p->join, &socket))
			close(socket);
	vec_release(&j->pending);
	vec_release(&j->joined);
	map_release(&j->known);
	free(j);
}
