// SPDX-License-Identifier: MIT
/* Totals and losses come from the test; what is expected of the text is written out, or counted by
 * a dumb twin. */
#include "monitor/metrics/metrics.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "bucket.h"
#include "checks/monitor.h"
#include "folder.h"
#include "monitor/metrics/exposition.h"
#include "tap.h"

#define CONTAINER "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"

enum { JOBS, RUN_TIME, MOVED, MISSED, SIZES, SECRET };

// clang-format off
static const struct monitor_series series[] = {
	[JOBS] = {.name = "jobs", .by_process = true, .label = {"ring"}, .metric = "jobs_queued", .help = "Jobs"},
	[RUN_TIME] = {.name = "run_time", .unit = UNIT_NANOSECONDS, .histogram = true, .by_process = true,
		.busy = true, .label = {"ring"}, .metric = "job_run", .help = "Time of a job"},
	[MOVED] = {.name = "moved", .unit = UNIT_BYTES, .label = {"from", "to"}, .metric = "moved", .help = "Moved"},
	[MISSED] = {.name = "missed", .label = {"CRTC"}, .metric = "vblanks_missed", .help = "Missed vblanks"},
	[SIZES] = {.name = "sizes", .unit = UNIT_BYTES, .histogram = true, .metric = "buffer", .help = "Buffers"},
	[SECRET] = {.name = "secret", .label = {"ring"}},
	{0},
};
// clang-format on

// clang-format off
static const struct monitor_event events[] = {
	{.name = "DONE", .counts = {{JOBS, VALUE_ONE, .label = {"ring"}},
		{RUN_TIME, VALUE_DURATION, .label = {"ring"}}}, .label = {"ring"}},
	{.name = "MOVE", .counts = {{MOVED, VALUE_FIELD, .field = "size"}, {MISSED, VALUE_MISSED},
		{SIZES, VALUE_FIELD, .field = "size"}}},
	{0},
};
// clang-format on

// clang-format off
static const struct monitor_object_row objects[] = {
	{.name = "job", .left = "jobs that did not end"},
	{.name = "buffer", .left = "buffers that were not freed", .by_stack = true, .freed_by = "MOVE"},
	{.name = "wait"},
	{0},
};
// clang-format on

static const struct monitor table = {
	.name = "test", .events = events, .series = series, .objects = objects};

struct watch {
	struct monitor_object_key key[8];
	struct monitor_object object[8];
	size_t count;
};

int watch_objects(struct watch *w, uint8_t kind,
	int (*visit)(void *, const struct monitor_object_key *, const struct monitor_object *),
	void *context)
{
	int error = 0;

	for (size_t i = 0; i < w->count && !error; i++)
		if (w->key[i].kind == kind)
			error = visit(context, &w->key[i], &w->object[i]);
	return error;
}

int watch_cells(struct watch *w,
	int (*visit)(void *, const struct monitor_cell_key *, const struct monitor_cell *),
	void *context)
{
	return 0;
}

int watch_forget(struct watch *w, const struct monitor_cell_key *key, struct monitor_cell *ret_last)
{
	return 0;
}

struct scene {
	struct totals totals;
	struct accounts accounts;
	struct held_list held;
	struct watch_event_status events[2];
	struct buf text;
	uint64_t cgroup; /* of CONTAINER */
};

static void begin(struct scene *s)
{
	struct stat st;

	*s = (struct scene){.totals = TOTALS_INIT, .text = BUF_INIT};
	CHECK(shell("rm -rf root && mkdir -p root/proc root/sys/fs/cgroup/docker-" CONTAINER
		    ".scope && "
		    "touch root/sys/fs/cgroup/cgroup.controllers"));
	CHECK(accounts_init(&s->accounts, in_folder("root")) == 0);
	CHECK(stat(in_folder("root/sys/fs/cgroup/docker-" CONTAINER ".scope"), &st) == 0);
	s->cgroup = st.st_ino;
	containers_refresh(s->accounts.containers, 1);
}

static void end(struct scene *s)
{
	totals_release(&s->totals);
	accounts_release(&s->accounts);
	held_list_release(&s->held);
	buf_release(&s->text);
}

static struct total *add_row(struct scene *s, uint16_t of, uint32_t pid, const char *label)
{
	struct total row = {.series = of, .pid = pid, .comm = "app", .cgroup = s->cgroup};

	snprintf(row.label[0], sizeof(row.label[0]), "%s", label);
	CHECK(vec_push(&s->totals.rows, row) == 0);
	return &s->totals.rows.items[s->totals.rows.count - 1];
}

static void add_value(struct total *row, uint64_t value)
{
	row->min = row->count && row->min < value ? row->min : value;
	row->max = row->max > value ? row->max : value;
	row->count++;
	row->sum += value;
	row->buckets[total_bucket(value)]++;
}

static void add_busy(struct scene *s, uint32_t pid, const char *label, uint64_t busy_ns)
{
	struct total_busy b = {.series = RUN_TIME, .pid = pid, .busy_ns = busy_ns};

	snprintf(b.label[0], sizeof(b.label[0]), "%s", label);
	CHECK(vec_push(&s->totals.busy, b) == 0);
}

static void add_process(struct scene *s, uint32_t pid)
{
	struct account_process p = {.pid = pid, .comm = "app", .cgroup = s->cgroup};

	CHECK(vec_push(&s->accounts.processes, p) == 0);
}

static const char *written(struct scene *s)
{
	struct metrics_input in = {.monitor = &table,
		.totals = &s->totals,
		.accounts = &s->accounts,
		.held = &s->held,
		.events = s->events,
		.watched_ns = 1500000000};

	buf_reset(&s->text);
	CHECK(metrics_write(&in, &s->text) == 0);
	return buf_text(&s->text);
}

/* The lines that begin so, valid until the next call. */
static const char *lines(const char *text, const char *start)
{
	static char found[65536];
	size_t size = 0;

	found[0] = '\0';
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		size_t length = strcspn(line, "\n") + 1;

		if (strncmp(line, start, strlen(start)) || size + length >= sizeof(found))
			continue;
		memcpy(found + size, line, length);
		size += length;
		found[size] = '\0';
	}
	return found;
}

static void a_watch_without_events_tells_of_itself(void)
{
	struct scene s;

	begin(&s);
	s.events[0] = (struct watch_event_status){.attached = true,
		.missed_known = true,
		.missed = 6,
		.totals = {.seen = 9,
			.records = 1,
			.objects = 2,
			.cells = 3,
			.strangers = 4,
			.unread = 5,
			.stacks = 8}};
	s.events[1] = (struct watch_event_status){
		.attached = true, .vanished = true, .totals = {.seen = 7}};
	s.accounts.ended = 2;
	s.accounts.forgotten = 1;
	CHECK_TEXT(written(&s),
		"# HELP xpuprof_build_info Always 1; the version is in the label.\n"
		"# TYPE xpuprof_build_info gauge\n"
		"xpuprof_build_info{version=\"" XPUPROF_VERSION "\"} 1\n"
		"# HELP xpuprof_watched_seconds_total Time since the watch began.\n"
		"# TYPE xpuprof_watched_seconds_total counter\n"
		"xpuprof_watched_seconds_total{monitor=\"test\"} 1.5\n"
		"# HELP xpuprof_ended_processes_total Processes that ended and are only counted "
		"with their container.\n"
		"# TYPE xpuprof_ended_processes_total counter\n"
		"xpuprof_ended_processes_total{monitor=\"test\"} 2\n"
		"# HELP xpuprof_forgotten_sums_total Sums of containers that are no longer "
		"exported, as they are gone or "
		"there were too many.\n"
		"# TYPE xpuprof_forgotten_sums_total counter\n"
		"xpuprof_forgotten_sums_total{monitor=\"test\"} 1\n"
		"# HELP xpuprof_event_watched 1 while the event can be watched on this kernel.\n"
		"# TYPE xpuprof_event_watched gauge\n"
		"xpuprof_event_watched{monitor=\"test\",event=\"DONE\"} 1\n"
		"xpuprof_event_watched{monitor=\"test\",event=\"MOVE\"} 0\n"
		"# HELP xpuprof_events_total How often the event came.\n"
		"# TYPE xpuprof_events_total counter\n"
		"xpuprof_events_total{monitor=\"test\",event=\"DONE\"} 9\n"
		"xpuprof_events_total{monitor=\"test\",event=\"MOVE\"} 7\n"
		"# HELP xpuprof_losses_total What could not be recorded of events, by cause; "
		"began_before is no loss of ours: "
		"it began before the watch.\n"
		"# TYPE xpuprof_losses_total counter\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"DONE\",cause=\"began_before\"} 4\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"DONE\",cause=\"field_unreadable\"} "
		"5\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"DONE\",cause=\"not_run\"} 6\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"DONE\",cause=\"ring_full\"} 1\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"DONE\",cause=\"too_many_cells\"} 3\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"DONE\",cause=\"too_many_objects\"} "
		"2\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"DONE\",cause=\"too_many_stacks\"} "
		"8\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"MOVE\",cause=\"began_before\"} 0\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"MOVE\",cause=\"field_unreadable\"} "
		"0\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"MOVE\",cause=\"ring_full\"} 0\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"MOVE\",cause=\"too_many_cells\"} 0\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"MOVE\",cause=\"too_many_objects\"} "
		"0\n"
		"xpuprof_losses_total{monitor=\"test\",event=\"MOVE\",cause=\"too_many_stacks\"} "
		"0\n");
	end(&s);
}

static void a_counter_is_told_in_all_by_container_and_by_process(void)
{
	struct scene s;

	begin(&s);
	add_row(&s, JOBS, 7, "gfx")->count = 5;
	add_row(&s, JOBS, 8, "gfx")->count = 3;
	add_row(&s, JOBS, 8, "sdma")->count = 1;
	s.totals.rows.items[1].cgroup = 0;
	written(&s);
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_jobs_queued"),
		"xpuprof_jobs_queued_total{monitor=\"test\",ring=\"gfx\"} 8\n"
		"xpuprof_jobs_queued_total{monitor=\"test\",ring=\"sdma\"} 1\n");
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_container_jobs_queued"),
		"xpuprof_container_jobs_queued_total{monitor=\"test\",ring=\"gfx\"} 3\n"
		"xpuprof_container_jobs_queued_total{monitor=\"test\",ring=\"gfx\",container="
		"\"" CONTAINER "\"} 5\n"
		"xpuprof_container_jobs_queued_total{monitor=\"test\",ring=\"sdma\",container="
		"\"" CONTAINER "\"} 1\n");
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_process_jobs_queued"),
		"xpuprof_process_jobs_queued_total{monitor=\"test\",ring=\"gfx\",pid=\"7\",comm="
		"\"app\",container=\"" CONTAINER "\"} 5\n"
		"xpuprof_process_jobs_queued_total{monitor=\"test\",ring=\"gfx\",pid=\"8\",comm="
		"\"app\"} 3\n"
		"xpuprof_process_jobs_queued_total{monitor=\"test\",ring=\"sdma\",pid=\"8\",comm="
		"\"app\",container=\"" CONTAINER "\"} 1\n");
	CHECK_TEXT(lines(buf_text(&s.text), "# TYPE xpuprof_container_jobs"),
		"# TYPE xpuprof_container_jobs_queued_total counter\n");
	end(&s);
}

static void a_time_is_a_histogram_in_seconds_and_by_process_a_summary(void)
{
	struct total *row;
	struct scene s;

	begin(&s);
	row = add_row(&s, RUN_TIME, 7, "gfx");
	add_value(row, 1023);
	add_value(row, 1024);
	add_value(row, 2000000000);
	written(&s);
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_job_run"),
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.000001023\"} "
		"1\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.000004095\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.000016383\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.000032767\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.000065535\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.000131071\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.000262143\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.000524287\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.001048575\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.002097151\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.004194303\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.008388607\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.016777215\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.033554431\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.067108863\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.134217727\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"0.268435455\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"1.073741823\"} "
		"2\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"4.294967295\"} "
		"3\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"17.179869183\"} "
		"3\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"68.719476735\"} "
		"3\n"
		"xpuprof_job_run_seconds_bucket{monitor=\"test\",ring=\"gfx\",le=\"+Inf\"} 3\n"
		"xpuprof_job_run_seconds_sum{monitor=\"test\",ring=\"gfx\"} 2.000002047\n"
		"xpuprof_job_run_seconds_count{monitor=\"test\",ring=\"gfx\"} 3\n");
	CHECK_TEXT(lines(buf_text(&s.text), "# TYPE xpuprof_job_run"),
		"# TYPE xpuprof_job_run_seconds histogram\n");
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_process_job_run_seconds_"),
		"xpuprof_process_job_run_seconds_sum{monitor=\"test\",ring=\"gfx\",pid=\"7\",comm="
		"\"app\",container=\"" CONTAINER "\"} 2.000002047\n"
		"xpuprof_process_job_run_seconds_count{monitor=\"test\",ring=\"gfx\",pid=\"7\","
		"comm=\"app\",container=\"" CONTAINER "\"} 3\n");
	CHECK_TEXT(lines(buf_text(&s.text), "# TYPE xpuprof_process_job_run"),
		"# TYPE xpuprof_process_job_run_seconds summary\n");
	CHECK(strstr(buf_text(&s.text), CONTAINER "\",quantile=\"0.99\"} 1.946157055\n"));
	CHECK(strstr(buf_text(&s.text), CONTAINER "\",quantile=\"0.5\"} 0.00000"));
	end(&s);
}

static uint64_t random_value(unsigned int *seed)
{
	uint64_t value =
		((uint64_t)(unsigned int)rand_r(seed) << 31 | (unsigned int)rand_r(seed)) >>
		((unsigned int)rand_r(seed) % 60);

	/* Half of them on the edges of buckets, where a mistake would show. */
	return rand_r(seed) % 2
		       ? value
		       : total_bucket_low(total_bucket(value)) - (unsigned int)rand_r(seed) % 2;
}

/* Each bound of a histogram counts what a dumb twin counts up to it: *ret is how many there
 * were. */
static int check_bounds(
	const char *text, const char *name, const uint64_t *values, size_t count, double unit)
{
	int bounds = 0;

	for (const char *at = text; (at = strstr(at, name)); at++) {
		const char *le = strstr(at, "le=\"");
		unsigned long long told, twin = 0;
		double bound;

		if ((at > text && at[-1] != '\n') || !le ||
			sscanf(le, "le=\"%lf\"} %llu", &bound, &told) != 2)
			continue;
		for (size_t i = 0; i < count; i++)
			twin += (double)values[i] / unit <= bound;
		CHECK(told == twin);
		bounds++;
	}
	return bounds;
}

static void every_bound_counts_exactly_what_is_up_to_it(void)
{
	enum { COUNT = 20000 };
	static uint64_t times[COUNT], sizes[COUNT];
	unsigned int seed = 1;
	struct scene s;

	begin(&s);
	add_row(&s, RUN_TIME, 7, "gfx");
	add_row(&s, SIZES, 0, "");
	for (size_t i = 0; i < COUNT; i++) {
		times[i] = random_value(&seed);
		sizes[i] = random_value(&seed);
		add_value(&s.totals.rows.items[0], times[i]);
		add_value(&s.totals.rows.items[1], sizes[i]);
	}
	written(&s);
	CHECK(check_bounds(buf_text(&s.text), "xpuprof_job_run_seconds_bucket{", times, COUNT,
		      1e9) == 22);
	CHECK(check_bounds(buf_text(&s.text), "xpuprof_container_job_run_seconds_bucket{", times,
		      COUNT, 1e9) == 22);
	CHECK(check_bounds(buf_text(&s.text), "xpuprof_buffer_bytes_bucket{", sizes, COUNT, 1) ==
		14);
	end(&s);
}

static void sums_and_numbers_have_names_of_their_own(void)
{
	struct total *row;
	struct scene s;

	begin(&s);
	row = add_row(&s, MOVED, 0, "vram");
	snprintf(row->label[1], sizeof(row->label[1]), "gtt");
	row->count = 2;
	row->sum = 8192;
	row = add_row(&s, MISSED, 0, "0");
	row->count = 3;
	row->sum = 17;
	written(&s);
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_moved"),
		"xpuprof_moved_bytes_total{monitor=\"test\",from=\"vram\",to=\"gtt\"} 8192\n"
		"xpuprof_moved_events_total{monitor=\"test\",from=\"vram\",to=\"gtt\"} 2\n");
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_vblanks_missed"),
		"xpuprof_vblanks_missed_total{monitor=\"test\",crtc=\"0\"} 17\n"
		"xpuprof_vblanks_missed_events_total{monitor=\"test\",crtc=\"0\"} 3\n");
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_container_"), "");
	end(&s);
}

static void a_series_that_has_no_metric_is_not_told(void)
{
	struct scene s;

	begin(&s);
	add_row(&s, SECRET, 0, "gfx")->count = 1;
	CHECK(!strstr(written(&s), "secret"));
	end(&s);
}

static void busy_time_of_a_ring_is_its_own_and_not_the_sum_of_its_processes(void)
{
	struct scene s;

	begin(&s);
	add_value(add_row(&s, RUN_TIME, 7, "gfx"), 100);
	add_value(add_row(&s, RUN_TIME, 8, "gfx"), 100);
	add_process(&s, 7);
	add_process(&s, 8);
	add_busy(&s, 0, "gfx", 150000000);
	add_busy(&s, 7, "", 100000000);
	add_busy(&s, 7, "gfx", 100000000);
	add_busy(&s, 8, "gfx", 100000000);
	written(&s);
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_gpu_busy"),
		"xpuprof_gpu_busy_seconds_total{monitor=\"test\",ring=\"gfx\"} 0.15\n"
		"xpuprof_gpu_busy_uncertain_seconds_total{monitor=\"test\",ring=\"gfx\"} 0\n");
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_container_gpu_busy"),
		"xpuprof_container_gpu_busy_seconds_total{monitor=\"test\",ring=\"gfx\",container="
		"\"" CONTAINER "\"} 0.2\n");
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_process_gpu_busy"),
		"xpuprof_process_gpu_busy_seconds_total{monitor=\"test\",ring=\"gfx\",pid=\"7\","
		"comm=\"app\","
		"container=\"" CONTAINER "\"} 0.1\n"
		"xpuprof_process_gpu_busy_seconds_total{monitor=\"test\",ring=\"gfx\",pid=\"8\","
		"comm=\"app\","
		"container=\"" CONTAINER "\"} 0.1\n");
	end(&s);
}

static void ended_processes_stay_in_their_container_and_in_all(void)
{
	struct account all = {.sum = {.series = JOBS, .count = 10, .label = {"gfx"}}};
	struct account container = {.sum = {.series = JOBS, .count = 10, .label = {"gfx"}}};
	struct account busy = {
		.sum = {.series = RUN_TIME, .busy_ns = 3000000000, .label = {"gfx"}}};
	struct scene s;

	begin(&s);
	container.container = strdup(CONTAINER);
	busy.container = strdup("/gone");
	CHECK(vec_push(&s.accounts.sums, all) == 0 && vec_push(&s.accounts.sums, container) == 0 &&
		vec_push(&s.accounts.sums, busy) == 0);
	add_row(&s, JOBS, 7, "gfx")->count = 5;
	written(&s);
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_jobs_queued"),
		"xpuprof_jobs_queued_total{monitor=\"test\",ring=\"gfx\"} 15\n");
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_container_"),
		"xpuprof_container_jobs_queued_total{monitor=\"test\",ring=\"gfx\",container="
		"\"" CONTAINER "\"} 15\n"
		"xpuprof_container_gpu_busy_seconds_total{monitor=\"test\",ring=\"gfx\",container="
		"\"/gone\"} 3\n");
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_process_"),
		"xpuprof_process_jobs_queued_total{monitor=\"test\",ring=\"gfx\",pid=\"7\",comm="
		"\"app\",container=\"" CONTAINER "\"} 5\n");
	end(&s);
}

static void hold(struct watch *w, uint64_t kind, uint32_t pid, const char *ring, uint64_t begun_ns,
	uint64_t value)
{
	struct monitor_object *o = &w->object[w->count];

	w->key[w->count++].kind = kind;
	*o = (struct monitor_object){
		.stage_ns = {begun_ns}, .value = value, .pid = pid, .comm = "maker"};
	snprintf(o->label[0], sizeof(o->label[0]), "%s", ring);
}

static void what_processes_hold_is_counted_by_kind(void)
{
	struct watch w = {.count = 0};
	struct scene s;

	begin(&s);
	add_process(&s, 7);
	hold(&w, 0, 7, "gfx", 1, 99);
	hold(&w, 0, 7, "sdma", 2, 0);
	hold(&w, 0, 9, "gfx", 3, 0);
	hold(&w, 0, 9, "gfx", 0, 0); /* a place that is kept */
	hold(&w, 1, 7, "", 4, 4096);
	hold(&w, 1, 7, "", 5, 8192);
	hold(&w, 1, 7, "", 6, UINT64_MAX); /* no number */
	hold(&w, 2, 7, "", 7, 1);
	s.events[1].attached = true;
	CHECK(held_fetch(&table, &w, s.events, 0, NULL, &s.held) == 0);
	written(&s);
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_object"),
		"xpuprof_objects{monitor=\"test\",object=\"buffer\"} 3\n"
		"xpuprof_objects{monitor=\"test\",object=\"job\"} 3\n"
		"xpuprof_object_bytes{monitor=\"test\",object=\"buffer\"} 12288\n");
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_process_object"),
		"xpuprof_process_objects{monitor=\"test\",object=\"buffer\",pid=\"7\",comm=\"app\","
		"container=\"" CONTAINER "\"} 3\n"
		"xpuprof_process_objects{monitor=\"test\",object=\"job\",pid=\"7\",comm=\"app\","
		"container=\"" CONTAINER "\"} 2\n"
		"xpuprof_process_objects{monitor=\"test\",object=\"job\",pid=\"9\",comm=\"maker\"} "
		"1\n"
		"xpuprof_process_object_bytes{monitor=\"test\",object=\"buffer\",pid=\"7\",comm="
		"\"app\","
		"container=\"" CONTAINER "\"} 12288\n");
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_container_object_bytes"),
		"xpuprof_container_object_bytes{monitor=\"test\",object=\"buffer\",container="
		"\"" CONTAINER "\"} 12288\n");
	end(&s);
}

static void objects_that_are_not_seen_to_end_or_not_asked_for_are_not_counted(void)
{
	struct watch_event_status statuses[2] = {0};
	struct held_list held = HELD_LIST_INIT;
	struct watch w = {.count = 0};

	hold(&w, 0, 7, "gfx", 1, 0);
	hold(&w, 0, 8, "gfx", 1, 0);
	hold(&w, 0, 7, "sdma", 1, 0);
	hold(&w, 1, 7, "gfx", 4, 4096);
	CHECK(held_fetch(&table, &w, statuses, 0, NULL, &held) == 0);
	CHECK(held.rows.count == 2 && held.rows.items[0].object == 0 &&
		held.rows.items[1].object == 0);
	held_list_release(&held);
	statuses[1] = (struct watch_event_status){.attached = true, .vanished = true};
	CHECK(held_fetch(&table, &w, statuses, 0, NULL, &held) == 0);
	CHECK(held.rows.count == 2);
	held_list_release(&held);
	CHECK(held_fetch(&table, &w, statuses, 7, "gfx", &held) == 0);
	CHECK(held.rows.count == 1 && held.rows.items[0].count == 1 && held.rows.items[0].pid == 7);
	held_list_release(&held);
}

static void names_that_become_the_same_text_are_one_sample(void)
{
	struct scene s;

	begin(&s);
	add_row(&s, JOBS, 7, "gfx\xff")->count = 5;
	add_row(&s, JOBS, 7, "gfx\\xff")->count = 6;
	written(&s);
	CHECK_TEXT(lines(buf_text(&s.text), "xpuprof_jobs_queued"),
		"xpuprof_jobs_queued_total{monitor=\"test\",ring=\"gfx\\\\xff\"} 11\n");
	end(&s);
}

static const char *label_of(const char *value)
{
	static char text[256];
	struct buf b = BUF_INIT;

	exposition_label(&b, "x", value);
	snprintf(text, sizeof(text), "%s", buf_text(&b));
	buf_release(&b);
	return text;
}

static void labels_are_escaped_and_printable(void)
{
	CHECK_TEXT(label_of("a\"b\\c\nd"), "x=\"a\\\"b\\\\c\\\\x0ad\"");
	CHECK_TEXT(label_of("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
		"x=\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
	CHECK_TEXT(label_of("\xc3\x1b"), "x=\"\\\\xc3\\\\x1b\"");
	CHECK_TEXT(label_of(""), "");
}

static const char *number_of(uint64_t value, enum exposition_unit unit)
{
	static char text[64];
	struct buf b = BUF_INIT;

	exposition_number(&b, value, unit);
	snprintf(text, sizeof(text), "%s", buf_text(&b));
	buf_release(&b);
	return text;
}

static void times_are_exact_seconds(void)
{
	CHECK_TEXT(number_of(0, EXPOSITION_NANOSECONDS), "0");
	CHECK_TEXT(number_of(1, EXPOSITION_NANOSECONDS), "0.000000001");
	CHECK_TEXT(number_of(1000000000, EXPOSITION_NANOSECONDS), "1");
	CHECK_TEXT(number_of(12340000000, EXPOSITION_NANOSECONDS), "12.34");
	CHECK_TEXT(number_of(UINT64_MAX, EXPOSITION_NANOSECONDS), "18446744073.709551615");
	CHECK_TEXT(number_of(UINT64_MAX, EXPOSITION_BYTES), "18446744073709551615");
}

static void every_monitor_has_names_that_prometheus_takes(void)
{
	for (size_t i = 0; monitor_at(i); i++)
		if (metrics_check(monitor_at(i)) < 0) {
			CHECK(!"wrong table");
			printf("# %s\n", error_text());
		}
}

static void every_metric_is_in_its_monitors_part_of_the_document(void)
{
	struct buf text = BUF_INIT, wanted = BUF_INIT;

	if (io_read_file("docs/metrics.md", 1 << 20, &text) < 0) {
		SKIP("not run in the folder that has docs/");
		return;
	}
	buf_putc(&text, '\0');
	for (size_t i = 0; monitor_at(i); i++) {
		const struct monitor *m = monitor_at(i);
		const char *part, *end;

		buf_reset(&wanted);
		buf_printf(&wanted, "\n### %s\n", m->name);
		part = strstr(text.data, buf_text(&wanted));
		CHECK(part);
		end = part ? strstr(part + 1, "\n## ") : NULL;
		if (part && strstr(part + 1, "\n### "))
			end = strstr(part + 1, "\n### ");
		for (size_t n = 0; part && m->series && m->series[n].name; n++) {
			const char *found;

			if (!m->series[n].metric)
				continue;
			buf_reset(&wanted);
			buf_printf(&wanted, "\n| `%s` | ", m->series[n].metric);
			found = strstr(part, buf_text(&wanted));
			if (!found || (end && found > end)) {
				CHECK(!"in docs/metrics.md");
				printf("# %s: %s\n", m->name, m->series[n].metric);
			}
		}
	}
	buf_release(&wanted);
	buf_release(&text);
}

static void a_table_with_wrong_names_is_found_out(void)
{
	struct monitor_series wrong[] = {series[JOBS], series[RUN_TIME], {0}};
	struct monitor m = {.name = "wrong", .events = events, .series = wrong};

	CHECK(metrics_check(&m) == 0);
	wrong[0].metric = "jobs queued";
	CHECK(metrics_check(&m) == -EINVAL);
	wrong[0] = wrong[1];
	CHECK(metrics_check(&m) == -EINVAL);
	CHECK(strstr(error_text(), "two metrics"));
	wrong[0] = series[JOBS];
	wrong[0].label[1] = "pid";
	CHECK(metrics_check(&m) == -EINVAL);
	wrong[0].label[1] = "__ring";
	CHECK(metrics_check(&m) == -EINVAL);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(a_watch_without_events_tells_of_itself);
	RUN(a_counter_is_told_in_all_by_container_and_by_process);
	RUN(a_time_is_a_histogram_in_seconds_and_by_process_a_summary);
	RUN(every_bound_counts_exactly_what_is_up_to_it);
	RUN(sums_and_numbers_have_names_of_their_own);
	RUN(a_series_that_has_no_metric_is_not_told);
	RUN(busy_time_of_a_ring_is_its_own_and_not_the_sum_of_its_processes);
	RUN(ended_processes_stay_in_their_container_and_in_all);
	RUN(what_processes_hold_is_counted_by_kind);
	RUN(objects_that_are_not_seen_to_end_or_not_asked_for_are_not_counted);
	RUN(names_that_become_the_same_text_are_one_sample);
	RUN(labels_are_escaped_and_printable);
	RUN(times_are_exact_seconds);
	RUN(every_monitor_has_names_that_prometheus_takes);
	RUN(every_metric_is_in_its_monitors_part_of_the_document);
	RUN(a_table_with_wrong_names_is_found_out);
	shell("rm -rf root");
	rmdir(folder);
	return tap_end();
}
