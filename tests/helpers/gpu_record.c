// SPDX-License-Identifier: MIT
/*
 * Runs a command with the GPU side of a recording and nothing else, and prints what came, one line
 * each:
 *
 *	call NAME COUNT FLAGS		GPU_CALL_* flags, one line for each combination
 *	threads COUNT unknown CALLS	of the calls
 *	works, gpu_ns, bytes		pieces of GPU work, their time, what they moved
 *	in_graphs, queued		works of graph nodes; works with a queued time
 *	unmatched COUNT			works whose id no call had
 *	waiting COUNT			successful launches, copies and sets with neither work nor a reason
 *	nodes created COUNT cloned COUNT destroyed COUNT
 *	windows COUNT contexts COUNT	of instruction samples, where there are any
 *	taken, dropped, without_code	samples, by the windows
 *	rows				by the rows, without those of latency
 *	named				launches that samples name and that have work
 *	images COUNT			of GPU code that came
 *	loss NAME COUNT			where there is any
 *	instances COUNT ended COUNT
 *	status STATUS			of the command, as a shell gives it
 *
 * usage: gpu_record LIBRARY [-m MARKER] [-q] [-r BYTES] [-s MS] [-k] [-z] [-t PERIOD] [-x] COMMAND
 * ...
 *	-q queue times, -r bytes of the ring, -s stop MS milliseconds after the first call came, -k kill -9
 *	ourselves then instead, -t sample instructions every 2^PERIOD cycles, -x exactly,
 *	-z sleep from when the library is connected until the command has ended
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
#include "gpucode/kept_images.h"
#include "gpu_recorder.h"
#include "profile/reader.h"

#define MODULES_MAX 4096 /* that are looked at */

struct settings {
	const char *library;
	struct gpu_options options;
	uint64_t stop_after_ms;
	bool kill_self;
	bool sleeps;
	char **command;
};

static int parse(int argc, char **argv, struct settings *s)
{
	int option;

	*s = (struct settings){.options.target_uid = getuid(), .options.target_gid = getgid()};
	if (argc < 3)
		return -EINVAL;
	s->library = argv[1];
	argv++;
	argc--;
	while ((option = getopt(argc, argv, "+m:qr:s:kzt:x")) != -1) {
		if (option == 'm')
			s->options.marker = (unsigned int)atoi(optarg);
		else if (option == 'q')
			s->options.queue_times = true;
		else if (option == 'r')
			s->options.ring_bytes = strtoul(optarg, NULL, 0);
		else if (option == 's')
			s->stop_after_ms = strtoul(optarg, NULL, 0);
		else if (option == 'k')
			s->kill_self = true;
		else if (option == 'z')
			s->sleeps = true;
		else if (option == 't')
			s->options.stall_period = (unsigned int)atoi(optarg);
		else if (option == 'x')
			s->options.stalls = GPU_STALLS_EXACT;
		else
			return -EINVAL;
	}
	if (s->options.stall_period && !s->options.stalls)
		s->options.stalls = GPU_STALLS_CONTINUOUS;
	if (s->options.stalls)
		s->options.images = kept_images_new(KEPT_IMAGES_BUDGET_BYTES);
	s->command = argv + optind;
	return *s->command ? 0 : -EINVAL;
}

/* The environment is set before the fork: what takes memory after it could wait for a lock of a
 * thread. */
static pid_t start(const struct test_recorder *r, char **command)
{
	pid_t pid;

	setenv("XPUPROF_SOCKET", r->socket_path, 1);
	if (r->injection[0])
		setenv("CUDA_INJECTION64_PATH", r->injection, 1);
	pid = fork();
	if (pid)
		return pid;
	execvp(command[0], command);
	_exit(127);
}

static int pump(struct test_recorder *r)
{
	struct pollfd p = {.fd = injected_backend.poll_fd(r->backend), .events = POLLIN};

	poll(&p, 1, 20);
	return test_recorder_pump(r);
}

static uint64_t live(const struct test_recorder *r)
{
	struct gpu_stats stats;

	stats = test_recorder_stats(r);
	return stats.instances_live;
}

/* Until the command has ended (or its time is over) and its libraries are done: its wait status. */
static int follow(struct test_recorder *r, const struct settings *s, pid_t pid)
{
	uint64_t begin_ns = 0, patience_ns = 0;
	bool ended = false, stopped = false;
	int status = 0, error = 0;

	while (!error && (!ended || live(r)) && (!patience_ns || clock_now_ns() < patience_ns)) {
		if (!ended && waitpid(pid, &status, WNOHANG) == pid) {
			ended = true;
			patience_ns = clock_now_ns() + 2 * NS_PER_SECOND;
		}
		if (!begin_ns && r->calls.count)
			begin_ns = clock_now_ns();
		if (s->stop_after_ms && !stopped && begin_ns &&
			clock_now_ns() - begin_ns > s->stop_after_ms * NS_PER_MS) {
			stopped = true;
			if (s->kill_self)
				kill(getpid(), SIGKILL);
			injected_backend.stop(r->backend);
		}
		if (s->sleeps && !ended && live(r))
			usleep(10000);
		else
			error = pump(r);
	}
	error = error ?: injected_backend.finish(r->backend);
	if (error)
		fprintf(stderr, "gpu_record: %s\n", error_text());
	return status;
}

static uint64_t id_of(uint32_t instance, uint32_t correlation)
{
	return (uint64_t)instance << 32 | correlation;
}

static int compare_calls(const void *a, const void *b)
{
	const struct gpu_call *x = a, *y = b;

	if (x->api != y->api)
		return x->api < y->api ? -1 : 1;
	return x->flags < y->flags ? -1 : x->flags > y->flags;
}

static void print_calls(struct test_recorder *r)
{
	size_t n = r->calls.count;

	if (n)
		qsort(r->calls.items, n, sizeof(*r->calls.items), compare_calls);
	for (size_t i = 0, same; i < n; i += same) {
		const struct gpu_call *c = &r->calls.items[i];

		for (same = 1; i + same < n && !compare_calls(c, c + same); same++)
			;
		printf("call %s %zu %u\n", profile_writer_string(r->writer, c->api), same,
			c->flags & ~GPU_CALL_UNMARKED);
	}
}

static void print_joins(const struct test_recorder *r)
{
	struct map works = MAP_INIT, calls = MAP_INIT;
	size_t unmatched = 0, waiting = 0;

	vec_foreach (c, &r->calls)
		map_put(&calls, id_of(c->instance, c->correlation), 1);
	vec_foreach (w, &r->works) {
		map_put(&works, id_of(w->instance, w->correlation), 1);
		unmatched += !map_get(&calls, id_of(w->instance, w->correlation));
	}
	vec_foreach (c, &r->calls)
		waiting += c->kind <= CALL_GRAPH && !c->result &&
			   !(c->flags & (GPU_CALL_CAPTURED | GPU_CALL_EMPTY)) &&
			   !map_get(&works, id_of(c->instance, c->correlation));
	printf("unmatched %zu\nwaiting %zu\n", unmatched, waiting);
	map_release(&works);
	map_release(&calls);
}

static void print_threads(const struct test_recorder *r)
{
	struct map threads = MAP_INIT;
	size_t unknown = 0;

	vec_foreach (c, &r->calls) {
		unknown += !c->thread;
		map_put(&threads, c->thread, 1);
	}
	printf("threads %zu unknown %zu\n", threads.count, unknown);
	map_release(&threads);
}

static void print_works(const struct test_recorder *r)
{
	uint64_t count = 0, total_ns = 0, bytes = 0, in_graphs = 0, queued = 0;

	vec_foreach (w, &r->works) {
		count++;
		total_ns += w->end_ns - w->start_ns;
		bytes += w->bytes;
		in_graphs += w->graph_node != 0;
		queued += w->queued_ns != 0;
	}
	printf("works %llu\ngpu_ns %llu\nbytes %llu\nin_graphs %llu\nqueued %llu\n",
		(unsigned long long)count, (unsigned long long)total_ns, (unsigned long long)bytes,
		(unsigned long long)in_graphs, (unsigned long long)queued);
}

static void print_windows(const struct profile_reader *p)
{
	struct profile_counts counts = profile_counts(p);
	uint64_t taken = 0, dropped = 0, without_code = 0;
	struct map contexts = MAP_INIT;

	for (uint32_t id = 1; id <= counts.windows; id++) {
		const struct profile_window *w = profile_window(p, id);

		taken += w->samples;
		dropped += w->dropped;
		without_code += w->without_code;
		map_put(&contexts, w->context, 1);
	}
	printf("windows %u contexts %zu\ntaken %llu\ndropped %llu\nwithout_code %llu\n",
		counts.windows, contexts.count, (unsigned long long)taken,
		(unsigned long long)dropped, (unsigned long long)without_code);
	map_release(&contexts);
}

static bool is_latency(const char *reason)
{
	static const char mark[] = "_not_issued";
	size_t size = strlen(reason);

	return size >= sizeof(mark) - 1 && !strcmp(reason + size - (sizeof(mark) - 1), mark);
}

static void print_rows(const struct test_recorder *r, struct profile_reader *p)
{
	struct map works = MAP_INIT, named = MAP_INIT;
	struct profile_event e;
	uint64_t rows = 0;

	vec_foreach (w, &r->works)
		map_put(&works, w->correlation, 1);
	while (profile_reader_next(p, &e) == 1) {
		if (e.kind != EVENT_STALL)
			continue;
		if (!is_latency(profile_string(p, e.stall.reason, NULL)))
			rows += e.stall.samples;
		if (map_get(&works, e.stall.correlation))
			map_put(&named, e.stall.correlation, 1);
	}
	printf("rows %llu\nnamed %zu\n", (unsigned long long)rows, named.count);
	map_release(&works);
	map_release(&named);
}

static void print_sampling(const struct test_recorder *r, const struct kept_images *images)
{
	struct profile_reader *p;
	size_t count = 0, size;
	char path[128];

	snprintf(path, sizeof(path), "%s/profile.xpu", r->folder);
	if (!images || profile_writer_flush(r->writer) || profile_reader_open(&p, path))
		return;
	print_rows(r, p);
	print_windows(p);
	profile_reader_close(p);
	for (uint32_t module = 1; module < MODULES_MAX; module++)
		count += kept_images_find(images, module, &size) != NULL;
	printf("images %zu\n", count);
}

static void print_rest(const struct test_recorder *r)
{
	size_t nodes[GPU_NODE_DESTROYED + 1] = {0};
	struct profile_totals totals;

	vec_foreach (n, &r->nodes)
		nodes[n->change]++;
	printf("nodes created %zu cloned %zu destroyed %zu\n", nodes[GPU_NODE_CREATED],
		nodes[GPU_NODE_CLONED], nodes[GPU_NODE_DESTROYED]);
	profile_writer_totals(r->writer, &totals);
	for (unsigned int l = 1; l < LOSS_KINDS; l++)
		if (totals.losses[l])
			printf("loss %s %llu\n", profile_loss_key(l),
				(unsigned long long)totals.losses[l]);
	printf("instances %u ended %zu\n", r->shared.last_instance, r->ended);
}

int main(int argc, char **argv)
{
	struct test_recorder *r;
	struct settings s;
	int status;

	if (parse(argc, argv, &s)) {
		fprintf(stderr, "usage: gpu_record LIBRARY [-m MARKER] [-q] [-r BYTES] [-s MS] "
				"[-k] COMMAND\n");
		return 2;
	}
	r = test_recorder_open(s.library, &s.options);
	if (!r) {
		fprintf(stderr, "gpu_record: %s\n", error_text());
		return 2;
	}
	status = follow(r, &s, start(r, s.command));
	print_calls(r);
	print_threads(r);
	print_works(r);
	print_joins(r);
	print_sampling(r, s.options.images);
	print_rest(r);
	printf("status %d\n", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	test_recorder_close(r);
	kept_images_free(s.options.images);
	return 0;
}
