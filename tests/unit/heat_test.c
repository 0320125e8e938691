// SPDX-License-Identifier: MIT
/* The heatmap by row, beside sums of what was written: its rows have all of the time, each column
 * its part, whatever is in rows of its own. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/reader.h"
#include "profile/writer.h"
#include "random.h"
#include "tap.h"
#include "view/heat/heat.h"

#define START_NS  1000000ull
#define LENGTH_NS 4000000ull
#define STREAMS	  100
#define OPS	  4 /* of each stream */
#define WORKS	  5000
#define THREADS	  200 /* every second one has samples */
#define COLUMNS	  40

static char path[] = "/tmp/heat_test.XXXXXX";
static struct profile_writer *w;
static uint32_t process, device, ops[STREAMS * OPS];
static uint64_t stream_ns[STREAMS], thread_ns[THREADS];

static uint32_t string(const char *text)
{
	uint32_t id = 0;

	CHECK(!profile_add_string(w, text, strlen(text), &id));
	return id;
}

/* ------------------------------------------------------------------ what is written */

static void write_works(void)
{
	for (uint32_t n = 0; n < STREAMS * OPS; n++) {
		const struct profile_op op = {.kind = OP_KERNEL,
			.process = process,
			.device = device,
			.context = 1 + n % 2 * 100,
			.stream = n % STREAMS,
			.name = string(n % 3 ? "gemm" : "softmax"),
			.grid = {n + 1, 1, 1}};

		CHECK(!profile_add_op(w, &op, &ops[n]));
	}
	for (uint32_t n = 0; n < WORKS; n++) {
		uint32_t op = random_below(STREAMS * OPS);
		const struct profile_work work = {
			.start_ns = START_NS + random_below(LENGTH_NS - 20000),
			.duration_ns = 1 + random_below(10000 + 100 * (op % STREAMS)),
			.op = ops[op]};

		stream_ns[op % STREAMS] += work.duration_ns;
		CHECK(!profile_write_work(w, &work));
	}
}

static void write_threads(void)
{
	for (uint32_t n = 0; n < THREADS; n++) {
		struct profile_thread t = {
			.process = process, .tid = (int32_t)(n + 1), .name = string("worker")};
		struct profile_account a = {.run_ns = 100 + random_below(1000000),
			.end_ns = START_NS + 1 + random_below(LENGTH_NS)};
		struct profile_sample sample = {.time_ns = a.end_ns - 1, .period_ns = 5};

		CHECK(!profile_add_thread(w, &t, &sample.thread));
		CHECK(!profile_add_account(w, sample.thread, &a));
		if (n % 2)
			CHECK(!profile_write_sample(w, &sample));
		thread_ns[n] = a.run_ns;
	}
}

static void write_stalls(uint64_t start_ns, uint64_t end_ns, const char *reason, uint64_t samples)
{
	const struct profile_window window = {.process = process,
		.device = device,
		.context = 1,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.period_cycles = 32};
	struct profile_module m = {.kind = MODULE_GPU_CODE, .build_id_size = 8};
	struct profile_gpu_function f = {.name = string("gemm")};
	struct profile_instruction i = {.offset = 16};
	struct profile_stall stall = {.reason = string(reason), .samples = samples};

	CHECK(!profile_add_module(w, &m, &f.module));
	CHECK(!profile_add_window(w, &window, &stall.window));
	CHECK(!profile_add_gpu_function(w, &f, &i.function));
	CHECK(!profile_add_instruction(w, &i, &stall.instruction));
	CHECK(!profile_write_stall(w, &stall));
}

#define STALLED "smsp__pcsamp_warps_issue_stalled_"

static void write_all(void)
{
	const struct profile_process p = {.pid = 7, .comm = 0};
	const struct profile_device d = {.uuid = {1}};

	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_set_meta(w, META_START_NS, "1000000"));
	CHECK(!profile_set_meta(w, META_END_NS, "5000000"));
	CHECK(!profile_add_process(w, &p, &process));
	CHECK(!profile_add_device(w, &d, &device));
	write_works();
	write_threads();
	/* one of a whole fourth, one inside a column, one across the end, one without any length */
	write_stalls(START_NS + LENGTH_NS / 4, START_NS + LENGTH_NS / 2, STALLED "barrier", 1003);
	write_stalls(START_NS + 100, START_NS + 200, STALLED "long_scoreboard", 50);
	write_stalls(START_NS + LENGTH_NS - 10, START_NS + LENGTH_NS + 10, STALLED "wait", 10);
	write_stalls(START_NS + 5000, START_NS + 5000, STALLED "math_pipe_throttle", 7);
	write_stalls(START_NS, START_NS + 100, STALLED "long_scoreboard_not_issued", 44);
	write_stalls(START_NS, START_NS + LENGTH_NS, "a reason of others", 400);
	CHECK(!profile_writer_end(w));
	CHECK(!profile_writer_close(w));
}

/* ------------------------------------------------------------------ what is read */

struct reading {
	struct profile_reader *r;
	struct slice_sums sums;
};

static void begin(struct reading *g)
{
	struct profile_event e;

	*g = (struct reading){0};
	CHECK(!profile_reader_open(&g->r, path));
	profile_reader_clip(g->r, &slice_sums_clip);
	CHECK(!slice_sums_init(&g->sums, START_NS, START_NS + LENGTH_NS));
	while (profile_reader_next(g->r, &e) > 0)
		CHECK(!slice_sums_add(&g->sums, g->r, &e));
	CHECK(!slice_sums_finish(&g->sums, g->r));
}

static void end(struct reading *g)
{
	slice_sums_release(&g->sums);
	profile_reader_close(g->r);
}

static void heat_of(struct heat *h, const struct reading *g, enum heat_of of, size_t rows)
{
	const struct heat_wanted wanted = {.of = of, .columns = COLUMNS, .rows = rows};

	*h = (struct heat){0};
	CHECK(!heat_read(h, &g->sums, g->r, &wanted));
	CHECK(h->start_ns == START_NS && h->columns <= COLUMNS && h->columns > COLUMNS / 2);
}

static uint64_t sum_of(const struct heat *h, const struct heat_row *row)
{
	uint64_t sum = 0;

	for (uint32_t n = 0; n < h->columns; n++)
		sum += row->cells[n];
	return sum;
}

static uint64_t sum_of_column(const struct heat *h, uint32_t column)
{
	uint64_t sum = 0;

	vec_foreach (row, &h->rows)
		sum += row->cells[column];
	return sum;
}

static void check_rows(const struct heat *h, size_t rows, size_t all)
{
	CHECK(h->rows.count == (rows < all ? rows + 1 : all));
	CHECK(h->others == (rows < all ? all - rows : 0));
	vec_foreach (row, &h->rows)
		CHECK(sum_of(h, row) == row->time_ns);
	for (size_t n = 1; n < h->rows.count && n < rows; n++)
		CHECK(h->rows.items[n].time_ns <= h->rows.items[n - 1].time_ns);
}

/* ------------------------------------------------------------------ streams */

/* Contexts alternate with the stream's number, so that each stream is of one. */
static void each_stream_is_one_row_with_all_of_its_time(void)
{
	struct reading g;
	struct heat h;
	size_t rows;

	begin(&g);
	heat_of(&h, &g, HEAT_STREAMS, STREAMS);
	check_rows(&h, STREAMS, STREAMS);
	vec_foreach (row, &h.rows) {
		const char *name = strstr(row->name, "stream ");
		unsigned long stream = name ? strtoul(name + strlen("stream "), NULL, 10) : STREAMS;

		CHECK(stream < STREAMS && row->gpu && row->time_ns == stream_ns[stream]);
	}
	heat_release(&h);
	for (rows = 1; rows < STREAMS; rows += 33) {
		heat_of(&h, &g, HEAT_STREAMS, rows);
		check_rows(&h, rows, STREAMS);
		heat_release(&h);
	}
	end(&g);
}

static void the_same_number_in_another_context_is_another_stream(void)
{
	uint64_t all = 0, some = 0;
	struct reading g;
	struct heat h;

	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_set_meta(w, META_START_NS, "1000000"));
	for (uint32_t n = 0; n < 8; n++) {
		const struct profile_op op = {
			.kind = OP_SET, .context = n % 2, .stream = 7, .grid = {n}};
		struct profile_work work = {.start_ns = START_NS + n, .duration_ns = n + 1};

		CHECK(!profile_add_op(w, &op, &work.op));
		CHECK(!profile_write_work(w, &work));
		all += work.duration_ns;
		some += n % 2 ? work.duration_ns : 0;
	}
	CHECK(!profile_writer_end(w) && !profile_writer_close(w));
	begin(&g);
	heat_of(&h, &g, HEAT_STREAMS, 10);
	CHECK(h.rows.count == 2 && h.rows.items[0].time_ns == some);
	CHECK(h.rows.items[1].time_ns == all - some);
	heat_release(&h);
	end(&g);
}

/* ------------------------------------------------------------------ threads */

static void threads_without_samples_have_their_part_of_each_column(void)
{
	struct heat all, few;
	struct reading g;
	uint64_t sum = 0;

	begin(&g);
	heat_of(&all, &g, HEAT_CPU, THREADS);
	check_rows(&all, THREADS, THREADS);
	vec_foreach (row, &all.rows) {
		CHECK(row->tid && row->tid <= THREADS);
		CHECK(row->time_ns == thread_ns[row->tid - 1]);
		sum += row->time_ns;
	}
	for (size_t rows = 1; rows < THREADS; rows += 60) {
		uint64_t few_ns = 0;

		heat_of(&few, &g, HEAT_CPU, rows);
		check_rows(&few, rows, THREADS);
		for (uint32_t n = 0; n < few.columns; n++) {
			uint64_t a = sum_of_column(&all, n), b = sum_of_column(&few, n);

			few_ns += b;
			CHECK((a > b ? a - b : b - a) <= THREADS);
		}
		CHECK(few_ns == sum);
		heat_release(&few);
	}
	heat_release(&all);
	end(&g);
}

/* ------------------------------------------------------------------ stalls */

static const struct heat_row *row_of(const struct heat *h, const char *name)
{
	vec_foreach (row, &h->rows)
		if (!strcmp(row->name, name))
			return row;
	return NULL;
}

static uint64_t samples_of(const struct heat *h, const char *name)
{
	const struct heat_row *row = row_of(h, name);

	return row ? row->time_ns : 0;
}

static void samples_of_instructions_lie_in_their_windows_by_reason(void)
{
	const struct heat_row *barrier;
	uint64_t least = UINT64_MAX, most = 0;
	struct reading g;
	struct heat h;

	begin(&g);
	heat_of(&h, &g, HEAT_STALLS, 40);
	check_rows(&h, 40, 5);
	barrier = &h.rows.items[0];
	CHECK(barrier->time_ns == 1003 && !barrier->tid);
	for (uint32_t n = 0; n < h.columns; n++) {
		uint64_t from = n * h.step_ns, to = from + h.step_ns, is = barrier->cells[n];

		if (from >= LENGTH_NS / 4 && to <= LENGTH_NS / 2) {
			least = is < least ? is : least;
			most = is > most ? is : most;
		}
		CHECK(!is || (to > LENGTH_NS / 4 && from < LENGTH_NS / 2));
	}
	CHECK(least && most - least <= 1);
	CHECK(h.rows.items[1].time_ns == 400 &&
		!strcmp(h.rows.items[1].name, "a reason of others"));
	CHECK(h.rows.items[2].time_ns == 50 && h.rows.items[2].cells[0] == 50);
	/* the samples that are no latency, and what lies behind the end is in no column */
	CHECK(samples_of(&h, "a reason of others") == 400);
	CHECK(h.rows.items[3].time_ns == 7 && h.rows.items[3].cells[0] == 7);
	CHECK(h.rows.items[4].time_ns == 5 && h.rows.items[4].cells[h.columns - 1] == 5);
	heat_release(&h);
	end(&g);
}

static int sum_it(void *arg, const struct gather_sum *sum)
{
	uint64_t *all = arg;

	CHECK(sum->key.event != EVENT_STALL);
	*all += sum->time_ns;
	return 0;
}

static void ranges_have_no_samples_of_instructions(void)
{
	struct slice_part part;
	uint64_t all = 0;
	struct reading g;

	begin(&g);
	slice_part_begin(&part, &g.sums, g.r);
	CHECK(!slice_part_each(&part, sum_it, &all) && all);
	profile_reader_clip(g.r, NULL);
	end(&g);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	write_all();
	RUN(each_stream_is_one_row_with_all_of_its_time);
	RUN(threads_without_samples_have_their_part_of_each_column);
	RUN(samples_of_instructions_lie_in_their_windows_by_reason);
	RUN(ranges_have_no_samples_of_instructions);
	RUN(the_same_number_in_another_context_is_another_stream);
	unlink(path);
	return tap_end();
}
