// SPDX-License-Identifier: MIT
/* Search on a time axis, beside a dumb one that sorts all there is; what its cells are called. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/writer.h"
#include "random.h"
#include "tap.h"
#include "view/timeline/find.h"

#define MARKERS 20000
#define MOST	50

#define NAMES 3

static char path[] = "/tmp/find_test.XXXXXX";
static bool in_order; /* nearly: else in none */
static uint64_t begins[MARKERS];
static size_t matching;

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Every third is called "Needle", of a length that is its number. */
static void write_markers(void)
{
	const char *const names[NAMES] = {"a Needle in it", "hay", "more hay"};
	struct profile_writer *w;
	uint32_t ids[NAMES];

	matching = 0;
	CHECK(profile_writer_open(&w, path) == 0);
	for (size_t n = 0; n < NAMES; n++)
		CHECK(profile_add_string(w, names[n], strlen(names[n]), &ids[n]) == 0);
	for (size_t n = 0; n < MARKERS; n++) {
		const struct profile_marker m = {
			.start_ns = 1000 + (in_order ? 50 * n + random_below(1000)
						     : random_below(1000000)),
			.duration_ns = n,
			.name = ids[n % NAMES],
			.kind = MARKER_RANGE};

		if (n % NAMES == 0)
			begins[matching++] = m.start_ns;
		CHECK(profile_write_marker(w, &m) == 0);
	}
	CHECK(profile_writer_end(w) == 0);
	CHECK(profile_writer_close(w) == 0);
	qsort(begins, matching, sizeof(*begins), by_time);
}

static struct profile_reader *read_names(void)
{
	struct profile_reader *r;
	struct profile_event e;

	CHECK(profile_reader_open(&r, path) == 0);
	while (profile_reader_next(r, &e) > 0)
		;
	return r;
}

/* Where nothing is known of stretches, and where it is. */
static void find(struct timeline_find *f, const struct timeline_find_wanted *w)
{
	struct profile_reader *done = read_names();
	struct timeline_rows rows = {0};

	CHECK(timeline_find_read(f, &rows, done, w) == 0);
	profile_reader_close(done);
	timeline_rows_release(&rows);
}

static void read_named(struct timeline_named *n, uint64_t stretch_bytes, size_t places_max)
{
	struct profile_reader *r;
	struct profile_event e;

	timeline_named_init(n, 1000, 1000000);
	n->stretch_bytes = stretch_bytes;
	n->places_max = places_max;
	CHECK(profile_reader_open(&r, path) == 0);
	while (profile_reader_next(r, &e) > 0)
		CHECK(timeline_named_add(n, r, &e) == 0);
	profile_reader_close(r);
}

/* The first ones at or behind a time; or the last before it. All that are wanted, or some. */
static void check_from(uint64_t from_ns, bool back, const struct timeline_named *named)
{
	const struct timeline_find_wanted w = {
		.text = "NEEDLE", .from_ns = from_ns, .most = MOST, .back = back, .named = named};
	struct timeline_find f = {0};
	size_t before = 0, expected;

	while (before < matching && begins[before] < from_ns)
		before++;
	expected = back ? before : matching - before;
	expected = expected < MOST ? expected : MOST;
	find(&f, &w);
	CHECK(f.count == matching && f.before == before && f.found.count <= expected);
	CHECK(named ? !expected || f.found.count : f.found.count == expected);
	for (size_t n = 0; n < f.found.count; n++)
		CHECK(f.found.items[n].begin_ns == begins[back ? before - 1 - n : before + n]);
	timeline_find_release(&f);
}

static void check_order(const struct timeline_named *named)
{
	check_from(0, false, named);
	check_from(1, true, named);
	check_from(UINT64_MAX, false, named);
	check_from(begins[matching - 1] + 1, true, named);
	check_from(begins[matching - 10], false, named);
	check_from(begins[10], true, named);
	for (unsigned int n = 0; n < 20; n++)
		check_from(1000 + random_below(1000000), n % 2, named);
}

static void what_matches_comes_in_order(void)
{
	check_order(NULL);
}

/* One place for each name in a stretch, in stretches of each length. */
static void what_is_known_of_stretches_finds_the_same(void)
{
	for (uint64_t bytes = 1; bytes < 10000000; bytes *= 16) {
		struct timeline_named n;
		uint64_t events = 0;

		read_named(&n, bytes, 1000);
		CHECK(!n.overflow && n.places.count <= NAMES * n.stretches.count);
		vec_foreach (place, &n.places)
			events += place->count;
		CHECK(events == MARKERS);
		check_order(&n);
		timeline_named_release(&n);
	}
}

static void stretches_become_longer_and_then_none_is_kept(void)
{
	struct timeline_named many, few, none;

	read_named(&many, 1, 100000);
	read_named(&few, 1, 3 * NAMES);
	CHECK(many.stretches.count > few.stretches.count && few.stretches.count);
	CHECK(few.places.count <= 3 * NAMES && few.stretch_bytes > 1);
	check_order(&few);
	read_named(&none, 1, NAMES);
	CHECK(none.overflow && !none.places.count && !none.names.count);
	check_order(&none);
	timeline_named_release(&many);
	timeline_named_release(&few);
	timeline_named_release(&none);
}

static void what_has_no_such_name_is_not_found(void)
{
	const struct timeline_find_wanted w = {.text = "needles", .most = MOST};
	struct timeline_find f = {0};

	find(&f, &w);
	CHECK(!f.count && !f.found.count);
	timeline_find_release(&f);
}

static void cells_are_called_what_all_in_them_are(void)
{
	const struct timeline_what a = {1, 0}, b = {2, 0};
	union timeline_more cell = {0};

	timeline_more_add(TIMELINE_MARKERS, &cell, 0, &(union timeline_more){.what = a}, 1);
	timeline_more_add(TIMELINE_MARKERS, &cell, 1, &(union timeline_more){.what = b}, 0);
	timeline_more_add(TIMELINE_MARKERS, &cell, 1, &(union timeline_more){.what = a}, 3);
	CHECK(cell.what.id == 1);
	timeline_more_add(TIMELINE_MARKERS, &cell, 4, &(union timeline_more){.what = b}, 1);
	CHECK(!cell.what.id);
	timeline_more_add(TIMELINE_MARKERS, &cell, 5, &(union timeline_more){.what = a}, 1);
	CHECK(!cell.what.id);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	for (int n = 0; n < 2; n++) {
		in_order = n;
		write_markers();
		RUN(what_matches_comes_in_order);
		RUN(what_is_known_of_stretches_finds_the_same);
		RUN(stretches_become_longer_and_then_none_is_kept);
	}
	RUN(what_has_no_such_name_is_not_found);
	RUN(cells_are_called_what_all_in_them_are);
	unlink(path);
	return tap_end();
}
