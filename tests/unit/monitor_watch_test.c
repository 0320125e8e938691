// SPDX-License-Identifier: MIT
/*
 * The generic program of monitors against the running kernel: needs the rights for BPF, and skips
 * aloud without them.
 *
 * The tables are the test's own, over tracepoints that every kernel has and that this process fires
 * as often as it says: calls to the system with arguments that mean something to the table only.
 * Nothing becomes of these calls; their file is none.
 */
#include "monitor/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "bucket.h"
#include "monitor/totals.h"
#include "tap.h"

/* No other process has such numbers in its calls; and no page begins there. */
#define OURS(n) (0x5eed00000001ul + 2 * (unsigned long)(n))

/* ------------------------------------------------------------------ what the tables are made of */

#define ON_BEGIN                                                                                   \
	{                                                                                          \
		{                                                                                  \
			.kind = SOURCE_TRACEPOINT, .name = "syscalls:sys_enter_prctl",             \
			.fields = {{"key", "arg2", FIELD_NUMBER}, {"value", "arg3", FIELD_NUMBER}, \
				{"label", "arg4", FIELD_NUMBER}, {"thread", NULL, FIELD_THREAD}},  \
		}                                                                                  \
	}
#define ON_MARK                                                                                    \
	{                                                                                          \
		{                                                                                  \
			.kind = SOURCE_TRACEPOINT, .name = "syscalls:sys_enter_mremap",            \
			.fields = {{"key", "addr", FIELD_NUMBER},                                  \
				{"value", "old_len", FIELD_NUMBER},                                \
				{"label", "new_len", FIELD_NUMBER},                                \
				{"thread", NULL, FIELD_THREAD}},                                   \
		}                                                                                  \
	}
#define ON_END                                                                                     \
	{                                                                                          \
		{                                                                                  \
			.kind = SOURCE_TRACEPOINT, .name = "syscalls:sys_enter_mprotect",          \
			.fields = {{"key", "start", FIELD_NUMBER}, {"value", "len", FIELD_NUMBER}, \
				{"label", "prot", FIELD_NUMBER}, {"thread", NULL, FIELD_THREAD}},  \
		}                                                                                  \
	}

static void call_begin(unsigned long key, unsigned long value, unsigned long label)
{
	syscall(SYS_prctl, -1, OURS(key), value, label, 0ul); /* no such option */
}

static void call_mark(unsigned long key, unsigned long value, unsigned long label)
{
	syscall(SYS_mremap, OURS(key), value, label, ~0ul, 0ul); /* no such flags */
}

static void call_end(unsigned long key, unsigned long value, unsigned long label)
{
	syscall(SYS_mprotect, OURS(key), value, label);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* ------------------------------------------------------------------ watching */

struct seen {
	struct watch *w;
	struct vec(struct monitor_record) records;
	struct vec(struct monitor_span) spans;
};

static int keep_record(void *context, const struct monitor_record *r)
{
	struct seen *s = context;

	return vec_push(&s->records, *r);
}

static int keep_span(void *context, const struct monitor_span *p)
{
	struct seen *s = context;

	return vec_push(&s->spans, *p);
}

static bool begin_with(struct seen *s, const struct watch_options *options)
{
	struct monitor_kernel kernel;
	int error;

	*s = (struct seen){0};
	monitor_kernel_look("", &kernel);
	error = watch_open(options, &kernel, &s->w);
	monitor_kernel_release(&kernel);
	if (!error)
		return true;
	if (error == -EPERM || error == -EACCES || error == -ENOTSUP || kernel.no_rights)
		SKIP("BPF is not permitted here");
	else
		CHECK_TEXT(error_text(), "");
	return false;
}

/* Of this process. */
static bool begin(struct seen *s, const struct monitor *m)
{
	const struct watch_options options = {
		.monitor = m, .pid = (uint32_t)getpid(), .above_event = -1};

	return begin_with(s, &options);
}

static void read_all(struct seen *s)
{
	const struct watch_sink sink = {.context = s, .record = keep_record, .span = keep_span};

	CHECK(!watch_read(s->w, &sink));
}

static void end(struct seen *s)
{
	watch_close(s->w);
	vec_release(&s->records);
	vec_release(&s->spans);
}

static struct monitor_losses losses(struct seen *s, size_t event)
{
	struct watch_event_status status = {0};

	CHECK(!watch_status(s->w, event, &status));
	CHECK(status.attached || !s->w);
	return status.totals;
}

/* The cells of a series with a label (NULL: any), put together. */
struct asked {
	uint16_t series;
	const char *label, *other; /* numbers as 8 bytes and a mark: number_label */
	struct monitor_cell sum;
	uint32_t pid;
	size_t cells;
};

static int add_cell(void *context, const struct monitor_cell_key *key, const struct monitor_cell *c)
{
	struct asked *a = context;

	if (key->series != a->series ||
		(a->label && memcmp(key->label[0], a->label, sizeof(key->label[0]))) ||
		(a->other && memcmp(key->label[1], a->other, sizeof(key->label[1]))))
		return 0;
	if (!a->cells++ || c->min < a->sum.min)
		a->sum.min = c->min;
	if (c->max > a->sum.max)
		a->sum.max = c->max;
	a->sum.count += c->count;
	a->sum.sum += c->sum;
	a->sum.cgroup = c->cgroup;
	memcpy(a->sum.comm, c->comm, sizeof(a->sum.comm));
	for (size_t i = 0; i < MONITOR_BUCKETS; i++)
		a->sum.buckets[i] += c->buckets[i];
	a->pid = key->pid;
	return 0;
}

static struct asked ask(struct seen *s, uint16_t series, const char *label, const char *other)
{
	struct asked a = {.series = series, .label = label, .other = other};

	CHECK(!watch_cells(s->w, add_cell, &a));
	return a;
}

static struct monitor_cell cells_of(struct seen *s, uint16_t series, const char *label)
{
	return ask(s, series, label, NULL).sum;
}

static uint64_t in_buckets(const struct monitor_cell *c)
{
	uint64_t count = 0;

	for (size_t i = 0; i < MONITOR_BUCKETS; i++)
		count += c->buckets[i];
	return count;
}

/* Valid until four more were made. */
static const char *number_label(uint64_t number)
{
	static char labels[4][MONITOR_LABEL_BYTES];
	static unsigned int next;
	char *label = labels[next++ % 4];

	memset(label, 0, MONITOR_LABEL_BYTES);
	memcpy(label, &number, sizeof(number));
	label[MONITOR_LABEL_BYTES - 1] = MONITOR_LABEL_NUMBER;
	return label;
}

static const char *text_label(const char *text)
{
	static char label[MONITOR_LABEL_BYTES];

	memset(label, 0, sizeof(label));
	snprintf(label, sizeof(label), "%s", text);
	return label;
}

struct objects {
	size_t count;
	bool stackless; /* one of them has no stack of user code */
	struct monitor_object last;
	struct monitor_object_key key;
};

static int count_object(
	void *context, const struct monitor_object_key *key, const struct monitor_object *o)
{
	struct objects *all = context;

	if (key->word[0] >> 32 != OURS(0) >> 32)
		return 0;
	all->count++;
	all->stackless |= o->user_stack < 0;
	all->last = *o;
	all->key = *key;
	return 0;
}

static struct objects objects_of(struct seen *s, uint8_t kind)
{
	struct objects all = {0};

	CHECK(!watch_objects(s->w, kind, count_object, &all));
	return all;
}

/* ------------------------------------------------------------------ threads and times */

static const struct monitor_event calls_events[] = {
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
		.counts = {{0, VALUE_DURATION, .label = {"id"}}},
		.label = {"id"},
		.above = 1,
	},
	{0},
};

static const struct monitor_object_row plain_objects[] = {{.name = "call"}, {.name = "other"}, {0}};

static const struct monitor_series calls_series[] = {
	{.name = "duration", .unit = UNIT_NANOSECONDS, .histogram = true, .label = {"call"}},
	{0},
};

static const struct monitor calls = {
	.name = "calls", .events = calls_events, .objects = plain_objects, .series = calls_series};

static void check_naps(struct seen *s)
{
	struct monitor_cell c;
	uint64_t from_ns = clock_now_ns(), took_ns;

	for (int i = 0; i < 10; i++)
		pause_ms(3);
	took_ns = clock_now_ns() - from_ns;
	for (int i = 0; i < 5000; i++)
		syscall(SYS_getpgid, 0);
	watch_stop(s->w);
	c = cells_of(s, 0, number_label(SYS_clock_nanosleep));
	if (!c.count) /* which of the two the C library takes */
		c = cells_of(s, 0, number_label(SYS_nanosleep));
	CHECK(c.count == 10 && in_buckets(&c) == 10);
	CHECK(c.min >= 3000000 && c.sum >= 30000000 && c.sum < took_ns && c.max < took_ns);
	for (size_t i = 0; i < MONITOR_BUCKETS; i++)
		CHECK(!c.buckets[i] || (i >= total_bucket(c.min) && i <= total_bucket(c.max)));
	c = cells_of(s, 0, number_label(SYS_getpgid));
	CHECK(c.count == 5000 && in_buckets(&c) == 5000);
	CHECK(c.min > 0 && c.min <= c.sum / 5000 && c.max >= c.sum / 5000);
}

static void each_call_of_a_thread_is_counted_with_its_time(void)
{
	struct seen s;

	if (!begin(&s, &calls))
		return;
	check_naps(&s);
	end(&s);
}

/* The same with objects that have an owner, which are in the table of objects. */
static void objects_by_thread_may_have_an_owner(void)
{
	struct monitor_event events[3] = {calls_events[0], calls_events[1], {0}};
	struct monitor m = calls;
	struct seen s;

	events[1].process_act = 1;
	m.events = events;
	if (!begin(&s, &m))
		return;
	check_naps(&s);
	end(&s);
}

static void the_place_of_an_object_that_recurs_is_kept_but_it_is_gone(void)
{
	struct monitor_event events[3] = {calls_events[0], calls_events[1], {0}};
	struct monitor m = calls;
	struct monitor_object_row objects[] = {{.name = "call", .left = "calls"}, {0}};
	struct seen s;
	struct objects none = {0};

	events[1].acts[0].recurs = true;
	m.events = events;
	m.objects = objects;
	if (!begin(&s, &m))
		return;
	check_naps(&s);
	CHECK(!watch_objects(s.w, 0, count_object, &none));
	CHECK(!none.count);
	end(&s);
}

/* ------------------------------------------------------------------ objects */

enum { VALUES, FROM_BEGIN, FROM_MARK, KEPT, PAIRED };

static const struct monitor_series job_series[] = {
	[VALUES] = {.name = "values", .histogram = true, .by_process = true, .label = {"label"}},
	[FROM_BEGIN] = {.name = "from_begin",
		.unit = UNIT_NANOSECONDS,
		.histogram = true,
		.busy = true,
		.label = {"label"}},
	[FROM_MARK] = {.name = "from_mark",
		.unit = UNIT_NANOSECONDS,
		.histogram = true,
		.label = {"label"}},
	[KEPT] = {.name = "kept", .unit = UNIT_BYTES, .label = {"label", "of_end"}},
	[PAIRED] = {.name = "paired", .unit = UNIT_BYTES},
	{0},
};

static const struct monitor_event job_events[] = {
	{
		.name = "BEGIN",
		.sources = ON_BEGIN,
		.acts = {{.kind = ACT_OPEN,
			.key = {"key"},
			.value = "value",
			.label = {"label"},
			.stacks = true}},
		.counts = {{VALUES, VALUE_FIELD, .field = "value", .label = {"label"}}},
		.label = {"label"},
	},
	{
		.name = "MARK",
		.sources = ON_MARK,
		.acts = {{.kind = ACT_MARK, .stage = 1, .key = {"key"}}},
		.counts = {{FROM_BEGIN, VALUE_DURATION, .label = {"@0.0"}}},
		.label = {"@0.0"},
		.process_act = 1,
		.above = 1,
	},
	{
		.name = "END",
		.sources = ON_END,
		.acts = {{.kind = ACT_CLOSE, .stage = 2, .key = {"key"}}},
		.counts = {{FROM_MARK, VALUE_DURATION, .act = 0, .from = 1, .label = {"@0.0"}},
			{KEPT, VALUE_KEPT, .act = 0, .label = {"@0.0", "label"}},
			{PAIRED, VALUE_PAIRED, .field = "value", .act = 0}},
		.label = {"@0.0"},
		.process_act = 1,
	},
	{0},
};

static const struct monitor_object_row job_objects[] = {
	{.name = "job", .left = "jobs", .by_stack = true}, {0}};

static const struct monitor jobs = {
	.name = "jobs", .events = job_events, .objects = job_objects, .series = job_series};

static void an_object_is_begun_marked_and_ended(void)
{
	struct seen s;
	struct monitor_cell c;
	struct asked a;

	if (!begin(&s, &jobs))
		return;
	for (unsigned long i = 0; i < 20; i++)
		call_begin(i, 1000 + i, i % 2);
	pause_ms(2);
	for (unsigned long i = 0; i < 20; i++)
		call_mark(i, 0, 0);
	pause_ms(2);
	for (unsigned long i = 0; i < 15; i++)
		call_end(i, 7, 5);
	call_end(3, 7, 5); /* it is gone */
	watch_stop(s.w);
	a = ask(&s, VALUES, number_label(0), NULL);
	CHECK(a.sum.count == 10 && a.sum.sum == 10 * 1000 + 90 && a.sum.min == 1000 &&
		a.sum.max == 1018);
	CHECK(a.pid == (uint32_t)getpid() && a.sum.comm[0] &&
		a.sum.buckets[total_bucket(1018)] > 0);
	c = cells_of(&s, VALUES, number_label(1));
	CHECK(c.count == 10 && c.sum == 10 * 1000 + 100);
	c = cells_of(&s, FROM_BEGIN, number_label(0));
	CHECK(c.count == 10 && c.min >= 2000000);
	c = cells_of(&s, FROM_MARK, number_label(0));
	CHECK(c.count == 8 && c.min >= 2000000 && in_buckets(&c) == 8);
	c = ask(&s, KEPT, number_label(1), number_label(5)).sum;
	CHECK(c.count == 7 && c.sum == 7 * 1000 + 49);
	c = cells_of(&s, PAIRED, NULL);
	CHECK(c.count == 15 && c.sum == 15 * 7);
	CHECK(objects_of(&s, 0).count == 5);
	end(&s);
}

static void what_did_not_end_is_there_with_its_owner_and_stacks(void)
{
	uint64_t addresses[MONITOR_STACK_DEPTH];
	struct seen s;
	struct objects all;

	if (!begin(&s, &jobs))
		return;
	call_begin(77, 4096, 9);
	watch_stop(s.w);
	all = objects_of(&s, 0);
	CHECK(all.count == 1 && all.key.word[0] == OURS(77) && all.last.value == 4096);
	CHECK(all.last.pid == (uint32_t)getpid() && all.last.tid == (uint32_t)syscall(SYS_gettid));
	CHECK(!memcmp(all.last.label[0], number_label(9), MONITOR_LABEL_BYTES) && all.last.comm[0]);
	CHECK(all.last.stage_ns[0] && all.last.stage_ns[0] <= clock_now_ns() &&
		!all.last.stage_ns[1]);
	CHECK(watch_stack(s.w, all.last.user_stack, addresses) > 0 && (int64_t)addresses[0] > 0);
	CHECK(!watch_stack(s.w, -14, addresses));
	end(&s);
}

static void what_began_before_us_is_a_stranger(void)
{
	struct seen s;
	struct monitor_losses before, after;

	if (!begin(&s, &jobs))
		return;
	before = losses(&s, 2);
	for (unsigned long i = 0; i < 6; i++)
		call_end(500 + i, 1, 1);
	after = losses(&s, 2);
	CHECK(after.strangers - before.strangers >= 6);
	CHECK(cells_of(&s, KEPT, NULL).count == 0 && cells_of(&s, PAIRED, NULL).count == 0);
	end(&s);
}

static void no_room_for_an_object_is_counted(void)
{
	const struct watch_options options = {
		.monitor = &jobs, .pid = (uint32_t)getpid(), .above_event = -1, .objects_max = 512};
	struct seen s;

	if (!begin_with(&s, &options))
		return;
	for (unsigned long i = 0; i < 600; i++)
		call_begin(i, 1, 1);
	/* The kernel keeps a few entries on each CPU's list of free ones. */
	CHECK(losses(&s, 0).objects >= 88 && objects_of(&s, 0).count <= 512);
	CHECK(objects_of(&s, 0).count + losses(&s, 0).objects >= 600);
	CHECK(cells_of(&s, VALUES, number_label(1)).count == 600);
	end(&s);
}

static void a_stack_whose_place_another_has_is_counted(void)
{
	const struct watch_options options = {
		.monitor = &jobs, .pid = (uint32_t)getpid(), .above_event = -1, .stacks_max = 1};
	struct seen s;
	struct objects all;

	if (!begin_with(&s, &options))
		return;
	/* From two places in the C library. */
	call_begin(77, 4096, 9);
	prctl(-1, OURS(78), 4096ul, 9ul, 0ul);
	all = objects_of(&s, 0);
	CHECK(all.count == 2 && all.stackless);
	CHECK(losses(&s, 0).stacks > 0);
	end(&s);
}

static void no_room_for_a_cell_is_counted_and_forgetting_makes_room(void)
{
	const struct watch_options options = {
		.monitor = &jobs, .pid = (uint32_t)getpid(), .above_event = -1, .cells_max = 16};
	struct monitor_cell_key key = {.series = VALUES, .pid = (uint32_t)getpid()};
	struct monitor_cell forgotten = {0}, last;
	struct seen s;

	if (!begin_with(&s, &options))
		return;
	for (unsigned long i = 0; i < 40; i++)
		call_begin(i, 3, i);
	CHECK(losses(&s, 0).cells >= 24 && cells_of(&s, VALUES, NULL).count <= 16);
	CHECK(cells_of(&s, VALUES, NULL).count + losses(&s, 0).cells == 40);
	for (unsigned long i = 0; i < 40; i++)
		for (key.cpu = 0; key.cpu < sysconf(_SC_NPROCESSORS_CONF); key.cpu++) {
			memcpy(key.label[0], number_label(i), sizeof(key.label[0]));
			CHECK(!watch_forget(s.w, &key, &last));
			forgotten.count += last.count;
			forgotten.sum += last.sum;
		}
	CHECK(forgotten.count + losses(&s, 0).cells == 40 && forgotten.sum == forgotten.count * 3);
	CHECK(cells_of(&s, VALUES, NULL).count == 0);
	pause_ms(999);
	pause_ms(200);
	CHECK(!watch_forget(s.w, &key, &last) && !last.count);
	for (unsigned long i = 0; i < 5; i++)
		call_begin(i, 3, 1000 + i);
	CHECK(cells_of(&s, VALUES, NULL).count == 5 && cells_of(&s, VALUES, NULL).sum == 15);
	end(&s);
}

/* --------------------------------------------------------------- one object in place of another */

static const struct monitor_event turns_events[] = {
	{
		.name = "TURN",
		.sources = ON_BEGIN,
		.acts = {{.kind = ACT_REOPEN,
			.key = {"key"},
			.value = "value",
			.label = {"label"}}},
		.counts = {{FROM_BEGIN, VALUE_DURATION, .act = 0, .label = {"@0.0"}},
			{KEPT, VALUE_KEPT, .act = 0, .label = {"@0.0"}}},
		.label = {"@0.0"},
	},
	{
		.name = "LOOK",
		.sources = ON_MARK,
		.acts = {{.kind = ACT_LOOK, .key = {"none_such"}},
			{.kind = ACT_LOOK, .key = {"key"}},
			{.kind = ACT_OPEN,
				.object = 1,
				.key = {"key"},
				.label = {"@1.0", "label"}}},
		.counts = {{VALUES, VALUE_ONE, .label = {"@1.0", "label"}}},
	},
	{
		.name = "ONLY",
		.sources = ON_END,
		.acts = {{.kind = ACT_CLOSE,
			.key = {"key"},
			.value = "value",
			.only_value = true,
			.stage = 1}},
		.counts = {{PAIRED, VALUE_KEPT, .act = 0, .label = {"@0.0"}}},
	},
	{0},
};

static const struct monitor turns = {
	.name = "turns", .events = turns_events, .objects = plain_objects, .series = job_series};

static void what_is_reopened_ends_with_its_own_labels(void)
{
	struct seen s;
	struct monitor_cell c;

	if (!begin(&s, &turns))
		return;
	call_begin(1, 100, 7);
	CHECK(!cells_of(&s, KEPT, NULL).count);
	pause_ms(1);
	call_begin(1, 200, 8);
	pause_ms(3);
	call_begin(1, 300, 7);
	c = cells_of(&s, KEPT, number_label(7));
	CHECK(c.count == 1 && c.sum == 100);
	c = cells_of(&s, KEPT, number_label(8));
	CHECK(c.count == 1 && c.sum == 200);
	c = cells_of(&s, FROM_BEGIN, number_label(7));
	CHECK(c.count == 1 && c.min >= 1000000);
	c = cells_of(&s, FROM_BEGIN, number_label(8));
	CHECK(c.count == 1 && c.min >= 3000000);
	end(&s);
}

static void a_label_comes_from_an_object_that_is_looked_at(void)
{
	struct seen s;
	struct objects all;

	if (!begin(&s, &turns))
		return;
	call_begin(2, 1, 31);
	call_mark(2, 0, 41);
	call_mark(3, 0, 42); /* nothing is found */
	CHECK(ask(&s, VALUES, number_label(31), number_label(41)).sum.count == 1);
	CHECK(ask(&s, VALUES, text_label(""), number_label(42)).sum.count == 1);
	call_end(2, 99, 0); /* has another value */
	CHECK(!cells_of(&s, PAIRED, NULL).count);
	call_end(2, 1, 0);
	CHECK(cells_of(&s, PAIRED, number_label(31)).sum == 1);
	CHECK(!objects_of(&s, 0).count);
	all = objects_of(&s, 1);
	CHECK(all.count == 2);
	end(&s);
}

/* ------------------------------------------------------------------ numbers that go on */

enum { MISSED, PERIOD, BACK };

static const struct monitor_event steps_events[] = {
	{
		.name = "STEP",
		.sources = ON_BEGIN,
		.acts = {{.kind = ACT_ADVANCE, .key = {"key"}, .value = "value", .label = {"key"}}},
		.counts = {{MISSED, VALUE_MISSED, .act = 0, .label = {"label"}},
			{PERIOD, VALUE_PERIOD, .act = 0, .label = {"label"}},
			{BACK, VALUE_BACK, .act = 0, .label = {"label"}}},
	},
	{0},
};

static const struct monitor_series steps_series[] = {
	[MISSED] = {.name = "missed", .label = {"label"}},
	[PERIOD] = {.name = "period",
		.unit = UNIT_NANOSECONDS,
		.histogram = true,
		.label = {"label"}},
	[BACK] = {.name = "back", .label = {"label"}},
	{0},
};

static const struct monitor steps = {
	.name = "steps", .events = steps_events, .objects = plain_objects, .series = steps_series};

static void numbers_that_are_skipped_are_missed(void)
{
	struct seen s;
	struct monitor_cell c;
	uint64_t from_ns;

	if (!begin(&s, &steps))
		return;
	call_begin(1, 10, 1);
	pause_ms(2);
	from_ns = clock_now_ns();
	call_begin(1, 11, 1);
	c = cells_of(&s, MISSED, NULL);
	CHECK(!c.count);
	c = cells_of(&s, PERIOD, NULL);
	CHECK(c.count == 1 && c.min >= 2000000);
	pause_ms(4);
	call_begin(1, 15, 2);
	c = cells_of(&s, MISSED, number_label(2));
	CHECK(c.count == 1 && c.sum == 3);
	c = cells_of(&s, PERIOD, number_label(2));
	/* The time since the one before it, by four. */
	CHECK(c.count == 1 && c.min >= 1000000 && c.max <= (clock_now_ns() - from_ns) / 4);
	CHECK(!cells_of(&s, BACK, NULL).count);
	call_begin(1, 15, 3); /* once more */
	call_begin(1, 3, 3);  /* begins anew */
	c = cells_of(&s, BACK, number_label(3));
	CHECK(c.count == 2 && c.sum == 2 && !cells_of(&s, MISSED, number_label(3)).count &&
		!cells_of(&s, PERIOD, number_label(3)).count);
	call_begin(1, 5, 4);
	CHECK(cells_of(&s, MISSED, number_label(4)).sum == 1);
	call_begin(1, UINT64_MAX, 5); /* before 0 */
	CHECK(cells_of(&s, BACK, number_label(5)).count == 1);
	call_begin(1, 1, 6); /* across the end */
	CHECK(cells_of(&s, MISSED, number_label(6)).sum == 1);
	end(&s);
}

/* ------------------------------------------------------------------ numbers and strings */

static const struct monitor_event numbers_events[] = {
	{
		.name = "NUMBER",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "syscalls:sys_enter_prctl",
			.fields = {{"key", "arg2", FIELD_NUMBER}, {"value", "arg3", FIELD_NUMBER},
				{"pages", "arg3", FIELD_NUMBER, .shift = 12},
				{"more", "arg3", FIELD_NUMBER, .add = -5},
				{"first", "arg4", FIELD_NUMBER}, {"none", "no_such", FIELD_NUMBER},
				{"empty", "no_such", FIELD_STRING}}}},
		.counts = {{0, VALUE_FIELD, .field = "value"}, {1, VALUE_FIELD, .field = "pages"},
			{2, VALUE_AGE, .field = "value"},
			{7, VALUE_RANGE, .first = "first", .field = "value"}},
		.label = {"empty"},
	},
	{
		.name = "RENAME",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "task:task_rename",
			.fields = {{"old", "oldcomm", FIELD_STRING},
				{"new", "newcomm", FIELD_STRING},
				{"score", "oom_score_adj", FIELD_NUMBER},
				{"pid", "pid", FIELD_NUMBER}}}},
		.acts = {{.kind = ACT_OPEN, .key = {"new"}, .label = {"new"}, .stacks = true}},
		.counts = {{3, VALUE_ONE, .label = {"new", "old"}}},
		.label = {"new"},
	},
	{
		.name = "EXEC",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "sched:sched_process_exec",
			.fields = {{"file", "filename", FIELD_STRING},
				{"pid", "pid", FIELD_NUMBER}}}},
		.counts = {{4, VALUE_ONE, .label = {"file"}}},
		.label = {"file"},
	},
	{
		.name = "SIGNAL",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "signal:signal_generate",
			.fields = {{"errno", "errno", FIELD_NUMBER, .shift = 3},
				{"signal", "sig", FIELD_NUMBER}}}},
		.counts = {{6, VALUE_FIELD, .field = "errno"}},
	},
	{
		.name = "RCU",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "rcu:rcu_utilization",
			.fields = {{"what", "s", FIELD_STRING}}}},
		.counts = {{5, VALUE_ONE, .label = {"what"}}},
		.label = {"what"},
		.quiet = true,
	},
	{0},
};

// clang-format off
static const struct monitor_series numbers_series[] = {
	{.name = "values", .histogram = true},
	{.name = "pages"},
	{.name = "age", .histogram = true},
	{.name = "renames", .label = {"new", "old"}},
	{.name = "execs", .label = {"file"}},
	{.name = "rcu", .label = {"what"}},
	{.name = "errno"}, {.name = "range"}, {0},
};
// clang-format on

static const struct monitor numbers = {.name = "numbers",
	.events = numbers_events,
	.objects = plain_objects,
	.series = numbers_series};

static const struct monitor_record *record_of(const struct seen *s, uint16_t event, uint64_t key)
{
	vec_foreach (r, &s->records)
		if (r->event == event && r->pid == (uint32_t)getpid() &&
			(!key || r->field[0] == OURS(key)))
			return r;
	return NULL;
}

static bool begin_records(struct seen *s, const struct monitor *m)
{
	const struct watch_options options = {
		.monitor = m, .pid = (uint32_t)getpid(), .above_event = -1, .records = true};

	return begin_with(s, &options);
}

static void numbers_are_what_they_were_and_none_are_not_counted(void)
{
	const struct monitor_record *r;
	struct monitor_cell c;
	struct seen s;
	uint64_t now_ns;

	if (!begin_records(&s, &numbers))
		return;
	call_begin(1, 300, 0);
	call_begin(2, (unsigned long)-2, 0);
	now_ns = clock_now_ns();
	pause_ms(1);
	call_begin(3, now_ns, 0);
	read_all(&s);
	r = record_of(&s, 0, 1);
	CHECK(r && r->field[1] == 300 && r->field[2] == 300 << 12 && r->field[3] == 295);
	CHECK(r && !r->field[5] && !r->label[0][0] && r->message == MESSAGE_RECORD);
	CHECK(r && r->count[0] == 300 && r->count[1] == 300 << 12 && r->count[3] == 301);
	CHECK(r && r->tid == (uint32_t)syscall(SYS_gettid) && r->time_ns < now_ns && r->comm[0]);
	r = record_of(&s, 0, 2);
	CHECK(r && r->field[1] == (uint64_t)-2 && r->field[2] == (uint64_t)-2);
	CHECK(r && r->count[0] == MONITOR_NO_VALUE && r->count[1] == MONITOR_NO_VALUE &&
		r->count[2] == MONITOR_NO_VALUE);
	r = record_of(&s, 0, 3);
	CHECK(r && r->count[2] >= 1000000 && r->count[2] < 10000000000);
	c = cells_of(&s, 0, NULL);
	CHECK(c.count == 2 && c.sum == 300 + now_ns && c.buckets[total_bucket(300)] == 1);
	CHECK(c.buckets[MONITOR_BUCKETS - 1] == (now_ns >> 42 ? 1 : 0));
	CHECK(cells_of(&s, 1, NULL).count == 2);
	end(&s);
}

/* Fields that are not printed, and only serve one count. */
static void a_range_is_counted_without_records(void)
{
	struct seen s;
	struct monitor_cell c;

	if (!begin(&s, &numbers))
		return;
	call_begin(1, 10, 3);
	call_begin(1, 4, 4);
	c = cells_of(&s, 7, NULL);
	CHECK(c.count == 2 && c.sum == 9);
	c = cells_of(&s, 1, NULL);
	CHECK(c.count == 2 && c.sum == 14 << 12);
	end(&s);
}

static void every_bucket_is_where_it_is_said_to_be(void)
{
	struct seen s;
	struct monitor_cell c;
	uint64_t expected[MONITOR_BUCKETS] = {0};

	if (!begin(&s, &numbers))
		return;
	for (unsigned int i = 0; i < MONITOR_BUCKETS; i++) {
		uint64_t low = total_bucket_low(i);

		call_begin(1, low, 0);
		expected[i]++;
		if (!low)
			continue;
		call_begin(1, low - 1, 0);
		expected[i - 1]++;
	}
	call_begin(1, 1ul << 50, 0);
	expected[MONITOR_BUCKETS - 1]++;
	c = cells_of(&s, 0, NULL);
	CHECK(!memcmp(c.buckets, expected, sizeof(expected)) && !c.min && c.max == 1ul << 50);
	end(&s);
}

static void strings_in_the_record_are_read(void)
{
	const struct monitor_record *r;
	struct seen s;
	char before[16] = "";

	prctl(PR_GET_NAME, before);
	if (!begin_records(&s, &numbers))
		return;
	prctl(PR_SET_NAME, "fifteen letters");
	prctl(PR_SET_NAME, "a");
	prctl(PR_SET_NAME, before);
	read_all(&s);
	r = record_of(&s, 1, 0);
	CHECK(r && !strcmp(r->string[1], "fifteen letters") && !strcmp(r->string[0], before));
	CHECK(r && !strcmp(r->label[0], "fifteen letters") && (int32_t)r->field[3] == getpid());
	CHECK(cells_of(&s, 3, text_label("fifteen letters")).count == 1);
	CHECK(ask(&s, 3, text_label("a"), NULL).sum.count == 1);
	CHECK(cells_of(&s, 3, text_label(before)).count == 1);
	CHECK(!losses(&s, 1).unread);
	end(&s);
}

static int keep_renamed(
	void *context, const struct monitor_object_key *key, const struct monitor_object *o)
{
	if (!strcmp(o->label[0], "as nobody else"))
		*(struct monitor_object *)context = *o;
	return 0;
}

/* Events of calls to the system have no kernel stack before Linux 6.12; others have. */
static void an_object_known_by_a_string_has_the_kernels_stack(void)
{
	uint64_t addresses[MONITOR_STACK_DEPTH];
	struct monitor_object o = {0};
	char before[16] = "";
	struct seen s;

	prctl(PR_GET_NAME, before);
	if (!begin(&s, &numbers))
		return;
	prctl(PR_SET_NAME, "as nobody else");
	prctl(PR_SET_NAME, before);
	CHECK(!watch_objects(s.w, 0, keep_renamed, &o));
	CHECK(o.stage_ns[0] && watch_stack(s.w, o.kernel_stack, addresses) > 1);
	CHECK((int64_t)addresses[0] < 0 && (int64_t)addresses[1] < 0);
	CHECK(watch_stack(s.w, o.user_stack, addresses) > 0 && (int64_t)addresses[0] > 0);
	end(&s);
}

static void small_negative_numbers_keep_their_sign(void)
{
	siginfo_t info = {.si_signo = SIGWINCH, .si_code = SI_QUEUE, .si_errno = -7};
	const struct monitor_record *r;
	struct seen s;

	if (!begin_records(&s, &numbers))
		return;
	CHECK(!syscall(SYS_rt_sigqueueinfo, getpid(), SIGWINCH, &info));
	read_all(&s);
	r = record_of(&s, 3, 0);
	CHECK(r && r->field[0] == (uint64_t)-7 && r->field[1] == SIGWINCH);
	CHECK(!cells_of(&s, 6, NULL).count);
	end(&s);
}

static pid_t run_true(const char *path)
{
	pid_t child = fork();

	if (!child) {
		close(STDERR_FILENO);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	CHECK(child > 0 && waitpid(child, NULL, 0) == child);
	return child;
}

/* Two names, one of which is cut. */
static void strings_behind_the_record_are_read_up_to_a_length(void)
{
	const struct watch_options options = {
		.monitor = &numbers, .above_event = -1, .records = true};
	char folder[] = "/tmp/xpuprof-XXXXXX", path[200], label[32] = "";
	bool found = false;
	struct seen s;
	pid_t child;

	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%0100d", folder, 0);
	CHECK(!symlink("/bin/true", path));
	if (begin_with(&s, &options)) {
		child = run_true(path);
		run_true("/bin/true");
		read_all(&s);
		vec_foreach (r, &s.records)
			found |= r->event == 2 && r->pid == (uint32_t)child &&
				 strlen(r->string[0]) == 63 && !strncmp(r->string[0], path, 63) &&
				 strlen(r->label[0]) == 31;
		CHECK(found);
		memcpy(label, path, sizeof(label) - 1);
		CHECK(cells_of(&s, 4, text_label(label)).count == 1);
		CHECK(cells_of(&s, 4, text_label("/bin/true")).count >= 1);
		CHECK(!losses(&s, 2).unread);
		end(&s);
	}
	CHECK(!unlink(path) && !rmdir(folder));
}

static void strings_at_addresses_of_the_kernel_are_read(void)
{
	const struct watch_options options = {
		.monitor = &numbers, .above_event = -1, .records = true, .quiet_too = true};
	struct watch_event_status status;
	bool found = false;
	struct seen s;

	if (!begin_with(&s, &options))
		return;
	CHECK(!watch_status(s.w, 4, &status));
	if (!status.attached) {
		SKIP("this kernel has no event with such a string");
		end(&s);
		return;
	}
	for (int i = 0; i < 50; i++)
		pause_ms(1);
	read_all(&s);
	vec_foreach (r, &s.records)
		found |= r->event == 4 &&
			 (!strncmp(r->string[0], "Start ", 6) || !strncmp(r->string[0], "End ", 4));
	CHECK(found && !losses(&s, 4).unread);
	end(&s);
}

/* ------------------------------------------------------------------ filters */

static void only_the_process_that_was_asked_for_is_counted(void)
{
	struct seen s;
	pid_t child;

	if (!begin(&s, &jobs))
		return;
	child = fork();
	if (!child) {
		call_begin(1, 5, 21);
		call_mark(2, 0, 0); /* an object of the parent's */
		_exit(0);
	}
	CHECK(waitpid(child, NULL, 0) == child);
	call_begin(2, 6, 22);
	child = fork();
	if (!child) {
		call_mark(2, 0, 0);
		call_mark(1, 0, 0);
		_exit(0);
	}
	CHECK(waitpid(child, NULL, 0) == child);
	CHECK(!cells_of(&s, VALUES, number_label(21)).count &&
		cells_of(&s, VALUES, number_label(22)).count == 1);
	/* An event is of the process whose object it is about. */
	CHECK(cells_of(&s, FROM_BEGIN, NULL).count == 1);
	end(&s);
}

/* The name of a thread names a process. */
static const struct monitor_event naming_events[] = {
	{
		.name = "RENAME",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "task:task_rename",
			.fields = {{"new", "newcomm", FIELD_STRING, .needed = true}}}},
		.counts = {{0, VALUE_ONE, .label = {"new"}}},
		.label = {"new"},
		.process_text = "new",
	},
	{
		.name = "EXEC",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "sched:sched_process_exec",
			.fields = {{"file", "filename", FIELD_STRING, .needed = true}}}},
		.counts = {{0, VALUE_ONE, .label = {"file"}}},
		.label = {"file"},
		.process_text = "file",
	},
	{0},
};

static const struct monitor_series naming_series[] = {
	{.name = "names", .label = {"new"}, .by_process = true}, {0}};

static const struct monitor naming = {
	.name = "naming", .events = naming_events, .series = naming_series};

/* "PID COMM TID" of the record with this label; "": there is none. */
static const char *whose(const struct seen *s, const char *label)
{
	static char text[64];

	text[0] = '\0';
	vec_foreach (r, &s->records)
		if (!strncmp(r->label[0], label, MONITOR_LABEL_BYTES - 1))
			snprintf(text, sizeof(text), "%u %.16s %u", r->pid, r->comm, r->tid);
	return text;
}

static bool begin_naming(struct seen *s)
{
	const struct watch_options options = {
		.monitor = &naming, .above_event = -1, .records = true};

	return begin_with(s, &options);
}

static void check_naming(const char *name, const char *expected)
{
	char before[16] = "";
	struct seen s;

	prctl(PR_GET_NAME, before);
	if (!begin_naming(&s))
		return;
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_NAME, before);
	read_all(&s);
	CHECK_TEXT(whose(&s, name), expected);
	CHECK(!losses(&s, 0).unread);
	end(&s);
}

static void an_event_is_of_the_process_that_its_text_names(void)
{
	static const char path[] = "pid=2147483647, name=a name of many letters, x=y";
	struct seen s;

	unlink(path); /* of one that was killed */
	check_naming("pid=77, name=ab", "77 ab 77");
	check_naming("pid='9', name=a", "9 a 9");
	check_naming("pid=123456, Row", "123456  123456");
	CHECK(!symlink("/bin/true", path));
	if (begin_naming(&s)) {
		run_true(path);
		read_all(&s);
		CHECK_TEXT(whose(&s, path), "2147483647 a name of many  2147483647");
		end(&s);
	}
	CHECK(!unlink(path));
}

static void an_event_is_of_nobody_where_its_text_names_none(void)
{
	static const char *const texts[] = {"pid='<unknown>'", "GPU has fallen", "pid=0, name=x",
		"pid=12x, name=x", "pid=2147483648,", "pid=12345678901", "pid=99999999999",
		"pid=, name=x", "pid=12", "pid=", "pid", "p", "rid=1, name=x"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_naming(texts[i], "0  0");
	check_naming("pid=5, name=<un", "5  5");
}

static void the_process_that_was_asked_for_may_be_one_that_a_text_names(void)
{
	const struct watch_options options = {.monitor = &naming, .pid = 77, .above_event = -1};
	char before[16] = "";
	struct seen s;

	prctl(PR_GET_NAME, before);
	if (!begin_with(&s, &options))
		return;
	prctl(PR_SET_NAME, "pid=77, name=ab");
	prctl(PR_SET_NAME, "pid=78, name=ab");
	prctl(PR_SET_NAME, before);
	read_all(&s);
	CHECK(cells_of(&s, 0, NULL).count == 1);
	CHECK(cells_of(&s, 0, text_label("pid=77, name=ab")).count == 1);
	end(&s);
}

static void only_what_has_the_label_passes_and_all_labels_are_known(void)
{
	const struct watch_options options = {.monitor = &jobs,
		.pid = (uint32_t)getpid(),
		.above_event = -1,
		.records = true,
		.ring = "0x1f"};
	struct seen s;

	if (!begin_with(&s, &options))
		return;
	for (unsigned long i = 0; i < 6; i++)
		call_begin(i, 1, 30 + i % 3);
	for (unsigned long i = 0; i < 6; i++)
		call_mark(i, 1, 0);
	read_all(&s);
	CHECK(cells_of(&s, VALUES, NULL).count == 2 &&
		cells_of(&s, VALUES, number_label(31)).count == 2);
	CHECK(cells_of(&s, FROM_BEGIN, NULL).count == 2);
	CHECK(s.records.count == 4);
	CHECK(cells_of(&s, MONITOR_SERIES_LABELS, number_label(30)).count >= 4);
	CHECK(cells_of(&s, MONITOR_SERIES_LABELS, number_label(32)).count >= 4);
	end(&s);
}

static void labels_that_are_strings_are_filtered_too(void)
{
	const struct watch_options options = {.monitor = &numbers,
		.pid = (uint32_t)getpid(),
		.above_event = -1,
		.ring = "this one"};
	struct seen s;
	char before[16] = "";

	prctl(PR_GET_NAME, before);
	if (!begin_with(&s, &options))
		return;
	prctl(PR_SET_NAME, "this one");
	prctl(PR_SET_NAME, "this one not");
	prctl(PR_SET_NAME, before);
	CHECK(cells_of(&s, 3, NULL).count == 1 &&
		cells_of(&s, 3, text_label("this one")).count == 1);
	CHECK(cells_of(&s, MONITOR_SERIES_LABELS, text_label("this one not")).count == 1);
	end(&s);
}

/* What is a bucket's lowest value is told from what is less by the histogram too. */
static void records_are_only_of_what_took_long_enough(void)
{
	const unsigned int bucket = total_bucket(5000000);
	struct watch_options options = {
		.monitor = &calls, .pid = (uint32_t)getpid(), .above_event = 1};
	uint64_t long_enough = 0;
	struct monitor_cell c;
	struct seen s;

	options.above = total_bucket_low(bucket);
	if (!begin_with(&s, &options))
		return;
	for (int i = 0; i < 100; i++)
		syscall(SYS_getpgid, 0);
	for (int i = 0; i < 4; i++)
		pause_ms(6);
	watch_stop(s.w);
	read_all(&s);
	c = cells_of(&s, 0, NULL);
	for (size_t i = bucket; i < MONITOR_BUCKETS; i++)
		long_enough += c.buckets[i];
	CHECK(c.count >= 104 && long_enough >= 4 && s.records.count == long_enough);
	vec_foreach (r, &s.records)
		CHECK(r->event == 1 && r->count[0] >= options.above &&
			r->count[1] == MONITOR_NO_VALUE);
	end(&s);
}

/* ------------------------------------------------------------------ spans, the ring, the end */

static void busy_time_goes_by_spans_where_there_are_no_records(void)
{
	struct seen s;
	uint64_t sum;

	if (!begin(&s, &jobs))
		return;
	call_begin(1, 1, 3);
	pause_ms(2);
	call_mark(1, 0, 0);
	call_mark(2, 0, 0); /* of nothing */
	read_all(&s);
	sum = cells_of(&s, FROM_BEGIN, NULL).sum;
	CHECK(s.spans.count == 1 && !s.records.count);
	CHECK(s.spans.items[0].duration_ns == sum && s.spans.items[0].event == 1 &&
		s.spans.items[0].count == 0);
	CHECK(s.spans.items[0].pid == (uint32_t)getpid() &&
		s.spans.items[0].end_ns < clock_now_ns());
	CHECK(!memcmp(s.spans.items[0].label, number_label(3), MONITOR_LABEL_BYTES));
	end(&s);
}

static void what_the_full_ring_had_no_room_for_is_counted(void)
{
	const struct watch_options options = {.monitor = &jobs,
		.pid = (uint32_t)getpid(),
		.above_event = -1,
		.records = true,
		.ring_bytes = 16384};
	struct pollfd waiting = {.events = POLLIN};
	struct seen s;
	uint64_t lost;

	if (!begin_with(&s, &options))
		return;
	waiting.fd = watch_fd(s.w);
	CHECK(poll(&waiting, 1, 0) == 0);
	call_begin(1, 1, 1);
	CHECK(poll(&waiting, 1, 0) == 0); /* one record is not worth it */
	for (unsigned long i = 0; i < 999; i++)
		call_begin(i, 1, 1);
	CHECK(poll(&waiting, 1, 1000) == 1);
	read_all(&s);
	CHECK(poll(&waiting, 1, 0) == 0);
	lost = losses(&s, 0).records;
	CHECK(s.records.count >= 20 && s.records.count < 100 && s.records.count + lost == 1000);
	CHECK(cells_of(&s, VALUES, NULL).count == 1000);
	call_begin(5000, 1, 1);
	s.records.count = 0;
	read_all(&s);
	CHECK(s.records.count == 1 && losses(&s, 0).records == lost);
	end(&s);
}

static void nothing_is_counted_before_the_beginning_or_behind_the_end(void)
{
	struct watch_event_status status;
	struct seen s;
	struct monitor_cell c;

	call_begin(1, 1, 1);
	if (!begin(&s, &jobs))
		return;
	call_begin(2, 1, 1);
	CHECK(!watch_status(s.w, 0, &status) && status.attached && !status.vanished &&
		status.totals.seen >= 1);
	watch_stop(s.w);
	call_begin(3, 1, 1);
	c = cells_of(&s, VALUES, NULL);
	CHECK(c.count == 1 && objects_of(&s, 0).count == 1);
	CHECK(!watch_status(s.w, 0, &status) && !status.attached);
	watch_stop(s.w);
	end(&s);
}

static void events_that_are_not_there_leave_the_others(void)
{
	struct monitor_event events[3] = {
		{.name = "NO", .sources = {{.kind = SOURCE_TRACEPOINT, .name = "no:such"}}},
		job_events[0], {0}};
	struct monitor m = jobs;
	struct watch_event_status status;
	struct monitor_kernel kernel;
	struct watch *w;
	struct seen s;

	m.events = events;
	if (!begin(&s, &m))
		return;
	CHECK(!watch_status(s.w, 0, &status) && !status.attached && status.plan->reason[0]);
	call_begin(2, 1, 1);
	CHECK(cells_of(&s, VALUES, NULL).count == 1);
	end(&s);
	events[1].name = NULL;
	monitor_kernel_look("", &kernel);
	CHECK(watch_open(&(struct watch_options){.monitor = &m, .above_event = -1}, &kernel, &w) ==
		-ENOENT);
	CHECK(strstr(error_text(), "no:such"));
	monitor_kernel_release(&kernel);
}

/* What the plan says of a field is not what the kernel has: never a number from elsewhere. */
static void an_event_that_cannot_be_read_is_not_watched(void)
{
	const struct watch_options options = {.monitor = &jobs, .above_event = -1};
	struct monitor_event_plan plans[3] = {{0}};
	struct monitor_kernel kernel;
	struct watch *w;
	int error;

	monitor_kernel_look("", &kernel);
	for (size_t i = 0; i < 3; i++)
		monitor_event_plan(&jobs, i, &kernel, &plans[i]);
	monitor_kernel_release(&kernel);
	if (plans[0].presence != PRESENT || kernel.no_rights) {
		SKIP("BPF is not permitted here");
		return;
	}
	plans[0].plan.field[1].offset = 4000; /* beyond the record */
	error = watch_open_plans(&options, plans, "", &w);
	if (error == -ENOTSUP) {
		SKIP("this build has no BPF programs");
		return;
	}
	CHECK(error == -EACCES);
	if (!error)
		watch_close(w);
	plans[0].plan.field[1].offset = 21;
	error = watch_open_plans(&options, plans, "", &w);
	CHECK(error == -EINVAL && strstr(error_text(), "8 bytes at 21"));
	if (!error)
		watch_close(w);
}

/* ---------------------------------------------------------------- as much as a plan can ask for */

// clang-format off
static const struct monitor_event largest_events[] = {
	{
		.name = "RENAME",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "task:task_rename",
			.fields = {{"old", "oldcomm", FIELD_STRING}, {"new", "newcomm", FIELD_STRING},
				{"score", "oom_score_adj", FIELD_NUMBER}, {"pid", "pid", FIELD_NUMBER},
				{"thread", NULL, FIELD_THREAD}}}},
		.acts = {{.kind = ACT_OPEN, .object = 0, .key = {"new", "pid"}, .value = "pid", .label = {"new", "old"},
				 .stacks = true},
			{.kind = ACT_REOPEN, .object = 1, .key = {"pid", "thread"}, .value = "pid",
				.label = {"new", "@0.1"}, .stacks = true},
			{.kind = ACT_MARK, .object = 0, .stage = 1, .key = {"new", "pid"}},
			{.kind = ACT_ADVANCE, .object = 2, .key = {"pid"}, .value = "pid", .label = {"old", "@2.0"}},
			{.kind = ACT_CLOSE, .object = 0, .stage = 2, .key = {"new", "pid"}}},
		.counts = {{FROM_BEGIN, VALUE_DURATION, .act = 1, .from = 0, .label = {"@1.0|@2.0", "new"}},
			{VALUES, VALUE_PAIRED, .field = "pid", .act = 4, .label = {"@4.0|@0.0", "@2.1|@3.1"}},
			{KEPT, VALUE_BACK, .act = 3, .label = {"@1.0", "@3.0"}},
			{FROM_MARK, VALUE_DURATION, .act = 4, .from = 1, .label = {"new", "old"}}},
		.label = {"@4.0|@0.0", "@2.1|@3.1"},
		.process_act = 3,
		.above = 4,
	},
	{0},
};
// clang-format on

// clang-format off
static const struct monitor_object_row largest_objects[] = {
	{.name = "a", .left = "a"}, {.name = "b", .left = "b"}, {.name = "c", .left = "c"}, {0}};

static const struct monitor largest = {
	.name = "largest", .events = largest_events, .objects = largest_objects, .series = job_series};

static void a_plan_that_asks_for_everything_is_taken(void)
{
	struct watch_options options = {.monitor = &largest,
		.pid = (uint32_t)getpid(), .above_event = 0, .ring = "everything"};
	struct monitor_cell c;
	char before[16] = "";
	struct seen s;

	prctl(PR_GET_NAME, before);
	if (!begin_with(&s, &options))
		return;
	prctl(PR_SET_NAME, "not it");
	prctl(PR_SET_NAME, "everything");
	prctl(PR_SET_NAME, before);
	read_all(&s);
	c = cells_of(&s, VALUES, text_label("everything"));
	CHECK(c.count == 1 && c.sum == (uint64_t)getpid() && cells_of(&s, VALUES, NULL).count == 1);
	CHECK(cells_of(&s, FROM_BEGIN, text_label("not it")).count == 1);
	CHECK(cells_of(&s, KEPT, text_label("not it")).sum == 1);
	CHECK(cells_of(&s, FROM_MARK, text_label("everything")).count == 1);
	CHECK(s.records.count == 1 && !strcmp(s.records.items[0].label[0], "everything") &&
		!strcmp(s.records.items[0].label[1], "not it"));
	end(&s);
}

/* ------------------------------------------------------------------ functions and modules */

#define FUNCTION "security_task_prctl"

static const struct monitor_event function_events[] = {
	{
		.name = "ENTRY",
		.sources = {{.kind = SOURCE_FUNCTION,
			.name = FUNCTION,
			.fields = {{"option", NULL, FIELD_NUMBER, .argument = 0, .bytes = 4, .is_signed = true},
				{"key", NULL, FIELD_NUMBER, .argument = 1, .bytes = 8},
				{"value", NULL, FIELD_NUMBER, .argument = 2, .bytes = 8},
				{"last", NULL, FIELD_NUMBER, .argument = 4, .bytes = 8},
				{"thread", NULL, FIELD_THREAD}}}},
		.acts = {{.kind = ACT_OPEN, .key = {"thread"}, .value = "key", .label = {"last"}}},
		.counts = {{VALUES, VALUE_FIELD, .field = "value", .label = {"last"}}},
	},
	{
		.name = "RETURN",
		.sources = {{.kind = SOURCE_RETURN,
			.name = FUNCTION,
			.fields = {{"result", NULL, FIELD_NUMBER, .bytes = 4, .is_signed = true},
				{"thread", NULL, FIELD_THREAD}}}},
		.acts = {{.kind = ACT_CLOSE, .key = {"thread"}, .recurs = true}},
		.counts = {{FROM_BEGIN, VALUE_DURATION, .label = {"@0.0"}},
			{KEPT, VALUE_FIELD, .field = "result", .label = {"@0.0"}}},
		.process_act = 1,
	},
	{0},
};
// clang-format on

static const struct monitor functions = {.name = "functions",
	.events = function_events,
	.objects = plain_objects,
	.series = job_series};

static void call_with(unsigned long value, unsigned long last)
{
	syscall(SYS_prctl, -1, OURS(1), value, 0ul, last);
}

static void arguments_and_results_of_functions_are_read(void)
{
	const struct watch_options options = {.monitor = &functions,
		.pid = (uint32_t)getpid(),
		.above_event = -1,
		.records = true};
	const struct monitor_record *r;
	struct monitor_kernel kernel;
	struct monitor_event_plan plan;
	struct monitor_cell c;
	struct seen s;

	monitor_kernel_look("", &kernel);
	monitor_event_plan(&functions, 0, &kernel, &plan);
	monitor_kernel_release(&kernel);
	if (plan.presence != PRESENT) {
		printf("# %s\n", plan.reason);
		SKIP("functions cannot be probed here");
		return;
	}
	if (!begin_with(&s, &options))
		return;
	for (unsigned long i = 0; i < 10; i++)
		call_with(0x70000 + i, 3);
	call_with(9, 4);
	watch_stop(s.w);
	read_all(&s);
	c = cells_of(&s, VALUES, number_label(3));
	CHECK(c.count == 10 && c.sum == 10 * 0x70000 + 45);
	c = cells_of(&s, FROM_BEGIN, number_label(3));
	CHECK(c.count == 10 && c.min > 0 && in_buckets(&c) == 10);
	CHECK(cells_of(&s, FROM_BEGIN, number_label(4)).count == 1);
	CHECK(!cells_of(&s, KEPT, NULL).count); /* an error is no number */
	r = record_of(&s, 0, 0);
	CHECK(r && r->field[0] == UINT64_MAX && r->field[1] == OURS(1) && r->field[2] == 0x70000 &&
		r->field[3] == 3);
	r = record_of(&s, 1, 0);
	CHECK(r && r->field[0] == (uint64_t)-ENOSYS && r->count[1] == MONITOR_NO_VALUE);
	end(&s);
}

static void an_event_whose_module_was_unloaded_has_vanished(void)
{
	const struct watch_options options = {.monitor = &jobs, .above_event = -1};
	struct monitor_source source = job_events[0].sources[0];
	struct monitor_event_plan plans[3] = {{0}};
	char root[] = "/tmp/xpuprof-root-XXXXXX", path[100];
	struct watch_event_status status;
	struct monitor_kernel kernel;
	struct watch *w;

	monitor_kernel_look("", &kernel);
	monitor_event_plan(&jobs, 0, &kernel, &plans[0]);
	monitor_kernel_release(&kernel);
	source.module = "gpu";
	plans[0].source = &source;
	CHECK(mkdtemp(root));
	for (size_t i = 0; i < 3; i++) {
		static const char *const folders[] = {"/sys", "/sys/module", "/sys/module/gpu"};

		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		CHECK(!mkdir(path, 0700));
	}
	if (plans[0].presence != PRESENT || watch_open_plans(&options, plans, root, &w))
		SKIP("BPF is not permitted here");
	else {
		CHECK(!watch_status(w, 0, &status) && status.attached && !status.vanished);
		CHECK(!rmdir(path));
		CHECK(!watch_status(w, 0, &status) && status.vanished);
		CHECK(!mkdir(path, 0700));
		CHECK(!watch_status(w, 0, &status) && status.vanished); /* that is another */
		watch_close(w);
	}
	for (; strlen(path) >= strlen(root); *strrchr(path, '/') = '\0')
		CHECK(!rmdir(path));
}

int main(void)
{
	RUN(a_plan_that_asks_for_everything_is_taken);
	RUN(arguments_and_results_of_functions_are_read);
	RUN(an_event_whose_module_was_unloaded_has_vanished);
	RUN(each_call_of_a_thread_is_counted_with_its_time);
	RUN(objects_by_thread_may_have_an_owner);
	RUN(the_place_of_an_object_that_recurs_is_kept_but_it_is_gone);
	RUN(an_object_is_begun_marked_and_ended);
	RUN(what_did_not_end_is_there_with_its_owner_and_stacks);
	RUN(what_began_before_us_is_a_stranger);
	RUN(no_room_for_an_object_is_counted);
	RUN(a_stack_whose_place_another_has_is_counted);
	RUN(no_room_for_a_cell_is_counted_and_forgetting_makes_room);
	RUN(what_is_reopened_ends_with_its_own_labels);
	RUN(a_label_comes_from_an_object_that_is_looked_at);
	RUN(numbers_that_are_skipped_are_missed);
	RUN(numbers_are_what_they_were_and_none_are_not_counted);
	RUN(a_range_is_counted_without_records);
	RUN(every_bucket_is_where_it_is_said_to_be);
	RUN(strings_in_the_record_are_read);
	RUN(an_object_known_by_a_string_has_the_kernels_stack);
	RUN(small_negative_numbers_keep_their_sign);
	RUN(strings_behind_the_record_are_read_up_to_a_length);
	RUN(strings_at_addresses_of_the_kernel_are_read);
	RUN(only_the_process_that_was_asked_for_is_counted);
	RUN(an_event_is_of_the_process_that_its_text_names);
	RUN(an_event_is_of_nobody_where_its_text_names_none);
	RUN(the_process_that_was_asked_for_may_be_one_that_a_text_names);
	RUN(only_what_has_the_label_passes_and_all_labels_are_known);
	RUN(labels_that_are_strings_are_filtered_too);
	RUN(records_are_only_of_what_took_long_enough);
	RUN(busy_time_goes_by_spans_where_there_are_no_records);
	RUN(what_the_full_ring_had_no_room_for_is_counted);
	RUN(nothing_is_counted_before_the_beginning_or_behind_the_end);
	RUN(events_that_are_not_there_leave_the_others);
	RUN(an_event_that_cannot_be_read_is_not_watched);
	return tap_end();
}
