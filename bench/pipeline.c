// SPDX-License-Identifier: MIT
/*
 * How fast launches and their work go through correlator and writer, and events through the reader.
 *
 *	pipeline [-n PAIRS] [-r RUNS]   a table: medians over RUNS runs, each in a process of its own
 *	pipeline [-n PAIRS] [-s STACKS] FILE   leaves such a profile in FILE
 *	pipeline --read FILE            decodes FILE and prints how long that took
 *
 * A pair is what one launch makes: a marker with a stack, a call, a piece of work; two events of
 * the file. They come as a recorder sees them: in batches, markers first, then the calls, then the
 * work of the batch before. There are THREADS threads in two instances, STACKS stacks of DEPTH
 * frames, OPS kernels and copies, and times that jitter. Time is CPU time of the process, writing
 * to the file included.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "correlate/correlate.h"
#include "profile/reader.h"
#include "random.h"

#define THREADS	    8
#define INSTANCES   2
#define STACKS	    3000
#define DEPTH	    25
#define FORKS_DEPTH 5
#define OPS	    300
#define BATCH	    1000
#define SHAPES	    65536 /* distinct pairs, drawn before the clock starts */
#define MAX_RUNS    100

/* What is random about a pair. */
struct shape {
	uint16_t gap_ns, call_ns, wait_ns;
	uint16_t stack, op;
	uint8_t thread, id_step;
	uint32_t work_ns;
	bool copy;
};

struct result {
	double write_s, read_s;
	uint64_t file_bytes, events;
	long max_rss_kib;
};

struct bench {
	struct profile_writer *writer;
	struct correlator *correlator;
	struct gpu_events sink;
	struct shape *shapes;
	uint32_t *stacks, stack_count;
	uint32_t threads[THREADS], ops[OPS], apis[2];
	uint64_t now_ns;
	uint32_t correlation[INSTANCES];
	struct gpu_work late[BATCH]; /* the work of the batch before */
	size_t late_count;
};

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "pipeline: %s\n", error_text());
	exit(1);
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t add_string(struct bench *b, const char *format, unsigned int number)
{
	char text[128];
	uint32_t id;

	snprintf(text, sizeof(text), format, number);
	check(profile_add_string(b->writer, text, strlen(text), &id));
	return id;
}

/* Few stacks have many branches near the root. Of many, each frame from FORKS_DEPTH on is one of
 * two functions: there are a million, and so many tables have room for. */
static uint32_t function_at(const struct bench *b, uint32_t depth)
{
	if (b->stack_count == STACKS)
		return random_below(1 + depth * depth);
	return depth < FORKS_DEPTH ? 0 : random_below(2);
}

/* Stacks share their roots, as those of a program do. */
static void add_stacks(struct bench *b)
{
	struct profile_module m = {
		.kind = MODULE_FILE, .path = add_string(b, "/usr/lib/libtorch_cpu.so", 0)};
	struct profile_location l = {.kind = FRAME_USER};

	check(profile_add_module(b->writer, &m, &l.module));
	b->stacks = calloc(b->stack_count, sizeof(*b->stacks));
	if (!b->stacks)
		check(error_set(-ENOMEM, "out of memory"));
	for (uint32_t i = 0; i < b->stack_count; i++) {
		uint32_t node = 0;

		for (uint32_t depth = 0; depth < DEPTH; depth++) {
			uint32_t function = function_at(b, depth), location;

			l.address = (uint64_t)depth << 12 | function << 4;
			if (b->stack_count != STACKS)
				l.name = add_string(b, "function_%u", depth << 12 | function);
			check(profile_add_location(b->writer, &l, &location));
			check(profile_add_stack_node(b->writer, node, location, &node));
		}
		b->stacks[i] = node;
	}
}

static void add_tasks(struct bench *b)
{
	struct profile_process p = {.pid = 4000, .comm = add_string(b, "python3", 0)};
	struct profile_thread t = {.tid = 4000};

	check(profile_add_process(b->writer, &p, &t.process));
	for (int i = 0; i < THREADS; i++, t.tid++) {
		t.name = add_string(b, "worker %u", (unsigned int)i);
		check(profile_add_thread(b->writer, &t, &b->threads[i]));
	}
}

static void add_ops(struct bench *b)
{
	struct profile_device d = {.name = add_string(b, "Simulated GPU of a benchmark", 0)};
	struct profile_op op = {.process = 1, .context = 1, .stream = 7, .block = {256, 1, 1}};

	check(profile_add_device(b->writer, &d, &op.device));
	for (unsigned int i = 0; i < OPS; i++) {
		bool copy = i % 10 == 9;

		op.kind = copy ? OP_COPY : OP_KERNEL;
		op.name =
			copy ? 0 : add_string(b, "_ZN2at6native18elementwise_kernelILi%uEEEvi", i);
		op.copy_kind = copy ? COPY_HTOD : COPY_UNKNOWN;
		op.grid[0] = copy ? 0 : 1 + random_below(1000);
		op.stream = 7 + i % 4;
		op.context = 1 + i / 100;
		check(profile_add_op(b->writer, &op, &b->ops[i]));
	}
	b->apis[0] = add_string(b, "cudaLaunchKernel", 0);
	b->apis[1] = add_string(b, "cudaMemcpyAsync", 0);
}

static void draw_shapes(struct bench *b)
{
	b->shapes = calloc(SHAPES, sizeof(*b->shapes));
	if (!b->shapes)
		check(error_set(-ENOMEM, "out of memory"));
	for (int i = 0; i < SHAPES; i++) {
		struct shape *s = &b->shapes[i];

		s->gap_ns = (uint16_t)(200 + random_below(8000));
		s->call_ns = (uint16_t)(1500 + random_below(4000));
		s->wait_ns = (uint16_t)random_below(60000);
		s->work_ns = 1000 + random_below(1u << (10 + random_below(10)));
		s->stack = (uint16_t)random_below(STACKS);
		s->op = (uint16_t)random_below(OPS);
		s->copy = s->op % 10 == 9;
		s->thread = (uint8_t)random_below(THREADS);
		s->id_step = (uint8_t)(1 + random_below(3));
	}
}

/* Shapes have few stacks; where more are wanted, each launch has another one. */
static uint32_t stack_of(const struct bench *b, const struct shape *s)
{
	return b->stack_count == STACKS ? s->stack : random_below(b->stack_count);
}

/* The markers of a batch, then its calls; its work is kept for the next batch. */
static void feed_calls(struct bench *b, const struct shape *shapes, size_t count)
{
	static struct gpu_call calls[BATCH];

	for (size_t i = 0; i < count; i++) {
		const struct shape *s = &shapes[i];
		uint32_t instance = s->thread % INSTANCES;
		struct gpu_launch launch = {.instance = 1 + instance,
			.time_ns = b->now_ns + 300,
			.thread = b->threads[s->thread],
			.stack = b->stacks[stack_of(b, s)],
			.kind = s->copy ? CALL_COPY : CALL_LAUNCH};

		b->correlation[instance] += s->id_step;
		launch.correlation = b->correlation[instance];
		check(b->sink.launch(b->sink.context, &launch));
		calls[i] = (struct gpu_call){.instance = launch.instance,
			.correlation = launch.correlation,
			.start_ns = b->now_ns,
			.end_ns = b->now_ns + s->call_ns,
			.thread = launch.thread,
			.api = b->apis[s->copy],
			.kind = launch.kind};
		b->now_ns += s->gap_ns;
	}
	for (size_t i = 0; i < count; i++)
		check(b->sink.call(b->sink.context, &calls[i]));
}

static void feed_work(struct bench *b)
{
	for (size_t i = 0; i < b->late_count; i++)
		check(b->sink.work(b->sink.context, &b->late[i]));
	b->late_count = 0;
}

static void keep_work(struct bench *b, const struct shape *shapes, size_t count, uint64_t start_ns,
	const uint32_t first[INSTANCES])
{
	uint32_t correlation[INSTANCES];

	memcpy(correlation, first, sizeof(correlation));
	for (size_t i = 0; i < count; i++) {
		const struct shape *s = &shapes[i];
		uint32_t instance = s->thread % INSTANCES;
		uint64_t work_ns = start_ns + s->wait_ns;

		correlation[instance] += s->id_step;
		b->late[i] = (struct gpu_work){.instance = 1 + instance,
			.correlation = correlation[instance],
			.start_ns = work_ns,
			.end_ns = work_ns + s->work_ns,
			.op = b->ops[s->op],
			.bytes = s->copy ? s->work_ns * 16 : 0};
		start_ns += s->gap_ns;
	}
	b->late_count = count;
}

static void feed_all(struct bench *b, uint64_t pairs)
{
	uint32_t first[INSTANCES];

	for (uint64_t done = 0; done < pairs;) {
		const struct shape *shapes = &b->shapes[done % (SHAPES - BATCH)];
		size_t count = pairs - done < BATCH ? (size_t)(pairs - done) : BATCH;
		uint64_t start_ns = b->now_ns;

		memcpy(first, b->correlation, sizeof(first));
		feed_calls(b, shapes, count);
		feed_work(b);
		keep_work(b, shapes, count, start_ns, first);
		done += count;
	}
	feed_work(b);
}

static void write_profile(const char *path, uint64_t pairs, uint32_t stacks, struct result *ret)
{
	static struct bench b;
	struct correlator_options options = {.have_markers = true};
	struct profile_totals totals;
	double start_s;

	b.stack_count = stacks;
	check(profile_writer_open(&b.writer, path));
	check(profile_set_meta(b.writer, META_COMMAND, "bench/pipeline"));
	check(profile_set_meta(b.writer, META_SIMULATED, "1"));
	add_tasks(&b);
	add_ops(&b);
	add_stacks(&b);
	draw_shapes(&b);
	check(correlator_new(&b.correlator, b.writer, &options));
	b.sink = correlator_events(b.correlator);
	b.now_ns = clock_now_ns();
	start_s = cpu_s();
	feed_all(&b, pairs);
	check(correlator_finish(b.correlator));
	check(profile_writer_flush(b.writer));
	ret->write_s = cpu_s() - start_s;
	profile_writer_totals(b.writer, &totals);
	ret->file_bytes = totals.file_bytes;
	if (totals.works != pairs || totals.works_without_stack || totals.pendings)
		check(error_set(-EINVAL, "not every launch was joined"));
	correlator_free(b.correlator);
	check(profile_writer_close(b.writer));
	free(b.shapes);
	free(b.stacks);
}

static void read_profile(const char *path, struct result *ret)
{
	struct profile_reader *r;
	struct profile_event e;
	double start_s = cpu_s();
	int got;

	check(profile_reader_open(&r, path));
	while ((got = profile_reader_next(r, &e)) > 0)
		ret->events++;
	check(got);
	ret->read_s = cpu_s() - start_s;
	if (profile_reader_incomplete(r))
		fprintf(stderr, "pipeline: '%s' %s\n", path, profile_reader_incomplete(r));
	profile_reader_close(r);
}

/* One half of a run, in a process of its own, so that its memory is its own. */
static void run_apart(const char *path, uint64_t pairs, bool reading, struct result *ret)
{
	struct rusage usage;
	int fds[2], status;
	pid_t pid;

	if (pipe(fds) < 0)
		check(error_errno(-errno, "cannot make a pipe"));
	pid = fork();
	if (pid < 0)
		check(error_errno(-errno, "cannot fork"));
	if (!pid) {
		if (reading)
			read_profile(path, ret);
		else
			write_profile(path, pairs, STACKS, ret);
		exit(write(fds[1], ret, sizeof(*ret)) != sizeof(*ret));
	}
	close(fds[1]);
	if (read(fds[0], ret, sizeof(*ret)) != sizeof(*ret) || wait4(pid, &status, 0, &usage) < 0)
		check(error_set(-EIO, "a run failed"));
	close(fds[0]);
	ret->max_rss_kib = usage.ru_maxrss;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), by_size);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void print_row(const char *what, uint64_t pairs, double *seconds, int runs, long rss_kib,
	uint64_t file_bytes)
{
	double mid = median(seconds, runs);

	printf("%-22s %11.2f %10.1f %10.3f  %.3f-%.3f %9.1f %11.1f\n", what,
		(double)pairs / mid / 1e6, mid / (double)pairs * 1e9, mid, seconds[0],
		seconds[runs - 1], (double)rss_kib / 1024, (double)file_bytes / (double)pairs);
}

static void print_table(uint64_t pairs, int runs)
{
	double write_s[MAX_RUNS], read_s[MAX_RUNS];
	const char *folder = getenv("TMPDIR");
	struct result written = {0}, back = {0};
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/xpuprof-pipeline-XXXXXX", folder ? folder : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		check(error_errno(-errno, "cannot create '%s'", path));
	close(fd);
	for (int i = 0; i < runs; i++) {
		memset(&back, 0, sizeof(back));
		run_apart(path, pairs, false, &written);
		run_apart(path, pairs, true, &back);
		write_s[i] = written.write_s;
		read_s[i] = back.read_s;
	}
	unlink(path);
	printf("%" PRIu64 " launch-and-work pairs, medians of %d runs, CPU time of one core\n\n",
		pairs, runs);
	printf("%-22s %11s %10s %10s  %-11s %9s %11s\n", "", "M pairs/s", "ns/pair", "seconds",
		"min-max s", "RSS MiB", "bytes/pair");
	print_row("correlate and write", pairs, write_s, runs, written.max_rss_kib,
		written.file_bytes);
	print_row("read", pairs, read_s, runs, back.max_rss_kib, written.file_bytes);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: pipeline [-n PAIRS] [-r RUNS]\n       pipeline [-n PAIRS] [-s STACKS] "
		"FILE\n       pipeline --read FILE\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"read", no_argument, NULL, 'R'}, {0}};
	uint64_t pairs = 2000000;
	uint32_t stacks = STACKS;
	struct result result = {0};
	bool reading = false;
	int option, runs = 5;

	while ((option = getopt_long(argc, argv, "n:r:s:", options, NULL)) != -1) {
		if (option == 'n')
			pairs = strtoull(optarg, NULL, 10);
		else if (option == 'r')
			runs = atoi(optarg);
		else if (option == 's')
			stacks = (uint32_t)strtoul(optarg, NULL, 10);
		else if (option == 'R')
			reading = true;
		else
			return usage();
	}
	if (!pairs || !stacks || runs < 1 || runs > MAX_RUNS || argc - optind > 1 ||
		(reading && optind == argc))
		return usage();
	if (optind == argc) {
		print_table(pairs, runs);
	} else if (reading) {
		read_profile(argv[optind], &result);
		printf("%" PRIu64 " events in %.3f s of CPU time\n", result.events, result.read_s);
	} else {
		write_profile(argv[optind], pairs, stacks, &result);
	}
	return 0;
}
