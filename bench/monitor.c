// SPDX-License-Identifier: MIT
/*
 * What monitors cost, beside bpftrace doing the same work on the same events: a histogram of the
 * time that calls to the system take by their number, and switches of tasks by name.
 *
 * usage: monitor [ROUNDS [BPFTRACE]]
 *
 * Two loads are measured, each alone on a CPU: one only calls the system (two events a call), in
 * the other two threads take turns (three events a turn). A round measures each load without
 * anything, with programs that do nothing on the same events (what the kernel needs to get there),
 * with a monitor and with bpftrace; the table has medians of rounds. Times are CPU time of the
 * load, so what runs elsewhere does not count, as far as the machine keeps its speed. A third load
 * makes events at a steady rate, and says what was counted of them, and what reading that costs.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "monitor/totals.h"
#include "monitor/watch.h"

#define SLICES	     40
#define SLICE_CALLS  20000
#define SLICE_TURNS  4000
#define ROUNDS	     5
#define ROUNDS_MAX   50
#define RATE	     1000000 /* events a second */
#define RATE_SECONDS 10
#define BURST_MAX    20000
#define CALL_AT_RATE SYS_sched_get_priority_min

static const char script[] =
	"tracepoint:raw_syscalls:sys_enter { @start[tid] = nsecs; } "
	"tracepoint:raw_syscalls:sys_exit { @h[args->id] = hist(nsecs - @start[tid]); } "
	"tracepoint:sched:sched_switch { @switches[args->prev_comm] = count(); } "
	"BEGIN { printf(\"ready\\n\"); }";

/* ------------------------------------------------------------------ the same work as a table */

enum { DURATION, SWITCHES };

static const struct monitor_event events[] = {
	{
		.name = "ENTER",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "raw_syscalls:sys_enter",
			.fields = {{"thread", NULL, FIELD_THREAD}, {"id", "id", FIELD_NUMBER}}}},
		.acts = {{.kind = ACT_OPEN, .key = {"thread"}}},
	},
	{
		.name = "EXIT",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "raw_syscalls:sys_exit",
			.fields = {{"thread", NULL, FIELD_THREAD}, {"id", "id", FIELD_NUMBER}}}},
		.acts = {{.kind = ACT_CLOSE, .key = {"thread"}}},
		.counts = {{DURATION, VALUE_DURATION, .label = {"id"}}},
		.label = {"id"},
	},
	{
		.name = "SWITCH",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "sched:sched_switch",
			.fields = {{"from", "prev_comm", FIELD_STRING}}}},
		.counts = {{SWITCHES, VALUE_ONE, .label = {"from"}}},
		.label = {"from"},
	},
	{0},
};

static const struct monitor_object_row objects[] = {{.name = "call"}, {0}};

// clang-format off
static const struct monitor_series series[] = {
	[DURATION] = {.name = "duration", .unit = UNIT_NANOSECONDS, .histogram = true, .label = {"call"}},
	[SWITCHES] = {.name = "switches", .label = {"from"}},
	{0},
};
// clang-format on

static const struct monitor table = {
	.name = "bench", .events = events, .objects = objects, .series = series};

/* ------------------------------------------------------------------ loads */

enum load { CALLS, TURNS, LOADS };

static const char *const load_names[LOADS] = {"calls to the system", "threads taking turns"};
static const unsigned int load_events[LOADS] = {2, 3};

static void stay_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static void *take_turns(void *stop)
{
	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
		sched_yield();
	return NULL;
}

static double slice(enum load load)
{
	unsigned int count = load == CALLS ? SLICE_CALLS : SLICE_TURNS;
	uint64_t from_ns = cpu_ns();

	for (unsigned int i = 0; i < count; i++)
		syscall(load == CALLS ? SYS_getppid : SYS_sched_yield);
	/* The other thread takes as many turns meanwhile. */
	return (double)(cpu_ns() - from_ns) / count / (load == CALLS ? 1 : 2);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Nanoseconds of the load's CPU time for one call or turn: the lower quartile of many short
 * measurements. */
static double run_load(enum load load)
{
	double slices[SLICES];
	bool stop = false;
	pthread_t other;

	if (load == TURNS && pthread_create(&other, NULL, take_turns, &stop))
		return 0;
	for (int i = 0; i < SLICES; i++)
		slices[i] = slice(load);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	if (load == TURNS)
		pthread_join(other, NULL);
	qsort(slices, SLICES, sizeof(slices[0]), by_size);
	return slices[SLICES / 4];
}

/* In bursts, so that the load does not have to look at the clock all the time. The call is one that
 * hardly any other process makes. */
static uint64_t run_at_rate(unsigned int seconds)
{
	uint64_t start_ns = clock_now_ns(), calls = 0;
	struct timespec nap = {.tv_nsec = 500000};

	while (clock_now_ns() - start_ns < seconds * NS_PER_SECOND) {
		uint64_t due = (clock_now_ns() - start_ns) * (RATE / 2) / NS_PER_SECOND;

		for (int i = 0; calls < due && i < BURST_MAX; i++, calls++)
			syscall(CALL_AT_RATE);
		nanosleep(&nap, NULL);
	}
	return calls;
}

/* In a process of its own; what it says comes out of the pipe. */
static pid_t start_load(int load, int *ret_pipe)
{
	int ends[2];
	pid_t child;

	if (pipe(ends))
		return -1;
	child = fork();
	if (!child) {
		double result;

		stay_on_cpu((int)sysconf(_SC_NPROCESSORS_ONLN) - 1);
		result = load < LOADS ? run_load((enum load)load)
				      : (double)run_at_rate(RATE_SECONDS);
		_exit(write(ends[1], &result, sizeof(result)) != sizeof(result));
	}
	close(ends[1]);
	*ret_pipe = ends[0];
	return child;
}

/* ------------------------------------------------------------------ what is measured */

static int open_watch(struct watch **ret)
{
	const struct watch_options options = {.monitor = &table, .above_event = -1};
	struct monitor_kernel kernel;
	int error;

	monitor_kernel_look("", &kernel);
	error = watch_open(&options, &kernel, ret);
	monitor_kernel_release(&kernel);
	return error;
}

/* Reads as the command does that shows a table every second, until the load is done. */
static double follow_load(int load, struct watch *w)
{
	const struct watch_sink sink = {0};
	struct totals totals = TOTALS_INIT;
	int from = -1, status, reads = 0;
	pid_t child = start_load(load, &from);
	double result = 0;

	while (child > 0 && !waitpid(child, &status, WNOHANG)) {
		nanosleep(&(struct timespec){.tv_nsec = WATCH_READ_MS * 1000000}, NULL);
		if (!w)
			continue;
		watch_read(w, &sink);
		if (++reads % (1000 / WATCH_READ_MS) == 0 &&
			!totals_fetch(&table, w, NULL, &totals))
			totals_release(&totals);
	}
	if (read(from, &result, sizeof(result)) != sizeof(result))
		result = 0;
	close(from);
	return result;
}

/* Programs that do nothing. */
struct empties {
	int program;
	int events[sizeof(events) / sizeof(events[0]) - 1];
};

static int open_empties(struct empties *e)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct monitor_event_plan plan;
	struct monitor_kernel kernel;
	int error = 0;

	e->program = bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "empty", "MIT", nothing, 2, NULL);
	monitor_kernel_look("", &kernel);
	for (size_t i = 0; i < monitor_event_count(&table); i++) {
		struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr)};

		monitor_event_plan(&table, i, &kernel, &plan);
		attr.config = plan.tracepoint_id;
		e->events[i] =
			(int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
		if (ioctl(e->events[i], PERF_EVENT_IOC_SET_BPF, e->program) ||
			ioctl(e->events[i], PERF_EVENT_IOC_ENABLE, 0))
			error = -errno;
	}
	monitor_kernel_release(&kernel);
	return error;
}

static double with_empties(enum load load)
{
	struct empties e;
	double result = open_empties(&e) ? 0 : follow_load((int)load, NULL);

	for (size_t i = 0; i < monitor_event_count(&table); i++)
		close(e.events[i]);
	close(e.program);
	return result;
}

static pid_t start_bpftrace(const char *program)
{
	char line[256] = "";
	pid_t child;
	FILE *said;
	int ends[2];

	if (pipe(ends))
		return -1;
	child = fork();
	if (!child) {
		dup2(ends[1], STDOUT_FILENO);
		if (!freopen("/dev/null", "w", stderr))
			_exit(127);
		execlp(program, program, "-e", script, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	said = fdopen(ends[0], "r");
	while (said && !strstr(line, "ready") && fgets(line, sizeof(line), said))
		;
	if (!strstr(line, "ready")) {
		waitpid(child, NULL, 0);
		child = -1;
	}
	if (said)
		fclose(said);
	return child;
}

static double with_bpftrace(enum load load, const char *program)
{
	pid_t child = start_bpftrace(program);
	double result = 0;

	if (child <= 0)
		return 0;
	result = follow_load(load, NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return result;
}

static double with_watch(enum load load)
{
	struct watch *w;
	double result;

	if (open_watch(&w))
		return 0;
	result = follow_load(load, w);
	watch_close(w);
	return result;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_size);
	return (values[count / 2] + values[(count - 1) / 2]) / 2;
}

static void measure(enum load load, int rounds, const char *bpftrace)
{
	double ours[ROUNDS_MAX], theirs[ROUNDS_MAX], ratios[ROUNDS_MAX], alone[ROUNDS_MAX];
	double empty[ROUNDS_MAX], above[ROUNDS_MAX];
	unsigned int n = load_events[load];

	for (int i = 0; i < rounds; i++) {
		double none = follow_load(load, NULL);

		alone[i] = none;
		empty[i] = (with_empties(load) - none) / n;
		ours[i] = (with_watch(load) - none) / n;
		theirs[i] = bpftrace ? (with_bpftrace(load, bpftrace) - none) / n : 0;
		ratios[i] = theirs[i] > 0 ? ours[i] / theirs[i] : 0;
		above[i] = theirs[i] > empty[i] ? (ours[i] - empty[i]) / (theirs[i] - empty[i]) : 0;
	}
	printf("%-22s %8.0f %8.1f %8.1f", load_names[load], median(alone, (size_t)rounds),
		median(empty, (size_t)rounds), median(ours, (size_t)rounds));
	if (bpftrace && median(theirs, (size_t)rounds) > 0) {
		double middle = median(ratios, (size_t)rounds); /* puts them in order */

		printf(" %8.1f   %.2f (%.2f to %.2f)  %11.2f\n", median(theirs, (size_t)rounds),
			middle, ratios[0], ratios[rounds - 1], median(above, (size_t)rounds));
	} else
		printf(" %8s\n", "-");
	fflush(stdout);
}

/* ------------------------------------------------------------------ a steady rate */

static int add_calls(
	void *context, const struct monitor_cell_key *key, const struct monitor_cell *cell)
{
	uint64_t number;

	memcpy(&number, key->label[0], sizeof(number));
	if (key->series == DURATION && number == CALL_AT_RATE)
		*(uint64_t *)context += cell->count;
	return 0;
}

/* Time in programs of this name, by the kernel's own count, which needs BPF_STATS_RUN_TIME. */
static void add_run_time(uint64_t *ns, uint64_t *runs)
{
	struct bpf_prog_info info;
	uint32_t id = 0, size;

	while (!bpf_prog_get_next_id(id, &id)) {
		int fd = bpf_prog_get_fd_by_id(id);

		memset(&info, 0, sizeof(info));
		size = sizeof(info);
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) &&
			!strcmp(info.name, "on_tracepoint")) {
			*ns += info.run_time_ns;
			*runs += info.run_cnt;
		}
		if (fd >= 0)
			close(fd);
	}
}

static void print_rate(struct watch *w, double calls, double seconds, double user_seconds)
{
	uint64_t counted = 0, seen = 0, lost = 0, missed = 0, run_ns = 0, runs = 0;
	struct watch_event_status status;

	for (size_t i = 0; i < monitor_event_count(&table); i++) {
		if (watch_status(w, i, &status))
			continue;
		seen += status.totals.seen;
		lost += status.totals.records + status.totals.objects + status.totals.cells;
		missed += status.missed;
	}
	watch_cells(w, add_calls, &counted);
	add_run_time(&run_ns, &runs);
	printf("\nat a steady rate, for %.0f s\n", seconds);
	printf("  events a second              %12.0f\n", (double)seen / seconds);
	printf("  calls made, counted          %12.0f %12llu\n", calls,
		(unsigned long long)counted);
	printf("  lost, missed by the kernel   %12llu %12llu\n", (unsigned long long)lost,
		(unsigned long long)missed);
	if (runs)
		printf("  in a program, ns an event    %12.1f (the kernel's count, with looking at "
		       "the clock twice)\n",
			(double)run_ns / (double)runs);
	printf("  reader, %% of a CPU           %12.2f\n", user_seconds / seconds * 100);
}

static double own_cpu_seconds(void)
{
	return (double)cpu_ns() / 1e9;
}

static void measure_rate(bool with_stats)
{
	int stats = with_stats ? bpf_enable_stats(BPF_STATS_RUN_TIME) : -1;
	double calls, before;
	uint64_t from_ns;
	struct watch *w;

	if (open_watch(&w))
		return;
	before = own_cpu_seconds();
	from_ns = clock_now_ns();
	calls = follow_load(LOADS, w);
	print_rate(w, calls, (double)(clock_now_ns() - from_ns) / 1e9, own_cpu_seconds() - before);
	watch_close(w);
	if (stats >= 0)
		close(stats);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
	const char *bpftrace = argc > 2 ? argv[2] : NULL;
	struct watch *w;

	rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
	if (open_watch(&w)) {
		printf("not measured: %s\n", error_text());
		return 0;
	}
	watch_close(w);
	printf("monitors, medians of %d rounds%s\n\n", rounds,
		bpftrace ? "" : " (without bpftrace, which is not installed)");
	printf("%-22s %8s %8s %8s %8s   %-20s above empty\n", "ns an event, more", "alone", "empty",
		"monitor", "bpftrace", "monitor / bpftrace");
	for (int load = 0; load < LOADS; load++)
		measure((enum load)load, rounds, bpftrace);
	measure_rate(false);
	measure_rate(true);
	return 0;
}
