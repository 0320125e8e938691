// SPDX-License-Identifier: MIT
/* Events in the order in which they began, and where samples are placed. */
#include "view/events/order.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/vec.h"
#include "folder.h"
#include "profile/writer.h"
#include "random.h"
#include "tap.h"

static struct vec(struct event_span) seen;
static struct vec(enum profile_event_kind) kinds;

static int note(void *arg, const struct profile_event *e, const struct event_span *span)
{
	(void)arg;
	CHECK(!vec_push(&seen, *span) && !vec_push(&kinds, e->kind));
	return 0;
}

static struct profile_writer *begin(const char *path, uint32_t *ret_thread)
{
	struct profile_process p = {.pid = 7};
	struct profile_thread t = {.tid = 7};
	struct profile_writer *w;

	CHECK(!profile_writer_open(&w, path) && !profile_add_process(w, &p, &t.process) &&
		!profile_add_thread(w, &t, ret_thread));
	return w;
}

/* Reads `path` into `seen`. */
static void read_in_order(const char *path)
{
	struct profile_reader *r;
	struct profile_event e;

	seen.count = kinds.count = 0;
	CHECK(!profile_reader_open(&r, path));
	while (profile_reader_next(r, &e) > 0)
		continue;
	CHECK(!events_in_order(r, note, NULL));
	profile_reader_close(r);
}

static void write_call(struct profile_writer *w, uint32_t thread, uint64_t start_ns)
{
	struct profile_call c = {
		.start_ns = start_ns, .duration_ns = 5, .thread = thread, .kind = CALL_LAUNCH};

	(void)profile_write_call(w, &c);
}

static bool is_in_order(size_t first, size_t count)
{
	for (size_t i = first + 1; i < first + count; i++)
		if (seen.items[i - 1].start_ns > seen.items[i].start_ns)
			return false;
	return true;
}

/* Each event is up to so many places from where it belongs; times need more than 32 bits. */
static void check_blocks(uint64_t apart_ns)
{
	const size_t count = EVENT_ORDER_WINDOW * 2 + 1000, block = EVENT_ORDER_WINDOW / 4;
	const char *path = in_folder("blocks.xpu");
	uint64_t sum = 0, expected = 0;
	uint32_t thread;
	struct profile_writer *w = begin(path, &thread);

	for (size_t at = 0; at < count; at++) {
		size_t first = at / block * block,
		       last = first + block < count ? first + block : count;
		uint64_t start_ns = (5ull << 31) + (last - 1 - (at - first)) * apart_ns;

		write_call(w, thread, start_ns);
		expected += start_ns;
	}
	CHECK(!profile_writer_close(w));
	read_in_order(path);
	CHECK(seen.count == count && is_in_order(0, count));
	vec_foreach (span, &seen)
		sum += span->start_ns;
	CHECK(sum == expected);
}

static void events_out_of_order_are_ordered(void)
{
	check_blocks(100);
}

/* Times differ by more than 32 bits can say. */
static void so_are_those_far_apart(void)
{
	check_blocks(1u << 20);
}

static void an_event_that_is_too_late_comes_all_the_same(void)
{
	const size_t count = EVENT_ORDER_WINDOW + 10;
	const char *path = in_folder("late.xpu");
	uint32_t thread;
	struct profile_writer *w = begin(path, &thread);

	for (size_t i = 0; i < count; i++)
		write_call(w, thread, 1000 + i);
	write_call(w, thread, 1);
	CHECK(!profile_writer_close(w));
	read_in_order(path);
	CHECK(seen.count == count + 1 && is_in_order(0, EVENT_ORDER_WINDOW / 2));
}

static void write_sample(
	struct profile_writer *w, uint32_t thread, uint64_t time_ns, uint64_t period_ns)
{
	struct profile_sample s = {.time_ns = time_ns, .period_ns = period_ns, .thread = thread};

	(void)profile_write_sample(w, &s);
}

static void samples_stand_before_their_time_and_never_overlap(void)
{
	const char *path = in_folder("samples.xpu");
	uint32_t thread;
	struct profile_writer *w = begin(path, &thread);
	struct profile_wait nothing = {
		.start_ns = 150, .thread = 1, .reason = WAIT_LOCK, .others = 1, .others_ns = 9};

	write_sample(w, thread, 200, 50);
	write_sample(w, thread, 240, 60);
	write_sample(w, thread, 1000, 10);
	(void)profile_write_wait(w, &nothing);
	CHECK(!profile_writer_close(w));
	read_in_order(path);
	CHECK(seen.count == 3);
	if (seen.count != 3)
		return;
	CHECK(seen.items[0].start_ns == 150 && seen.items[0].duration_ns == 50);
	CHECK(seen.items[1].start_ns == 200 && seen.items[1].duration_ns == 60);
	CHECK(seen.items[2].start_ns == 990 && seen.items[2].duration_ns == 10);
}

int main(void)
{
	CHECK(mkdtemp(folder));
	RUN(events_out_of_order_are_ordered);
	RUN(so_are_those_far_apart);
	RUN(an_event_that_is_too_late_comes_all_the_same);
	RUN(samples_stand_before_their_time_and_never_overlap);
	vec_release(&seen);
	vec_release(&kinds);
	CHECK(shell("rm *.xpu") && !rmdir(folder));
	return tap_end();
}
