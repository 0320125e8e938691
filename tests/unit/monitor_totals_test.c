// SPDX-License-Identifier: MIT
/* Cells come from the test, in the place of a watch. */
#include "monitor/totals.h"

#include "base/clock.h"
#include "base/error.h"
#include "bucket.h"
#include "tap.h"

enum { RUN_TIME, MOVES, WAITS };

static const struct monitor_series series[] = {
	[RUN_TIME] = {.name = "run_time",
		.unit = UNIT_NANOSECONDS,
		.histogram = true,
		.by_process = true,
		.busy = true,
		.label = {"ring"}},
	[MOVES] = {.name = "moved",
		.unit = UNIT_BYTES,
		.label = {"from", "to"},
		.list = {"where", "where"}},
	[WAITS] = {.name = "waits", .label = {"ring"}},
	{0},
};

static const struct monitor_event events[] = {
	{.name = "DONE",
		.counts = {{WAITS, VALUE_ONE}, {RUN_TIME, VALUE_DURATION, .label = {"ring"}}},
		.label = {"ring"}},
	{.name = "MOVE", .counts = {{MOVES, VALUE_FIELD, .field = "size"}}},
	{0},
};

static const struct monitor_list lists[] = {
	{.name = "where",
		.names = (const struct monitor_name[]){{1, "VRAM"}, {2, "GTT"}, {0, NULL}}},
	{0},
};

static const struct monitor table = {
	.name = "test", .events = events, .series = series, .lists = lists};

struct fed {
	struct monitor_cell_key key;
	struct monitor_cell cell;
};

struct watch {
	struct fed *fed;
	size_t count;
};

int watch_cells(struct watch *w,
	int (*visit)(void *, const struct monitor_cell_key *, const struct monitor_cell *),
	void *context)
{
	int error = 0;

	for (size_t i = 0; !error && i < w->count; i++)
		error = visit(context, &w->fed[i].key, &w->fed[i].cell);
	return error;
}

static struct monitor_cell_key key_of(uint16_t s, uint16_t cpu, uint32_t pid, const char *label)
{
	struct monitor_cell_key key = {.series = s, .cpu = cpu, .pid = pid};

	snprintf(key.label[0], sizeof(key.label[0]), "%s", label);
	return key;
}

static void add_value(struct monitor_cell *c, uint64_t value)
{
	if (!c->count || value < c->min)
		c->min = value;
	if (value > c->max)
		c->max = value;
	c->count++;
	c->sum += value;
	c->buckets[total_bucket(value)]++;
}

static struct monitor_cell cell_of(const char *comm, uint64_t from, uint64_t to, uint64_t step)
{
	struct monitor_cell c = {.cgroup = 5};

	snprintf(c.comm, sizeof(c.comm), "%s", comm);
	for (uint64_t v = from; v <= to; v += step)
		add_value(&c, v);
	return c;
}

static void feed(
	struct totals *t, const struct monitor_cell_key *key, const struct monitor_cell *cell)
{
	CHECK(!totals_add(t, &table, key, cell));
}

static const struct total *row_of(
	const struct totals *t, uint16_t s, const char *label, uint32_t pid)
{
	static const struct total none;

	vec_foreach (r, &t->rows)
		if (r->series == s && r->pid == pid && !strcmp(r->label[0], label))
			return r;
	return &none;
}

static void every_value_is_in_its_bucket(void)
{
	static const uint64_t values[] = {
		0, 7, 8, 15, 16, 17, 100, 1023, 1024, 999999, ((uint64_t)1 << 42) - 1};

	CHECK(total_bucket_low(0) == 0 && total_bucket_low(8) == 8 && total_bucket_low(16) == 16);
	CHECK(total_bucket_low(17) == 18 && total_bucket_low(24) == 32);
	for (unsigned int i = 0; i < MONITOR_BUCKETS; i++) {
		CHECK(total_bucket(total_bucket_low(i)) == i);
		CHECK(i + 1 == MONITOR_BUCKETS || total_bucket(total_bucket_low(i + 1) - 1) == i);
	}
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		unsigned int b = total_bucket(values[i]);

		CHECK(values[i] >= total_bucket_low(b) && values[i] < total_bucket_low(b + 1));
	}
	CHECK(total_bucket_low(MONITOR_BUCKETS - 1) == (uint64_t)1 << 42);
	CHECK(total_bucket(UINT64_MAX) == MONITOR_BUCKETS - 1);
}

static void cells_of_all_cpus_become_one_row(void)
{
	struct totals t = TOTALS_INIT;
	struct monitor_cell_key a = key_of(RUN_TIME, 0, 9, "gfx"),
				b = key_of(RUN_TIME, 3, 9, "gfx");
	struct monitor_cell_key other = key_of(RUN_TIME, 0, 10, "gfx");
	struct monitor_cell small = cell_of("game", 100, 200, 100),
			    large = cell_of("game", 50, 300, 250);

	feed(&t, &a, &small);
	feed(&t, &other, &small);
	feed(&t, &b, &large);
	CHECK(!totals_finish(&t, &table, NULL));
	CHECK(t.rows.count == 2);
	CHECK(t.rows.items[0].pid == 9 && t.rows.items[0].count == 4 && t.rows.items[0].sum == 650);
	CHECK(t.rows.items[0].min == 50 && t.rows.items[0].max == 300 &&
		t.rows.items[0].cgroup == 5);
	CHECK_TEXT(t.rows.items[0].comm, "game");
	CHECK_TEXT(t.rows.items[0].label[0], "gfx");
	CHECK(t.rows.items[1].pid == 10 && t.rows.items[1].sum == 300);
	totals_release(&t);
}

static void rows_come_by_series_and_the_largest_first(void)
{
	struct totals t = TOTALS_INIT;
	struct monitor_cell_key few = key_of(WAITS, 0, 0, "few"),
				many = key_of(WAITS, 0, 0, "many");
	struct monitor_cell_key run = key_of(RUN_TIME, 0, 1, "gfx"),
				alien = key_of(40, 0, 0, "alien");
	struct monitor_cell_key seen = key_of(MONITOR_SERIES_LABELS, 0, 0, "gfx");
	struct monitor_cell one = {.count = 1, .min = UINT64_MAX},
			    two = {.count = 2, .min = UINT64_MAX};

	feed(&t, &seen, &one);
	feed(&t, &few, &one);
	feed(&t, &many, &two);
	feed(&t, &run, &one);
	feed(&t, &alien, &one);
	CHECK(!totals_finish(&t, &table, NULL));
	CHECK(t.rows.count == 4);
	CHECK(t.rows.items[0].series == RUN_TIME);
	CHECK_TEXT(t.rows.items[1].label[0], "many");
	CHECK(t.rows.items[1].min == 0 && t.rows.items[1].sum == 0);
	CHECK(t.rows.items[3].series == MONITOR_SERIES_LABELS);
	totals_release(&t);
}

static void labels_that_are_numbers_are_named_by_their_list(void)
{
	struct totals t = TOTALS_INIT;
	struct monitor_cell_key key = {.series = MOVES};
	struct monitor_cell c = cell_of("", 4096, 4096, 1);

	key.label[0][0] = 1;
	key.label[1][0] = 9;
	key.label[0][MONITOR_LABEL_BYTES - 1] = key.label[1][MONITOR_LABEL_BYTES - 1] =
		MONITOR_LABEL_NUMBER;
	feed(&t, &key, &c);
	CHECK(!totals_finish(&t, &table, NULL));
	CHECK_TEXT(t.rows.items[0].label[0], "VRAM");
	CHECK_TEXT(t.rows.items[0].label[1], "9");
	totals_release(&t);
}

static bool is_near(uint64_t got, uint64_t wanted)
{
	return got >= wanted - wanted / 16 && got <= wanted + wanted / 16;
}

static void percentiles_are_at_most_a_sixteenth_off_and_between_the_extremes(void)
{
	struct totals t = TOTALS_INIT;
	struct monitor_cell_key key = key_of(RUN_TIME, 0, 1, "gfx"),
				one = key_of(RUN_TIME, 0, 2, "gfx");
	struct monitor_cell c = cell_of("", 1000, 1000000, 1000),
			    single = cell_of("", 1000, 1000, 1);
	const struct total *row;

	feed(&t, &key, &c);
	feed(&t, &one, &single);
	CHECK(!totals_finish(&t, &table, NULL));
	row = row_of(&t, RUN_TIME, "gfx", 1);
	CHECK(is_near(total_percentile(row, 50), 500000));
	CHECK(is_near(total_percentile(row, 90), 900000));
	CHECK(is_near(total_percentile(row, 99), 990000));
	CHECK(total_percentile(row, 0) == 1000 || is_near(total_percentile(row, 0), 1000));
	CHECK(total_percentile(row, 100) <= 1000000);
	CHECK(total_percentile(row_of(&t, RUN_TIME, "gfx", 2), 50) == 1000);
	CHECK(total_percentile(row_of(&t, RUN_TIME, "none", 2), 50) == 0);
	totals_release(&t);
}

static void values_beyond_the_last_bucket_are_told_by_their_maximum(void)
{
	struct totals t = TOTALS_INIT;
	struct monitor_cell_key key = key_of(RUN_TIME, 0, 1, "gfx");
	struct monitor_cell c = {0};

	add_value(&c, (uint64_t)1 << 50);
	feed(&t, &key, &c);
	CHECK(!totals_finish(&t, &table, NULL));
	CHECK(total_percentile(&t.rows.items[0], 50) == (uint64_t)1 << 50);
	totals_release(&t);
}

static void span(struct busy_times *b, const char *ring, uint32_t pid, uint64_t from, uint64_t to)
{
	struct monitor_span s = {
		.event = 0, .count = 1, .pid = pid, .end_ns = to, .duration_ns = to - from};

	snprintf(s.label[0], sizeof(s.label[0]), "%s", ring);
	CHECK(!busy_times_add(b, &s));
}

static void busy_time_is_the_union_by_ring_by_process_and_by_both(void)
{
	struct totals t = TOTALS_INIT, by_ring, by_process;
	struct monitor_cell_key a = key_of(RUN_TIME, 0, 1, "gfx"),
				b = key_of(RUN_TIME, 0, 2, "gfx");
	struct monitor_cell_key c = key_of(RUN_TIME, 0, 1, "dma");
	struct monitor_cell cell = cell_of("", 100, 100, 1);
	struct busy_times *busy;

	CHECK(!busy_times_new(&table, &busy));
	span(busy, "gfx", 1, 1000, 1100);
	span(busy, "gfx", 2, 1050, 1150);
	span(busy, "dma", 1, 1090, 1190);
	feed(&t, &a, &cell);
	feed(&t, &b, &cell);
	feed(&t, &c, &cell);
	CHECK(!totals_finish(&t, &table, busy));
	CHECK(row_of(&t, RUN_TIME, "gfx", 1)->busy_ns == 100);
	CHECK(row_of(&t, RUN_TIME, "dma", 1)->busy_ns == 100);
	CHECK(!totals_merge(&t, RUN_TIME, TOTAL_BY_LABEL_0, &by_ring));
	CHECK(row_of(&by_ring, RUN_TIME, "gfx", 0)->busy_ns == 150);
	CHECK(row_of(&by_ring, RUN_TIME, "gfx", 0)->count == 2);
	CHECK(row_of(&by_ring, RUN_TIME, "dma", 0)->busy_ns == 100);
	CHECK(!totals_merge(&t, RUN_TIME, TOTAL_BY_PROCESS, &by_process));
	CHECK(row_of(&by_process, RUN_TIME, "", 1)->busy_ns == 190);
	CHECK(row_of(&by_process, RUN_TIME, "", 2)->busy_ns == 100);
	CHECK(row_of(&by_process, RUN_TIME, "", 1)->busy_uncertain_ns == 0);
	busy_times_forget(busy, 1);
	totals_release(&t);
	CHECK(!totals_finish(&t, &table, busy));
	CHECK(t.busy.items[0].pid == 0 && t.busy.items[1].busy_ns == 150);
	totals_release(&t);
	totals_release(&by_ring);
	totals_release(&by_process);
	busy_times_free(busy);
}

static void rings_of_two_devices_are_busy_for_themselves(void)
{
	struct monitor_span s = {.event = 0, .count = 1, .pid = 1, .label = {"gfx", "card0"}};
	struct monitor_record r = {.event = 0,
		.pid = 1,
		.time_ns = 5300,
		.label = {"gfx", "card1"},
		.count = {1, 300}};
	struct monitor_series two[] = {series[0], series[1], series[2], {0}};
	struct monitor m = table;
	struct monitor_cell_key a = key_of(RUN_TIME, 0, 1, "gfx"), b = a;
	struct monitor_cell cell = cell_of("", 100, 100, 1);
	struct totals t = TOTALS_INIT, sum;
	struct busy_times *busy;

	two[RUN_TIME].label[1] = "device";
	m.series = two;
	snprintf(a.label[1], sizeof(a.label[1]), "card0");
	snprintf(b.label[1], sizeof(b.label[1]), "card1");
	CHECK(!busy_times_new(&m, &busy));
	s.end_ns = 5100;
	s.duration_ns = 100;
	CHECK(!busy_times_add(busy, &s) && !busy_times_add_record(busy, &r));
	CHECK(!totals_add(&t, &m, &a, &cell) && !totals_add(&t, &m, &b, &cell));
	CHECK(!totals_finish(&t, &m, busy));
	CHECK(!totals_merge(&t, RUN_TIME, TOTAL_BY_LABELS, &sum));
	CHECK(sum.rows.count == 2);
	vec_foreach (row, &sum.rows)
		CHECK(row->busy_ns == (strcmp(row->label[1], "card0") ? 300 : 100));
	totals_release(&sum);
	CHECK(!totals_merge(&t, RUN_TIME, TOTAL_BY_PROCESS, &sum));
	CHECK(sum.rows.count == 1 && sum.rows.items[0].busy_ns == 300);
	totals_release(&sum);
	totals_release(&t);
	busy_times_free(busy);
}

static void what_is_not_of_a_process_has_no_busy_time_by_process(void)
{
	struct totals t = TOTALS_INIT, sum;
	struct monitor_cell_key nobody = key_of(RUN_TIME, 0, 0, "gfx");
	struct monitor_cell cell = cell_of("", 100, 100, 1);
	struct busy_times *busy;

	CHECK(!busy_times_new(&table, &busy));
	span(busy, "gfx", 1, 1000, 1100);
	feed(&t, &nobody, &cell);
	CHECK(!totals_finish(&t, &table, busy));
	CHECK(t.rows.items[0].busy_ns == 0);
	CHECK(!totals_merge(&t, RUN_TIME, TOTAL_BY_LABELS | TOTAL_BY_PROCESS, &sum));
	CHECK(sum.rows.items[0].busy_ns == 0);
	totals_release(&sum);
	CHECK(!totals_merge(&t, RUN_TIME, TOTAL_BY_LABELS, &sum));
	CHECK(sum.rows.items[0].busy_ns == 100);
	totals_release(&sum);
	totals_release(&t);
	busy_times_free(busy);
}

static void processes_that_are_forgotten_take_no_room_and_may_come_again(void)
{
	struct totals t = TOTALS_INIT;
	struct busy_times *busy;

	CHECK(!busy_times_new(&table, &busy));
	for (uint32_t pid = 1; pid <= 5000; pid++) {
		span(busy, "gfx", pid, pid * 10, pid * 10 + 5);
		busy_times_forget(busy, pid);
	}
	span(busy, "gfx", 7, 100000, 100001);
	CHECK(!totals_finish(&t, &table, busy));
	CHECK(t.busy.count == 3);
	CHECK(t.busy.items[0].pid == 0 && t.busy.items[0].busy_ns == 25001);
	CHECK(t.busy.items[1].pid == 7 && t.busy.items[1].busy_ns == 1);
	totals_release(&t);
	busy_times_free(busy);
}

static void busy_time_of_two_clients_of_a_process_is_not_told_for_either(void)
{
	struct totals t = TOTALS_INIT;
	struct monitor_cell_key a = key_of(RUN_TIME, 0, 1, "gfx"), b = a;
	struct monitor_cell cell = cell_of("", 100, 100, 1);
	struct busy_times *busy;

	CHECK(!busy_times_new(&table, &busy));
	span(busy, "gfx", 1, 1000, 1100);
	a.client = 4;
	b.client = 5;
	feed(&t, &a, &cell);
	feed(&t, &b, &cell);
	CHECK(!totals_finish(&t, &table, busy));
	CHECK(t.rows.count == 2 && !t.rows.items[0].busy_ns && !t.rows.items[1].busy_ns);
	totals_release(&t);
	busy_times_free(busy);
}

static void records_have_the_spans_that_are_not_sent_with_them(void)
{
	struct monitor_record r = {
		.event = 0, .pid = 3, .time_ns = 500, .label = {"gfx"}, .count = {1, 40}};
	struct monitor_span alien = {.event = 60000, .count = 9, .end_ns = 5, .duration_ns = 5};
	struct totals t = TOTALS_INIT;
	struct busy_times *busy;

	CHECK(!busy_times_new(&table, &busy));
	CHECK(!busy_times_add_record(busy, &r));
	r.count[1] = MONITOR_NO_VALUE;
	r.time_ns = 900;
	CHECK(!busy_times_add_record(busy, &r));
	CHECK(!busy_times_add(busy, &alien));
	alien.event = 0;
	CHECK(!busy_times_add(busy, &alien));
	alien.count = 0;
	CHECK(!busy_times_add(busy, &alien));
	CHECK(!totals_finish(&t, &table, busy));
	CHECK(t.busy.count == 3);
	vec_foreach (b, &t.busy)
		CHECK(b->busy_ns == 40);
	totals_release(&t);
	busy_times_free(busy);
}

static void a_difference_has_what_came_in_between(void)
{
	struct totals before = TOTALS_INIT, now = TOTALS_INIT, since;
	struct monitor_cell_key a = key_of(RUN_TIME, 0, 1, "gfx"),
				same = key_of(RUN_TIME, 0, 2, "gfx");
	struct monitor_cell_key fresh = key_of(RUN_TIME, 0, 3, "gfx");
	struct monitor_cell first = cell_of("", 10, 10, 1), second = first;
	struct busy_times *busy;

	CHECK(!busy_times_new(&table, &busy));
	span(busy, "gfx", 1, 1000, 1010);
	feed(&before, &a, &first);
	feed(&before, &same, &first);
	CHECK(!totals_finish(&before, &table, busy));
	before.until_ns = 2000;
	add_value(&second, 5000);
	add_value(&second, 6000);
	span(busy, "gfx", 1, 1005, 2010);
	feed(&now, &a, &second);
	feed(&now, &same, &first);
	feed(&now, &fresh, &first);
	CHECK(!totals_finish(&now, &table, busy));
	now.until_ns = 3000;
	CHECK(!totals_since(&now, &before, &since));
	CHECK(since.from_ns == 2000 && since.until_ns == 3000);
	CHECK(since.rows.count == 2);
	CHECK(row_of(&since, RUN_TIME, "gfx", 1)->count == 2 &&
		row_of(&since, RUN_TIME, "gfx", 1)->sum == 11000);
	CHECK(row_of(&since, RUN_TIME, "gfx", 1)->busy_ns == 1000);
	CHECK(row_of(&since, RUN_TIME, "gfx", 1)->min == 4608);
	CHECK(row_of(&since, RUN_TIME, "gfx", 1)->max == 6000);
	CHECK(is_near(total_percentile(row_of(&since, RUN_TIME, "gfx", 1), 50), 5000));
	CHECK(row_of(&since, RUN_TIME, "gfx", 3)->count == 1);
	totals_release(&since);
	CHECK(!totals_since(&now, &now, &since));
	CHECK(since.rows.count == 0 && since.busy.count == 0);
	totals_release(&since);
	totals_release(&before);
	totals_release(&now);
	busy_times_free(busy);
}

static void a_row_that_began_anew_is_new(void)
{
	struct totals before = TOTALS_INIT, now = TOTALS_INIT, since;
	struct monitor_cell_key key = key_of(RUN_TIME, 0, 1, "gfx");
	struct monitor_cell many = cell_of("", 10, 20, 1), few = cell_of("", 10, 11, 1);

	feed(&before, &key, &many);
	feed(&now, &key, &few);
	CHECK(!totals_finish(&before, &table, NULL) && !totals_finish(&now, &table, NULL));
	CHECK(!totals_since(&now, &before, &since));
	CHECK(since.rows.count == 1 && since.rows.items[0].count == 2 &&
		since.rows.items[0].sum == 21);
	totals_release(&since);
	totals_release(&before);
	totals_release(&now);
}

/* As bytes they differ, as text they do not. */
static void labels_of_the_same_text_are_one_row_and_leave_the_others_alone(void)
{
	struct monitor_cell_key number = key_of(RUN_TIME, 0, 7, ""),
				string = key_of(RUN_TIME, 1, 7, "3"),
				other = key_of(RUN_TIME, 0, 7, "gfx");
	struct monitor_cell small = cell_of("a", 5, 5, 1), large = cell_of("a", 100, 104, 1);
	struct totals now = TOTALS_INIT, before = TOTALS_INIT, since;

	number.label[0][0] = 3;
	number.label[0][MONITOR_LABEL_BYTES - 1] = MONITOR_LABEL_NUMBER;
	for (int i = 0; i < 2; i++) {
		feed(i ? &now : &before, &number, &large);
		feed(i ? &now : &before, &string, &large);
		feed(i ? &now : &before, &other, &small);
	}
	feed(&now, &other, &small);
	CHECK(!totals_finish(&before, &table, NULL) && !totals_finish(&now, &table, NULL));
	CHECK(now.rows.count == 2 && row_of(&now, RUN_TIME, "3", 7)->count == 10);
	CHECK(row_of(&now, RUN_TIME, "3", 7)->min == 100);
	CHECK(!totals_since(&now, &before, &since));
	CHECK(since.rows.count == 1 && row_of(&since, RUN_TIME, "gfx", 7)->count == 1);
	totals_release(&since);
	totals_release(&now);
	totals_release(&before);
}

static void rows_are_summed_by_what_is_asked(void)
{
	struct totals t = TOTALS_INIT, sum;
	struct monitor_cell_key a = key_of(RUN_TIME, 0, 1, "gfx"),
				b = key_of(RUN_TIME, 0, 1, "dma");
	struct monitor_cell_key c = key_of(RUN_TIME, 0, 2, "gfx"),
				waits = key_of(WAITS, 0, 0, "gfx");
	struct monitor_cell cell = cell_of("x", 100, 100, 1), large = cell_of("y", 900, 900, 1);

	a.client = 3;
	b.client = 4;
	feed(&t, &a, &cell);
	feed(&t, &b, &cell);
	feed(&t, &c, &large);
	feed(&t, &waits, &cell);
	CHECK(!totals_finish(&t, &table, NULL));
	CHECK(!totals_merge(&t, RUN_TIME, 0, &sum));
	CHECK(sum.rows.count == 1 && sum.rows.items[0].count == 3 && sum.rows.items[0].sum == 1100);
	CHECK(sum.rows.items[0].min == 100 && sum.rows.items[0].max == 900 &&
		!sum.rows.items[0].pid);
	CHECK(!sum.rows.items[0].comm[0]);
	totals_release(&sum);
	CHECK(!totals_merge(&t, RUN_TIME, TOTAL_BY_PROCESS, &sum));
	CHECK(sum.rows.count == 2 && sum.rows.items[0].pid == 2 && sum.rows.items[1].count == 2);
	CHECK_TEXT(sum.rows.items[0].comm, "y");
	CHECK(!sum.rows.items[1].client);
	totals_release(&sum);
	CHECK(!totals_merge(&t, RUN_TIME, TOTAL_BY_CLIENT, &sum));
	CHECK(sum.rows.count == 3);
	totals_release(&sum);
	CHECK(!totals_merge(&t, RUN_TIME, TOTAL_BY_LABELS, &sum));
	CHECK(sum.rows.count == 2 && row_of(&sum, RUN_TIME, "gfx", 0)->sum == 1000);
	totals_release(&sum);
	CHECK(!totals_merge(&t, MOVES, 0, &sum) && !sum.rows.count);
	totals_release(&sum);
	totals_release(&t);
}

static void everything_is_fetched_from_a_watch(void)
{
	struct fed fed[] = {{key_of(RUN_TIME, 0, 1, "gfx"), cell_of("", 100, 100, 1)},
		{key_of(RUN_TIME, 1, 1, "gfx"), cell_of("", 200, 200, 1)}};
	struct watch w = {fed, 2};
	struct totals t;
	uint64_t before = clock_now_ns();

	CHECK(!totals_fetch(&table, &w, NULL, &t));
	CHECK(t.rows.count == 1 && t.rows.items[0].sum == 300 && !t.index);
	CHECK(t.from_ns == 0 && t.until_ns >= before);
	totals_release(&t);
	w.count = 0;
	CHECK(!totals_fetch(&table, &w, NULL, &t));
	CHECK(t.rows.count == 0);
	totals_release(&t);
}

int main(void)
{
	RUN(every_value_is_in_its_bucket);
	RUN(cells_of_all_cpus_become_one_row);
	RUN(rows_come_by_series_and_the_largest_first);
	RUN(labels_that_are_numbers_are_named_by_their_list);
	RUN(percentiles_are_at_most_a_sixteenth_off_and_between_the_extremes);
	RUN(values_beyond_the_last_bucket_are_told_by_their_maximum);
	RUN(busy_time_is_the_union_by_ring_by_process_and_by_both);
	RUN(rings_of_two_devices_are_busy_for_themselves);
	RUN(what_is_not_of_a_process_has_no_busy_time_by_process);
	RUN(processes_that_are_forgotten_take_no_room_and_may_come_again);
	RUN(busy_time_of_two_clients_of_a_process_is_not_told_for_either);
	RUN(records_have_the_spans_that_are_not_sent_with_them);
	RUN(a_difference_has_what_came_in_between);
	RUN(a_row_that_began_anew_is_new);
	RUN(labels_of_the_same_text_are_one_row_and_leave_the_others_alone);
	RUN(rows_are_summed_by_what_is_asked);
	RUN(everything_is_fetched_from_a_watch);
	return tap_end();
}
