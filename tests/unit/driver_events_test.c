// SPDX-License-Identifier: MIT
/* What a profile has of the records that a monitor's programs in the kernel send. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "monitor/driver_events.h"
#include "profile/reader.h"
#include "tap.h"

enum { QUEUE, RUNS, DONE, FREED, WAIT, ALLOC, MOVE, FAULT, ASK, TICK, PAGE, EVENTS };
enum { JOB, OTHER_JOB, REQUEST, DISPLAY };
enum {
	QUEUE_DELAY,
	RUN_TIME,
	TOTAL_TIME,
	WAIT_TIME,
	FREE_TIME,
	ALLOCATED,
	MOVED,
	FAULTS,
	DELIVERY,
	PERIOD
};

/* Of processes that are recorded, and that are not. */
#define OURS   5000000u
#define THEIRS 5000100u

static const struct monitor_event events[] = {
	[QUEUE] = {.name = "QUEUE"},
	[RUNS] = {.name = "RUN"},
	[DONE] = {.name = "DONE"},
	[FREED] = {.name = "FREED"},
	[WAIT] = {.name = "WAIT"},
	[ALLOC] = {.name = "ALLOC"},
	[MOVE] = {.name = "MOVE"},
	[FAULT] = {.name = "FAULT"},
	[ASK] = {.name = "ASK"},
	[TICK] = {.name = "TICK"},
	[PAGE] = {.name = "PAGE", .quiet = true},
	[EVENTS] = {0},
};

static const struct monitor_series series[] = {
	[QUEUE_DELAY] = {.name = "queue_delay",
		.unit = UNIT_NANOSECONDS,
		.label = {"ring", "device"}},
	[RUN_TIME] = {.name = "run_time",
		.unit = UNIT_NANOSECONDS,
		.busy = true,
		.label = {"ring", "device"}},
	[TOTAL_TIME] = {.name = "total_time",
		.unit = UNIT_NANOSECONDS,
		.label = {"ring", "device"}},
	[WAIT_TIME] = {.name = "wait_time",
		.unit = UNIT_NANOSECONDS,
		.label = {"ring", "waits_for"}},
	[ALLOCATED] = {.name = "allocated", .unit = UNIT_BYTES},
	[FREE_TIME] = {.name = "free_time", .unit = UNIT_NANOSECONDS, .label = {"ring", "device"}},
	[MOVED] = {.name = "moved",
		.unit = UNIT_BYTES,
		.label = {"from", "to"},
		.list = {"place", "place"}},
	[FAULTS] = {.name = "faults", .label = {"device", "code"}, .list = {NULL, "place"}},
	[DELIVERY] = {.name = "delivery_latency", .unit = UNIT_NANOSECONDS, .label = {"CRTC"}},
	[PERIOD] = {.name = "period", .unit = UNIT_NANOSECONDS, .label = {"CRTC"}},
	{0},
};

static const struct monitor_name places[] = {{1, "RAM"}, {2, "VRAM"}, {0}};
static const struct monitor_list lists[] = {{.name = "place", .names = places}, {0}};

static const struct monitor test_monitor = {
	.name = "test", .ring = "ring", .events = events, .series = series, .lists = lists};

/* Jobs are known by the numbers in fields 0 and 1; who waits, by the string that field 2 is. */
#define BY_JOB	.object = JOB, .key = {0, 1}
#define BY_NAME .object = OTHER_JOB, .key = {2, MONITOR_NONE}
#define NUMBER                                                                                     \
	{                                                                                          \
		.string = MONITOR_NONE                                                             \
	}
#define FIELDS                                                                                     \
	.field = {NUMBER, NUMBER, {.string = 0, .read = READ_CHARS},                               \
		{.string = 1, .read = READ_CHARS}}

/* Labels: the ring, and the device or whom something waits for. */
#define FIELD(i)                                                                                   \
	{                                                                                          \
		.from = LABEL_FIELD, .index = (i)                                                  \
	}
#define KEPT(a, w)                                                                                 \
	{                                                                                          \
		.from = LABEL_ACT, .index = (a), .which = (w), .other = MONITOR_NONE               \
	}
#define NAMED	   .label = {FIELD(2), FIELD(3)}
#define AS_KEPT(a) .label = {KEPT(a, 0), KEPT(a, 1)}

static const struct monitor_event_plan plans[EVENTS] = {
	[QUEUE] = {.plan = {FIELDS, NAMED, .process_act = MONITOR_NONE,
			   .act = {{.kind = ACT_OPEN, BY_JOB, NAMED}}}},
	[RUNS] = {.plan = {FIELDS, NAMED, .process_act = 0,
			  .act = {{.kind = ACT_MARK, .stage = 1, BY_JOB},
				  {.kind = ACT_CLOSE, .stage = 1, BY_NAME}},
			  .count = {{.value = VALUE_DURATION,
					    .index = 0,
					    .series = QUEUE_DELAY,
					    NAMED},
				  {.value = VALUE_DURATION,
					  .index = 1,
					  .series = WAIT_TIME,
					  AS_KEPT(1)}}}},
	[DONE] = {.plan = {FIELDS, AS_KEPT(0), .process_act = 0,
			  .act = {{.kind = ACT_CLOSE, .stage = 2, BY_JOB}},
			  .count = {{.value = VALUE_DURATION,
					    .index = 0,
					    .from = 1,
					    .series = RUN_TIME,
					    AS_KEPT(0)},
				  {.value = VALUE_DURATION,
					  .index = 0,
					  .from = 0,
					  .series = TOTAL_TIME,
					  AS_KEPT(0)}}}},
	[WAIT] = {.plan = {FIELDS, NAMED, .process_act = MONITOR_NONE,
			  .act = {{.kind = ACT_LOOK, BY_JOB}, {.kind = ACT_REOPEN, BY_NAME, NAMED}},
			  .count = {{.value = VALUE_DURATION,
				  .index = 1,
				  .series = WAIT_TIME,
				  AS_KEPT(1)}}}},
	[ALLOC] = {.plan = {FIELDS, .process_act = MONITOR_NONE,
			   .count = {{.value = VALUE_FIELD, .index = 0, .series = ALLOCATED}}}},
	[MOVE] = {.plan = {FIELDS, .label = {FIELD(0), FIELD(1)}, .process_act = MONITOR_NONE,
			  .count = {{.value = VALUE_FIELD,
				  .index = 0,
				  .series = MOVED,
				  .label = {FIELD(0), FIELD(1)}}}}},
	[FAULT] = {.plan = {FIELDS, .label = {FIELD(2), FIELD(1)}, .process_act = MONITOR_NONE,
			   .count = {{.value = VALUE_ONE,
				   .series = FAULTS,
				   .label = {FIELD(2), FIELD(1)}}}}},
	/* The job is done with long before, and the stage between began a stretch of its own. */
	[FREED] = {.plan = {FIELDS, AS_KEPT(0), .process_act = 0,
			   .act = {{.kind = ACT_CLOSE, .stage = 3, BY_JOB}},
			   .count = {{.value = VALUE_DURATION,
				   .index = 0,
				   .from = 0,
				   .series = FREE_TIME,
				   AS_KEPT(0)}}}},
	[ASK] = {.plan = {FIELDS, .label = {FIELD(0)}, .process_act = MONITOR_NONE,
			 .act = {{.kind = ACT_OPEN, .object = REQUEST, .key = {1, MONITOR_NONE}},
				 {.kind = ACT_ADVANCE,
					 .object = DISPLAY,
					 .key = {0, MONITOR_NONE}}}}},
	[TICK] = {.plan = {FIELDS, .label = {FIELD(0)}, .process_act = MONITOR_NONE,
			  .act = {{.kind = ACT_CLOSE,
					  .stage = 1,
					  .object = REQUEST,
					  .key = {1, MONITOR_NONE}},
				  {.kind = ACT_LOOK, .object = DISPLAY, .key = {0, MONITOR_NONE}}},
			  .count = {{.value = VALUE_PERIOD, .series = PERIOD, .label = {FIELD(0)}},
				  {.value = VALUE_AGE, .series = PERIOD, .label = {FIELD(0)}},
				  {.value = VALUE_DURATION,
					  .index = 1,
					  .series = PERIOD,
					  .label = {FIELD(0)}},
				  {.value = VALUE_DURATION,
					  .index = 0,
					  .series = DELIVERY,
					  .label = {FIELD(0)}}}}},
	[PAGE] = {.plan = {.process_act = MONITOR_NONE}},
};

static char path[] = "/tmp/xpuprof-driver-events-test-XXXXXX";
static struct profile_writer *w;
static struct tasks *tasks;
static struct driver_events *d;
static struct profile_reader *r;
static struct profile_driver read_back[32];
static size_t count;

static void begin_with(bool whole_system)
{
	struct driver_events_options o = {.monitor = &test_monitor, .whole_system = whole_system};

	for (size_t n = 0; n < EVENTS; n++)
		o.plans[n] = &plans[n];
	CHECK(!profile_writer_open(&w, path));
	CHECK(!tasks_new(&tasks, w));
	CHECK(!tasks_exec(tasks, OURS, 100, "ours", "ours --all"));
	CHECK(!driver_events_new(&o, w, tasks, &d));
}

static void begin(void)
{
	begin_with(false);
}

/* Ends the recording and reads it back. */
static void look(void)
{
	struct profile_event e;

	CHECK(!driver_events_write(d));
	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&r, path));
	for (count = 0; profile_reader_next(r, &e) == 1 && count < 32;) {
		CHECK(e.kind == EVENT_DRIVER);
		read_back[count++] = e.driver;
	}
	CHECK(!profile_reader_incomplete(r));
}

static void end(void)
{
	profile_reader_close(r);
	driver_events_free(d);
	tasks_free(tasks);
}

static struct monitor_record record_of(unsigned int event, uint32_t pid, uint64_t time_ns)
{
	struct monitor_record record = {.message = MESSAGE_RECORD,
		.event = (uint16_t)event,
		.time_ns = time_ns,
		.pid = pid,
		.tid = pid + 1,
		.comm = "thread"};

	for (size_t n = 0; n < MONITOR_COUNTS; n++)
		record.count[n] = MONITOR_NO_VALUE;
	return record;
}

/* Fields 2 and 3, and with them the event's labels. */
static void name(struct monitor_record *record, const char *ring, const char *other)
{
	strcpy(record->string[0], ring);
	strcpy(record->label[0], ring);
	strcpy(record->string[1], other);
	strcpy(record->label[1], other);
}

/* A label that is a number. */
static void number(struct monitor_record *record, size_t which, uint64_t value)
{
	memcpy(record->label[which], &value, sizeof(value));
	record->label[which][MONITOR_LABEL_BYTES - 1] = MONITOR_LABEL_NUMBER;
	record->field[which] = value;
}

static void take(const struct monitor_record *record)
{
	CHECK(!driver_events_add(d, record));
}

/* A job that is queued, runs after 50 ns and is done after 70 more. */
static void take_job_of(
	uint64_t number, uint32_t pid, uint64_t time_ns, const char *ring, const char *device)
{
	struct monitor_record record = record_of(QUEUE, pid, time_ns);

	record.field[0] = number;
	name(&record, ring, device);
	take(&record);
	record = record_of(RUNS, pid, time_ns + 50);
	record.field[0] = number;
	record.count[0] = 50;
	name(&record, ring, device);
	take(&record);
	record = record_of(DONE, pid, time_ns + 120);
	record.field[0] = number;
	record.count[0] = 70;
	record.count[1] = 120;
	strcpy(record.label[0], ring);
	strcpy(record.label[1], device);
	take(&record);
}

static void take_job(uint64_t number, uint32_t pid, uint64_t time_ns)
{
	take_job_of(number, pid, time_ns, "gfx", "");
}

static const char *text(uint32_t string)
{
	return profile_string(r, string, NULL);
}

static const struct profile_thread *thread_of(const struct profile_driver *e)
{
	return profile_thread(r, e->thread);
}

static const struct profile_process *process_of(const struct profile_driver *e)
{
	return profile_process(r, e->thread ? thread_of(e)->process : 0);
}

static void a_job_is_a_stretch_in_the_queue_and_one_that_runs(void)
{
	begin();
	take_job(7, OURS, 1000);
	look();
	CHECK(count == 2);
	CHECK(read_back[0].kind == DRIVER_QUEUED && read_back[1].kind == DRIVER_RUN);
	CHECK(read_back[0].start_ns == 1000 && read_back[0].duration_ns == 50);
	CHECK(read_back[1].start_ns == 1050 && read_back[1].duration_ns == 70);
	CHECK_TEXT(text(read_back[0].name), "queued");
	CHECK_TEXT(text(read_back[1].name), "run");
	CHECK_TEXT(text(read_back[0].source), "test");
	CHECK_TEXT(text(read_back[1].ring), "gfx");
	CHECK(!read_back[0].unfinished && !read_back[0].bytes);
	end();
}

static void the_stretches_of_a_job_have_its_number_and_no_other_job_has(void)
{
	begin();
	take_job(7, OURS, 1000);
	take_job(8, OURS, 2000);
	/* The kernel takes the same address again. */
	take_job(7, OURS, 3000);
	look();
	CHECK(count == 6 && read_back[0].job);
	for (size_t n = 0; n < count; n += 2)
		CHECK(read_back[n].job == read_back[n + 1].job);
	CHECK(read_back[0].job != read_back[2].job && read_back[2].job != read_back[4].job);
	CHECK(read_back[0].job != read_back[4].job);
	end();
}

static void take_wait(uint64_t number, uint64_t time_ns, const char *other, uint64_t last_ns)
{
	struct monitor_record record = record_of(WAIT, OURS, time_ns);

	record.field[0] = number;
	record.count[0] = last_ns;
	name(&record, "gfx", other);
	take(&record);
}

/* The end of a wait says whose it is, but not what it was for; and the run names its device in that
 * place. */
static void a_wait_names_what_it_was_for_and_has_the_number_of_its_job(void)
{
	struct monitor_record record = record_of(QUEUE, OURS, 900);

	begin();
	record.field[0] = 5;
	name(&record, "gfx", "card0");
	take(&record);
	take_wait(5, 910, "sdma0", MONITOR_NO_VALUE);
	take_wait(5, 940, "sdma1", 30);
	record = record_of(RUNS, OURS, 1000);
	record.field[0] = 5;
	record.count[0] = 100;
	record.count[1] = 60;
	name(&record, "gfx", "card0");
	take(&record);
	look();
	CHECK(count == 3 && read_back[0].kind == DRIVER_WAIT && read_back[0].start_ns == 910);
	CHECK(read_back[1].kind == DRIVER_QUEUED && read_back[2].kind == DRIVER_WAIT);
	CHECK(read_back[0].duration_ns == 30 && read_back[2].start_ns == 940);
	CHECK_TEXT(text(read_back[0].name), "wait for sdma0");
	CHECK_TEXT(text(read_back[2].name), "wait for sdma1");
	CHECK_TEXT(text(read_back[2].ring), "gfx");
	CHECK_TEXT(text(read_back[1].ring), "gfx card0");
	CHECK(read_back[0].job && read_back[0].job == read_back[1].job &&
		read_back[1].job == read_back[2].job);
	end();
}

static void rings_of_the_same_name_are_told_apart_by_their_device(void)
{
	begin();
	take_job_of(1, OURS, 1000, "gfx", "card0");
	take_job_of(2, OURS, 2000, "gfx", "card1");
	look();
	CHECK(count == 4);
	for (size_t n = 0; n < count; n++)
		CHECK_TEXT(text(read_back[n].ring), n < 2 ? "gfx card0" : "gfx card1");
	end();
}

static void a_duration_of_all_stages_is_a_stretch_only_where_its_parts_are_not_known(void)
{
	struct monitor_record record = record_of(DONE, OURS, 1000);

	begin();
	record.count[1] = 300;
	take(&record);
	look();
	CHECK(count == 1 && read_back[0].kind == DRIVER_OTHER && read_back[0].start_ns == 700);
	CHECK_TEXT(text(read_back[0].name), "total time");
	CHECK(read_back[0].thread);
	end();
}

static void what_was_before_the_beginning_is_remembered_and_not_told(void)
{
	begin();
	driver_events_begin(d, 1100);
	take_job(1, OURS, 1000);
	look();
	CHECK(count == 1 && read_back[0].kind == DRIVER_RUN && read_back[0].job &&
		read_back[0].thread);
	end();
}

static void an_event_without_a_duration_is_a_moment(void)
{
	struct monitor_record record = record_of(ALLOC, OURS, 1000);

	begin();
	record.count[0] = 4096;
	take(&record);
	look();
	CHECK(count == 1 && read_back[0].kind == DRIVER_MOMENT && read_back[0].start_ns == 1000);
	CHECK(read_back[0].bytes == 4096 && !read_back[0].ring && !read_back[0].job);
	CHECK_TEXT(text(read_back[0].name), "ALLOC");
	end();
}

static void a_duration_of_a_kind_of_its_own_has_the_name_of_its_series(void)
{
	struct monitor_record record = record_of(TICK, OURS, 5000);

	begin();
	number(&record, 0, 0);
	record.count[3] = 300;
	take(&record);
	look();
	CHECK(count == 1 && read_back[0].kind == DRIVER_OTHER && read_back[0].start_ns == 4700);
	CHECK_TEXT(text(read_back[0].name), "delivery latency");
	CHECK_TEXT(text(read_back[0].ring), "CRTC 0");
	end();
}

static void how_long_ago_something_was_is_no_stretch(void)
{
	struct monitor_record record = record_of(TICK, OURS, 5000);

	begin();
	number(&record, 0, 1);
	record.count[0] = record.count[1] = record.count[2] = 16;
	take(&record);
	CHECK(driver_events_wants_left(d, REQUEST) && !driver_events_wants_left(d, DISPLAY));
	look();
	CHECK(count == 1 && read_back[0].kind == DRIVER_MOMENT);
	CHECK_TEXT(text(read_back[0].name), "TICK");
	CHECK_TEXT(text(read_back[0].ring), "CRTC 1");
	end();
}

static void numbers_that_have_names_are_named(void)
{
	struct monitor_record record = record_of(MOVE, OURS, 5000);

	begin();
	number(&record, 0, 1);
	number(&record, 1, 2);
	record.count[0] = 100;
	take(&record);
	look();
	CHECK(count == 1 && read_back[0].bytes == 100);
	CHECK_TEXT(text(read_back[0].ring), "RAM -> VRAM");
	end();
}

static void a_code_is_a_part_of_the_name_and_a_device_that_of_a_ring(void)
{
	struct monitor_record record = record_of(FAULT, OURS, 5000);

	begin();
	name(&record, "card0", "");
	number(&record, 1, 2);
	take(&record);
	number(&record, 1, 7);
	take(&record);
	look();
	CHECK(count == 2);
	CHECK_TEXT(text(read_back[0].ring), "card0");
	CHECK_TEXT(text(read_back[0].name), "FAULT VRAM");
	CHECK_TEXT(text(read_back[1].name), "FAULT code 7");
	end();
}

static void the_time_of_all_stages_is_left_out_where_other_events_tell_of_them(void)
{
	struct monitor_record record = record_of(FREED, OURS, 5000);

	begin();
	record.count[0] = 4000;
	take(&record);
	look();
	CHECK(count == 0);
	end();
}

static void events_that_print_no_lines_are_no_moments(void)
{
	struct monitor_record record = record_of(PAGE, OURS, 1000);

	begin();
	take(&record);
	look();
	CHECK(count == 0);
	end();
}

/* Its number is one that was not known, and the kernel names the worker that ran it. */
static void the_end_of_what_began_before_is_a_moment_of_nobody_if_it_says_anything(void)
{
	struct monitor_record record = record_of(DONE, THEIRS, 1000);

	begin();
	record.field[0] = 99;
	take(&record);
	record = record_of(RUNS, THEIRS, 1100);
	name(&record, "gfx", "");
	take(&record);
	look();
	CHECK(count == 1 && read_back[0].kind == DRIVER_MOMENT && !read_back[0].thread);
	CHECK(!read_back[0].job && !read_back[0].foreign && read_back[0].start_ns == 1100);
	CHECK_TEXT(text(read_back[0].name), "RUN");
	end();
}

static void a_duration_that_began_before_time_did_is_none(void)
{
	struct monitor_record record = record_of(DONE, OURS, 1000);

	begin();
	record.count[0] = 1001;
	take(&record);
	look();
	CHECK(count == 1 && read_back[0].kind == DRIVER_MOMENT);
	end();
}

static void jobs_are_of_the_recorded_process_and_thread(void)
{
	begin();
	take_job(1, OURS, 1000);
	look();
	CHECK(count == 2 && !read_back[0].foreign);
	CHECK(process_of(&read_back[0])->pid == OURS && process_of(&read_back[1])->pid == OURS);
	CHECK(thread_of(&read_back[0])->tid == OURS + 1);
	CHECK_TEXT(text(thread_of(&read_back[0])->name), "thread");
	CHECK_TEXT(text(process_of(&read_back[0])->cmdline), "ours --all");
	end();
}

static void a_process_that_begins_and_ends_before_its_events_are_written_is_known(void)
{
	begin();
	take_job(1, OURS + 10, 1000);
	CHECK(!tasks_fork(tasks, OURS, OURS + 10, 900));
	CHECK(!tasks_exit(tasks, OURS + 10, 4000));
	look();
	CHECK(count == 2 && !read_back[0].foreign && !read_back[1].foreign);
	CHECK(process_of(&read_back[1])->start_ns == 900);
	end();
}

/* Its job still runs; the other's is a new one. */
static void a_process_that_has_the_pid_of_one_that_ended_is_foreign(void)
{
	const uint64_t later_ns = 1000 + 2ull * TASKS_AFTER_EXIT_NS;
	struct monitor_record queued = record_of(QUEUE, OURS, 900);
	struct monitor_record runs = record_of(RUNS, OURS, later_ns - 1);
	struct monitor_record done = record_of(DONE, OURS, later_ns);

	begin();
	queued.field[0] = runs.field[0] = done.field[0] = 1;
	runs.count[0] = later_ns - 1 - 900;
	done.count[0] = 1;
	done.count[1] = later_ns - 900;
	take(&queued);
	take(&runs);
	take(&done);
	take_job(2, OURS, later_ns);
	CHECK(!tasks_exit(tasks, OURS, 1000));
	look();
	CHECK(count == 4 && !read_back[0].foreign && !read_back[1].foreign);
	CHECK(read_back[2].foreign && read_back[3].foreign);
	CHECK(read_back[0].thread != read_back[2].thread);
	end();
}

static void jobs_of_others_are_kept_and_marked_as_foreign(void)
{
	begin();
	take_job(1, THEIRS, 1000);
	take_job(2, OURS, 2000);
	take_job(3, THEIRS, 3000);
	look();
	CHECK(count == 6 && read_back[0].foreign && read_back[1].foreign && read_back[5].foreign);
	CHECK(!read_back[2].foreign && !read_back[3].foreign);
	CHECK(process_of(&read_back[0])->pid == THEIRS &&
		read_back[0].thread == read_back[5].thread);
	CHECK_TEXT(text(process_of(&read_back[0])->comm), "thread");
	end();
}

static void nobody_is_foreign_where_the_whole_system_is_recorded(void)
{
	begin_with(true);
	take_job(1, THEIRS, 1000);
	look();
	CHECK(count == 2 && !read_back[0].foreign && process_of(&read_back[0])->pid == THEIRS);
	end();
}

static void a_job_that_does_not_end_is_shown_up_to_the_end(void)
{
	struct monitor_record record = record_of(QUEUE, OURS, 1000);
	struct monitor_object_key key = {.kind = JOB, .word = {5}};
	struct monitor_object o = {
		.stage_ns = {1000}, .pid = OURS, .tid = OURS, .comm = "ours", .label = {"gfx"}};

	begin();
	record.field[0] = 5;
	take(&record);
	CHECK(driver_events_wants_left(d, JOB) && driver_events_wants_left(d, OTHER_JOB));
	CHECK(!driver_events_wants_left(d, 3));
	CHECK(!driver_events_add_left(d, &key, &o, 9000));
	o.stage_ns[1] = 4000;
	CHECK(!driver_events_add_left(d, &key, &o, 9000));
	look();
	CHECK(count == 2 && read_back[0].unfinished && read_back[1].unfinished);
	CHECK(read_back[0].kind == DRIVER_QUEUED && read_back[1].kind == DRIVER_RUN);
	CHECK(read_back[0].start_ns == 1000 && read_back[0].duration_ns == 8000);
	CHECK(read_back[1].start_ns == 4000 && read_back[1].duration_ns == 5000);
	CHECK(read_back[0].job && read_back[0].job == read_back[1].job);
	CHECK_TEXT(text(read_back[1].ring), "gfx");
	end();
}

static void a_queue_event_is_a_moment_where_nobody_says_when_the_job_runs(void)
{
	struct driver_events_options o = {
		.monitor = &test_monitor, .plans = {[QUEUE] = &plans[QUEUE]}};
	struct monitor_record record = record_of(QUEUE, OURS, 1000);

	begin();
	driver_events_free(d);
	CHECK(!driver_events_new(&o, w, tasks, &d));
	take(&record);
	/* One that is not watched, and one that is not in the table. */
	record = record_of(RUNS, OURS, 1000);
	take(&record);
	record = record_of(500, OURS, 1000);
	take(&record);
	look();
	CHECK(count == 1 && read_back[0].kind == DRIVER_MOMENT);
	CHECK_TEXT(text(read_back[0].name), "QUEUE");
	end();
}

static void objects_that_are_given_up_are_counted(void)
{
	struct monitor_record record = record_of(QUEUE, OURS, 1000);
	struct profile_totals totals;

	begin();
	for (size_t n = 0; n <= DRIVER_OBJECTS_MAX; n++) {
		record.field[0] = n;
		if (driver_events_add(d, &record))
			break;
	}
	profile_writer_totals(w, &totals);
	CHECK(totals.losses[LOSS_DRIVER_OBJECTS] == DRIVER_OBJECTS_MAX);
	look();
	end();
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	RUN(a_job_is_a_stretch_in_the_queue_and_one_that_runs);
	RUN(the_stretches_of_a_job_have_its_number_and_no_other_job_has);
	RUN(a_wait_names_what_it_was_for_and_has_the_number_of_its_job);
	RUN(rings_of_the_same_name_are_told_apart_by_their_device);
	RUN(a_duration_of_all_stages_is_a_stretch_only_where_its_parts_are_not_known);
	RUN(what_was_before_the_beginning_is_remembered_and_not_told);
	RUN(an_event_without_a_duration_is_a_moment);
	RUN(a_duration_of_a_kind_of_its_own_has_the_name_of_its_series);
	RUN(how_long_ago_something_was_is_no_stretch);
	RUN(numbers_that_have_names_are_named);
	RUN(a_code_is_a_part_of_the_name_and_a_device_that_of_a_ring);
	RUN(the_time_of_all_stages_is_left_out_where_other_events_tell_of_them);
	RUN(events_that_print_no_lines_are_no_moments);
	RUN(the_end_of_what_began_before_is_a_moment_of_nobody_if_it_says_anything);
	RUN(a_duration_that_began_before_time_did_is_none);
	RUN(jobs_are_of_the_recorded_process_and_thread);
	RUN(a_process_that_begins_and_ends_before_its_events_are_written_is_known);
	RUN(a_process_that_has_the_pid_of_one_that_ended_is_foreign);
	RUN(jobs_of_others_are_kept_and_marked_as_foreign);
	RUN(nobody_is_foreign_where_the_whole_system_is_recorded);
	RUN(a_job_that_does_not_end_is_shown_up_to_the_end);
	RUN(a_queue_event_is_a_moment_where_nobody_says_when_the_job_runs);
	RUN(objects_that_are_given_up_are_counted);
	unlink(path);
	return tap_end();
}
