// SPDX-License-Identifier: MIT
/* How waits are put together from the events of the kernel's programs: beginnings with stacks,
 * ends, lives. */
#include "capture/waits.h"

#include <stdlib.h>
#include <unistd.h>

#include "profile/reader.h"
#include "tap.h"

/* Above what a kernel gives out: not there in /proc. */
#define PID    5000000u
#define TID    5000001u
#define MIN    1000
#define PLACES 64 /* that are known of a thread */

static char path[] = "/tmp/xpuprof-waits-test-XXXXXX";
static struct profile_writer *w;
static struct tasks *tasks;
static struct waits *waits;
static struct profile_reader *r;
static struct profile_event events[PLACES + 16];
static size_t event_count;

static void begin(uint64_t min_ns)
{
	CHECK(!profile_writer_open(&w, path) && !tasks_new(&tasks, w) &&
		!waits_new(&waits, w, tasks, min_ns));
	CHECK(!profile_writer_begin(w));
}

/* Ends the recording, and reads the profile. */
static void look(void)
{
	CHECK(!waits_finish(waits));
	CHECK(!profile_writer_close(w) && !profile_reader_open(&r, path));
	event_count = 0;
	while (event_count < PLACES + 16 && profile_reader_next(r, &events[event_count]) > 0)
		event_count++;
}

static void end(void)
{
	profile_reader_close(r);
	waits_free(waits);
	tasks_free(tasks);
}

static uint32_t stack_called(const char *name)
{
	struct profile_location location = {.kind = FRAME_PYTHON};
	uint32_t id = 0, stack = 0;

	CHECK(!profile_add_string(w, name, strlen(name), &location.name));
	CHECK(!profile_add_location(w, &location, &id) &&
		!profile_add_stack_node(w, 0, id, &stack));
	return stack;
}

static void a_wait_begins(uint64_t start_ns, uint32_t stack, uint64_t ticket)
{
	struct wait_begin b = {
		.start_ns = start_ns, .stack = stack, .ticket = ticket, .reason = WAIT_LOCK};

	CHECK(!tasks_thread(tasks, PID, TID, NULL, &b.thread));
	CHECK(!waits_begin(waits, PID, TID, &b));
}

static struct bpf_wait_event an_end(uint64_t time_ns, uint64_t duration_ns)
{
	return (struct bpf_wait_event){.time_ns = time_ns,
		.kind = BPF_WAIT_END,
		.reason = BPF_REASON_LOCK,
		.pid = PID,
		.tid = TID,
		.duration_ns = duration_ns};
}

static void it_ends(struct bpf_wait_event e)
{
	CHECK(!waits_end(waits, &e));
}

static void the_thread_ends(
	uint64_t since_ns, uint64_t time_ns, uint64_t run_ns, uint64_t waiting_since_ns)
{
	struct bpf_life_event e = {.time_ns = time_ns,
		.until_ns = time_ns,
		.kind = BPF_WAIT_LIFE,
		.reason = BPF_REASON_SLEEP,
		.pid = PID,
		.tid = TID,
		.since_ns = since_ns,
		.run_ns = run_ns,
		.waiting_since_ns = waiting_since_ns};

	CHECK(!waits_life(waits, &e));
}

static const struct profile_wait *wait_at(size_t n)
{
	static const struct profile_wait none;

	CHECK(n < event_count && events[n].kind == EVENT_WAIT);
	return n < event_count ? &events[n].wait : &none;
}

static const char *leaf_of(const struct profile_wait *wait)
{
	const struct profile_stack_node *node = profile_stack_node(r, wait->stack);
	const struct profile_location *location = node ? profile_location(r, node->location) : NULL;

	return location ? profile_string(r, location->name, NULL) : "";
}

static void a_wait_has_the_stack_it_began_with_and_those_it_carries(void)
{
	struct bpf_wait_event e = an_end(5000, 2000);

	begin(0);
	a_wait_begins(3000, stack_called("nap"), 0);
	e.queued_ns = 500;
	e.others = 3;
	e.others_ns = 900;
	e.waker_pid = PID;
	e.waker_tid = TID + 1;
	it_ends(e);
	the_thread_ends(1000, 6000, 3000, 0);
	look();
	CHECK(event_count == 2 && wait_at(0)->start_ns == 3000 && wait_at(0)->duration_ns == 2000);
	CHECK(wait_at(0)->queued_ns == 500 && wait_at(0)->others == 3 &&
		wait_at(0)->others_ns == 900);
	CHECK(wait_at(0)->reason == WAIT_LOCK);
	CHECK_TEXT(leaf_of(wait_at(0)), "nap");
	CHECK(profile_thread(r, wait_at(0)->waker)->tid == TID + 1);
	CHECK(events[1].kind == EVENT_LIFE && events[1].life.duration_ns == 5000 &&
		events[1].life.run_ns == 3000);
	end();
}

/* The ring was full when it ended: the next wait is not mistaken for it. */
static void a_wait_whose_end_was_lost_gives_its_stack_to_no_other(void)
{
	begin(0);
	a_wait_begins(3000, stack_called("nap"), 0);
	it_ends(an_end(9000, 2000));
	the_thread_ends(1000, 10000, 3000, 0);
	look();
	CHECK(event_count == 2 && wait_at(0)->start_ns == 7000 && wait_at(0)->duration_ns == 2000);
	CHECK(!wait_at(0)->stack);
	end();
	begin(0);
	a_wait_begins(3000, stack_called("nap"), 0);
	the_thread_ends(1000, 10000, 3000, 8000);
	look();
	CHECK(event_count == 2 && wait_at(0)->start_ns == 8000 && wait_at(0)->duration_ns == 2000);
	CHECK(!wait_at(0)->stack && wait_at(0)->reason == WAIT_SLEEP);
	end();
}

static void a_wait_without_a_stack_is_told_and_others_come_when_the_thread_ends(void)
{
	struct bpf_wait_event e = an_end(5000, 2000);

	begin(0);
	e.others = 3;
	e.others_ns = 900;
	it_ends(e);
	the_thread_ends(1000, 6000, 2100, 0);
	look();
	CHECK(event_count == 3 && wait_at(0)->duration_ns == 2000 && !wait_at(0)->stack &&
		!wait_at(0)->others);
	CHECK(!wait_at(1)->duration_ns && wait_at(1)->others == 3 && wait_at(1)->others_ns == 900);
	end();
}

static void what_is_shorter_than_the_minimum_is_only_added_up(void)
{
	struct bpf_wait_event e = an_end(5000, MIN - 1);

	begin(MIN);
	a_wait_begins(5000 - MIN + 1, stack_called("nap"), 0);
	e.others = 1;
	e.others_ns = 2 * MIN; /* long itself, but with nothing to be carried by */
	it_ends(e);
	a_wait_begins(6000, stack_called("nap"), 0);
	it_ends(an_end(6000 + MIN, MIN));
	the_thread_ends(1000, 8000, 0, 0);
	look();
	CHECK(event_count == 3 && wait_at(0)->duration_ns == MIN && wait_at(0)->start_ns == 6000);
	CHECK(!wait_at(1)->stack && wait_at(1)->others == 2 &&
		wait_at(1)->others_ns == 3 * MIN - 1);
	end();
}

static void a_stack_may_come_before_its_wait_ends_or_after(void)
{
	begin(0);
	a_wait_begins(3000, 0, 7);
	CHECK(!waits_stack(waits, PID, TID, 7, stack_called("before"), 0));
	it_ends(an_end(5000, 2000));
	a_wait_begins(6000, 0, 8);
	it_ends(an_end(7000, 1000));
	a_wait_begins(7500, stack_called("another"), 0);
	CHECK(!waits_stack(waits, PID, TID, 8, stack_called("after"), LOSS_WALK_FAULT));
	it_ends(an_end(8000, 500));
	the_thread_ends(1000, 9000, 3500, 0);
	look();
	CHECK(event_count == 4 && wait_at(1)->duration_ns == 1000 &&
		wait_at(2)->duration_ns == 500);
	CHECK_TEXT(leaf_of(wait_at(0)), "before");
	CHECK_TEXT(leaf_of(wait_at(1)), "after");
	CHECK_TEXT(leaf_of(wait_at(2)), "another");
	CHECK(profile_loss_count(r, LOSS_WALK_FAULT) == 1 &&
		profile_loss_count(r, LOSS_STACKS_INCOMPLETE) == 1);
	end();
}

static void a_wait_without_a_stack_has_that_of_the_last_at_its_place(void)
{
	struct wait_begin b = {.start_ns = 3000, .site = 5ull << 61 | 1, .reason = WAIT_GPU};
	struct bpf_wait_event e = an_end(4000, 1000);

	begin(0);
	CHECK(!tasks_thread(tasks, PID, TID, NULL, &b.thread));
	b.stack = stack_called("here");
	CHECK(!waits_begin(waits, PID, TID, &b));
	e.site = b.site;
	it_ends(e);
	e = an_end(6000, 1500);
	e.site = b.site;
	e.others = 1;
	e.others_ns = 10;
	it_ends(e);
	e = an_end(7000, 500);
	e.site = b.site + 2; /* another site */
	it_ends(e);
	the_thread_ends(1000, 9000, 5000 - 10, 0);
	look();
	CHECK(event_count == 4 && !wait_at(0)->assumed && wait_at(1)->assumed &&
		!wait_at(2)->assumed);
	CHECK_TEXT(leaf_of(wait_at(0)), "here");
	CHECK_TEXT(leaf_of(wait_at(1)), "here");
	CHECK(wait_at(1)->start_ns == 4500 && wait_at(1)->duration_ns == 1500 &&
		wait_at(1)->others_ns == 10 && wait_at(1)->reason == WAIT_GPU);
	CHECK(!wait_at(2)->stack && wait_at(2)->duration_ns == 500 &&
		wait_at(2)->reason == WAIT_LOCK);
	end();
}

/* The kernel's side reports the waits it has summed up at a site before it forgets that site. */
static void others_of_a_place_have_its_last_stack_when_there_is_one(void)
{
	struct wait_begin b = {.start_ns = 3000, .reason = WAIT_LOCK};
	struct bpf_wait_event e = an_end(4000, 1000);

	begin(0);
	CHECK(!tasks_thread(tasks, PID, TID, NULL, &b.thread));
	/* The first site is forgotten when there were waits at so many others. */
	for (uint64_t n = 1; n <= PLACES + 1; n++) {
		b.stack = stack_called(n == 2 ? "second" : "other");
		b.site = n << 40;
		CHECK(!waits_begin(waits, PID, TID, &b));
		it_ends(e);
		b.start_ns = e.time_ns;
		e.time_ns += 1000;
	}
	e = an_end(200000, 0);
	e.others = 4;
	e.others_ns = 70;
	e.site = 2ull << 40;
	it_ends(e);
	e.site = 1ull << 40;
	it_ends(e);
	the_thread_ends(1000, 200000, 100000 - 140, 0);
	look();
	CHECK(event_count == PLACES + 4 && !wait_at(PLACES + 1)->duration_ns &&
		wait_at(PLACES + 1)->assumed && wait_at(PLACES + 1)->others == 4 &&
		wait_at(PLACES + 1)->others_ns == 70);
	CHECK_TEXT(leaf_of(wait_at(PLACES + 1)), "second");
	CHECK(!wait_at(PLACES + 2)->stack && wait_at(PLACES + 2)->others == 4);
	end();
}

static void a_stack_that_comes_late_is_that_of_all_waits_that_have_it(void)
{
	struct wait_begin b = {
		.start_ns = 3000, .site = 5ull << 61 | 1, .ticket = 7, .reason = WAIT_LOCK};
	struct bpf_wait_event e = an_end(4000, 1000);

	begin(0);
	CHECK(!tasks_thread(tasks, PID, TID, NULL, &b.thread));
	CHECK(!waits_begin(waits, PID, TID, &b));
	e.site = b.site;
	it_ends(e);
	e.time_ns = 6000;
	it_ends(e);
	CHECK(!waits_stack(waits, PID, TID, 7, stack_called("late"), LOSS_WALK_FAULT));
	e.time_ns = 8000;
	it_ends(e);
	the_thread_ends(1000, 9000, 5000, 0);
	look();
	CHECK(event_count == 4 && !wait_at(0)->assumed && wait_at(1)->assumed &&
		wait_at(2)->assumed);
	for (size_t n = 0; n < 3; n++)
		CHECK_TEXT(leaf_of(wait_at(n)), "late");
	CHECK(profile_loss_count(r, LOSS_STACKS_INCOMPLETE) == 1);
	end();
}

/* Of threads that slept when the recording began. */
static void a_stack_that_was_read_later_is_none_of_a_wait_that_was_over(void)
{
	bool wanted;

	begin(0);
	a_wait_begins(3000, 0, 7);
	it_ends(an_end(4000, 1000));
	CHECK(!waits_stack_of(waits, PID, TID, 7, 4001, &wanted) && !wanted);
	CHECK(!waits_stack(waits, PID, TID, 7, stack_called("next"), 0));
	a_wait_begins(5000, 0, 8);
	CHECK(!waits_stack_of(waits, PID, TID, 8, 6001, &wanted) && wanted);
	CHECK(!waits_stack(waits, PID, TID, 8, stack_called("after"), 0));
	it_ends(an_end(6000, 1000)); /* reported late */
	a_wait_begins(7000, 0, 9);
	CHECK(!waits_stack_of(waits, PID, TID, 9, 7500, &wanted) && wanted);
	it_ends(an_end(8000, 1000));
	CHECK(!waits_stack(waits, PID, TID, 9, stack_called("own"), 0));
	a_wait_begins(8100, 0, 10);
	it_ends(an_end(8200, 100));
	CHECK(!waits_stack_of(waits, PID, TID, 10, 8200, &wanted) && wanted);
	CHECK(!waits_stack(waits, PID, TID, 10, stack_called("late"), 0));
	the_thread_ends(1000, 9000, 5900, 0);
	look();
	CHECK(event_count == 5);
	CHECK(!wait_at(0)->stack && wait_at(0)->duration_ns == 1000 &&
		wait_at(0)->reason == WAIT_LOCK);
	CHECK(!wait_at(1)->stack && wait_at(1)->start_ns == 5000);
	CHECK_TEXT(leaf_of(wait_at(2)), "own");
	CHECK_TEXT(leaf_of(wait_at(3)), "late");
	end();
}

static void a_beginning_that_comes_late_is_none_of_the_wait_that_goes_on(void)
{
	begin(0);
	a_wait_begins(5000, stack_called("own"), 0);
	a_wait_begins(3000, 0, 7);
	CHECK(!waits_stack(waits, PID, TID, 7, stack_called("earlier"), 0));
	it_ends(an_end(6000, 1000));
	the_thread_ends(1000, 9000, 0, 0);
	look();
	CHECK_TEXT(leaf_of(wait_at(0)), "own");
	end();
}

static void a_stack_for_a_wait_that_was_too_short_is_none_of_the_next(void)
{
	begin(MIN);
	a_wait_begins(3000, 0, 7);
	it_ends(an_end(3001, 1));
	a_wait_begins(4000, 0, 8);
	CHECK(!waits_stack(waits, PID, TID, 7, stack_called("short"), 0));
	CHECK(!waits_stack(waits, PID, TID, 8, stack_called("long"), 0));
	it_ends(an_end(4000 + MIN, MIN));
	the_thread_ends(1000, 9000, 0, 0);
	look();
	CHECK_TEXT(leaf_of(wait_at(0)), "long");
	end();
}

static void a_wait_that_goes_on_when_the_recording_ends_is_told_up_to_there(void)
{
	begin(0);
	a_wait_begins(3000, stack_called("nap"), 0);
	the_thread_ends(1000, 9000, 2000, 3000);
	look();
	CHECK(event_count == 2 && wait_at(0)->duration_ns == 6000 &&
		wait_at(0)->reason == WAIT_LOCK);
	CHECK_TEXT(leaf_of(wait_at(0)), "nap");
	CHECK(!profile_loss_count(r, LOSS_WAITS_UNTOLD));
	end();
}

static void a_thread_whose_end_is_not_told_is_counted(void)
{
	struct bpf_wait_event e = an_end(5000, 0);

	begin(0);
	e.others = 3;
	e.others_ns = 900;
	it_ends(e);
	look();
	CHECK(event_count == 1 && wait_at(0)->others_ns == 900);
	CHECK(profile_loss_count(r, LOSS_WAITS_UNTOLD) == 1);
	end();
}

static void what_cannot_be_is_counted_and_not_told(void)
{
	struct bpf_wait_event no_reason = an_end(5000, 10), queued = an_end(5000, 10);

	begin(0);
	no_reason.reason = WAIT_REASONS;
	it_ends(no_reason);
	queued.queued_ns = 11;
	it_ends(queued);
	it_ends(an_end(5, 10));
	the_thread_ends(1000, 900, 0, 0);
	the_thread_ends(1000, 1900, 901, 0);
	look();
	CHECK(!event_count && profile_loss_count(r, LOSS_WAITS_INVALID) == 3);
	CHECK(!profile_loss_count(r, LOSS_WAITS_RING_FULL));
	CHECK(profile_loss_count(r, LOSS_WAITS_UNTOLD) == 2);
	end();
}

int main(void)
{
	close(mkstemp(path));
	RUN(a_wait_has_the_stack_it_began_with_and_those_it_carries);
	RUN(a_wait_whose_end_was_lost_gives_its_stack_to_no_other);
	RUN(a_wait_without_a_stack_is_told_and_others_come_when_the_thread_ends);
	RUN(what_is_shorter_than_the_minimum_is_only_added_up);
	RUN(a_stack_may_come_before_its_wait_ends_or_after);
	RUN(a_wait_without_a_stack_has_that_of_the_last_at_its_place);
	RUN(others_of_a_place_have_its_last_stack_when_there_is_one);
	RUN(a_stack_that_comes_late_is_that_of_all_waits_that_have_it);
	RUN(a_stack_that_was_read_later_is_none_of_a_wait_that_was_over);
	RUN(a_beginning_that_comes_late_is_none_of_the_wait_that_goes_on);
	RUN(a_stack_for_a_wait_that_was_too_short_is_none_of_the_next);
	RUN(a_wait_that_goes_on_when_the_recording_ends_is_told_up_to_there);
	RUN(a_thread_whose_end_is_not_told_is_counted);
	RUN(what_cannot_be_is_counted_and_not_told);
	unlink(path);
	return tap_end();
}
