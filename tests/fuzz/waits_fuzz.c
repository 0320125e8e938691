// SPDX-License-Identifier: MIT
/*
 * Fuzz target: profiles of threads that wait, and of GPU work, whose times are as the bytes say:
 * also far apart, before the recording, or past the end of time. `report` and the views must be
 * made of them, and what they say must add up.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/busy.h"
#include "report/report.h"
#include "export/exporter.h"
#include "fuzz.h"
#include "profile/writer.h"
#include "view/wall/wall.h"

#define THREADS 4
#define OPS	6
#define STACKS	4
#define STRETCH 8 /* events that the wall view keeps */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

struct input {
	struct bytes b;
	struct profile_writer *w;
	uint32_t threads[THREADS], ops[OPS], stacks[STACKS], api;
	uint32_t correlation;
};

/* 0 to 255, of some unit: the largest ones are as long as there is time, and not a multiple of
 * anything. */
static uint64_t take_time(struct input *in)
{
	static const unsigned int units[] = {0, 0, 4, 4, 10, 10, 10, 20, 30, 40, 56};
	uint64_t value = take(&in->b, 256);
	unsigned int unit = units[take(&in->b, sizeof(units) / sizeof(units[0]))];

	return unit == 56 ? value << 56 | 0xffffffffffffff : value << unit;
}

static uint32_t string(struct input *in, const char *text)
{
	uint32_t id = 0;

	require(!profile_add_string(in->w, text, strlen(text), &id));
	return id;
}

static void add_tables(struct input *in)
{
	static const char *const names[STACKS] = {
		"main", "read", "[incomplete stack: x]", "cudaLaunchKernel"};

	for (uint32_t n = 0; n < THREADS; n++) {
		struct profile_process p = {.pid = 1 + n / 2};
		struct profile_thread t = {.tid = 100 + n};

		require(!profile_add_process(in->w, &p, &t.process) &&
			!profile_add_thread(in->w, &t, &in->threads[n]));
	}
	for (uint32_t n = 0; n < OPS; n++) {
		struct profile_device d = {.uuid = {(uint8_t)(1 + n / 4)}};
		struct profile_op op = {.kind = n % 3 ? OP_KERNEL : OP_COPY,
			.process = 1 + n % 2,
			.context = 1 + n / 4,
			.stream = 7 + n % 2,
			.name = n % 3 ? string(in, "kernel") : 0};

		require(!profile_add_device(in->w, &d, &op.device) &&
			!profile_add_op(in->w, &op, &in->ops[n]));
	}
	for (uint32_t n = 0; n < STACKS; n++) {
		struct profile_location l = {.kind = n == 2   ? FRAME_NOTE
						     : n == 1 ? FRAME_KERNEL
							      : FRAME_PYTHON,
			.name = string(in, names[n])};
		uint32_t location;

		require(!profile_add_location(in->w, &l, &location));
		require(!profile_add_stack_node(
			in->w, n ? in->stacks[n - 1] : 0, location, &in->stacks[n]));
	}
	in->api = string(in, "cudaStreamSynchronize");
}

static uint32_t thread(struct input *in)
{
	return in->threads[take(&in->b, THREADS)];
}

static uint32_t stack(struct input *in)
{
	uint32_t n = take(&in->b, STACKS + 1);

	return n ? in->stacks[n - 1] : 0;
}

static void add_work(struct input *in)
{
	struct profile_work w = {.start_ns = take_time(in),
		.duration_ns = take_time(in),
		.launch_ns = take_time(in),
		.op = in->ops[take(&in->b, OPS)],
		.stack = stack(in),
		.api = in->api,
		.instance = take(&in->b, 2),
		.correlation = take(&in->b, 2) ? in->correlation : take(&in->b, 9),
		.graph_node = take(&in->b, 3) / 2,
		.graph_context = take(&in->b, 3)};

	w.graph_stream = w.graph_context ? 7 + take(&in->b, 2) : 0;
	w.thread = take(&in->b, 5) ? thread(in) : 0;
	w.join = w.stack ? JOIN_OK : JOIN_NO_LAUNCH;
	require(!profile_write_work(in->w, &w));
}

static void add_call(struct input *in)
{
	struct profile_call c = {.start_ns = take_time(in),
		.duration_ns = take_time(in),
		.thread = thread(in),
		.stack = stack(in),
		.api = in->api,
		.kind = (enum profile_call_kind)(1 + take(&in->b, CALL_KINDS - 1)),
		.instance = take(&in->b, 2),
		.correlation = ++in->correlation};
	struct profile_sync s = {.start_ns = c.start_ns,
		.duration_ns = c.duration_ns,
		.recorded_ns = take_time(in),
		.instance = c.instance,
		.correlation = c.correlation,
		.thread = c.thread,
		.stack = c.stack,
		.api = c.api,
		.device = take(&in->b, 2),
		.context = take(&in->b, 3),
		.stream = 7 + take(&in->b, 2),
		.kind = (enum profile_sync_kind)(1 + take(&in->b, SYNC_KINDS - 1))};

	require(!profile_write_call(in->w, &c));
	if (c.kind == CALL_SYNC && take(&in->b, 3))
		require(!profile_write_sync(in->w, &s));
}

static void add_wait(struct input *in)
{
	struct profile_wait w = {.start_ns = take_time(in),
		.duration_ns = take(&in->b, 4) ? take_time(in) : 0,
		.thread = thread(in),
		.stack = stack(in),
		.waker = take(&in->b, 3) ? 0 : thread(in),
		.assumed = take(&in->b, 2),
		.reason = (enum profile_wait_reason)(1 + take(&in->b, WAIT_REASONS - 1))};

	w.queued_ns = w.duration_ns ? take_time(in) % w.duration_ns : 0;
	w.others = take(&in->b, 3);
	w.others_ns = w.others ? take_time(in) : 0;
	require(!profile_write_wait(in->w, &w));
}

static void add_sample(struct input *in)
{
	struct profile_sample s = {.time_ns = take_time(in),
		.period_ns = take_time(in),
		.thread = thread(in),
		.stack = stack(in)};

	require(!profile_write_sample(in->w, &s));
}

static void add_lives(struct input *in)
{
	for (uint32_t n = 0; n < THREADS; n++) {
		struct profile_life l = {.start_ns = take_time(in),
			.duration_ns = take_time(in),
			.thread = in->threads[n]};

		l.run_ns = l.duration_ns ? take_time(in) % l.duration_ns : 0;
		require(!profile_write_life(in->w, &l));
	}
}

static void write_profile(const uint8_t *data, size_t size, bool lives)
{
	struct input in = {.b = {.data = data, .size = size}};

	require(!profile_writer_open(&in.w, path));
	add_tables(&in);
	if (lives)
		add_lives(&in);
	while (in.b.size)
		switch (take(&in.b, 5)) {
		case 0:
		case 1:
			add_work(&in);
			break;
		case 2:
			add_call(&in);
			break;
		case 3:
			add_wait(&in);
			break;
		default:
			add_sample(&in);
		}
	require(!profile_writer_close(in.w));
}

static uint64_t sum_of(const struct wait_shares *s, uint32_t row)
{
	struct wait_range range = wait_shares_of(s, row);
	uint64_t ns = 0;

	for (size_t i = 0; i < range.count; i++)
		ns += range.items[i].total_ns;
	return ns;
}

static void check_waits(const struct wait_sums *s)
{
	uint64_t rows_ns = 0, reasons_ns = 0;

	vec_foreach (row, &s->rows) {
		require(row->queued_ns <= row->total_ns && row->max_ns <= row->total_ns);
		rows_ns += row->total_ns;
		require(row->followed_ns <= row->watched_ns && row->watched_ns <= row->total_ns);
		require(sum_of(&s->wakers, row->number) == row->watched_ns);
		require(sum_of(&s->meanwhile.doings, row->number) <= row->followed_ns);
	}
	for (unsigned int i = 0; i < WAIT_REASONS; i++)
		reasons_ns += s->reason_ns[i];
	require(rows_ns == s->total_ns && reasons_ns == s->total_ns);
}

static void check_gaps(const struct gaps *g)
{
	vec_foreach (d, &g->devices) {
		uint64_t listed_ns = 0, summed_ns = 0;

		for (size_t n = 0; n < d->count; n++) {
			const struct gap *gap = &g->gaps.items[d->first + n];

			require(gap->end_ns > gap->start_ns && gap->next < g->events.works.count);
			listed_ns += gap->end_ns - gap->start_ns;
		}
		for (unsigned int i = 0; i < GAP_CAUSES; i++)
			summed_ns += d->many[i].total_ns + d->once[i].total_ns;
		require(listed_ns == d->idle_ns && summed_ns == d->idle_ns &&
			d->idle_ns <= d->span_ns);
	}
	vec_foreach (p, &g->processes)
		for (unsigned int i = 0; i < GAP_CAUSES; i++)
			require(p->causes_ns[i] <= p->span_ns && p->once_ns <= p->span_ns);
}

static void check_functions(const struct function_sums *f, uint64_t cpu_ns)
{
	uint64_t self_ns = 0;

	vec_foreach (row, &f->rows) {
		require(row->self.ns <= row->total.ns && row->total.ns <= cpu_ns);
		self_ns += row->self.ns;
	}
	require(self_ns == cpu_ns);
}

static void print(struct report *r)
{
	struct location_texts texts = {0};
	struct function_sums functions = {0};
	struct buf out = BUF_INIT;

	require(!location_texts_init(&texts, r->reader, false));
	require(!function_sums_read(
		&functions, &r->summary->sampled, &r->summary->internals, &texts, true));
	check_functions(&functions, r->summary->cpu_ns);
	r->texts = &texts;
	r->functions = &functions;
	report_text(r, &out);
	report_json(r, &out);
	require(!out.failed);
	function_sums_release(&functions);
	location_texts_release(&texts);
	buf_release(&out);
}

static void report(const struct profile_reader *reader, const struct summary *s, size_t most)
{
	struct gaps gaps = {0};
	struct sync_waits waits = {0};
	struct report r = {.path = "p.xpu",
		.reader = reader,
		.summary = s,
		.gaps = &gaps,
		.sync_waits = &waits};

	gaps.events.parts =
		gap_parts_of(s->start_ns, s->end_ns, s->works + s->calls + s->samples, most);
	gaps.events.chunks = &s->chunks;
	require(!gaps_read_within(&gaps, &s->internals, most));
	check_gaps(&gaps);
	require(!sync_waits_find(&waits, &gaps.events, &s->internals));
	print(&r);
	sync_waits_release(&waits);
	gaps_release(&gaps);
}

static void see_report(void)
{
	struct summary *s = calloc(1, sizeof(*s));
	struct profile_reader *r = NULL;
	int error;

	require(s && !profile_reader_open(&r, path));
	error = summary_read(s, r);
	require(!error || error == -EOVERFLOW);
	if (!error) {
		check_waits(&s->waits);
		report(r, s, GAP_EVENTS_MAX);
		report(r, s, STRETCH);
	}
	summary_release(s);
	free(s);
	profile_reader_close(r);
}

/* The time of all threads; false: there is no telling. */
static bool see_wall(size_t most, uint64_t *ret_ns)
{
	static const struct view_options options;
	struct view_result v = {0};
	struct tree_totals totals;
	struct profile_reader *r = NULL;
	int error;

	require(!tree_new(&v.tree) && !profile_reader_open(&r, path));
	error = wall_build_within(r, &options, &v, most);
	require(!error || error == -EOVERFLOW);
	if (!error) {
		require(!tree_sort(v.tree) && !tree_totals_init(&totals, v.tree));
		*ret_ns = tree_totals_of(&totals, 0).cpu + tree_totals_of(&totals, 0).gpu;
		tree_totals_release(&totals);
	}
	view_result_release(&v);
	profile_reader_close(r);
	return !error;
}

static void see_view(const char *name)
{
	struct view_options options = {
		.view = view_by_name(name), .by = VIEW_BY_THREAD | VIEW_BY_STREAM};
	struct view_result v;
	int error = view_read(path, &options, &v);

	require(!error || error == -EOVERFLOW);
	if (!error)
		view_result_release(&v);
}

static void see_chrome(void)
{
	struct export_options options = EXPORT_OPTIONS_INIT;
	struct export_result result = {0};
	struct output *o;

	require(!output_open(&o, NULL, "/dev/null") && !export_chrome(path, &options, o, &result) &&
		!output_commit(o));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	snprintf(path, sizeof(path), "/dev/shm/waits_fuzz.%d", getpid());
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t at_once_ns, in_stretches_ns;

	bool lives = size && data[0] % 2;

	write_profile(data, size, lives);
	see_report();
	if (see_wall(SIZE_MAX, &at_once_ns) && see_wall(STRETCH, &in_stretches_ns))
		require(!lives || at_once_ns == in_stretches_ns);
	see_view("off-cpu");
	see_view("merge");
	see_chrome();
	unlink(path);
	return 0;
}
