// SPDX-License-Identifier: MIT
/* Who ended waits, and what they did meanwhile, on profiles made by hand. Times are
 * microseconds. */
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/writer.h"
#include "tap.h"
#include "view/tables/summary.h"

#define US	1000ull
#define RUNNING ((enum profile_wait_reason)0)

enum { USER = 1, HOLDER, THIRD, THREADS = 70 };

static char path[] = "/tmp/wait_sums_test.XXXXXX";
static struct profile_writer *w;
static struct profile_reader *r;
static struct summary s;

static uint32_t string(const char *text)
{
	uint32_t id = 0;

	CHECK(profile_add_string(w, text, strlen(text), &id) == 0);
	return id;
}

/* A function, and one of the kernel in it that is another at each call: it does not matter where in
 * the kernel a thread waits. */
static uint32_t stack(const char *name)
{
	static uint64_t address;
	struct profile_location python = {.kind = FRAME_PYTHON, .name = string(name)};
	struct profile_location kernel = {.kind = FRAME_KERNEL, .address = ++address};
	uint32_t location = 0, id = 0;

	if (!*name)
		return 0;
	CHECK(profile_add_location(w, &python, &location) == 0);
	CHECK(profile_add_stack_node(w, 0, location, &id) == 0);
	CHECK(profile_add_location(w, &kernel, &location) == 0);
	CHECK(profile_add_stack_node(w, id, location, &id) == 0);
	return id;
}

static void begin(void)
{
	struct profile_process p = {.pid = 10};
	uint32_t process = 0;

	CHECK(profile_writer_open(&w, path) == 0);
	CHECK(profile_add_process(w, &p, &process) == 0);
	for (uint32_t tid = 10; tid < 10 + THREADS; tid++) {
		struct profile_thread t = {.process = process, .tid = tid};
		uint32_t id = 0;

		CHECK(profile_add_thread(w, &t, &id) == 0);
	}
}

static void finish(void)
{
	s = (struct summary){0};
	CHECK(profile_writer_close(w) == 0);
	CHECK(profile_reader_open(&r, path) == 0);
	CHECK(summary_read(&s, r) == 0);
}

static void release(void)
{
	summary_release(&s);
	profile_reader_close(r);
}

static void waited(uint32_t thread, enum profile_wait_reason reason, const char *at, uint64_t start,
	uint64_t end, uint32_t waker)
{
	struct profile_wait e = {.start_ns = start * US,
		.duration_ns = (end - start) * US,
		.thread = thread,
		.stack = stack(at),
		.reason = reason,
		.waker = waker};

	CHECK(profile_write_wait(w, &e) == 0);
}

static void sampled(uint32_t thread, const char *at, uint64_t time, uint64_t period)
{
	struct profile_sample e = {.time_ns = time * US,
		.period_ns = period * US,
		.thread = thread,
		.stack = stack(at)};

	CHECK(profile_write_sample(w, &e) == 0);
}

/* The row of a thread's waits for locks, at any call site; there is one. */
static const struct wait_sum *row_of(uint32_t thread)
{
	static const struct wait_sum none;
	const struct wait_sum *found = NULL;

	vec_foreach (row, &s.waits.rows)
		if (row->thread == thread && row->reason == WAIT_LOCK) {
			CHECK(!found);
			found = row;
		}
	CHECK(found);
	return found ? found : &none;
}

static const char *function_of(uint32_t stack)
{
	const struct profile_stack_node *n = profile_stack_node(r, stack);
	const struct profile_location *l = n ? profile_location(r, n->location) : NULL;

	return profile_string(r, l ? l->name : 0, NULL);
}

static uint64_t woken_us(uint32_t thread, uint32_t waker)
{
	struct wait_range wakers = wait_shares_of(&s.waits.wakers, row_of(thread)->number);
	uint64_t ns = 0;

	for (size_t i = 0; i < wakers.count; i++)
		ns += wakers.items[i].thread == waker ? wakers.items[i].total_ns : 0;
	return ns / US;
}

/* How long a thread did this while that one waited for locks. */
static uint64_t did_us(
	uint32_t waiter, uint32_t thread, enum profile_wait_reason reason, const char *at)
{
	struct wait_range doings =
		wait_shares_of(&s.waits.meanwhile.doings, row_of(waiter)->number);
	uint64_t ns = 0;

	for (size_t i = 0; i < doings.count; i++)
		if (doings.items[i].thread == thread && doings.items[i].reason == reason &&
			!strcmp(function_of(doings.items[i].stack), at))
			ns += doings.items[i].total_ns;
	return ns / US;
}

/* All that anybody did meanwhile. */
static uint64_t done_us(uint32_t waiter)
{
	struct wait_range doings =
		wait_shares_of(&s.waits.meanwhile.doings, row_of(waiter)->number);
	uint64_t ns = 0;

	for (size_t i = 0; i < doings.count; i++)
		ns += doings.items[i].total_ns;
	return ns / US;
}

/* ------------------------------------------------------------------ who ended them */

static void time_goes_to_the_thread_that_ended_the_wait(void)
{
	struct wait_range wakers;

	begin();
	waited(USER, WAIT_LOCK, "update", 100, 130, HOLDER);
	waited(USER, WAIT_LOCK, "update", 200, 260, THIRD);
	waited(USER, WAIT_LOCK, "update", 300, 340, HOLDER);
	finish();
	wakers = wait_shares_of(&s.waits.wakers, row_of(USER)->number);
	CHECK(wakers.count == 2 && wakers.items[0].thread == HOLDER && wakers.items[0].count == 2);
	CHECK(woken_us(USER, HOLDER) == 70 && woken_us(USER, THIRD) == 60);
	CHECK(row_of(USER)->watched_ns == 130 * US && row_of(USER)->total_ns == 130 * US);
	release();
}

static void each_row_has_its_own(void)
{
	begin();
	waited(USER, WAIT_LOCK, "update", 100, 130, HOLDER);
	waited(HOLDER, WAIT_LOCK, "update", 200, 260, THIRD);
	waited(THIRD, WAIT_LOCK, "update", 300, 340, USER);
	finish();
	CHECK(woken_us(USER, HOLDER) == 30 && woken_us(HOLDER, THIRD) == 60 &&
		woken_us(THIRD, USER) == 40);
	release();
}

static void a_lock_that_nobody_let_go_says_so(void)
{
	begin();
	waited(USER, WAIT_LOCK, "update", 100, 130, 0);
	waited(USER, WAIT_LOCK, "update", 200, 210, HOLDER);
	finish();
	CHECK(woken_us(USER, 0) == 30 && woken_us(USER, HOLDER) == 10);
	CHECK(row_of(USER)->watched_ns == 40 * US && row_of(USER)->followed_ns == 10 * US);
	release();
}

static void where_no_waker_was_looked_for_there_is_not_nobody(void)
{
	struct profile_wait others = {
		.thread = USER, .reason = WAIT_LOCK, .others = 7, .others_ns = 500 * US};
	struct profile_wait assumed = {.start_ns = 100 * US,
		.duration_ns = 50 * US,
		.thread = USER,
		.reason = WAIT_LOCK,
		.assumed = true};

	begin();
	others.stack = assumed.stack = stack("update");
	CHECK(profile_write_wait(w, &others) == 0 && profile_write_wait(w, &assumed) == 0);
	waited(USER, WAIT_SLEEP, "nap", 200, 300, 0);
	finish();
	CHECK(row_of(USER)->total_ns == 550 * US && !row_of(USER)->watched_ns);
	CHECK(!s.waits.wakers.items.count);
	release();
}

/* ------------------------------------------------------------------ what they did meanwhile */

static void what_the_waker_waited_for_meanwhile_is_told_as_far_as_it_was_meanwhile(void)
{
	begin();
	waited(HOLDER, WAIT_SLEEP, "nap", 10, 90, 0);
	waited(HOLDER, WAIT_IO, "save", 95, 120, 0);
	waited(HOLDER, WAIT_SLEEP, "nap", 130, 170, 0);
	waited(THIRD, WAIT_SLEEP, "nap", 100, 180, 0);
	waited(USER, WAIT_LOCK, "update", 100, 200, HOLDER);
	waited(HOLDER, WAIT_SLEEP, "nap", 190, 240, 0);
	finish();
	CHECK(did_us(USER, HOLDER, WAIT_IO, "save") == 20);
	CHECK(did_us(USER, HOLDER, WAIT_SLEEP, "nap") == 40);
	CHECK(done_us(USER) == 60);
	CHECK(row_of(USER)->followed_ns == 100 * US);
	release();
}

static void time_in_the_run_queue_is_told_as_such(void)
{
	struct profile_wait e = {.start_ns = 100 * US,
		.duration_ns = 50 * US,
		.queued_ns = 20 * US,
		.thread = HOLDER,
		.reason = WAIT_IO};
	struct profile_wait lock = {.start_ns = 90 * US,
		.duration_ns = 80 * US,
		.queued_ns = 25 * US,
		.thread = USER,
		.reason = WAIT_LOCK,
		.waker = HOLDER};

	begin();
	e.stack = stack("save");
	lock.stack = stack("update");
	CHECK(profile_write_wait(w, &e) == 0 && profile_write_wait(w, &lock) == 0);
	finish();
	CHECK(did_us(USER, HOLDER, WAIT_IO, "save") == 30);
	CHECK(did_us(USER, HOLDER, WAIT_RUN_QUEUE, "save") == 15);
	CHECK(row_of(USER)->followed_ns == 55 * US);
	release();
}

static void samples_stand_for_their_periods_but_for_no_more_than_there_is_between_waits(void)
{
	begin();
	waited(HOLDER, WAIT_SLEEP, "nap", 10, 90, 0);
	sampled(HOLDER, "before", 95, 10);
	sampled(HOLDER, "count", 120, 10);
	sampled(HOLDER, "count", 130, 10);
	waited(HOLDER, WAIT_SLEEP, "nap", 135, 150, 0);
	sampled(HOLDER, "compute", 152, 10);
	waited(HOLDER, WAIT_SLEEP, "nap", 154, 180, 0);
	waited(USER, WAIT_LOCK, "update", 100, 200, HOLDER);
	sampled(HOLDER, "after", 201, 10);
	finish();
	CHECK(did_us(USER, HOLDER, RUNNING, "count") == 20);
	CHECK(did_us(USER, HOLDER, RUNNING, "compute") == 4);
	CHECK(did_us(USER, HOLDER, WAIT_SLEEP, "nap") == 41);
	CHECK(done_us(USER) == 65);
	release();
}

/* The first has the lock and sleeps, the others stand in line. */
static void who_stands_in_line_for_a_lock_waits_for_what_the_one_that_has_it_does(void)
{
	begin();
	waited(THIRD, WAIT_SLEEP, "hold", 100, 200, 0);
	waited(HOLDER, WAIT_LOCK, "update", 110, 201, THIRD);
	waited(HOLDER, WAIT_SLEEP, "hold", 202, 300, 0);
	waited(USER, WAIT_LOCK, "update", 120, 300, HOLDER);
	finish();
	CHECK(woken_us(USER, HOLDER) == 180);
	CHECK(did_us(USER, THIRD, WAIT_SLEEP, "hold") == 80);
	CHECK(did_us(USER, HOLDER, WAIT_SLEEP, "hold") == 98);
	CHECK(done_us(USER) == 178);
	release();
}

static void a_lock_of_which_it_is_not_known_who_had_it_leads_nowhere(void)
{
	struct profile_wait assumed = {.start_ns = 110 * US,
		.duration_ns = 90 * US,
		.thread = HOLDER,
		.reason = WAIT_LOCK,
		.assumed = true};

	begin();
	assumed.stack = stack("update");
	CHECK(profile_write_wait(w, &assumed) == 0);
	waited(USER, WAIT_LOCK, "update", 100, 250, HOLDER);
	waited(HOLDER, WAIT_LOCK, "update", 300, 350, 0);
	waited(USER, WAIT_LOCK, "update", 300, 400, HOLDER);
	finish();
	CHECK(did_us(USER, HOLDER, WAIT_LOCK, "update") == 50);
	CHECK(done_us(USER) == 50);
	release();
}

static void threads_that_wait_for_each_other_come_to_an_end(void)
{
	begin();
	waited(USER, WAIT_LOCK, "update", 100, 300, HOLDER);
	waited(HOLDER, WAIT_LOCK, "update", 100, 300, THIRD);
	waited(THIRD, WAIT_LOCK, "update", 100, 300, HOLDER);
	waited(USER, WAIT_LOCK, "update", 100, 300, HOLDER);
	waited(USER, WAIT_LOCK, "update", 100, 300, USER);
	finish();
	CHECK(!done_us(USER));
	release();
}

/* ------------------------------------------------------------------ bounds */

static void a_long_line_is_followed_to_its_head(void)
{
	begin();
	waited(THREADS, WAIT_SLEEP, "hold", 0, 1000, 0);
	for (uint32_t n = THREADS - 1; n > THREADS - 61; n--)
		waited(n, WAIT_LOCK, "update", 10, 1001 + THREADS - n, n + 1);
	finish();
	CHECK(did_us(THREADS - 60, THREADS, WAIT_SLEEP, "hold") == 990);
	release();
}

/* Each of many waits is for all that the holder ever did. */
static void where_there_is_too_much_to_look_at_some_waits_are_not_followed(void)
{
	uint64_t end = 0;

	begin();
	for (uint32_t n = 0; n < 3000; n++, end += 10)
		waited(HOLDER, WAIT_SLEEP, "hold", end, end + 9, 0);
	for (uint32_t n = 0; n < 1000; n++)
		waited(USER, WAIT_LOCK, "update", 0, end, HOLDER);
	finish();
	CHECK(row_of(USER)->watched_ns == 1000 * end * US);
	CHECK(row_of(USER)->followed_ns &&
		row_of(USER)->followed_ns < row_of(USER)->watched_ns / 10);
	CHECK(did_us(USER, HOLDER, WAIT_SLEEP, "hold") * US == row_of(USER)->followed_ns / 10 * 9);
	release();
}

static void what_was_long_ago_is_not_known_and_nothing_else_is_taken_for_it(void)
{
	begin();
	waited(HOLDER, WAIT_SLEEP, "hold", 10, 20, 0);
	for (uint64_t n = 0; n < MEANWHILE_DEEDS + 10; n++)
		sampled(THIRD, "count", 30 + n, 1);
	waited(USER, WAIT_LOCK, "update", 0, 100 + MEANWHILE_DEEDS, HOLDER);
	finish();
	CHECK(woken_us(USER, HOLDER) == 100 + MEANWHILE_DEEDS);
	CHECK(!done_us(USER));
	release();
}

int main(void)
{
	int fd = mkstemp(path);

	RUN(time_goes_to_the_thread_that_ended_the_wait);
	RUN(each_row_has_its_own);
	RUN(a_lock_that_nobody_let_go_says_so);
	RUN(where_no_waker_was_looked_for_there_is_not_nobody);
	RUN(what_the_waker_waited_for_meanwhile_is_told_as_far_as_it_was_meanwhile);
	RUN(time_in_the_run_queue_is_told_as_such);
	RUN(samples_stand_for_their_periods_but_for_no_more_than_there_is_between_waits);
	RUN(who_stands_in_line_for_a_lock_waits_for_what_the_one_that_has_it_does);
	RUN(a_lock_of_which_it_is_not_known_who_had_it_leads_nowhere);
	RUN(threads_that_wait_for_each_other_come_to_an_end);
	RUN(a_long_line_is_followed_to_its_head);
	RUN(where_there_is_too_much_to_look_at_some_waits_are_not_followed);
	RUN(what_was_long_ago_is_not_known_and_nothing_else_is_taken_for_it);
	close(fd);
	unlink(path);
	return tap_end();
}
