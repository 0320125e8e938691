// SPDX-License-Identifier: MIT
/*
 * What an event costs that `record --drivers` keeps: a child calls the system at a steady rate,
 * which a table of our own takes for jobs. Each call is two events, its beginning and its end, and
 * one stretch of time in the profile.
 *
 *	drivers CALLS_A_SECOND SECONDS FOLDER
 */
#include <bpf/bpf.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "monitor/driver_events.h"
#include "monitor/watch.h"

#define BURST_MAX 20000

#define CALL_FIELDS .fields = {{"thread", NULL, FIELD_THREAD}, {"id", "id", FIELD_NUMBER}}

// clang-format off
static const struct monitor_event events[] = {
	{
		.name = "ENTER",
		.sources = {{.kind = SOURCE_TRACEPOINT, .name = "raw_syscalls:sys_enter", CALL_FIELDS}},
		.acts = {{.kind = ACT_OPEN, .key = {"thread"}, .label = {"id"}}},
		.label = {"id"},
	},
	{
		.name = "EXIT",
		.sources = {{.kind = SOURCE_TRACEPOINT, .name = "raw_syscalls:sys_exit", CALL_FIELDS}},
		.acts = {{.kind = ACT_CLOSE, .key = {"thread"}}},
		.counts = {{0, VALUE_DURATION, .label = {"@0.0"}}},
		.label = {"@0.0"},
		.process_act = 1,
	},
	{0},
};
// clang-format on

static const struct monitor_object_row objects[] = {{.name = "call"}, {0}};

static const struct monitor_series series[] = {
	{.name = "run_time", .unit = UNIT_NANOSECONDS, .by_process = true, .label = {"call"}},
	{0},
};

static const struct monitor table = {
	.name = "bench", .ring = "call", .events = events, .objects = objects, .series = series};

struct recording {
	struct watch *watch;
	struct driver_events *events;
	struct profile_writer *writer;
	struct tasks *tasks;
	uint64_t records;
};

static int open_events(struct recording *r)
{
	struct driver_events_options options = {.monitor = &table, .whole_system = true};
	struct watch_event_status status;

	for (size_t i = 0; i < monitor_event_count(&table); i++) {
		if (watch_status(r->watch, i, &status))
			return -1;
		options.plans[i] = status.plan;
	}
	return driver_events_new(&options, r->writer, r->tasks, &r->events);
}

static int begin(struct recording *r, const char *folder)
{
	const struct watch_options options = {
		.monitor = &table, .records = true, .quiet_too = true, .above_event = -1};
	struct monitor_kernel kernel;
	char path[4096];
	int error;

	snprintf(path, sizeof(path), "%s/drivers.xpu", folder);
	error = profile_writer_open(&r->writer, path);
	error = error ?: tasks_new(&r->tasks, r->writer);
	monitor_kernel_look("", &kernel);
	error = error ?: watch_open(&options, &kernel, &r->watch);
	monitor_kernel_release(&kernel);
	return error ?: open_events(r);
}

static int take(void *context, const struct monitor_record *record)
{
	struct recording *r = context;

	r->records++;
	return driver_events_add(r->events, record);
}

static int read_and_write(struct recording *r)
{
	const struct watch_sink sink = {.context = r, .record = take};
	int error = watch_read(r->watch, &sink);

	return error ?: driver_events_write(r->events);
}

/* In bursts, so that the load does not have to look at the clock all the time. */
static void call_at_rate(uint64_t rate, uint64_t seconds)
{
	uint64_t start_ns = clock_now_ns(), calls = 0;
	struct timespec nap = {.tv_nsec = 500000};

	while (clock_now_ns() - start_ns < seconds * NS_PER_SECOND) {
		uint64_t due = (clock_now_ns() - start_ns) / 1000 * rate / 1000000;

		for (int i = 0; calls < due && i < BURST_MAX; i++, calls++)
			syscall(SYS_getppid);
		nanosleep(&nap, NULL);
	}
}

static pid_t start_load(uint64_t rate, uint64_t seconds)
{
	pid_t child = fork();
	cpu_set_t set;

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&set);
	CPU_SET((int)sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
	sched_setaffinity(0, sizeof(set), &set);
	call_at_rate(rate, seconds);
	_exit(0);
}

static double own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * NS_PER_SECOND + (double)t.tv_nsec;
}

/* Reads as `record` does: often enough, and when the ring fills. */
static int follow(struct recording *r, pid_t load)
{
	struct pollfd fd = {.fd = watch_fd(r->watch), .events = POLLIN};
	int error = 0;

	while (!error && !waitpid(load, NULL, WNOHANG)) {
		poll(&fd, 1, WATCH_READ_MS);
		error = read_and_write(r);
	}
	watch_stop(r->watch);
	return error ?: read_and_write(r);
}

/* Time in our programs, by the kernel's own count. */
static double program_ns(uint64_t *ret_runs)
{
	uint64_t ns = 0, runs = 0;
	uint32_t id = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) &&
			!strcmp(info.name, "on_tracepoint")) {
			ns += info.run_time_ns;
			runs += info.run_cnt;
		}
		if (fd >= 0)
			close(fd);
	}
	*ret_runs = runs;
	return (double)ns;
}

static void print(struct recording *r, double cpu_ns, double seconds)
{
	struct watch_event_status status = {0};
	uint64_t lost = 0, missed = 0, runs;
	struct profile_totals totals;
	double in_programs_ns = program_ns(&runs);

	for (size_t i = 0; i < monitor_event_count(&table); i++) {
		if (watch_status(r->watch, i, &status))
			continue;
		lost += status.totals.records + status.totals.objects;
		missed += status.missed;
	}
	profile_writer_flush(r->writer);
	profile_writer_totals(r->writer, &totals);
	printf("  events a second, recorded    %12.0f\n", (double)r->records / seconds);
	printf("  lost, missed by the kernel   %12llu %12llu\n", (unsigned long long)lost,
		(unsigned long long)missed);
	if (runs)
		printf("  in a program, ns an event    %12.1f (the kernel's count, with looking at "
		       "the clock twice)\n",
			in_programs_ns / (double)runs);
	printf("  recorder, ns an event        %12.1f\n", cpu_ns / (double)r->records);
	printf("  recorder, %% of a CPU         %12.2f\n", cpu_ns / seconds / 1e7);
	printf("  stretches in the file        %12llu\n", (unsigned long long)totals.drivers);
	printf("  bytes a stretch              %12.1f\n",
		(double)totals.file_bytes / (double)totals.drivers);
}

int main(int argc, char **argv)
{
	uint64_t rate = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
	uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 10) : 5, from_ns;
	struct recording r = {0};
	double cpu_ns;
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME),
	    error = begin(&r, argc > 3 ? argv[3] : ".");

	if (error) {
		printf("not measured: %s\n", error_text());
		return 0;
	}
	cpu_ns = own_cpu_ns();
	from_ns = clock_now_ns();
	error = follow(&r, start_load(rate, seconds));
	if (error)
		printf("not measured: %s\n", error_text());
	else
		print(&r, own_cpu_ns() - cpu_ns, (double)(clock_now_ns() - from_ns) / 1e9);
	watch_close(r.watch);
	driver_events_free(r.events);
	tasks_free(r.tasks);
	profile_writer_abort(r.writer);
	if (stats >= 0)
		close(stats);
	return 0;
}
