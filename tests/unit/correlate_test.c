// SPDX-License-Identifier: MIT
/* Launches, calls, work and graph nodes, joined; and a dumb twin that must agree on any stream. */
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "correlate/correlate.h"
#include "correlate/forgotten.h"
#include "profile/reader.h"
#include "random.h"
#include "tap.h"

static char path[] = "/tmp/xpuprof-correlate-test-XXXXXX";
static struct profile_writer *w;
static struct correlator *c;
static struct gpu_events sink;

struct event_vec vec(struct profile_event);
static struct event_vec got;
static uint64_t invalid, nodes_forgotten;

#define THREADS 4
#define STACKS	50
#define STRINGS 10
#define OPS	5

static void add_tables(void)
{
	struct profile_location l = {.kind = FRAME_USER};
	struct profile_process p = {.pid = 1};
	struct profile_thread t = {.process = 1};
	struct profile_op op = {.kind = OP_KERNEL};
	struct profile_device device = {.uuid = {1}};
	char text[16];
	uint32_t id;

	for (int i = 0; i < STRINGS; i++) {
		snprintf(text, sizeof(text), "api %d", i);
		CHECK(!profile_add_string(w, text, strlen(text), &id));
	}
	CHECK(!profile_add_location(w, &l, &id));
	for (uint32_t i = 0; i < STACKS; i++)
		CHECK(!profile_add_stack_node(w, i, 1, &id) && id == i + 1);
	CHECK(!profile_add_process(w, &p, &id));
	for (t.tid = 1; t.tid <= THREADS; t.tid++)
		CHECK(!profile_add_thread(w, &t, &id));
	CHECK(!profile_add_device(w, &device, &id));
	for (op.stream = 1; op.stream <= OPS; op.stream++)
		CHECK(!profile_add_op(w, &op, &id));
}

static void begin_with(struct correlator_options options)
{
	CHECK(!profile_writer_open(&w, path));
	add_tables();
	CHECK(!correlator_new(&c, w, &options));
	sink = correlator_events(c);
}

static void begin(bool have_markers, size_t max_launches)
{
	begin_with((struct correlator_options){
		.have_markers = have_markers, .max_launches = max_launches});
}

/* Finishes and reads what was written into `got`. */
static void finish(void)
{
	struct profile_reader *r;
	struct profile_event e;

	CHECK(!correlator_finish(c));
	CHECK(correlator_outstanding(c) == 0);
	correlator_free(c);
	CHECK(!profile_writer_close(w));
	got.count = 0;
	CHECK(!profile_reader_open(&r, path));
	while (profile_reader_next(r, &e) > 0)
		vec_push(&got, e);
	CHECK(!profile_reader_incomplete(r));
	invalid = profile_loss_count(r, LOSS_GPU_INVALID);
	nodes_forgotten = profile_loss_count(r, LOSS_GPU_NODES_FORGOTTEN);
	profile_reader_close(r);
}

/* What one does most, on instance 1 where not said otherwise. */

static void launch(enum profile_call_kind kind, uint32_t correlation, uint32_t stack)
{
	struct gpu_launch e = {.instance = 1,
		.correlation = correlation,
		.time_ns = 1000 + correlation,
		.thread = 2,
		.stack = stack,
		.kind = kind};

	CHECK(!sink.launch(sink.context, &e));
}

static void graph_call(uint32_t correlation, uint32_t context, uint32_t stream)
{
	struct gpu_call e = {.instance = 1,
		.correlation = correlation,
		.start_ns = 1005 + correlation,
		.end_ns = 1100 + correlation,
		.thread = 2,
		.api = 3,
		.kind = CALL_GRAPH,
		.graph_context = context,
		.graph_stream = stream};

	CHECK(!sink.call(sink.context, &e));
}

static void call_with(
	enum profile_call_kind kind, uint32_t correlation, int32_t result, uint32_t flags)
{
	struct gpu_call e = {.instance = 1,
		.correlation = correlation,
		.start_ns = 1005 + correlation,
		.end_ns = 1100 + correlation,
		.thread = 2,
		.api = 3,
		.kind = kind,
		.result = result,
		.flags = flags};

	CHECK(!sink.call(sink.context, &e));
}

static void call(enum profile_call_kind kind, uint32_t correlation)
{
	call_with(kind, correlation, 0, 0);
}

static void work_of_node(uint32_t correlation, uint64_t node)
{
	struct gpu_work e = {.instance = 1,
		.correlation = correlation,
		.start_ns = 5000,
		.end_ns = 5700,
		.bytes = 64,
		.queued_ns = 4000,
		.submitted_ns = 4500,
		.graph_node = node,
		.op = 2};

	CHECK(!sink.work(sink.context, &e));
}

static void work(uint32_t correlation)
{
	work_of_node(correlation, 0);
}

static void node_from(
	enum gpu_node_change change, uint32_t correlation, uint64_t node, uint64_t original)
{
	struct gpu_node e = {.instance = 1,
		.change = change,
		.correlation = correlation,
		.node = node,
		.original = original};

	CHECK(!sink.node(sink.context, &e));
}

static const struct profile_work *work_at(size_t i)
{
	static const struct profile_work none;

	CHECK(i < got.count && got.items[i].kind == EVENT_WORK);
	return i < got.count && got.items[i].kind == EVENT_WORK ? &got.items[i].work : &none;
}

static const struct profile_call *call_at(size_t i)
{
	static const struct profile_call none;

	CHECK(i < got.count && got.items[i].kind == EVENT_CALL);
	return i < got.count && got.items[i].kind == EVENT_CALL ? &got.items[i].call : &none;
}

static const struct profile_pending *pending_at(size_t i)
{
	static const struct profile_pending none;

	CHECK(i < got.count && got.items[i].kind == EVENT_PENDING);
	return i < got.count && got.items[i].kind == EVENT_PENDING ? &got.items[i].pending : &none;
}

static const struct profile_sync *sync_at(size_t i)
{
	static const struct profile_sync none;

	CHECK(i < got.count && got.items[i].kind == EVENT_SYNC);
	return i < got.count && got.items[i].kind == EVENT_SYNC ? &got.items[i].sync : &none;
}

static void work_gets_the_stack_thread_and_api_of_its_call(void)
{
	begin(true, 0);
	launch(CALL_LAUNCH, 7, 20);
	CHECK(correlator_outstanding(c) == 1);
	call(CALL_LAUNCH, 7);
	CHECK(correlator_outstanding(c) == 1);
	work(7);
	CHECK(correlator_outstanding(c) == 0);
	finish();
	CHECK(got.count == 2);
	CHECK(call_at(0)->start_ns == 1012 && call_at(0)->duration_ns == 95 &&
		call_at(0)->thread == 2);
	CHECK(call_at(0)->stack == 20 && call_at(0)->api == 3 && call_at(0)->kind == CALL_LAUNCH);
	CHECK(call_at(0)->instance == 1 && call_at(0)->correlation == 7 && call_at(0)->result == 0);
	CHECK(work_at(1)->start_ns == 5000 && work_at(1)->duration_ns == 700 &&
		work_at(1)->bytes == 64);
	CHECK(work_at(1)->queued_ns == 4000 && work_at(1)->submitted_ns == 4500);
	CHECK(work_at(1)->op == 2 && work_at(1)->thread == 2 && work_at(1)->stack == 20);
	CHECK(work_at(1)->api == 3 && work_at(1)->launch_ns == 1012 && work_at(1)->join == JOIN_OK);
	CHECK(work_at(1)->instance == 1 && work_at(1)->correlation == 7);
	CHECK(work_at(1)->node_stack == 0 && work_at(1)->graph_node == 0);
}

static void work_of_a_waiting_copy_may_come_before_its_call(void)
{
	begin(true, 0);
	launch(CALL_COPY, 7, 20);
	work(7);
	call(CALL_COPY, 7);
	finish();
	CHECK(got.count == 2);
	CHECK(work_at(0)->stack == 20 && work_at(0)->api == 0 && work_at(0)->join == JOIN_OK);
	CHECK(work_at(0)->launch_ns == 1007);
	CHECK(call_at(1)->stack == 20);
}

static void equal_ids_of_two_instances_do_not_meet(void)
{
	struct gpu_launch other = {
		.instance = 2, .correlation = 7, .stack = 30, .kind = CALL_LAUNCH};

	begin(true, 0);
	launch(CALL_LAUNCH, 7, 20);
	CHECK(!sink.launch(sink.context, &other));
	work(7);
	finish();
	CHECK(got.count == 2 && work_at(0)->stack == 20);
	CHECK(pending_at(1)->instance == 2 && pending_at(1)->stack == 30);
}

static void a_graph_launch_may_have_any_number_of_works(void)
{
	begin(true, 0);
	launch(CALL_GRAPH, 7, 20);
	call(CALL_GRAPH, 7);
	for (int i = 0; i < 1000; i++)
		work(7);
	finish();
	CHECK(got.count == 1001);
	for (size_t i = 1; i < got.count; i++)
		CHECK(work_at(i)->stack == 20 && work_at(i)->join == JOIN_OK);
}

static void graph_work_is_told_what_its_graph_was_launched_into(void)
{
	begin(true, 0);
	launch(CALL_GRAPH, 7, 20);
	work_of_node(7, 300);
	graph_call(7, 2, 13);
	work_of_node(7, 301);
	work(7);
	launch(CALL_GRAPH, 8, 20);
	graph_call(8, 0, 0);
	work_of_node(8, 300);
	finish();
	CHECK(got.count == 6);
	/* The first came before that was known, the third is none of a graph's. */
	CHECK(!work_at(0)->graph_context && !work_at(0)->graph_stream);
	CHECK(work_at(2)->graph_context == 2 && work_at(2)->graph_stream == 13);
	CHECK(!work_at(3)->graph_context && !work_at(3)->graph_stream);
	CHECK(!work_at(5)->graph_context && !work_at(5)->graph_stream && work_at(5)->stack == 20);
}

static void failed_captured_and_empty_calls_are_told_as_soon_as_they_return(void)
{
	begin(true, 0);
	launch(CALL_LAUNCH, 1, 20);
	call_with(CALL_LAUNCH, 1, 700, 0);
	launch(CALL_LAUNCH, 2, 21);
	call_with(CALL_LAUNCH, 2, 0, GPU_CALL_CAPTURED);
	launch(CALL_COPY, 3, 22);
	call_with(CALL_COPY, 3, 0, GPU_CALL_EMPTY);
	CHECK(correlator_outstanding(c) == 0);
	launch(CALL_LAUNCH, 4, 20);
	finish();
	CHECK(got.count == 7);
	CHECK(call_at(0)->result == 700);
	CHECK(pending_at(1)->reason == PENDING_FAILED && pending_at(1)->stack == 20);
	CHECK(pending_at(1)->start_ns == 1006 && pending_at(1)->thread == 2 &&
		pending_at(1)->api == 3);
	CHECK(pending_at(1)->instance == 1 && pending_at(1)->correlation == 1);
	CHECK(pending_at(3)->reason == PENDING_CAPTURED && pending_at(3)->stack == 21);
	CHECK(pending_at(5)->reason == PENDING_EMPTY && pending_at(5)->stack == 22);
	CHECK(pending_at(6)->reason == PENDING_NO_EXIT);
}

static void work_of_a_failed_call_is_still_joined(void)
{
	begin(true, 0);
	launch(CALL_LAUNCH, 1, 20);
	call_with(CALL_LAUNCH, 1, 700, 0);
	work(1);
	launch(CALL_COPY, 2, 21);
	work(2);
	call_with(CALL_COPY, 2, 700, 0);
	finish();
	CHECK(got.count == 5);
	CHECK(work_at(2)->stack == 20 && work_at(2)->join == JOIN_OK);
	CHECK(work_at(3)->stack == 21 && call_at(4)->result == 700);
}

static void what_is_left_at_the_end_says_whether_its_call_returned(void)
{
	begin(true, 0);
	launch(CALL_LAUNCH, 1, 20);
	launch(CALL_GRAPH, 2, 21);
	call(CALL_LAUNCH, 1);
	finish();
	CHECK(got.count == 3);
	CHECK(pending_at(1)->reason == PENDING_UNFINISHED && pending_at(1)->api == 3);
	CHECK(pending_at(2)->reason == PENDING_NO_EXIT && pending_at(2)->api == 0);
	CHECK(pending_at(2)->start_ns == 1002);
}

static void the_end_of_an_instance_ends_its_launches_only(void)
{
	struct gpu_launch other = {
		.instance = 2, .correlation = 7, .stack = 30, .kind = CALL_LAUNCH};

	begin(true, 0);
	launch(CALL_LAUNCH, 1, 20);
	CHECK(!sink.launch(sink.context, &other));
	launch(CALL_SET, 2, 21);
	CHECK(!sink.instance_end(sink.context, 1));
	CHECK(correlator_outstanding(c) == 1);
	CHECK(!sink.instance_end(sink.context, 99));
	finish();
	CHECK(got.count == 3 && pending_at(0)->correlation == 1 && pending_at(1)->correlation == 2);
	CHECK(pending_at(2)->instance == 2);
}

static void what_waits_when_an_instance_breaks_is_lost(void)
{
	begin(true, 0);
	launch(CALL_LAUNCH, 1, 20);
	launch(CALL_LAUNCH, 2, 21);
	call(CALL_LAUNCH, 2);
	launch(CALL_LAUNCH, 3, 22);
	work(3);
	CHECK(!sink.instance_broken(sink.context, 2));
	CHECK(correlator_outstanding(c) == 2);
	CHECK(!sink.instance_broken(sink.context, 1));
	CHECK(correlator_outstanding(c) == 0);
	CHECK(!sink.instance_end(sink.context, 1));
	finish();
	CHECK(got.count == 4 && pending_at(2)->correlation == 1 && pending_at(3)->correlation == 2);
	CHECK(pending_at(2)->reason == PENDING_LOST && pending_at(3)->reason == PENDING_LOST);
}

static void calls_that_ask_for_no_work_are_never_pending(void)
{
	begin(true, 0);
	launch(CALL_SYNC, 1, 20);
	call(CALL_SYNC, 1);
	launch(CALL_SYNC, 2, 21);
	launch(CALL_NODE, 3, 22);
	call_with(CALL_NODE, 3, 700, 0);
	launch(CALL_NODE, 4, 23);
	call(CALL_SYNC, 5);
	CHECK(correlator_outstanding(c) == 0);
	finish();
	CHECK(got.count == 3);
	CHECK(call_at(0)->stack == 20 && call_at(0)->kind == CALL_SYNC);
	CHECK(call_at(1)->stack == 22 && call_at(1)->kind == CALL_NODE &&
		call_at(1)->result == 700);
	CHECK(call_at(2)->stack == 0);
}

static void work_without_a_stack_says_why(void)
{
	begin(true, 0);
	work(1);		   /* nothing known */
	launch(CALL_LAUNCH, 2, 0); /* the stack could not be taken */
	work(2);
	call(CALL_LAUNCH, 3); /* the marker was lost */
	work(3);
	call_with(CALL_LAUNCH, 4, 0, GPU_CALL_UNMARKED);
	work(4);
	finish();
	CHECK(got.count == 6);
	CHECK(work_at(0)->join == JOIN_NO_LAUNCH && work_at(0)->thread == 0);
	CHECK(work_at(1)->join == JOIN_STACK_LOST && work_at(1)->thread == 2);
	CHECK(work_at(3)->join == JOIN_STACK_LOST && work_at(3)->api == 3);
	CHECK(work_at(5)->join == JOIN_NO_CPU_SIDE && work_at(5)->api == 3);
}

static void without_markers_work_is_joined_with_its_call(void)
{
	begin(false, 0);
	call(CALL_LAUNCH, 1);
	work(1);
	work(2);
	call(CALL_COPY, 2);
	call(CALL_LAUNCH, 3);
	finish();
	CHECK(got.count == 6);
	CHECK(work_at(1)->join == JOIN_NO_CPU_SIDE && work_at(1)->api == 3 &&
		work_at(1)->thread == 2);
	CHECK(work_at(2)->join == JOIN_NO_CPU_SIDE && work_at(2)->api == 0);
	CHECK(pending_at(5)->correlation == 3 && pending_at(5)->reason == PENDING_UNFINISHED);
}

static void an_id_that_is_reused_means_the_new_launch(void)
{
	begin(true, 0);
	launch(CALL_LAUNCH, 7, 20);
	call(CALL_LAUNCH, 7);
	work(7);
	launch(CALL_LAUNCH, 7, 21);
	work(7);
	launch(CALL_LAUNCH, 7, 22); /* 21 had its work */
	launch(CALL_LAUNCH, 7, 23); /* 22 had none */
	call(CALL_LAUNCH, 7);
	call(CALL_LAUNCH, 7); /* a new one whose marker was lost */
	work(7);
	finish();
	CHECK(got.count == 8);
	CHECK(work_at(1)->stack == 20 && work_at(2)->stack == 21);
	CHECK(pending_at(3)->stack == 22 && pending_at(3)->reason == PENDING_NO_EXIT);
	CHECK(call_at(4)->stack == 23);
	CHECK(pending_at(5)->stack == 23 && pending_at(5)->reason == PENDING_UNFINISHED);
	CHECK(call_at(6)->stack == 0);
	CHECK(work_at(7)->join == JOIN_STACK_LOST && work_at(7)->stack == 0);
}

static void impossible_times_and_kinds_are_counted_and_left_out(void)
{
	struct gpu_work bad[] = {
		{.instance = 1, .correlation = 1, .start_ns = 5, .end_ns = 4, .op = 1},
		{.instance = 1, .correlation = 1, .start_ns = 0, .end_ns = 4, .op = 1},
		{.instance = 1, .correlation = 1, .start_ns = 0, .end_ns = 0, .op = 1},
	};
	struct gpu_call backwards = {
		.instance = 1, .correlation = 1, .start_ns = 5, .end_ns = 4, .kind = CALL_LAUNCH};
	struct gpu_call no_kind = {.instance = 1, .correlation = 1, .start_ns = 5, .end_ns = 6};
	struct gpu_launch wild = {.instance = 1, .correlation = 2, .kind = 77};
	struct gpu_node change = {.instance = 1, .change = 9};

	begin(true, 0);
	launch(CALL_LAUNCH, 1, 20);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!sink.work(sink.context, &bad[i]));
	CHECK(!sink.call(sink.context, &backwards));
	CHECK(!sink.call(sink.context, &no_kind));
	CHECK(!sink.launch(sink.context, &wild));
	CHECK(!sink.node(sink.context, &change));
	finish();
	CHECK(invalid == 7);
	CHECK(got.count == 1 && pending_at(0)->correlation == 1);
}

static void work_without_times_of_its_own_ends_the_wait_of_its_launch(void)
{
	struct gpu_work e = {.instance = 1,
		.correlation = 1,
		.start_ns = 5,
		.end_ns = 5,
		.op = 1,
		.not_timed = true};

	begin(true, 0);
	launch(CALL_LAUNCH, 1, 20);
	call(CALL_LAUNCH, 1);
	CHECK(!sink.work(sink.context, &e));
	launch(CALL_LAUNCH, 2, 20);
	call(CALL_LAUNCH, 2);
	e.correlation = 2;
	e.not_timed = false;
	e.stands_for = 16;
	CHECK(!sink.work(sink.context, &e));
	finish();
	CHECK(invalid == 0 && got.count == 3);
	CHECK(call_at(0)->correlation == 1 && call_at(1)->correlation == 2);
	CHECK(work_at(2)->correlation == 2 && work_at(2)->stands_for == 16);
}

static void work_of_one_moment_is_no_error(void)
{
	struct gpu_work e = {.instance = 1, .correlation = 1, .start_ns = 5, .end_ns = 5, .op = 1};

	begin(true, 0);
	CHECK(!sink.work(sink.context, &e));
	finish();
	CHECK(invalid == 0 && got.count == 1 && work_at(0)->duration_ns == 0);
}

static void forgotten_launches_and_their_late_work_are_told(void)
{
	begin(true, 4);
	for (uint32_t id = 1; id <= 6; id++)
		launch(CALL_LAUNCH, id, 20 + id);
	work(1);
	call(CALL_LAUNCH, 2);
	work(7);
	for (uint32_t id = 3; id <= 6; id++)
		work(id);
	finish();
	CHECK(pending_at(0)->correlation == 1 && pending_at(0)->reason == PENDING_FORGOTTEN);
	CHECK(pending_at(1)->correlation == 2 && pending_at(1)->stack == 22);
	CHECK(work_at(2)->correlation == 1 && work_at(2)->join == JOIN_LATE);
	CHECK(call_at(3)->correlation == 2 && call_at(3)->stack == 0);
	CHECK(pending_at(4)->correlation == 3); /* work 7 took its place */
	CHECK(work_at(5)->correlation == 7 && work_at(5)->join == JOIN_NO_LAUNCH);
	CHECK(work_at(6)->correlation == 3 && work_at(6)->join == JOIN_LATE);
	CHECK(work_at(7)->correlation == 4 && work_at(7)->join == JOIN_OK);
	CHECK(work_at(9)->correlation == 6 && work_at(9)->join == JOIN_OK);
	CHECK(got.count == 10);
}

/* Also where launches with lower and higher ids were forgotten. */
static void a_call_whose_marker_was_lost_is_pending_or_joined(void)
{
	begin(true, 4);
	for (uint32_t id = 10; id <= 20; id++)
		if (id != 12 && id != 13)
			launch(CALL_LAUNCH, id, 20);
	call(CALL_LAUNCH, 12);
	work(13);
	work(11);
	finish();
	for (size_t i = 0; i < got.count; i++) {
		if (got.items[i].kind == EVENT_PENDING && got.items[i].pending.correlation == 12)
			CHECK(got.items[i].pending.reason == PENDING_UNFINISHED);
		if (got.items[i].kind == EVENT_WORK)
			CHECK(got.items[i].work.join ==
				(got.items[i].work.correlation == 13 ? JOIN_NO_LAUNCH : JOIN_LATE));
	}
	CHECK(got.count == 1 + 2 + 10); /* call, work, and a reason for each of ten */
}

static void what_is_forgotten_is_known_exactly_for_a_million_ids(void)
{
	struct forgotten f = {0};

	CHECK(!forgotten_has(&f, 0));
	for (uint32_t id = UINT32_MAX - 999; id != 3000000; id += 2)
		CHECK(!forgotten_add(&f, id));
	CHECK(forgotten_has(&f, 2999998) && !forgotten_has(&f, 2999999) &&
		!forgotten_has(&f, 3000000));
	CHECK(forgotten_has(&f, 2000002) && !forgotten_has(&f, 2000001));
	CHECK(forgotten_has(&f, 5) && forgotten_has(&f, UINT32_MAX - 500));
	CHECK(!forgotten_has(&f, UINT32_MAX - 1000) && !forgotten_has(&f, UINT32_MAX / 2));
	CHECK(!forgotten_add(&f, 2500001) && forgotten_has(&f, 2500001));
	CHECK(!forgotten_add(&f, 2000000000));
	CHECK(!forgotten_has(&f, 1999999998) && forgotten_has(&f, 2000000000));
	CHECK(!forgotten_has(&f, 2998) && !forgotten_has(&f, UINT32_MAX - 500));
	forgotten_release(&f);
}

static void forgotten_ids_may_be_far_apart(void)
{
	struct forgotten f = {0};

	for (uint32_t id = 1; id < 2000000; id += 1001)
		CHECK(!forgotten_add(&f, id));
	for (uint32_t id = 1 + 1001 * 1000; id < 2000000; id += 1001)
		CHECK(forgotten_has(&f, id) && !forgotten_has(&f, id + 1) &&
			!forgotten_has(&f, id + 64) && !forgotten_has(&f, id + 1000));
	forgotten_release(&f);
}

static void launches_that_wait_outlive_those_that_are_done(void)
{
	begin(true, 10);
	launch(CALL_LAUNCH, 1, 20); /* a long kernel ahead of many short ones */
	for (uint32_t id = 2; id < 1000; id++) {
		launch(CALL_LAUNCH, id, 21);
		work(id);
	}
	work(1);
	finish();
	CHECK(got.count == 999);
	CHECK(work_at(998)->correlation == 1 && work_at(998)->stack == 20);
}

static void launches_whose_work_is_lost_do_not_crowd_out_the_others(void)
{
	begin(true, 10);
	for (uint32_t id = 1; id <= 100; id++)
		launch(CALL_LAUNCH, id, 20);
	launch(CALL_GRAPH, 101, 21);
	for (uint32_t id = 102; id <= 104; id++) {
		work(101);
		launch(CALL_LAUNCH, id, 20);
		work(id);
	}
	finish();
	for (size_t i = 0; i < got.count; i++)
		if (got.items[i].kind == EVENT_WORK)
			CHECK(got.items[i].work.join == JOIN_OK);
		else
			CHECK(pending_at(i)->correlation <= 100);
	CHECK(got.count == 106);
}

static void ids_may_wrap(void)
{
	begin(true, 8);
	for (uint32_t i = 0; i < 100; i++) {
		launch(CALL_LAUNCH, UINT32_MAX - 50 + i, 20);
		work(UINT32_MAX - 50 + i);
	}
	work(UINT32_MAX - 30); /* forgotten, as is */
	work(5);
	work(60); /* never seen */
	finish();
	CHECK(got.count == 103);
	for (size_t i = 0; i < 100; i++)
		CHECK(work_at(i)->join == JOIN_OK);
	CHECK(work_at(100)->join == JOIN_LATE && work_at(101)->join == JOIN_LATE);
	CHECK(work_at(102)->join == JOIN_NO_LAUNCH);
}

static void graph_work_gets_the_stack_where_its_node_was_made(void)
{
	begin(true, 0);
	launch(CALL_LAUNCH, 1, 30); /* captured */
	node_from(GPU_NODE_CREATED, 1, 100, 0);
	call_with(CALL_LAUNCH, 1, 0, GPU_CALL_CAPTURED);
	launch(CALL_NODE, 2, 31);
	call(CALL_NODE, 2);
	node_from(GPU_NODE_CREATED, 2, 101, 0);
	node_from(GPU_NODE_CREATED, 0, 102, 0); /* outside of any call */
	node_from(GPU_NODE_CLONED, 0, 200, 100);
	node_from(GPU_NODE_CLONED, 0, 300, 200);
	node_from(GPU_NODE_CLONED, 0, 301, 102);
	launch(CALL_GRAPH, 3, 40);
	work_of_node(3, 300);
	work_of_node(3, 100);
	work_of_node(3, 101);
	work_of_node(3, 301);
	work_of_node(3, 999);
	finish();
	CHECK(got.count == 8);
	CHECK(work_at(3)->node_stack == 30 && work_at(3)->graph_node == 300 &&
		work_at(3)->stack == 40);
	CHECK(work_at(4)->node_stack == 30 && work_at(5)->node_stack == 31);
	CHECK(work_at(6)->node_stack == 0 && work_at(6)->graph_node == 301);
	CHECK(work_at(7)->node_stack == 0);
}

static void a_destroyed_node_is_known_to_records_that_come_late(void)
{
	begin(true, 0);
	launch(CALL_NODE, 1, 30);
	node_from(GPU_NODE_CREATED, 1, 100, 0);
	node_from(GPU_NODE_CLONED, 0, 200, 100);
	node_from(GPU_NODE_DESTROYED, 0, 100, 0);
	node_from(GPU_NODE_DESTROYED, 0, 200, 0);
	node_from(GPU_NODE_DESTROYED, 0, 12345, 0);
	work_of_node(9, 200);
	/* The id comes to new life. */
	launch(CALL_NODE, 2, 31);
	node_from(GPU_NODE_CREATED, 2, 200, 0);
	work_of_node(9, 200);
	node_from(GPU_NODE_CREATED, 0, 200, 0);
	work_of_node(9, 200);
	finish();
	CHECK(got.count == 3 && work_at(0)->node_stack == 30);
	CHECK(work_at(1)->node_stack == 31 && work_at(2)->node_stack == 0);
}

static void destroyed_nodes_make_room_and_a_reused_id_does_not_go_with_them(void)
{
	begin(true, 0);
	launch(CALL_NODE, 1, 30);
	node_from(GPU_NODE_CREATED, 1, 1, 0);
	node_from(GPU_NODE_DESTROYED, 0, 1, 0);
	launch(CALL_NODE, 2, 31);
	node_from(GPU_NODE_CREATED, 2, 1, 0); /* the id again, alive */
	for (uint64_t node = 2; node < 1500000; node++) {
		node_from(GPU_NODE_CREATED, 2, node, 0);
		node_from(GPU_NODE_DESTROYED, 0, node, 0);
	}
	work_of_node(9, 1);
	work_of_node(9, 2);
	work_of_node(9, 1499999);
	finish();
	CHECK(nodes_forgotten == 0);
	CHECK(work_at(0)->node_stack == 31 && work_at(1)->node_stack == 0);
	CHECK(work_at(2)->node_stack == 31);
}

static void nodes_beyond_what_can_be_remembered_are_counted(void)
{
	begin(true, 0);
	launch(CALL_NODE, 1, 30);
	for (uint64_t node = 1; node <= (512 << 10) + 3; node++)
		node_from(GPU_NODE_CREATED, 1, node, 0);
	work_of_node(9, 512 << 10);
	work_of_node(9, (512 << 10) + 1);
	CHECK(!sink.instance_end(sink.context, 1));
	node_from(GPU_NODE_CREATED, 1, 7, 0);
	finish();
	CHECK(nodes_forgotten == 3);
	CHECK(work_at(0)->node_stack == 30 && work_at(1)->node_stack == 0);
}

/* The twin: lists in plain arrays, searched from end to end. */

struct twin_launch {
	uint32_t instance, correlation, thread, stack, api, graph_context, graph_stream;
	uint64_t start_ns;
	enum profile_call_kind kind;
	bool marked, called, unmarked, worked, decided;
};

struct twin_list vec(struct twin_launch);

struct twin_node {
	uint32_t instance, stack;
	uint64_t node;
};

static struct twin {
	struct twin_list waiting, done, forgotten;
	struct vec(struct twin_node) nodes;
	struct event_vec events;
	uint64_t invalid;
	bool have_markers;
	size_t max;
} twin;

static void twin_begin(bool have_markers, size_t max)
{
	twin.waiting.count = twin.done.count = twin.forgotten.count = twin.nodes.count = 0;
	twin.events.count = twin.invalid = 0;
	twin.have_markers = have_markers;
	twin.max = max;
}

static bool twin_asks(const struct twin_launch *l)
{
	return l->kind == CALL_LAUNCH || l->kind == CALL_COPY || l->kind == CALL_SET ||
	       l->kind == CALL_GRAPH;
}

static void twin_pending(const struct twin_launch *l, enum profile_pending_reason reason)
{
	struct profile_event e = {.kind = EVENT_PENDING};

	if (!twin_asks(l) || l->worked || l->decided)
		return;
	e.pending = (struct profile_pending){
		l->start_ns, l->thread, l->stack, l->api, l->instance, l->correlation, reason};
	vec_push(&twin.events, e);
}

/* Takes it out of a list: true when it was there. */
static bool twin_take(
	struct twin_list *list, uint32_t instance, uint32_t correlation, struct twin_launch *ret)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].instance != instance ||
			list->items[i].correlation != correlation)
			continue;
		*ret = list->items[i];
		list->count--;
		memmove(&list->items[i], &list->items[i + 1], (list->count - i) * sizeof(*ret));
		return true;
	}
	return false;
}

static struct twin_launch *twin_find(uint32_t instance, uint32_t correlation)
{
	vec_foreach (l, &twin.waiting)
		if (l->instance == instance && l->correlation == correlation)
			return l;
	vec_foreach (l, &twin.done)
		if (l->instance == instance && l->correlation == correlation)
			return l;
	return NULL;
}

static void twin_remove(const struct twin_launch *l)
{
	struct twin_launch gone;

	if (!twin_take(&twin.waiting, l->instance, l->correlation, &gone))
		twin_take(&twin.done, l->instance, l->correlation, &gone);
}

static void twin_end(const struct twin_launch *l)
{
	struct twin_launch copy = *l;

	twin_pending(&copy, copy.called ? PENDING_UNFINISHED : PENDING_NO_EXIT);
	twin_remove(&copy);
}

static void twin_add(struct twin_list *list, struct twin_launch l)
{
	struct twin_list *victims = twin.waiting.count > twin.max / 2 ? &twin.waiting : &twin.done;
	struct twin_launch victim;

	if (twin.waiting.count + twin.done.count == twin.max || twin.done.count > twin.max / 2) {
		twin_take(victims, victims->items[0].instance, victims->items[0].correlation,
			&victim);
		twin_pending(&victim, PENDING_FORGOTTEN);
		if (victim.marked || victim.called)
			vec_push(&twin.forgotten, victim);
	}
	vec_push(list, l);
}

static bool twin_has_forgotten(uint32_t instance, uint32_t correlation)
{
	vec_foreach (l, &twin.forgotten)
		if (l->instance == instance && l->correlation == correlation)
			return true;
	return false;
}

static void twin_on_launch(const struct gpu_launch *e)
{
	struct twin_launch *old = twin_find(e->instance, e->correlation);

	if (old)
		twin_end(old);
	twin_add(&twin.waiting, (struct twin_launch){.instance = e->instance,
					.correlation = e->correlation,
					.thread = e->thread,
					.stack = e->stack,
					.start_ns = e->time_ns,
					.kind = e->kind,
					.marked = true});
}

static void twin_write_call(const struct gpu_call *e, uint32_t thread, uint32_t stack)
{
	struct profile_event call_event = {.kind = EVENT_CALL};

	call_event.call = (struct profile_call){e->start_ns, e->end_ns - e->start_ns, thread, stack,
		e->api, e->kind, e->result, e->instance, e->correlation};
	vec_push(&twin.events, call_event);
}

static void twin_on_call(const struct gpu_call *e)
{
	struct twin_launch *l = twin_find(e->instance, e->correlation), moved;

	if (l && l->called) {
		twin_end(l);
		l = NULL;
	}
	if (!l) {
		if (e->kind == CALL_SYNC ||
			(twin.have_markers && twin_has_forgotten(e->instance, e->correlation))) {
			twin_write_call(e, e->thread, 0);
			return;
		}
		twin_add(&twin.waiting, (struct twin_launch){.instance = e->instance,
						.correlation = e->correlation});
		l = twin_find(e->instance, e->correlation);
	}
	l->called = true;
	l->unmarked = e->flags & GPU_CALL_UNMARKED;
	l->api = e->api;
	l->kind = e->kind;
	l->start_ns = e->start_ns;
	l->graph_context = e->graph_context;
	l->graph_stream = e->graph_stream;
	l->thread = e->thread ? e->thread : l->thread;
	twin_write_call(e, l->thread, l->stack);
	if (l->kind == CALL_SYNC) {
		twin_remove(l);
		return;
	}
	if (twin_asks(l) && !e->result && !(e->flags & (GPU_CALL_CAPTURED | GPU_CALL_EMPTY)))
		return;
	twin_pending(l, e->result		       ? PENDING_FAILED
			: e->flags & GPU_CALL_CAPTURED ? PENDING_CAPTURED
						       : PENDING_EMPTY);
	l->decided |= twin_asks(l) && !l->worked;
	if (twin_take(&twin.waiting, e->instance, e->correlation, &moved))
		vec_push(&twin.done, moved);
}

static uint32_t twin_node_stack(uint32_t instance, uint64_t node)
{
	uint32_t stack = 0;

	vec_foreach (n, &twin.nodes)
		if (n->instance == instance && n->node == node)
			stack = n->stack;
	return stack;
}

static void twin_write_work(
	const struct gpu_work *e, const struct twin_launch *l, enum profile_join reason)
{
	struct profile_event event = {.kind = EVENT_WORK};

	event.work = (struct profile_work){.start_ns = e->start_ns,
		.duration_ns = e->end_ns - e->start_ns,
		.bytes = e->bytes,
		.queued_ns = e->queued_ns,
		.submitted_ns = e->submitted_ns,
		.graph_node = e->graph_node,
		.op = e->op,
		.instance = e->instance,
		.correlation = e->correlation,
		.join = reason};
	if (e->graph_node)
		event.work.node_stack = twin_node_stack(e->instance, e->graph_node);
	if (l) {
		event.work.launch_ns = l->start_ns;
		event.work.thread = l->thread;
		event.work.stack = l->stack;
		event.work.api = l->api;
		event.work.graph_context = e->graph_node ? l->graph_context : 0;
		event.work.graph_stream = e->graph_node ? l->graph_stream : 0;
	}
	vec_push(&twin.events, event);
}

static void twin_on_work(const struct gpu_work *e)
{
	struct twin_launch *l = twin_find(e->instance, e->correlation), moved;
	bool late = twin_has_forgotten(e->instance, e->correlation);

	if (!e->start_ns || e->start_ns > e->end_ns) {
		twin.invalid++;
		return;
	}
	if (!l) {
		if (!late)
			twin_add(&twin.done, (struct twin_launch){.instance = e->instance,
						     .correlation = e->correlation,
						     .worked = true});
		twin_write_work(e, NULL,
			!twin.have_markers ? JOIN_NO_CPU_SIDE
			: late		   ? JOIN_LATE
					   : JOIN_NO_LAUNCH);
		return;
	}
	twin_write_work(e, l,
		l->stack			    ? JOIN_OK
		: !twin.have_markers || l->unmarked ? JOIN_NO_CPU_SIDE
		: l->marked || l->called	    ? JOIN_STACK_LOST
						    : JOIN_NO_LAUNCH);
	l->worked = true;
	if (twin_asks(l) && twin_take(&twin.waiting, e->instance, e->correlation, &moved))
		vec_push(&twin.done, moved);
}

static void twin_on_node(const struct gpu_node *e)
{
	struct twin_node n = {.instance = e->instance, .node = e->node};
	struct twin_launch *l = twin_find(e->instance, e->correlation);

	if (e->change == GPU_NODE_DESTROYED)
		return;
	if (e->change == GPU_NODE_CLONED)
		n.stack = twin_node_stack(e->instance, e->original);
	else if (l && e->correlation)
		n.stack = l->stack;
	vec_push(&twin.nodes, n);
}

/* All that waits, of one instance or (0) of all. */
static void twin_on_end(uint32_t instance)
{
	for (size_t i = 0; i < twin.waiting.count;) {
		if (instance && twin.waiting.items[i].instance != instance)
			i++;
		else
			twin_end(&twin.waiting.items[i]);
	}
	vec_foreach (l, &twin.forgotten)
		if (l->instance == instance)
			l->instance = 0;
	vec_foreach (n, &twin.nodes)
		if (n->instance == instance)
			n->instance = 0;
}

/* Ids from a window that moves on and wraps, so that they meet, are reused and come late. */
static uint32_t random_correlation(uint32_t step, uint32_t window)
{
	return UINT32_MAX - 200 + step / 8 + random_below(window);
}

static void feed_launch(uint32_t instance, uint32_t correlation, uint32_t step)
{
	struct gpu_launch e = {.instance = instance,
		.correlation = correlation,
		.time_ns = step,
		.thread = random_below(THREADS + 1),
		.stack = random_below(STACKS + 1),
		.kind = 1 + random_below(CALL_KINDS - 1)};

	CHECK(!sink.launch(sink.context, &e));
	twin_on_launch(&e);
}

static void feed_call(uint32_t instance, uint32_t correlation, uint32_t step)
{
	struct gpu_call e = {.instance = instance,
		.correlation = correlation,
		.start_ns = step,
		.end_ns = step + random_below(100),
		.thread = random_below(THREADS + 1),
		.api = random_below(STRINGS + 1),
		.kind = 1 + random_below(CALL_KINDS - 1)};

	if (e.kind == CALL_GRAPH && random_below(4)) {
		e.graph_context = 1 + random_below(2);
		e.graph_stream = 7 + random_below(3);
	}
	if (!random_below(4))
		e.flags = random_below(8);
	if (!random_below(8))
		e.result = (int32_t)random_below(1000);
	CHECK(!sink.call(sink.context, &e));
	twin_on_call(&e);
}

static void feed_work(uint32_t instance, uint32_t correlation, uint32_t step)
{
	struct gpu_work e = {.instance = instance,
		.correlation = correlation,
		.start_ns = step,
		.end_ns = step + random_below(100),
		.op = 1 + random_below(OPS),
		.bytes = random_below(3),
		.graph_node = random_below(20)};

	if (!random_below(50))
		e.end_ns = 0;
	CHECK(!sink.work(sink.context, &e));
	twin_on_work(&e);
}

static void feed_node(uint32_t instance, uint32_t correlation)
{
	struct gpu_node e = {.instance = instance,
		.change = 1 + random_below(3),
		.correlation = random_below(4) ? correlation : 0,
		.node = random_below(20),
		.original = random_below(20)};

	CHECK(!sink.node(sink.context, &e));
	twin_on_node(&e);
}

static void feed(uint32_t step, uint32_t window)
{
	uint32_t instance = 1 + random_below(3), correlation = random_correlation(step, window);

	switch (random_below(16)) {
	case 0 ... 4:
		feed_launch(instance, correlation, step);
		return;
	case 5 ... 9:
		feed_call(instance, correlation, step);
		return;
	case 10 ... 13:
		feed_work(instance, correlation, step);
		return;
	case 14:
		feed_node(instance, correlation);
		return;
	default:
		if (random_below(100))
			return;
		CHECK(!sink.instance_end(sink.context, instance));
		twin_on_end(instance);
	}
}

#define SAME(of, member) (a->of.member == b->of.member)

static bool same_event(const struct profile_event *a, const struct profile_event *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == EVENT_CALL)
		return SAME(call, start_ns) && SAME(call, duration_ns) && SAME(call, thread) &&
		       SAME(call, stack) && SAME(call, api) && SAME(call, kind) &&
		       SAME(call, result) && SAME(call, instance) && SAME(call, correlation);
	if (a->kind == EVENT_WORK)
		return SAME(work, start_ns) && SAME(work, duration_ns) && SAME(work, bytes) &&
		       SAME(work, graph_node) && SAME(work, launch_ns) && SAME(work, op) &&
		       SAME(work, thread) && SAME(work, stack) && SAME(work, node_stack) &&
		       SAME(work, api) && SAME(work, instance) && SAME(work, correlation) &&
		       SAME(work, graph_context) && SAME(work, graph_stream) && SAME(work, join);
	return SAME(pending, start_ns) && SAME(pending, thread) && SAME(pending, stack) &&
	       SAME(pending, api) && SAME(pending, instance) && SAME(pending, correlation) &&
	       SAME(pending, reason);
}

static void compare_with_twin(bool have_markers, size_t max, uint32_t window, uint32_t steps)
{
	size_t same = 0;

	begin(have_markers, max);
	twin_begin(have_markers, max);
	for (uint32_t step = 1; step <= steps; step++)
		feed(step, window);
	finish();
	twin_on_end(0);
	CHECK(got.count == twin.events.count);
	CHECK(got.count > steps / 2);
	CHECK(invalid == twin.invalid);
	while (same < got.count && same < twin.events.count &&
		same_event(&got.items[same], &twin.events.items[same]))
		same++;
	CHECK(same == got.count);
}

static void the_dumb_twin_agrees_on_random_streams(void)
{
	random_state = RANDOM_SEED;
	for (size_t max = 1; max < 40; max += max < 6 ? 1 : 11) {
		compare_with_twin(true, max, 5, 4000);
		compare_with_twin(true, max, 60, 4000);
		compare_with_twin(false, max, 60, 4000);
	}
}

static void the_dumb_twin_agrees_when_there_is_room_for_all(void)
{
	random_state = 1234567;
	compare_with_twin(true, 4000, 200, 10000);
	compare_with_twin(false, 4000, 200, 10000);
}

/* Waits for the GPU. */

#define EVENT 0x7f0000001000ull /* a handle */

static void wait_call(uint32_t correlation, struct gpu_wait_target target)
{
	struct gpu_call e = {.instance = 1,
		.correlation = correlation,
		.start_ns = 1005 + correlation,
		.end_ns = 51005 + correlation,
		.thread = 2,
		.api = 3,
		.kind = CALL_SYNC,
		.waits_for = target};

	CHECK(!sink.call(sink.context, &e));
}

static void wait_for_event(uint32_t correlation, uint64_t event)
{
	wait_call(correlation,
		(struct gpu_wait_target){.kind = SYNC_EVENT, .context = 7, .event = event});
}

static void record_event(uint32_t instance, uint64_t event, uint32_t stream, uint64_t time_ns)
{
	struct gpu_event_record e = {.instance = instance,
		.event = event,
		.device = 1,
		.context = 1,
		.stream = stream,
		.time_ns = time_ns};

	CHECK(!sink.event_record(sink.context, &e));
}

static void a_wait_has_the_time_thread_stack_and_api_of_its_call(void)
{
	begin(true, 0);
	launch(CALL_SYNC, 7, 20);
	wait_call(7, (struct gpu_wait_target){.kind = SYNC_STREAM, .context = 1, .stream = 13});
	finish();
	CHECK(got.count == 2 && call_at(0)->stack == 20);
	CHECK(sync_at(1)->thread == 2 && sync_at(1)->stack == 20 && sync_at(1)->api == 3);
	CHECK(sync_at(1)->start_ns == 1012 && sync_at(1)->duration_ns == 50000);
	CHECK(sync_at(1)->kind == SYNC_STREAM && sync_at(1)->stream == 13 &&
		sync_at(1)->context == 1);
	CHECK(sync_at(1)->instance == 1 && sync_at(1)->correlation == 7);
}

static void without_markers_a_wait_has_all_but_a_stack(void)
{
	begin(false, 0);
	wait_call(7, (struct gpu_wait_target){.kind = SYNC_CONTEXT, .context = 1});
	finish();
	CHECK(got.count == 2 && sync_at(1)->thread == 2 && sync_at(1)->api == 3 &&
		!sync_at(1)->stack);
}

static void a_call_of_which_it_is_not_known_what_it_waits_for_is_a_call_only(void)
{
	begin(true, 0);
	launch(CALL_SYNC, 7, 20);
	wait_call(7, (struct gpu_wait_target){0});
	finish();
	CHECK(got.count == 1 && call_at(0)->stack == 20);
}

static void a_wait_for_an_event_is_one_for_where_and_when_it_was_recorded_last(void)
{
	begin(true, 0);
	record_event(1, EVENT, 14, 1001);
	record_event(1, EVENT, 15, 1005);
	record_event(1, EVENT + 8, 16, 1006);
	record_event(2, EVENT, 17, 1007);
	record_event(1, EVENT, 18, 1013); /* when the call had begun */
	wait_for_event(7, EVENT);
	finish();
	CHECK(got.count == 2 && sync_at(1)->kind == SYNC_EVENT);
	CHECK(sync_at(1)->stream == 15 && sync_at(1)->context == 1 && sync_at(1)->device == 1 &&
		sync_at(1)->recorded_ns == 1005);
}

static void a_wait_for_an_event_whose_record_was_not_told_is_one_all_the_same(void)
{
	begin(true, 0);
	record_event(2, EVENT, 14, 1001);
	wait_for_event(7, EVENT);
	finish();
	CHECK(got.count == 2 && sync_at(1)->context == 7 && sync_at(1)->stream == 0 &&
		sync_at(1)->recorded_ns == 0);
}

/* Memory is bounded, whatever comes. */
static void of_too_many_recorded_events_the_oldest_are_forgotten(void)
{
	enum { MANY = 100000, KEPT = 16384 };
	size_t known = 0;

	begin(false, 0);
	for (uint32_t n = 0; n < MANY; n++)
		record_event(1, EVENT + n, 14, 1000);
	for (uint32_t n = 0; n < MANY; n++)
		wait_for_event(n + 1, EVENT + n);
	finish();
	for (size_t i = 0; i < got.count; i++)
		known += got.items[i].kind == EVENT_SYNC && got.items[i].sync.stream == 14;
	CHECK(got.count == 2 * MANY && known == KEPT);
	CHECK(sync_at(got.count - 1)->stream == 14 && sync_at(1)->stream == 0);
}

static void an_event_recorded_very_often_is_found_in_bounded_time(void)
{
	begin(false, 0);
	for (uint32_t n = 0; n < 50000; n++)
		record_event(1, EVENT, n + 1, 2000 + n);
	wait_for_event(60000, EVENT);
	wait_for_event(1, EVENT); /* before all of them */
	finish();
	CHECK(got.count == 4 && sync_at(1)->stream == 50000 && sync_at(3)->stream == 0);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	RUN(a_wait_has_the_time_thread_stack_and_api_of_its_call);
	RUN(without_markers_a_wait_has_all_but_a_stack);
	RUN(a_call_of_which_it_is_not_known_what_it_waits_for_is_a_call_only);
	RUN(a_wait_for_an_event_is_one_for_where_and_when_it_was_recorded_last);
	RUN(a_wait_for_an_event_whose_record_was_not_told_is_one_all_the_same);
	RUN(of_too_many_recorded_events_the_oldest_are_forgotten);
	RUN(an_event_recorded_very_often_is_found_in_bounded_time);
	RUN(work_gets_the_stack_thread_and_api_of_its_call);
	RUN(work_of_a_waiting_copy_may_come_before_its_call);
	RUN(equal_ids_of_two_instances_do_not_meet);
	RUN(a_graph_launch_may_have_any_number_of_works);
	RUN(graph_work_is_told_what_its_graph_was_launched_into);
	RUN(failed_captured_and_empty_calls_are_told_as_soon_as_they_return);
	RUN(work_of_a_failed_call_is_still_joined);
	RUN(what_is_left_at_the_end_says_whether_its_call_returned);
	RUN(the_end_of_an_instance_ends_its_launches_only);
	RUN(what_waits_when_an_instance_breaks_is_lost);
	RUN(calls_that_ask_for_no_work_are_never_pending);
	RUN(work_without_a_stack_says_why);
	RUN(without_markers_work_is_joined_with_its_call);
	RUN(an_id_that_is_reused_means_the_new_launch);
	RUN(impossible_times_and_kinds_are_counted_and_left_out);
	RUN(work_without_times_of_its_own_ends_the_wait_of_its_launch);
	RUN(work_of_one_moment_is_no_error);
	RUN(a_call_whose_marker_was_lost_is_pending_or_joined);
	RUN(what_is_forgotten_is_known_exactly_for_a_million_ids);
	RUN(forgotten_ids_may_be_far_apart);
	RUN(forgotten_launches_and_their_late_work_are_told);
	RUN(launches_that_wait_outlive_those_that_are_done);
	RUN(launches_whose_work_is_lost_do_not_crowd_out_the_others);
	RUN(ids_may_wrap);
	RUN(graph_work_gets_the_stack_where_its_node_was_made);
	RUN(a_destroyed_node_is_known_to_records_that_come_late);
	RUN(destroyed_nodes_make_room_and_a_reused_id_does_not_go_with_them);
	RUN(nodes_beyond_what_can_be_remembered_are_counted);
	RUN(the_dumb_twin_agrees_on_random_streams);
	RUN(the_dumb_twin_agrees_when_there_is_room_for_all);
	unlink(path);
	vec_release(&got);
	return tap_end();
}
