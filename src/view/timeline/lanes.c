// SPDX-License-Identifier: MIT
#include "view/timeline/lanes.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"

struct lane {
	enum lane_class class;
	uint32_t first;	  /* row */
	uint64_t time_ns; /* of what is no wait */
	uint64_t waits_ns;
	uint64_t group;
	bool wanted;
};

struct all_lanes vec(struct lane);

void lanes_release(struct lanes *l)
{
	free(l->rows);
	*l = (struct lanes){0};
}

static int short_memory(void)
{
	return error_memory("the rows of the time axis");
}

const char *lane_class_name(enum lane_class c)
{
	static const char *const names[LANE_CLASSES] = {
		"threads", "streams", "counters", "drivers"};

	return c < LANE_CLASSES ? names[c] : "";
}

static enum lane_class class_of(enum timeline_kind kind)
{
	switch (kind) {
	case TIMELINE_WORK:
		return LANES_STREAMS;
	case TIMELINE_COUNTER:
		return LANES_COUNTERS;
	case TIMELINE_DRIVER:
		return LANES_DRIVERS;
	default:
		return LANES_THREADS;
	}
}

static uint64_t group_of(const struct timeline_row *row)
{
	return hash_combine((uint64_t)row->process << 32 | row->device, class_of(row->kind));
}

static int new_lane(struct all_lanes *lanes, const struct timeline_row *row, uint32_t number)
{
	return vec_push(lanes,
		(struct lane){
			.class = class_of(row->kind), .first = number, .group = group_of(row)});
}

/* The number of a row's lane, which is added when it is new. */
static int lane_of(struct all_lanes *lanes, struct map *of_thread, const struct timeline_row *row,
	uint32_t number, uint64_t *ret)
{
	bool is_of_thread = class_of(row->kind) == LANES_THREADS;
	const uint64_t *known = is_of_thread ? map_get(of_thread, row->thread) : NULL;

	*ret = known ? *known : lanes->count;
	if (known)
		return 0;
	if (is_of_thread && map_put(of_thread, row->thread, *ret))
		return -ENOMEM;
	return new_lane(lanes, row, number);
}

/* Markers lie in one another: their time is that of the thread once more. */
static void add_time(struct lane *lane, const struct timeline_row *row)
{
	if (row->kind == TIMELINE_WAITS)
		lane->waits_ns += row->time_ns;
	else if (row->kind != TIMELINE_MARKERS)
		lane->time_ns += row->time_ns;
}

/* `of_row` gets the lane of each row. */
static int make_lanes(struct all_lanes *lanes, const struct timeline_rows *rows,
	const struct lanes_wanted *wanted, uint32_t *of_row)
{
	struct map of_thread = MAP_INIT;
	int error = 0;

	for (uint32_t n = 0; !error && n < rows->items.count; n++) {
		const struct timeline_row *row = &rows->items.items[n];
		uint64_t number = 0;

		error = lane_of(lanes, &of_thread, row, n, &number);
		if (error)
			break;
		of_row[n] = (uint32_t)number;
		add_time(&lanes->items[number], row);
		if (wanted->of[class_of(row->kind)] && (!wanted->rows || wanted->rows[n]))
			lanes->items[number].wanted = true;
	}
	map_release(&of_thread);
	return error;
}

static int by_time(const void *left, const void *right)
{
	const struct lane *a = *(const struct lane *const *)left,
			  *b = *(const struct lane *const *)right;

	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	if (a->waits_ns != b->waits_ns)
		return a->waits_ns > b->waits_ns ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Moves those that are the first of their group to the front. */
static int groups_first(struct lane **order, size_t count)
{
	struct lane **others = malloc((count + 1) * sizeof(*others));
	struct map seen = MAP_INIT;
	size_t first = 0, rest = 0;
	int error = others ? 0 : -ENOMEM;

	for (size_t n = 0; !error && n < count; n++) {
		if (map_get(&seen, order[n]->group)) {
			others[rest++] = order[n];
			continue;
		}
		error = map_put(&seen, order[n]->group, 1);
		order[first++] = order[n];
	}
	for (size_t n = 0; !error && n < rest; n++)
		order[first + n] = others[n];
	map_release(&seen);
	free(others);
	return error;
}

/* Those that are left out are not wanted any more. */
static void cut(struct lane **order, size_t count, const struct lanes_wanted *wanted,
	size_t seen[LANE_CLASSES])
{
	for (size_t n = 0; n < count; n++) {
		size_t place = seen[order[n]->class]++;

		order[n]->wanted = place >= wanted->skip && place - wanted->skip < wanted->most;
	}
}

static bool is_all(const struct lanes *l, const struct lanes_wanted *wanted)
{
	for (size_t n = 0; n < LANE_CLASSES; n++)
		if (wanted->skip || l->count[n] > wanted->most)
			return false;
	return true;
}

static int choose(struct lanes *l, const struct all_lanes *lanes, const struct lanes_wanted *wanted)
{
	struct lane **order;
	size_t count = 0, seen[LANE_CLASSES] = {0};
	int error;

	vec_foreach (lane, lanes)
		l->count[lane->class] += lane->wanted;
	if (is_all(l, wanted))
		return 0;
	order = malloc((lanes->count + 1) * sizeof(*order));
	if (!order)
		return -ENOMEM;
	vec_foreach (lane, lanes)
		if (lane->wanted)
			order[count++] = lane;
	qsort(order, count, sizeof(*order), by_time);
	error = groups_first(order, count);
	if (!error)
		cut(order, count, wanted, seen);
	free(order);
	return error;
}

int lanes_choose(
	struct lanes *ret, const struct timeline_rows *rows, const struct lanes_wanted *wanted)
{
	size_t count = rows->items.count;
	uint32_t *of_row = malloc((count + 1) * sizeof(*of_row));
	struct lanes l = {.rows = calloc(count + 1, sizeof(*l.rows))};
	struct all_lanes lanes = {0};
	int error = of_row && l.rows ? 0 : -ENOMEM;

	error = error ?: make_lanes(&lanes, rows, wanted, of_row);
	error = error ?: choose(&l, &lanes, wanted);
	for (size_t n = 0; !error && n < count; n++)
		l.rows[n] = lanes.items[of_row[n]].wanted;
	vec_release(&lanes);
	free(of_row);
	if (error) {
		lanes_release(&l);
		return short_memory();
	}
	*ret = l;
	return 0;
}
