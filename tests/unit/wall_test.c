// SPDX-License-Identifier: MIT
/* Where the time of threads goes in the wall view, on intervals and profiles made by hand and at
 * random. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "profile/writer.h"
#include "tap.h"
#include "view/fold/slice_sums.h"
#include "view/stalls/kept.h"
#include "view/waits/gpu_waits.h"
#include "view/wall/wall.h"
#include "view/wall/events.h"
#include "view/wall/kept.h"
#include "view/wall/thread.h"

static uint64_t seed = 1;

static uint64_t random_below(uint64_t limit)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % limit;
}

/* ------------------------------------------------------------------ what was waited for */

static const struct gpu_lane lanes[] = {
	{.process = 1, .device = 1, .context = 1, .stream = 7},
	{.process = 1, .device = 1, .context = 1, .stream = 8},
	{.process = 1, .device = 1, .context = 1, .stream = 9, .any_stream = true},
	{.process = 1, .device = 2, .context = 2, .stream = 7},
	{.process = 2, .device = 1, .context = 1, .stream = 7},
};

#define LANES (sizeof(lanes) / sizeof(lanes[0]))

static struct gpu_wait wait_for(uint32_t kind, uint64_t start_ns, uint64_t end_ns)
{
	return (struct gpu_wait){.start_ns = start_ns,
		.end_ns = end_ns,
		.launched_ns = start_ns,
		.process = 1,
		.device = 1,
		.context = kind ? 1 : 0,
		.stream = kind == SYNC_CONTEXT ? 0 : 7,
		.kind = kind};
}

static int add_part(void *sums, uint64_t key, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t *sum = map_get(sums, key);

	return map_put(sums, key, (sum ? *sum : 0) + to_ns - from_ns);
}

/* "A40 i50 -10": key of the run, i for idle, - for others; in this order. */
static const char *divided(
	const struct gpu_wait *waits, size_t wait_count, struct gpu_run *runs, size_t run_count)
{
	static char text[1024];
	struct map sums = MAP_INIT;
	const struct gpu_wait_parts parts = {&sums, add_part};
	size_t at = 0;

	text[0] = 0;
	CHECK(!gpu_waits_divide(waits, wait_count, runs, run_count, lanes, LANES, &parts));
	for (uint32_t what = 0; what < 28; what++) {
		const uint64_t *ns = map_get(&sums, (what + 2) % 28);

		if (ns)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%c%llu",
				at ? " " : "",
				(what + 2) % 28 == GPU_WAIT_IDLE     ? 'i'
				: (what + 2) % 28 == GPU_WAIT_OTHERS ? '-'
								     : (char)('A' + what),
				(unsigned long long)*ns);
	}
	map_release(&sums);
	return text;
}

static void a_wait_belongs_to_what_ran_and_the_rest_is_idle(void)
{
	struct gpu_wait w = wait_for(SYNC_STREAM, 100, 200);
	struct gpu_run runs[] = {{90, 130, 50, 0, 0}, {150, 160, 60, 0, 1}, {190, 300, 70, 0, 2}};

	CHECK_TEXT(divided(&w, 1, runs, 3), "A30 B10 C10 i50");
}

static void where_several_ran_it_is_the_one_that_ends_last(void)
{
	struct gpu_wait w = wait_for(SYNC_CONTEXT, 100, 200);
	struct gpu_run runs[] = {{90, 150, 0, 0, 0}, {110, 180, 0, 1, 1}, {120, 140, 0, 0, 2}};

	CHECK_TEXT(divided(&w, 1, runs, 3), "A10 B70 i20");
}

static void work_of_other_streams_is_told_apart(void)
{
	struct gpu_wait w = wait_for(SYNC_STREAM, 100, 200);
	struct gpu_run runs[] = {
		{90, 150, 0, 1, 0}, {120, 130, 0, 0, 1}, {160, 170, 0, 4, 2}, {170, 180, 0, 3, 3}};

	CHECK_TEXT(divided(&w, 1, runs, 4), "B10 i40 -50");
}

static void work_of_a_graph_that_was_launched_anywhere_is_of_every_stream_of_the_context(void)
{
	struct gpu_wait w = wait_for(SYNC_STREAM, 100, 200);
	struct gpu_run runs[] = {{100, 150, 0, 2, 0}};

	CHECK_TEXT(divided(&w, 1, runs, 1), "A50 i50");
}

static void what_was_launched_later_is_not_waited_for(void)
{
	struct gpu_wait w = wait_for(SYNC_EVENT, 100, 200);
	struct gpu_run runs[] = {{90, 150, 80, 0, 0}, {150, 190, 86, 0, 1}};

	w.launched_ns = 85;
	CHECK_TEXT(divided(&w, 1, runs, 2), "A50 i10 -40");
}

static void without_a_stream_all_work_of_the_process_is_waited_for(void)
{
	struct gpu_wait w = wait_for(0, 100, 200);
	struct gpu_run runs[] = {{90, 110, 0, 0, 0}, {110, 130, 0, 3, 1}, {130, 150, 0, 4, 2}};

	w.device = 0;
	CHECK_TEXT(divided(&w, 1, runs, 3), "A10 B20 i70");
}

/* As it is said in the header, nanosecond by nanosecond. */
static uint32_t naively(
	const struct gpu_wait *w, const struct gpu_run *runs, size_t count, uint64_t at_ns)
{
	uint64_t end_ns = 0;
	uint32_t what = GPU_WAIT_IDLE;

	for (size_t n = 0; n < count; n++) {
		const struct gpu_lane *l = &lanes[runs[n].lane];
		bool mine = l->process == w->process && (!w->context || l->context == w->context) &&
			    (!w->kind || w->kind == SYNC_CONTEXT || l->any_stream ||
				    l->stream == w->stream) &&
			    runs[n].launch_ns <= w->launched_ns;

		if (at_ns < runs[n].start_ns || at_ns >= runs[n].end_ns)
			continue;
		if (mine && runs[n].end_ns > end_ns) {
			end_ns = runs[n].end_ns;
			what = GPU_WAIT_WORK + runs[n].key;
		} else if (!mine && !end_ns &&
			   (w->device ? l->device == w->device : l->process == w->process)) {
			what = GPU_WAIT_OTHERS;
		}
	}
	return what;
}

#define RUNS 40

/* Ends differ, so that there is one answer; of one lane what comes later was launched later and
 * ends later. */
static size_t random_runs(struct gpu_run *runs)
{
	uint64_t end_ns[LANES] = {0}, launch_ns[LANES] = {0};

	for (size_t n = 0; n < RUNS; n++) {
		uint32_t lane = (uint32_t)random_below(LANES);
		uint64_t start_ns = end_ns[lane] / RUNS + random_below(30);

		end_ns[lane] = (start_ns + 1 + random_below(60)) * RUNS + n;
		launch_ns[lane] += random_below(start_ns - launch_ns[lane] + 1);
		runs[n] = (struct gpu_run){
			start_ns * RUNS, end_ns[lane], launch_ns[lane] * RUNS, lane, (uint32_t)n};
	}
	return RUNS;
}

static void random_waits_are_divided_as_a_look_at_every_moment_says(void)
{
	for (int round = 0; round < 60; round++) {
		struct gpu_run runs[RUNS], sorted[RUNS];
		size_t count = random_runs(runs);
		struct gpu_wait waits[6];
		struct map sums = MAP_INIT;
		const struct gpu_wait_parts parts = {&sums, add_part};
		bool same = true;

		memcpy(sorted, runs, sizeof(runs));
		for (uint32_t n = 0; n < 6; n++) {
			uint64_t start_ns = random_below(500 * RUNS);

			waits[n] = wait_for((uint32_t)random_below(SYNC_KINDS), start_ns,
				start_ns + 1 + random_below(9000));
			waits[n].key = n;
			waits[n].device = (uint32_t)random_below(2);
			waits[n].launched_ns = random_below(2) ? start_ns : start_ns / 2;
		}
		CHECK(!gpu_waits_divide(waits, 6, sorted, count, lanes, LANES, &parts));
		for (uint32_t n = 0; n < 6; n++) {
			uint64_t expected[GPU_WAIT_WORK + RUNS] = {0};

			for (uint64_t at = waits[n].start_ns; at < waits[n].end_ns; at++)
				expected[naively(&waits[n], runs, count, at)]++;
			for (uint32_t what = 0; what < GPU_WAIT_WORK + RUNS; what++) {
				const uint64_t *ns = map_get(&sums, (uint64_t)n << 32 | what);

				same = same && (ns ? *ns : 0) == expected[what];
			}
		}
		CHECK(same);
		map_release(&sums);
	}
}

/* ------------------------------------------------------------------ a thread */

static uint64_t whole(const struct wall_thread *t, struct wall_shares s)
{
	return t->gpu_ns + t->outside_ns + s.others_outside_ns + s.others_inside_ns + s.rests_ns +
	       s.run_ns + s.unknown_ns;
}

static void what_a_thread_ran_is_what_it_did_not_wait(void)
{
	struct wall_thread t = {.has_life = true,
		.elapsed_ns = 100,
		.run_ns = 45,
		.gpu_ns = 40,
		.inside_ns = 15,
		.outside_ns = 30,
		.others_inside_ns = 5,
		.others_outside_ns = 3,
		.rests_ns = 2};
	struct wall_shares s = wall_thread_divide(&t);

	/* In GPU waits it ran 40 - 15 - 5 = 20. */
	CHECK(s.run_ns == 25 && s.others_outside_ns == 3 && s.others_inside_ns == 0 &&
		s.rests_ns == 2);
	CHECK(s.unknown_ns == 0 && whole(&t, s) == 100);
}

static void others_lie_where_there_is_room_for_them(void)
{
	struct wall_thread t = {.has_life = true,
		.elapsed_ns = 100,
		.run_ns = 10,
		.gpu_ns = 40,
		.inside_ns = 35,
		.others_inside_ns = 25,
		.outside_ns = 30};
	struct wall_shares s = wall_thread_divide(&t);

	CHECK(s.others_inside_ns == 20 && s.run_ns == 10 && s.unknown_ns == 0 &&
		whole(&t, s) == 100);
	t = (struct wall_thread){
		.has_life = true, .elapsed_ns = 100, .gpu_ns = 90, .rests_ns = 30, .run_ns = 70};
	s = wall_thread_divide(&t);
	CHECK(s.rests_ns == 10 && s.run_ns == 0 && whole(&t, s) == 100);
}

static void what_nothing_is_known_of_is_said_to_be_so(void)
{
	struct wall_thread t = {
		.has_life = true, .elapsed_ns = 100, .run_ns = 40, .outside_ns = 30};
	struct wall_shares s = wall_thread_divide(&t);

	CHECK(s.run_ns == 40 && s.unknown_ns == 30 && whole(&t, s) == 100);
	t.has_life = false;
	t.samples_ns = 17;
	s = wall_thread_divide(&t);
	CHECK(s.run_ns == 17 && s.unknown_ns == 0);
}

static void whatever_is_told_the_parts_are_the_whole(void)
{
	bool right = true;

	for (int n = 0; n < 20000; n++) {
		struct wall_thread t = {.has_life = true, .elapsed_ns = random_below(100)};

		t.gpu_ns = random_below(t.elapsed_ns + 1);
		t.inside_ns = random_below(t.gpu_ns + 1);
		t.outside_ns = random_below(t.elapsed_ns - t.gpu_ns + 1);
		t.run_ns = random_below(200);
		t.others_inside_ns = random_below(60);
		t.others_outside_ns = random_below(60);
		t.rests_ns = random_below(60);
		right = right && whole(&t, wall_thread_divide(&t)) == t.elapsed_ns;
	}
	CHECK(right);
}

/* ------------------------------------------------------------------ profiles */

#define THREADS 3
#define SPAN_NS 100000

static char path[] = "/tmp/wall_test.XXXXXX";

struct made {
	struct profile_writer *w;
	uint32_t process, threads[THREADS], ops[4], stacks[5], api;
	uint64_t lives[THREADS];
	uint64_t launched_ns[4], ended_ns[4]; /* by op */
	bool others;
};

static uint32_t string(struct made *m, const char *text)
{
	uint32_t id = 0;

	CHECK(!profile_add_string(m->w, text, strlen(text), &id));
	return id;
}

static void add_tables(struct made *m)
{
	struct profile_process p = {.pid = 1};
	struct profile_device d = {.uuid = {1}};
	uint32_t device;

	CHECK(!profile_add_process(m->w, &p, &m->process));
	CHECK(!profile_add_device(m->w, &d, &device));
	for (uint32_t n = 0; n < THREADS; n++) {
		struct profile_thread t = {.process = m->process, .tid = 100 + n};

		CHECK(!profile_add_thread(m->w, &t, &m->threads[n]));
	}
	for (uint32_t n = 0; n < 4; n++) {
		struct profile_op op = {.kind = n ? OP_KERNEL : OP_COPY,
			.process = m->process,
			.device = device,
			.context = 1,
			.stream = 7 + n,
			.name = n ? string(m, "kernel") : 0};

		CHECK(!profile_add_op(m->w, &op, &m->ops[n]));
	}
	for (uint32_t n = 0; n < 5; n++) {
		struct profile_location l = {
			.kind = FRAME_NOTE, .name = string(m, (char[]){(char)('A' + n), 0})};
		uint32_t location;

		CHECK(!profile_add_location(m->w, &l, &location));
		CHECK(!profile_add_stack_node(m->w, 0, location, &m->stacks[n]));
	}
	m->api = string(m, "cudaStreamSynchronize");
}

static void add_work(struct made *m, uint64_t now_ns, uint32_t correlation)
{
	size_t n = random_below(4);
	uint64_t *launched_ns = &m->launched_ns[n], *ended_ns = &m->ended_ns[n];
	struct profile_work work = {.op = m->ops[n],
		.thread = m->threads[0],
		.stack = m->stacks[0],
		.api = m->api,
		.instance = 1,
		.correlation = correlation};

	/* A stream runs in order. */
	work.launch_ns = *launched_ns = now_ns > *launched_ns ? now_ns : *launched_ns;
	work.start_ns = *launched_ns + random_below(50);
	work.start_ns = work.start_ns > *ended_ns ? work.start_ns : *ended_ns;
	work.duration_ns = random_below(400);
	*ended_ns = work.start_ns + work.duration_ns;
	CHECK(!profile_write_work(m->w, &work));
}

static void add_gpu_wait(struct made *m, uint32_t thread, uint64_t now_ns, uint64_t duration_ns,
	uint32_t correlation)
{
	struct profile_call call = {now_ns, duration_ns, m->threads[thread], m->stacks[1], m->api,
		random_below(2) ? CALL_COPY : CALL_SYNC, 0, 1, correlation};
	struct profile_sync sync = {.start_ns = now_ns,
		.duration_ns = duration_ns,
		.instance = 1 + thread,
		.correlation = correlation,
		.thread = m->threads[thread],
		.stack = m->stacks[2],
		.api = m->api,
		.context = 1,
		.stream = 7 + (uint32_t)random_below(4),
		.kind = (enum profile_sync_kind)(1 + random_below(3))};

	if (thread)
		CHECK(!profile_write_sync(m->w, &sync));
	else
		CHECK(!profile_write_call(m->w, &call));
}

static void add_wait(struct made *m, uint32_t thread, uint64_t now_ns, uint64_t duration_ns)
{
	bool rest = m->others && !random_below(5);
	struct profile_wait wait = {.start_ns = now_ns,
		.duration_ns = rest ? 0 : duration_ns,
		.queued_ns = rest ? 0 : random_below(duration_ns + 1),
		.others = m->others,
		.others_ns = m->others ? random_below(800) : 0,
		.thread = m->threads[thread],
		.stack = rest ? 0 : m->stacks[random_below(5)],
		.reason = (enum profile_wait_reason)(1 + random_below(WAIT_REASONS - 1))};

	CHECK(!profile_write_wait(m->w, &wait));
}

/* Threads that wait, are sampled, and call CUDA, all in a mess: nothing needs to fit. */
static void write_mess(struct made *m)
{
	CHECK(!profile_writer_open(&m->w, path));
	add_tables(m);
	for (uint32_t n = 0; n < 2000; n++) {
		uint64_t now_ns = n * (SPAN_NS / 2000) + random_below(200),
			 duration_ns = random_below(700);
		uint32_t thread = (uint32_t)random_below(THREADS);
		struct profile_sample s = {
			now_ns, 100, m->threads[thread], m->stacks[random_below(5)], 0};

		switch (random_below(4)) {
		case 0:
			CHECK(!profile_write_sample(m->w, &s));
			break;
		case 1:
			add_wait(m, thread, now_ns, duration_ns);
			break;
		case 2:
			add_gpu_wait(m, thread, now_ns, duration_ns, n);
			break;
		case 3:
			add_work(m, now_ns, n);
			break;
		}
	}
	for (uint32_t n = 0; n < THREADS; n++) {
		struct profile_life l = {random_below(SPAN_NS / 10),
			SPAN_NS / 2 + random_below(SPAN_NS / 3), 0, m->threads[n]};

		l.run_ns = random_below(l.duration_ns);
		m->lives[n] = l.duration_ns;
		CHECK(!profile_write_life(m->w, &l));
	}
	CHECK(!profile_writer_close(m->w));
}

static void build(struct view_result *v, size_t most)
{
	static const struct view_options options;
	struct profile_reader *r;

	*v = (struct view_result){0};
	CHECK(!tree_new(&v->tree) && !profile_reader_open(&r, path));
	CHECK(!wall_build_within(r, &options, v, most));
	CHECK(!tree_sort(v->tree));
	profile_reader_close(r);
}

static uint64_t time_of_thread(const struct view_result *v, uint32_t tid)
{
	struct tree_totals totals;
	uint64_t ns = 0;

	CHECK(!tree_totals_init(&totals, v->tree));
	for (size_t n = 0; n < tree_node_count(v->tree); n++) {
		const struct tree_frame *f = &tree_frames(v->tree)[tree_nodes(v->tree)[n].frame];

		if (f->kind == TREE_THREAD && f->number == tid)
			ns += tree_totals_of(&totals, n).cpu + tree_totals_of(&totals, n).gpu;
	}
	tree_totals_release(&totals);
	return ns;
}

static void of_random_profiles_each_thread_has_its_life_to_the_nanosecond(void)
{
	for (int round = 0; round < 20; round++) {
		struct made m = {.others = round % 2};
		struct view_result v;

		write_mess(&m);
		build(&v, round % 4 < 2 ? SIZE_MAX : 100);
		for (uint32_t n = 0; n < THREADS; n++)
			CHECK(time_of_thread(&v, 100 + n) == m.lives[n]);
		view_result_release(&v);
	}
}

/* Notes of the GPU waits, and kinds of frames, with their time. */
static const char *in_words(const struct view_result *v)
{
	static char text[65536];
	struct tree_walk w = tree_walk_begin(v->tree);
	size_t at = 0;

	while (tree_walk_next(&w) && at < sizeof(text) - 200) {
		const struct tree_node *n = &tree_nodes(v->tree)[w.node];
		const struct tree_frame *f = &tree_frames(v->tree)[n->frame];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%u %s %u %llu\n", w.depth,
			f->name, f->number, (unsigned long long)tree_self(v->tree, w.node));
	}
	return text;
}

static void reading_in_stretches_changes_nothing(void)
{
	static char before[65536];
	struct made m = {.others = false};
	struct view_result v;

	write_mess(&m);
	build(&v, SIZE_MAX);
	snprintf(before, sizeof(before), "%s", in_words(&v));
	view_result_release(&v);
	build(&v, 200);
	CHECK(strlen(before) > 1000);
	CHECK_TEXT(in_words(&v), before);
	view_result_release(&v);
}

/* ------------------------------------------------------------------ kept in memory */

#define MOMENTS	    20000
#define MOMENT_KEYS 300

static uint64_t naively_before(const struct moment *m, uint32_t key, uint64_t time_ns)
{
	uint64_t sum = 0;

	for (size_t n = 0; n < MOMENTS; n++)
		if (m[n].key == key && m[n].begin_ns < time_ns)
			sum += !m[n].is_time || m[n].amount < time_ns - m[n].begin_ns
				       ? m[n].amount
				       : time_ns - m[n].begin_ns;
	return sum;
}

static uint64_t before(const struct moment_sums *sums, uint32_t key)
{
	return key < sums->count ? sums->items[key] : 0;
}

static void of_any_key_what_lies_before_any_time_is_known(void)
{
	struct moment *made = calloc(MOMENTS, sizeof(*made));
	struct moments moments = {0};
	uint64_t now_ns = 1ull << 40;
	bool same = true;

	CHECK(made);
	for (size_t n = 0; n < MOMENTS; n++, now_ns += random_below(3) * random_below(1000)) {
		uint32_t key = (uint32_t)random_below(MOMENT_KEYS);

		made[n] = (struct moment){
			now_ns, random_below(key % 7 ? 5000 : 1u << 31), key, key % 2};
		CHECK(!moments_add(&moments, &made[n]));
	}
	CHECK(moments.marks.count >= 4);
	for (int round = 0; round < 20; round++) {
		struct moments_look look = {0};
		uint64_t at_ns = 1ull << 40;

		for (int step = 0; step < 4; step++) {
			uint32_t key = (uint32_t)random_below(MOMENT_KEYS);

			at_ns += random_below(now_ns - at_ns);
			CHECK(!moments_look_until(&look, &moments, at_ns));
			same = same && before(&look.sums, key) == naively_before(made, key, at_ns);
		}
		moments_look_release(&look);
	}
	CHECK(same);
	for (uint32_t key = 0; key < MOMENT_KEYS; key++)
		CHECK(before(&moments.sums, key) == naively_before(made, key, UINT64_MAX));
	moments_release(&moments);
	free(made);
}

struct shown {
	struct profile_reader *done;
	struct range_known known;
	struct slice_sums sums;
	struct stalls_kept stalls;
	struct wall_kept wall;
	struct view_options options;
	struct profile_clip clip;
	struct profile_span spans[2];
	bool threads[THREADS + 1];
};

static void open_shown(struct shown *s, size_t most)
{
	struct profile_event e;
	int more;

	*s = (struct shown){0};
	CHECK(!profile_reader_open(&s->done, path));
	while ((more = profile_reader_next(s->done, &e)) > 0)
		continue;
	CHECK(!more);
	s->known.done = s->done;
	CHECK(!wall_kept_read_within(&s->wall, &s->known, most) && s->wall.read);
	s->options.range.known = &s->known;
	s->options.stalls = &s->stalls;
	s->options.wall = &s->wall;
}

static void close_shown(struct shown *s)
{
	stalls_kept_release(&s->stalls);
	wall_kept_release(&s->wall);
	profile_reader_close(s->done);
}

/* One or two stretches of time, all threads or some. */
static void choose_part(struct shown *s)
{
	uint64_t at_ns = 0;

	s->clip = (struct profile_clip){.spans = s->spans, .span_count = 1 + random_below(2)};
	for (size_t n = 0; n < s->clip.span_count; n++) {
		s->spans[n].from_ns = at_ns + random_below(SPAN_NS / 2);
		s->spans[n].to_ns = s->spans[n].from_ns + 1 + random_below(SPAN_NS / 2);
		at_ns = s->spans[n].to_ns + 1;
	}
	if (!random_below(4))
		s->spans[s->clip.span_count - 1].to_ns = UINT64_MAX;
	for (size_t n = 0; n <= THREADS; n++)
		s->threads[n] = random_below(2);
	if (random_below(2)) {
		s->clip.threads = s->threads;
		s->clip.thread_count = THREADS + 1;
	}
}

static const char *part_in_words(const struct shown *s, bool kept, bool whole)
{
	struct view_options options = s->options;
	struct profile_reader *r;
	struct view_result v = {0};
	const char *text;

	options.sums = kept ? &s->sums : NULL;
	CHECK(!tree_new(&v.tree) && !profile_reader_open_again(&r, s->done));
	profile_reader_clip(r, whole ? NULL : &s->clip);
	CHECK(!wall_build_within(r, &options, &v, 200) && !tree_sort(v.tree));
	text = in_words(&v);
	view_result_release(&v);
	profile_reader_close(r);
	return text;
}

static void any_part_from_memory_is_that_from_the_file(void)
{
	static char from_file[65536];
	size_t words = 0;

	for (int round = 0; round < 12; round++) {
		struct made m = {.others = round % 2};
		struct shown s;

		write_mess(&m);
		open_shown(&s, 200);
		for (int part = 0; part < 12; part++) {
			choose_part(&s);
			snprintf(from_file, sizeof(from_file), "%s",
				part_in_words(&s, false, !part));
			CHECK_TEXT(part_in_words(&s, true, !part), from_file);
			words += strlen(from_file);
		}
		close_shown(&s);
	}
	CHECK(words > 12 * 12 * 500);
}

#define LONG_WAITS   40000
#define LONG_WAIT_NS 100

static void write_long_recording(void)
{
	struct made m = {.others = false};

	CHECK(!profile_writer_open(&m.w, path));
	add_tables(&m);
	for (uint32_t n = 0; n < LONG_WAITS; n++) {
		struct profile_wait w = {.start_ns = (1 + n) * 1000ull,
			.duration_ns = LONG_WAIT_NS,
			.thread = m.threads[0],
			.reason = WAIT_LOCK};

		CHECK(!profile_write_wait(m.w, &w));
		if (n % 1000 == 0)
			CHECK(!profile_writer_push(m.w));
	}
	CHECK(!profile_writer_close(m.w));
}

static uint64_t time_of_waits(const struct wall_events *e)
{
	uint64_t sum_ns = 0;

	vec_foreach (w, &e->waits)
		sum_ns += w->end_ns - w->start_ns;
	return sum_ns;
}

static void damage_at(uint64_t offset)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0 && pwrite(fd, "damage", 6, (off_t)offset) == 6);
	close(fd);
}

static void what_is_outside_of_a_stretch_is_not_read_again(void)
{
	static const struct view_options options;
	struct stalls stalls = {0};
	struct profile_reader *r;
	struct wall_events e;
	uint64_t sum_ns;

	write_long_recording();
	CHECK(!profile_reader_open(&r, path) && !stalls_init(&stalls, r, &options, NULL));
	wall_events_init(&e, r, &options, LONG_WAITS / 2, NULL, &stalls);
	CHECK(wall_events_first(&e, r) == 1 && e.chunks.items.items[0].last_ns < e.to_ns);
	sum_ns = time_of_waits(&e);
	damage_at(e.chunks.items.items[0].begin + 1000);
	for (int n = 0; n < 100 && wall_events_next(&e) > 0; n++)
		sum_ns += time_of_waits(&e);
	CHECK(sum_ns == (uint64_t)LONG_WAITS * LONG_WAIT_NS);
	wall_events_release(&e);
	stalls_release(&stalls);
	profile_reader_close(r);
}

static void write_graph_work(struct made *m, uint32_t stack, uint32_t context, uint32_t stream,
	uint64_t start_ns, uint64_t duration_ns)
{
	struct profile_work work = {.start_ns = start_ns,
		.duration_ns = duration_ns,
		.launch_ns = start_ns / 1000 * 1000 + 10,
		.op = m->ops[1],
		.thread = m->threads[0],
		.stack = m->stacks[stack],
		.api = m->api,
		.graph_node = 1,
		.graph_context = context,
		.graph_stream = stream};

	CHECK(!profile_write_work(m->w, &work));
}

static void write_stream_wait(
	struct made *m, uint32_t stream, uint64_t start_ns, uint64_t duration_ns)
{
	struct profile_sync sync = {.start_ns = start_ns,
		.duration_ns = duration_ns,
		.thread = m->threads[1],
		.stack = m->stacks[0],
		.api = m->api,
		.context = 1,
		.stream = stream,
		.kind = SYNC_STREAM};

	CHECK(!profile_write_sync(m->w, &sync));
}

/* Of kernels that were launched at this stack. */
static uint64_t time_waited_for(const struct view_result *v, const char *stack)
{
	struct tree_walk w = tree_walk_begin(v->tree);
	uint32_t below = UINT32_MAX;
	uint64_t ns = 0;

	while (tree_walk_next(&w)) {
		const struct tree_node *n = &tree_nodes(v->tree)[w.node];
		const struct tree_frame *f = &tree_frames(v->tree)[n->frame];

		if (below != UINT32_MAX && w.depth <= below)
			below = UINT32_MAX;
		if (!strcmp(f->name, stack))
			below = w.depth;
		if (below != UINT32_MAX && !strcmp(f->name, "kernel"))
			ns += tree_self(v->tree, w.node);
	}
	return ns;
}

/* The driver says of all of it that it ran in stream 8. */
static void work_of_graphs_is_waited_for_where_they_were_launched(void)
{
	struct made m = {0};
	struct view_result v;

	CHECK(!profile_writer_open(&m.w, path));
	add_tables(&m);
	write_graph_work(&m, 1, 1, 20, 100, 400);
	write_graph_work(&m, 2, 1, 21, 100, 800);
	write_stream_wait(&m, 20, 200, 700);
	/* Into a stream of another context, of which this number says nothing here; and into an
	 * unknown one. */
	write_graph_work(&m, 3, 2, 21, 1100, 400);
	write_graph_work(&m, 4, 0, 0, 1500, 100);
	write_stream_wait(&m, 20, 1200, 400);
	CHECK(!profile_writer_close(m.w));
	build(&v, SIZE_MAX);
	CHECK(time_waited_for(&v, "B") == 300 && time_waited_for(&v, "C") == 0);
	CHECK(time_waited_for(&v, "D") == 300 && time_waited_for(&v, "E") == 100);
	view_result_release(&v);
}

/* A pause is longer than many stretches of what comes before it: it is not read nanosecond by
 * nanosecond. */
static void a_pause_of_hours_is_one_of_few_stretches(void)
{
	struct made m = {0};
	struct view_result v;
	uint64_t hour_ns = 3600000000000ull;

	CHECK(!profile_writer_open(&m.w, path));
	add_tables(&m);
	for (uint64_t n = 0; n < 600; n++) {
		struct profile_sample s = {(n + 1) * 1000 + (n < 300 ? 0 : 5 * hour_ns), 1000,
			m.threads[0], m.stacks[0], 0};

		CHECK(!profile_write_sample(m.w, &s));
	}
	CHECK(!profile_write_life(
		m.w, &(struct profile_life){0, 6 * hour_ns, hour_ns, m.threads[0]}));
	CHECK(!profile_writer_close(m.w));
	build(&v, 100);
	CHECK(time_of_thread(&v, 100) == 6 * hour_ns);
	view_result_release(&v);
}

int main(void)
{
	close(mkstemp(path));
	RUN(a_wait_belongs_to_what_ran_and_the_rest_is_idle);
	RUN(where_several_ran_it_is_the_one_that_ends_last);
	RUN(work_of_other_streams_is_told_apart);
	RUN(work_of_a_graph_that_was_launched_anywhere_is_of_every_stream_of_the_context);
	RUN(what_was_launched_later_is_not_waited_for);
	RUN(without_a_stream_all_work_of_the_process_is_waited_for);
	RUN(random_waits_are_divided_as_a_look_at_every_moment_says);
	RUN(what_a_thread_ran_is_what_it_did_not_wait);
	RUN(others_lie_where_there_is_room_for_them);
	RUN(what_nothing_is_known_of_is_said_to_be_so);
	RUN(whatever_is_told_the_parts_are_the_whole);
	RUN(of_random_profiles_each_thread_has_its_life_to_the_nanosecond);
	RUN(reading_in_stretches_changes_nothing);
	RUN(of_any_key_what_lies_before_any_time_is_known);
	RUN(any_part_from_memory_is_that_from_the_file);
	RUN(what_is_outside_of_a_stretch_is_not_read_again);
	RUN(work_of_graphs_is_waited_for_where_they_were_launched);
	RUN(a_pause_of_hours_is_one_of_few_stretches);
	unlink(path);
	return tap_end();
}
