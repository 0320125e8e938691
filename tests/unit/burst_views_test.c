// SPDX-License-Identifier: MIT
/*
 * The same program recorded whole, and one twentieth of it in bursts: what reports and pictures
 * make of the bursts must be what the whole recording has, within the errors that they show.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "export/exporter.h"
#include "profile/writer.h"
#include "random.h"
#include "report/report.h"
#include "tap.h"
#include "view/tables/summary.h"
#include "view/view.h"

#define MS	  1000000ull
#define US	  1000ull
#define PERIOD_NS (500 * MS)
#define BURST_NS  (25 * MS)
#define PERIODS	  80
#define PROCESSES 2
#define KERNELS	  4

static char folder[] = "/tmp/burst_views_test.XXXXXX";
static char whole_path[64], bursts_path[64], none_path[64];

/* ------------------------------------------------------------------ the program */

struct made {
	struct profile_writer *w;
	bool bursts;
	uint32_t process[PROCESSES], thread[PROCESSES], kernel[PROCESSES][KERNELS], copy[PROCESSES],
		stack[2], launch, wait;
	uint64_t burst_ns[PROCESSES][PERIODS]; /* where each begins */
	uint64_t works, calls;		       /* written */
};

static uint32_t string(struct made *m, const char *text)
{
	uint32_t id = 0;

	CHECK(!profile_add_string(m->w, text, strlen(text), &id));
	return id;
}

static uint32_t stack_of(struct made *m, const char *name, uint32_t parent)
{
	struct profile_location l = {
		.kind = FRAME_PYTHON, .name = string(m, name), .file = string(m, "/a/train.py")};
	uint32_t location = 0, id = 0;

	CHECK(!profile_add_location(m->w, &l, &location));
	CHECK(!profile_add_stack_node(m->w, parent, location, &id));
	return id;
}

static void add_process(struct made *m, uint32_t n)
{
	static const char *const names[KERNELS] = {"gemm", "gemm", "softmax", "rare"};
	struct profile_process p = {.pid = (int32_t)(100 + n), .comm = string(m, "train")};
	struct profile_thread t = {.tid = (int32_t)(100 + n), .name = p.comm};
	struct profile_device d = {.name = string(m, "GPU"), .ordinal = n, .uuid = {n + 1}};
	struct profile_op op = {.kind = OP_KERNEL, .grid = {1, 1, 1}};

	CHECK(!profile_add_process(m->w, &p, &m->process[n]));
	t.process = op.process = m->process[n];
	CHECK(!profile_add_thread(m->w, &t, &m->thread[n]));
	CHECK(!profile_add_device(m->w, &d, &op.device));
	for (uint32_t k = 0; k < KERNELS; k++) {
		op.name = string(m, names[k]);
		op.grid[0] = k + 1; /* gemm has two shapes */
		CHECK(!profile_add_op(m->w, &op, &m->kernel[n][k]));
	}
	op = (struct profile_op){.kind = OP_COPY,
		.process = op.process,
		.device = op.device,
		.copy_kind = COPY_HTOD,
		.source_memory = MEMORY_PINNED,
		.target_memory = MEMORY_DEVICE};
	CHECK(!profile_add_op(m->w, &op, &m->copy[n]));
}

static bool is_recorded(const struct made *m, uint32_t n, uint64_t time_ns)
{
	uint64_t start_ns = m->burst_ns[n][(time_ns - 1) / PERIOD_NS];

	return !m->bursts || (time_ns >= start_ns && time_ns < start_ns + BURST_NS);
}

static void write_call(struct made *m, uint32_t n, struct profile_call call)
{
	call.thread = m->thread[n];
	call.instance = n + 1;
	CHECK(!profile_write_call(m->w, &call));
	m->calls++;
}

/* A call, and a quarter of a millisecond later its work. */
static void write_work(struct made *m, uint32_t n, struct profile_work work, bool failed)
{
	work.start_ns = work.launch_ns + 250 * US;
	work.thread = m->thread[n];
	work.api = m->launch;
	work.instance = n + 1;
	write_call(m, n,
		(struct profile_call){.start_ns = work.launch_ns,
			.duration_ns = 5 * US,
			.stack = work.stack,
			.api = m->launch,
			.kind = CALL_LAUNCH,
			.result = failed,
			.correlation = work.correlation});
	CHECK(!profile_write_work(m->w, &work));
	m->works++;
}

/* Steps of five works, which take longer in the second half; every choice is made whether it is
 * recorded or not. */
static void write_step(struct made *m, uint32_t n, uint64_t time_ns, uint32_t step)
{
	uint64_t slow = time_ns > PERIODS * PERIOD_NS / 2 ? 3 : 2;

	for (uint32_t i = 0; i < 5; i++) {
		uint32_t kernel = i < 3 ? random_below(3) : step % 7 ? 2 : 3;
		struct profile_work work = {.launch_ns = time_ns + i * 100 * US,
			.correlation = step * 8 + i,
			.op = i == 4 ? m->copy[n] : m->kernel[n][kernel],
			.bytes = i == 4 ? 4096 : 0,
			.stack = m->stack[kernel == 2],
			.duration_ns = (20 + random_below(60)) * US * slow / (n + 1)};
		bool failed = !random_below(10);

		if (is_recorded(m, n, work.launch_ns))
			write_work(m, n, work, failed);
	}
	if (is_recorded(m, n, time_ns + 600 * US))
		write_call(m, n,
			(struct profile_call){.start_ns = time_ns + 600 * US,
				.duration_ns = 300 * US,
				.api = m->wait,
				.kind = CALL_SYNC,
				.correlation = step * 8 + 7});
}

static void choose_bursts(struct made *m)
{
	for (uint32_t n = 0; n < PROCESSES; n++)
		for (uint32_t i = 0; i < PERIODS; i++)
			m->burst_ns[n][i] =
				1 + i * PERIOD_NS + random_below(PERIOD_NS - BURST_NS + 1);
}

static void write_bursts(struct made *m)
{
	CHECK(!profile_set_meta(m->w, META_OVERHEAD, "2"));
	for (uint32_t n = 0; n < PROCESSES; n++)
		for (uint32_t i = 0; i < PERIODS; i++) {
			struct profile_burst b = {.process = m->process[n],
				.instance = n + 1,
				.since_ns = 1 + i * PERIOD_NS,
				.until_ns = 1 + (i + 1) * PERIOD_NS,
				.start_ns = m->burst_ns[n][i],
				.end_ns = m->burst_ns[n][i] + BURST_NS};

			CHECK(!profile_add_burst(m->w, &b));
		}
}

/* Of the first GPU, for a second. */
static void write_counts(struct made *m)
{
	const struct profile_counter counter = {
		.name = string(m, "own__counter.avg"), .unit = string(m, "%")};
	struct profile_count count = {.device = 1, .duration_ns = MS, .value = 12.5};

	CHECK(!profile_add_counter(m->w, &counter, &count.counter));
	for (uint32_t i = 0; i < 1000; i++) {
		count.start_ns = 1 + i * MS;
		CHECK(!profile_write_count(m->w, &count));
	}
}

static void write_profile(const char *path, bool bursts)
{
	struct made m = {.bursts = bursts};

	random_state = RANDOM_SEED;
	choose_bursts(&m);
	CHECK(!profile_writer_open(&m.w, path));
	CHECK(!profile_set_meta(m.w, META_COMMAND, "./train"));
	CHECK(!profile_set_meta(m.w, META_START_NS, "1"));
	CHECK(!profile_set_meta(m.w, META_END_NS, "40000000001"));
	m.launch = string(&m, "cudaLaunchKernel");
	m.wait = string(&m, "cudaDeviceSynchronize");
	m.stack[0] = stack_of(&m, "forward", 0);
	m.stack[1] = stack_of(&m, "backward", 0);
	for (uint32_t n = 0; n < PROCESSES; n++)
		add_process(&m, n);
	for (uint32_t step = 0; step < PERIODS * PERIOD_NS / MS; step++)
		for (uint32_t n = 0; n < PROCESSES; n++)
			write_step(&m, n, 1 + step * MS, step);
	write_counts(&m);
	if (bursts)
		write_bursts(&m);
	CHECK(!profile_writer_close(m.w));
}

/* Where the only process was over before its first burst. */
static void write_none(void)
{
	struct profile_burst b = {.process = 1, .instance = 1, .since_ns = 1, .until_ns = 9};
	struct made m = {0};

	b.start_ns = b.end_ns = 9;
	CHECK(!profile_writer_open(&m.w, none_path));
	CHECK(!profile_set_meta(m.w, META_OVERHEAD, "2"));
	add_process(&m, 0);
	CHECK(!profile_add_burst(m.w, &b));
	CHECK(!profile_writer_close(m.w));
}

static void the_program_is_recorded_whole_and_in_bursts(void)
{
	CHECK(mkdtemp(folder));
	snprintf(whole_path, sizeof(whole_path), "%s/whole.xpu", folder);
	snprintf(bursts_path, sizeof(bursts_path), "%s/bursts.xpu", folder);
	snprintf(none_path, sizeof(none_path), "%s/none.xpu", folder);
	write_profile(whole_path, false);
	write_profile(bursts_path, true);
	write_none();
}

/* ------------------------------------------------------------------ sums */

struct sums {
	struct profile_reader *r;
	struct summary s;
};

static void read_sums(struct sums *sums, const char *path)
{
	*sums = (struct sums){0};
	CHECK(!profile_reader_open(&sums->r, path));
	CHECK(!summary_read(&sums->s, sums->r));
}

static void release_sums(struct sums *sums)
{
	summary_release(&sums->s);
	profile_reader_close(sums->r);
}

/* How many ranges hold what there was, and how many of those that must do. */
static struct {
	int held, all;
} ranges;

/* None may be off by more than twice its error, nor have an error that says nothing. */
static void check_range(const char *what, uint64_t truth, uint64_t estimate,
	const struct spread_range *range, double percent)
{
	double error = (double)range->high - (double)estimate;
	double off = (double)truth - (double)estimate;
	bool sound = range->low <= estimate && estimate <= range->high && off <= 2 * error &&
		     -off <= 2 * error && error <= percent / 100 * (double)truth;

	ranges.all++;
	ranges.held += range->low <= truth && truth <= range->high;
	CHECK(sound);
	if (!sound)
		printf("# %s: %llu in truth, %llu to %llu here\n", what, (unsigned long long)truth,
			(unsigned long long)range->low, (unsigned long long)range->high);
}

static void check_times(const char *what, const struct summary_time *truth,
	const struct summary_time *here, double percent)
{
	check_range(what, truth->total_ns, here->total_ns, &here->total_range, percent);
	check_range(what, truth->count, here->count, &here->count_range, percent);
	CHECK(here->min_ns >= truth->min_ns && here->max_ns <= truth->max_ns);
}

/* Rows are in the order of their time, which is the same, or of ids. */
static void check_rows(const struct summary *truth, const struct summary *here)
{
	CHECK(truth->kernels.count == 3 && here->kernels.count == 3);
	for (size_t i = 0; i < 3; i++) {
		CHECK(truth->kernels.items[i].name == here->kernels.items[i].name);
		check_times("kernel", &truth->kernels.items[i].time, &here->kernels.items[i].time,
			i < 2 ? 10 : 30);
	}
	CHECK(here->copies.count == 1);
	check_times("copy", &truth->copies.items[0].time, &here->copies.items[0].time, 10);
	CHECK(here->copies.items[0].bytes == here->copies.items[0].time.count * 4096);
	CHECK(here->call_times.count == 2);
	for (size_t i = 0; i < 2; i++)
		check_times("call", &truth->call_times.items[i].time,
			&here->call_times.items[i].time, 10);
	for (size_t i = 0; i < PROCESSES; i++) {
		const struct summary_device *d = &truth->devices.items[i],
					    *e = &here->devices.items[i];
		const struct summary_task *p = &truth->processes.items[i],
					  *q = &here->processes.items[i];

		CHECK(p->id == q->id);
		check_range("device", d->work_ns, e->work_ns, &e->work_range, 25);
		check_range("device", d->works, e->works, &e->works_range, 25);
		check_range("process", p->gpu_ns, q->gpu_ns, &q->gpu_range, 25);
		check_range("process", p->works, q->works, &q->works_range, 25);
		CHECK(e->busy_ns == 0);
	}
}

static void sums_of_bursts_are_those_of_the_whole_within_their_errors(void)
{
	struct sums whole, bursts;

	read_sums(&whole, whole_path);
	read_sums(&bursts, bursts_path);
	CHECK(!whole.s.in_bursts && bursts.s.in_bursts);
	CHECK(bursts.s.bursts.count == PERIODS * PROCESSES);
	CHECK(bursts.s.seen_works < whole.s.works / 18 && bursts.s.seen_works > whole.s.works / 22);
	check_range("all", whole.s.gpu_ns, bursts.s.gpu_ns, &bursts.s.gpu_range, 10);
	check_range("all", whole.s.works, bursts.s.works, &bursts.s.works_range, 5);
	check_rows(&whole.s, &bursts.s);
	printf("# the truth is in %d of %d ranges\n", ranges.held, ranges.all);
	CHECK(ranges.held * 10 >= ranges.all * 9);
	release_sums(&whole);
	release_sums(&bursts);
}

static void sums_of_rows_add_up_to_that_of_all(void)
{
	struct sums sums;
	uint64_t kernels_ns = 0, tasks_ns = 0, devices_ns = 0, works = 0;

	read_sums(&sums, bursts_path);
	vec_foreach (k, &sums.s.kernels) {
		kernels_ns += k->time.total_ns;
		works += k->time.count;
		CHECK(k->stack_ns <= k->time.total_ns && k->stack_ns > k->time.total_ns / 3);
	}
	vec_foreach (t, &sums.s.threads)
		tasks_ns += t->gpu_ns;
	vec_foreach (d, &sums.s.devices)
		devices_ns += d->work_ns;
	kernels_ns += sums.s.copies.items[0].time.total_ns;
	works += sums.s.copies.items[0].time.count;
	CHECK(kernels_ns == sums.s.gpu_ns && tasks_ns == sums.s.gpu_ns &&
		devices_ns == sums.s.gpu_ns);
	CHECK(works == sums.s.works && works == sums.s.seen_works * 20);
	CHECK(sums.s.latency.times.count == works);
	CHECK(sums.s.threads.items[0].launches == sums.s.threads.items[0].works);
	release_sums(&sums);
}

static void what_is_of_the_recording_is_counted_as_it_is_in_the_file(void)
{
	struct sums sums;
	uint64_t launches = 0;

	read_sums(&sums, bursts_path);
	CHECK(sums.s.work_stacks.count == sums.s.seen_works);
	CHECK(sums.s.joins[JOIN_OK] == sums.s.seen_works);
	vec_foreach (c, &sums.s.call_times)
		launches += c->kind == CALL_LAUNCH ? c->failed : 0;
	CHECK(launches && launches % 20 == 0);
	release_sums(&sums);
}

/* ------------------------------------------------------------------ reports */

static struct buf report_with(const char *path, bool json, struct report_wanted wanted)
{
	struct buf out = BUF_INIT;
	struct report *r;

	CHECK(!report_open(&r, path, &wanted));
	(json ? report_json : report_text)(r, &out);
	report_close(r);
	return out;
}

static struct buf report_of(const char *path, bool json)
{
	return report_with(path, json, (struct report_wanted){.width = 160, .top = 10});
}

static void check_has(const char *text, const char *part)
{
	bool has = strstr(text, part);

	CHECK(has);
	if (!has)
		printf("# '%s' is not in:\n# %s\n", part, text);
}

static void a_report_shows_its_errors_and_what_it_does_not_know(void)
{
	struct buf text = report_of(bursts_path, false);

	check_has(buf_text(&text), "GPU time      37.1 s (+- ");
	check_has(buf_text(&text),
		"in bursts     GPU work was recorded for 5 % of the time, in 160 "
		"bursts, to cost 2 % at most: its times and numbers are "
		"estimates");
	check_has(buf_text(&text), "     total         +-   of GPU       count      mean");
	check_has(buf_text(&text), "  GPU time         +-   of time        work  device");
	check_has(
		buf_text(&text), "Why GPUs were idle\nNot known: GPU work was recorded in bursts");
	CHECK(!strstr(buf_text(&text), "busy") && !strstr(buf_text(&text), "Waits for GPU work"));
	buf_release(&text);
}

static void a_whole_recording_has_no_word_of_it(void)
{
	struct buf text = report_of(whole_path, false), json = report_of(whole_path, true);

	CHECK(!strstr(buf_text(&text), "+-") && !strstr(buf_text(&text), "in bursts"));
	CHECK(!strstr(buf_text(&json), "low_ns") && !strstr(buf_text(&json), "\"bursts\""));
	CHECK(strstr(buf_text(&json), "\"busy_ns\"") && strstr(buf_text(&json), "\"idle\""));
	buf_release(&text);
	buf_release(&json);
}

static void json_has_the_bounds_and_lacks_what_is_not_known(void)
{
	struct buf json = report_of(bursts_path, true);
	struct sums sums;
	char part[128];

	read_sums(&sums, bursts_path);
	snprintf(part, sizeof(part), "\"gpu_low_ns\":%llu,\"gpu_high_ns\":%llu,",
		(unsigned long long)sums.s.gpu_range.low,
		(unsigned long long)sums.s.gpu_range.high);
	check_has(buf_text(&json), part);
	snprintf(part, sizeof(part), "\"low_ns\":%llu,\"high_ns\":%llu,\"count_low\":%llu,",
		(unsigned long long)sums.s.kernels.items[0].time.total_range.low,
		(unsigned long long)sums.s.kernels.items[0].time.total_range.high,
		(unsigned long long)sums.s.kernels.items[0].time.count_range.low);
	check_has(buf_text(&json), part);
	check_has(buf_text(&json), "\"bursts\":{\"count\":160,\"recorded_ns\":4000000000,"
				   "\"of_ns\":80000000000,");
	CHECK(!strstr(buf_text(&json), "\"busy_ns\"") && !strstr(buf_text(&json), "\"idle\"") &&
		!strstr(buf_text(&json), "\"gpu_waits\""));
	release_sums(&sums);
	buf_release(&json);
}

static void of_no_burst_nothing_is_known(void)
{
	struct buf text = report_of(none_path, false), json = report_of(none_path, true);

	check_has(buf_text(&text), "in bursts     no burst came in which GPU work was to be "
				   "recorded, to cost 2 % at most: how much there was is not "
				   "known");
	check_has(buf_text(&text), "GPU work of 1 process: no burst came while it ran");
	check_has(buf_text(&json), "\"gpu_low_ns\":0,\"gpu_high_ns\":null,");
	buf_release(&text);
	buf_release(&json);
}

static void of_counters_it_is_not_known_what_ran_meanwhile(void)
{
	const struct report_wanted wanted = {.width = 160, .top = 10, .counters = true};
	struct buf bursts = report_with(bursts_path, false, wanted),
		   whole = report_with(whole_path, false, wanted),
		   json = report_with(bursts_path, true, wanted);

	check_has(buf_text(&whole), "GPU 0 GPU: 1.00 s in 1,000 samples, of which ");
	check_has(buf_text(&whole), "Kernels where they ran alone");
	check_has(buf_text(&whole), "       12.5       12.5       12.5  own__counter.avg");
	check_has(buf_text(&bursts), "GPU 0 GPU: 1.00 s in 1,000 samples\n");
	check_has(buf_text(&bursts), "       12.5          -       12.5  own__counter.avg");
	check_has(buf_text(&bursts), "Which work ran meanwhile is not known");
	CHECK(!strstr(buf_text(&bursts), "Kernels where they ran alone"));
	CHECK(!strstr(buf_text(&json), "busy_samples") && !strstr(buf_text(&json), "\"idle\""));
	buf_release(&bursts);
	buf_release(&whole);
	buf_release(&json);
}

/* The kernels' part of all GPU time, as the report has it. */
static void times_of_kernels_beside_samples_of_instructions_are_the_same(void)
{
	const struct report_wanted wanted = {.stalls = true};
	struct sums sums;
	struct report *r;

	read_sums(&sums, bursts_path);
	CHECK(!report_open(&r, bursts_path, &wanted));
	CHECK(r->stalls->gpu_ns == sums.s.gpu_ns && r->stalls->not_sampled.count == 3);
	for (size_t i = 0; i < r->stalls->not_sampled.count; i++) {
		CHECK(r->stalls->not_sampled.items[i].time_ns ==
			sums.s.kernels.items[i].time.total_ns);
		CHECK(r->stalls->not_sampled.items[i].works == sums.s.kernels.items[i].time.count);
	}
	report_close(r);
	release_sums(&sums);
}

/* ------------------------------------------------------------------ pictures */

static struct view_result view_of_file(const char *path, const char *name)
{
	struct view_options o = {.view = view_by_name(name)};
	struct view_result v = {0};

	CHECK(!view_read(path, &o, &v));
	return v;
}

static bool has_remark(const struct view_result *v, const char *part)
{
	vec_foreach (remark, &v->remarks)
		if (strstr(*remark, part))
			return true;
	return false;
}

static void a_flame_graph_is_as_wide_as_the_sums_and_says_how_much_it_may_be_off(void)
{
	static const char *const views[] = {"merge", "gpu", "stall"};
	struct sums sums;

	read_sums(&sums, bursts_path);
	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
		struct view_result v = view_of_file(bursts_path, views[i]),
				   whole = view_of_file(whole_path, views[i]);

		CHECK(tree_total(v.tree).gpu == sums.s.gpu_ns);
		CHECK(tree_node_count(v.tree) == tree_node_count(whole.tree));
		CHECK(has_remark(&v, "GPU work was recorded for 5 % of the time, in 160 bursts: "
				     "GPU times are estimates, +- "));
		CHECK(!has_remark(&whole, "burst"));
		view_result_release(&v);
		view_result_release(&whole);
	}
	release_sums(&sums);
}

static void pictures_without_gpu_time_say_nothing_of_it(void)
{
	struct view_result v = view_of_file(bursts_path, "cpu");

	CHECK(!has_remark(&v, "burst"));
	view_result_release(&v);
}

static void the_view_of_all_time_does_not_guess_what_waits_were_for(void)
{
	struct view_result v = view_of_file(bursts_path, "wall"),
			   whole = view_of_file(whole_path, "wall");

	CHECK(tree_total(whole.tree).cpu > 0 && tree_total(v.tree).cpu == 0);
	CHECK(has_remark(&v, "recorded in bursts: what waits were for the GPU is not known"));
	vec_foreach (fact, &v.facts)
		CHECK(!strstr(fact->name, "GPU"));
	view_result_release(&v);
	view_result_release(&whole);
}

static void events_of_a_trace_have_their_weight_where_it_is_not_one(void)
{
	static const char *const paths[] = {bursts_path, whole_path};

	for (int i = 0; i < 2; i++) {
		const struct export_options options = EXPORT_OPTIONS_INIT;
		struct export_result result = {0};
		struct buf text = BUF_INIT;
		char path[128];

		snprintf(path, sizeof(path), "%s/trace.json", folder);
		CHECK(!export_file(exporter_by_name("chrome"), paths[i], path, &options, &result));
		CHECK(!io_read_file(path, 1u << 30, &text));
		if (i)
			CHECK(!strstr(buf_text(&text), "\"weight\""));
		else
			check_has(buf_text(&text), "\"result\":0,\"weight\":20}}");
		buf_release(&text);
		unlink(path);
	}
}

int main(void)
{
	RUN(the_program_is_recorded_whole_and_in_bursts);
	RUN(sums_of_bursts_are_those_of_the_whole_within_their_errors);
	RUN(sums_of_rows_add_up_to_that_of_all);
	RUN(what_is_of_the_recording_is_counted_as_it_is_in_the_file);
	RUN(a_report_shows_its_errors_and_what_it_does_not_know);
	RUN(a_whole_recording_has_no_word_of_it);
	RUN(json_has_the_bounds_and_lacks_what_is_not_known);
	RUN(of_no_burst_nothing_is_known);
	RUN(of_counters_it_is_not_known_what_ran_meanwhile);
	RUN(times_of_kernels_beside_samples_of_instructions_are_the_same);
	RUN(a_flame_graph_is_as_wide_as_the_sums_and_says_how_much_it_may_be_off);
	RUN(pictures_without_gpu_time_say_nothing_of_it);
	RUN(the_view_of_all_time_does_not_guess_what_waits_were_for);
	RUN(events_of_a_trace_have_their_weight_where_it_is_not_one);
	unlink(whole_path);
	unlink(bursts_path);
	unlink(none_path);
	rmdir(folder);
	return tap_end();
}
