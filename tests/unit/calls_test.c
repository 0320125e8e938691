// SPDX-License-Identifier: MIT
/* Calls counted from what is kept of a recording, beside those that are read from the file. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "profile/reader.h"
#include "profile/writer.h"
#include "random.h"
#include "tap.h"
#include "view/calls.h"
#include "view/calls_kept.h"
#include "view/fold/code_tree.h"

#define START_NS  1000000ull
#define LENGTH_NS 4000000ull
#define THREADS	  4
#define STACKS	  60
#define WORKLESS  10 /* stacks whose calls have no work */
#define CALLS	  1500

static char path[] = "/tmp/calls_test.XXXXXX";
static struct profile_writer *w;
static uint32_t threads[THREADS], stacks[STACKS + WORKLESS], api, op;

static uint32_t string(const char *text, uint32_t number)
{
	char whole[64];
	uint32_t id = 0;

	snprintf(whole, sizeof(whole), "%s%u", text, number);
	CHECK(!profile_add_string(w, whole, strlen(whole), &id));
	return id;
}

static void write_tables(void)
{
	struct profile_process p = {.pid = 7, .comm = string("app", 0)};
	struct profile_device d = {.uuid = {1}};
	struct profile_op kernel = {.kind = OP_KERNEL, .name = string("kernel", 0)};

	CHECK(!profile_set_meta(w, META_START_NS, "1000000"));
	CHECK(!profile_set_meta(w, META_END_NS, "5000000"));
	CHECK(!profile_add_process(w, &p, &kernel.process));
	CHECK(!profile_add_device(w, &d, &kernel.device));
	CHECK(!profile_add_op(w, &kernel, &op));
	for (uint32_t n = 0; n < THREADS; n++) {
		struct profile_thread t = {
			.process = kernel.process, .tid = 10 + n, .name = string("thread", n)};

		CHECK(!profile_add_thread(w, &t, &threads[n]));
	}
	for (uint32_t n = 0; n < STACKS + WORKLESS; n++)
		for (uint32_t level = 0; level < 3; level++) {
			struct profile_location l = {.kind = FRAME_USER,
				.address = level < 2 ? level * 8 + n % 5 : 100 + n};
			uint32_t location;

			l.name = string("function", (uint32_t)l.address);
			CHECK(!profile_add_location(w, &l, &location));
			CHECK(!profile_add_stack_node(w, stacks[n], location, &stacks[n]));
		}
	api = string("cudaLaunchKernel", 0);
}

static void write_calls(void)
{
	for (uint32_t n = 0; n < CALLS; n++) {
		bool workless = n > CALLS / 2 && !random_below(20);
		struct profile_call c = {
			.start_ns = START_NS - 1000 + random_below(LENGTH_NS + 2000),
			.duration_ns = random_below(5000),
			.thread = threads[random_below(THREADS)],
			.stack = stacks[workless ? STACKS + random_below(WORKLESS)
						 : random_below(STACKS)],
			.api = api,
			.kind = random_below(9) ? CALL_LAUNCH : CALL_SYNC};
		struct profile_work work = {.start_ns = c.start_ns + 100,
			.duration_ns = 50,
			.thread = c.thread,
			.stack = c.stack,
			.api = api,
			.op = op};

		CHECK(!profile_write_call(w, &c));
		if (!workless)
			CHECK(!profile_write_work(w, &work));
	}
}

struct shown {
	struct profile_reader *done;
	struct range_known known;
	struct slice_sums sums;
	struct code_tree codes;
	struct calls_kept calls;
	struct profile_span span;
	struct profile_clip clip;
	bool threads[THREADS + 1];
};

static void open_shown(struct shown *s, size_t sums_max)
{
	struct profile_event e;
	int more;

	*s = (struct shown){0};
	CHECK(!profile_reader_open(&s->done, path));
	CHECK(!slice_sums_init(&s->sums, START_NS, START_NS + LENGTH_NS));
	s->sums.sums_max = sums_max;
	profile_reader_clip(s->done, &slice_sums_clip);
	while ((more = profile_reader_next(s->done, &e)) > 0)
		CHECK(!slice_sums_add(&s->sums, s->done, &e));
	CHECK(!more && !slice_sums_finish(&s->sums, s->done));
	profile_reader_clip(s->done, NULL);
	CHECK(!s->sums.stackless && !s->sums.overflow);
	s->known.done = s->done;
}

static void close_shown(struct shown *s)
{
	calls_kept_release(&s->calls);
	code_tree_release(&s->codes);
	slice_sums_release(&s->sums);
	profile_reader_close(s->done);
}

static void choose_part(struct shown *s)
{
	s->span.from_ns = START_NS - 2000 + random_below(LENGTH_NS);
	s->span.to_ns = s->span.from_ns + 1 + random_below(LENGTH_NS / (1 + random_below(50)));
	s->clip = (struct profile_clip){.spans = &s->span, .span_count = 1};
	for (size_t n = 0; n <= THREADS; n++)
		s->threads[n] = random_below(2);
	if (random_below(2)) {
		s->clip.threads = s->threads;
		s->clip.thread_count = THREADS + 1;
	}
}

static void put_words(const struct view_result *v, struct buf *ret)
{
	struct tree_walk walk = tree_walk_begin(v->tree);

	buf_reset(ret);
	buf_puts(ret, v->lacking ? "nothing\n" : "");
	while (tree_walk_next(&walk)) {
		const struct tree_node *node = &tree_nodes(v->tree)[walk.node];
		const struct tree_frame *frame = &tree_frames(v->tree)[node->frame];

		buf_printf(ret, "%u %s %llu\n", walk.depth, frame->name,
			(unsigned long long)tree_self(v->tree, walk.node));
	}
}

static void build(struct shown *s, unsigned int by, bool kept, bool whole, struct buf *ret)
{
	struct view_options o = {.by = by, .range.known = &s->known};
	struct view_result v = {.shows = VIEW_SHOWS_CALLS};
	struct profile_reader *r;

	if (kept) {
		o.sums = &s->sums;
		o.codes = &s->codes;
		o.calls = &s->calls;
	}
	CHECK(!tree_new(&v.tree) && !profile_reader_open_again(&r, s->done));
	profile_reader_clip(r, whole ? NULL : &s->clip);
	CHECK(!calls_build(r, &o, &v) && !tree_sort(v.tree));
	put_words(&v, ret);
	view_result_release(&v);
	profile_reader_close(r);
}

static size_t compare_parts(struct shown *s)
{
	static const unsigned int groups[] = {0, VIEW_BY_THREAD, VIEW_BY_PROCESS | VIEW_BY_THREAD};
	struct buf kept = BUF_INIT, from_file = BUF_INIT;
	size_t words = 0;

	for (int part = 0; part < 30; part++) {
		choose_part(s);
		build(s, groups[part % 3], true, part < 3, &kept);
		build(s, groups[part % 3], false, part < 3, &from_file);
		CHECK_TEXT(buf_text(&kept), buf_text(&from_file));
		words += from_file.size;
	}
	buf_release(&kept);
	buf_release(&from_file);
	return words;
}

static void calls_of_any_part_from_memory_are_those_from_the_file(void)
{
	struct shown s;

	open_shown(&s, 1 << 20);
	CHECK(!s.sums.callless && compare_parts(&s) > 10000 && !s.calls.read);
	close_shown(&s);
}

static void so_are_those_that_sums_have_no_room_for(void)
{
	struct shown s;

	open_shown(&s, 1000);
	CHECK(s.sums.callless && compare_parts(&s) > 10000);
	CHECK(s.calls.read && !s.calls.too_large && s.calls.others.count);
	close_shown(&s);
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0 && !close(fd));
	CHECK(!profile_writer_open(&w, path));
	write_tables();
	write_calls();
	CHECK(!profile_writer_close(w));
	RUN(calls_of_any_part_from_memory_are_those_from_the_file);
	RUN(so_are_those_that_sums_have_no_room_for);
	unlink(path);
	return tap_end();
}
