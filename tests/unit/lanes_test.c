// SPDX-License-Identifier: MIT
#include "view/timeline/lanes.h"

#include "tap.h"

#define ALL                                                                                        \
	{                                                                                          \
		true, true, true, true                                                             \
	}

static void add(struct timeline_rows *rows, struct timeline_row row)
{
	CHECK(!vec_push(&rows->items, row));
}

static void add_of_thread(struct timeline_rows *rows, enum timeline_kind kind, uint32_t process,
	uint32_t thread, uint64_t time_ns)
{
	add(rows, (struct timeline_row){.kind = kind,
			  .process = process,
			  .thread = thread,
			  .count = 1,
			  .time_ns = time_ns});
}

static bool is_chosen(
	const struct timeline_rows *rows, const struct lanes_wanted *wanted, const char *numbers)
{
	char got[64] = "";
	struct lanes l;

	if (lanes_choose(&l, rows, wanted))
		return false;
	for (size_t n = 0; n < rows->items.count; n++)
		if (l.rows[n])
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%zu ", n);
	lanes_release(&l);
	if (strcmp(got, numbers))
		printf("# chosen: %s\n", got);
	return !strcmp(got, numbers);
}

static void those_with_most_time_come_first_and_waits_are_none(void)
{
	struct timeline_rows rows = {0};

	add_of_thread(&rows, TIMELINE_WAITS, 1, 1, 1000);
	add_of_thread(&rows, TIMELINE_RUN, 1, 2, 5);
	add_of_thread(&rows, TIMELINE_RUN, 1, 3, 7);
	add_of_thread(&rows, TIMELINE_CALLS, 1, 2, 3);
	add_of_thread(&rows, TIMELINE_MARKERS, 1, 3, 100);
	CHECK(is_chosen(&rows, &(struct lanes_wanted){.of = ALL, .most = 1}, "1 3 "));
	CHECK(is_chosen(&rows, &(struct lanes_wanted){.of = ALL, .skip = 1, .most = 1}, "2 4 "));
	CHECK(is_chosen(&rows, &(struct lanes_wanted){.of = ALL, .skip = 2, .most = 9}, "0 "));
	CHECK(is_chosen(&rows, &(struct lanes_wanted){.of = ALL, .skip = 3, .most = 9}, ""));
	timeline_rows_release(&rows);
}

static void of_lanes_that_are_alike_the_first_come_first(void)
{
	struct timeline_rows rows = {0};

	for (uint32_t thread = 1; thread < 5; thread++)
		add_of_thread(&rows, TIMELINE_RUN, 1, thread, 5);
	CHECK(is_chosen(&rows, &(struct lanes_wanted){.of = ALL, .most = 2}, "0 1 "));
	CHECK(is_chosen(&rows, &(struct lanes_wanted){.of = ALL, .skip = 2, .most = 2}, "2 3 "));
	timeline_rows_release(&rows);
}

static void each_process_has_a_thread_before_any_has_two(void)
{
	struct timeline_rows rows = {0};

	add_of_thread(&rows, TIMELINE_RUN, 1, 1, 900);
	add_of_thread(&rows, TIMELINE_RUN, 1, 2, 800);
	add_of_thread(&rows, TIMELINE_RUN, 2, 3, 1);
	CHECK(is_chosen(&rows, &(struct lanes_wanted){.of = ALL, .most = 2}, "0 2 "));
	CHECK(is_chosen(&rows, &(struct lanes_wanted){.of = ALL, .skip = 2, .most = 2}, "1 "));
	timeline_rows_release(&rows);
}

static void classes_do_not_take_each_others_places(void)
{
	struct timeline_rows rows = {0};
	struct lanes l;

	add_of_thread(&rows, TIMELINE_RUN, 1, 1, 1);
	for (uint32_t n = 0; n < 3; n++) {
		add(&rows, (struct timeline_row){TIMELINE_WORK, .stream = n, .time_ns = n});
		add(&rows, (struct timeline_row){TIMELINE_COUNTER, .counter = n, .time_ns = n});
		add(&rows, (struct timeline_row){TIMELINE_DRIVER, .ring = n, .time_ns = n});
	}
	CHECK(is_chosen(&rows, &(struct lanes_wanted){.of = ALL, .most = 1}, "0 7 8 9 "));
	CHECK(is_chosen(&rows, &(struct lanes_wanted){.of = {[LANES_STREAMS] = true}, .most = 9},
		"1 4 7 "));
	CHECK(!lanes_choose(&l, &rows, &(struct lanes_wanted){.of = ALL, .most = 1}));
	CHECK(l.count[LANES_THREADS] == 1 && l.count[LANES_STREAMS] == 3);
	CHECK(l.count[LANES_COUNTERS] == 3 && l.count[LANES_DRIVERS] == 3);
	lanes_release(&l);
	timeline_rows_release(&rows);
}

static void a_row_brings_the_others_of_its_thread(void)
{
	struct timeline_rows rows = {0};
	const bool third[] = {false, false, true, false};

	add_of_thread(&rows, TIMELINE_RUN, 1, 1, 1);
	add_of_thread(&rows, TIMELINE_RUN, 1, 2, 1);
	add_of_thread(&rows, TIMELINE_WAITS, 1, 1, 1);
	add_of_thread(&rows, TIMELINE_WAITS, 1, 2, 1);
	CHECK(is_chosen(
		&rows, &(struct lanes_wanted){.of = ALL, .rows = third, .most = 9}, "0 2 "));
	timeline_rows_release(&rows);
}

static void without_rows_there_are_none(void)
{
	struct timeline_rows rows = {0};

	CHECK(is_chosen(&rows, &(struct lanes_wanted){.of = ALL, .most = 9}, ""));
	CHECK(is_chosen(&rows, &(struct lanes_wanted){.of = ALL, .skip = 9, .most = 9}, ""));
}

int main(void)
{
	RUN(those_with_most_time_come_first_and_waits_are_none);
	RUN(of_lanes_that_are_alike_the_first_come_first);
	RUN(each_process_has_a_thread_before_any_has_two);
	RUN(classes_do_not_take_each_others_places);
	RUN(a_row_brings_the_others_of_its_thread);
	RUN(without_rows_there_are_none);
	return tap_end();
}
