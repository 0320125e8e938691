// SPDX-License-Identifier: MIT
/* Where events stand in a tree of frames: the same as without what is remembered. */
#include "view/events/places.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "folder.h"
#include "profile/writer.h"
#include "tap.h"
#include "view/events/order.h"

#define OPS 5000 /* more than are remembered at first */

struct check {
	struct event_places places;
	struct event_nodes nodes; /* of the same tree */
	struct vec(uint32_t) expected;
	size_t count, unexpected;
};

static void write_ops(const char *path)
{
	struct profile_writer *w;

	CHECK(!profile_writer_open(&w, path));
	for (uint32_t i = 0; i < OPS; i++) {
		struct profile_op op = {.kind = OP_KERNEL};
		char name[16];

		snprintf(name, sizeof(name), "kernel%u", i);
		CHECK(!profile_add_string(w, name, strlen(name), &op.name));
		CHECK(!profile_add_op(w, &op, &(uint32_t){0}));
	}
	for (uint32_t i = 0; i < 3 * OPS; i++) {
		struct profile_work work = {
			.start_ns = i + 1, .duration_ns = 1, .op = 1 + i * 7 % OPS};

		CHECK(!profile_write_work(w, &work));
	}
	CHECK(!profile_writer_close(w));
}

static void expect(void *arg, const struct profile_event *e)
{
	struct check *c = arg;

	event_places_expect(&c->places, e);
	CHECK(!vec_push(&c->expected, e->work.op));
}

static int find(void *arg, const struct profile_event *e, const struct event_span *span)
{
	struct check *c = arg;
	struct gather_key key = event_key(e, c->nodes.options);
	uint32_t node = 0, same = 1;

	CHECK(!event_places_find(&c->places, e, &node));
	CHECK(!event_nodes_add(&c->nodes, &key, &same));
	CHECK(node == same);
	c->unexpected += c->count >= EVENT_ORDER_AHEAD &&
			 c->expected.items[c->count - EVENT_ORDER_AHEAD] != e->work.op;
	c->count++;
	return 0;
}

static void each_event_is_expected_and_stands_where_it_would_anyway(void)
{
	const char *path = in_folder("ops.xpu");
	const struct view_options options = {0};
	struct profile_reader *r;
	struct profile_event e;
	struct check c = {0};

	write_ops(path);
	CHECK(!profile_reader_open(&r, path));
	while (profile_reader_next(r, &e) > 0)
		continue;
	CHECK(!event_places_init(&c.places, r, &options));
	CHECK(!event_nodes_init(&c.nodes, r, &options, c.places.tree));
	CHECK(!events_in_order_expected(r, find, expect, &c));
	CHECK(c.count == 3 * OPS && c.expected.count == c.count - EVENT_ORDER_AHEAD);
	CHECK(!c.unexpected);
	vec_release(&c.expected);
	event_nodes_release(&c.nodes);
	event_places_release(&c.places);
	profile_reader_close(r);
}

int main(void)
{
	CHECK(mkdtemp(folder));
	RUN(each_event_is_expected_and_stands_where_it_would_anyway);
	CHECK(shell("rm *.xpu") && !rmdir(folder));
	return tap_end();
}
