// SPDX-License-Identifier: MIT
/* Blocks of kernels on the time axis: of which work they are, and what the clocks differ by. */
#include <unistd.h>

#include "folder.h"
#include "profile/writer.h"
#include "tap.h"
#include "view/blocks/late.h"

/* The GPU's clock less the recording's. */
#define AHEAD_NS 1700000000000000123ull

struct recording {
	struct profile_writer *w;
	uint32_t op, map, context;
};

static uint32_t string(struct profile_writer *w, const char *text)
{
	uint32_t id = 0;

	CHECK(!profile_add_string(w, text, strlen(text), &id));
	return id;
}

/* Kernels of four blocks. */
static void begin_with(struct recording *r, const char *tool, const char *map_name)
{
	struct profile_probe_object object = {0};
	struct profile_probe_map map = {.object = 1};
	struct profile_probe_context context = {0};
	struct profile_op op = {.kind = OP_KERNEL, .grid = {2, 2, 1}, .block = {32, 1, 1}};
	struct profile_device device = {.ordinal = 0};
	struct profile_process process = {.pid = 7};
	uint32_t id;

	CHECK(!profile_writer_open(&r->w, in_folder("b.xpu")));
	object.tool = string(r->w, tool);
	map.name = string(r->w, map_name);
	CHECK(!profile_add_process(r->w, &process, &op.process));
	CHECK(!profile_add_device(r->w, &device, &op.device));
	context.process = op.process;
	context.device = op.device;
	CHECK(!profile_add_op(r->w, &op, &r->op));
	CHECK(!profile_add_probe_object(r->w, &object, &id));
	CHECK(!profile_add_probe_map(r->w, &map, &r->map));
	CHECK(!profile_add_probe_context(r->w, &context, &r->context));
	CHECK(!profile_set_meta(r->w, META_REALTIME_NS, "1700000000000000000"));
}

static void begin(struct recording *r, const char *tool)
{
	begin_with(r, tool, "blocks");
}

static void run(struct recording *r, uint64_t grid, uint64_t start_ns, uint64_t duration_ns)
{
	struct profile_work w = {
		.op = r->op, .grid = grid, .start_ns = start_ns, .duration_ns = duration_ns};

	CHECK(!profile_write_work(r->w, &w));
}

/* Times of the recording. */
static void block(struct recording *r, uint64_t grid, uint64_t number, uint64_t start_ns,
	uint64_t duration_ns)
{
	uint64_t record[] = {
		start_ns + AHEAD_NS, start_ns + AHEAD_NS + duration_ns, number, 99, number % 2};
	struct profile_found f = {.grid = grid,
		.map = r->map,
		.context = r->context,
		.program = 1,
		.sm = 1,
		.size = sizeof(record),
		.bytes = (const uint8_t *)record};

	CHECK(!profile_write_found(r->w, &f));
}

static struct profile_reader *read_back(struct recording *r)
{
	struct profile_reader *reader = NULL;
	struct profile_event e;

	CHECK(!profile_writer_close(r->w));
	CHECK(!profile_reader_open(&reader, in_folder("b.xpu")));
	while (profile_reader_next(reader, &e) > 0)
		;
	CHECK(!profile_reader_incomplete(reader));
	return reader;
}

static struct profile_reader *end(struct recording *r, struct blocks *ret)
{
	struct profile_reader *reader = read_back(r);

	CHECK(!blocks_read(ret, reader, BLOCKS_ALL));
	return reader;
}

static const struct block_run *find(
	const struct blocks *b, const struct profile_reader *r, uint64_t grid, uint64_t start_ns)
{
	struct profile_work w = {.grid = grid, .start_ns = start_ns};

	return blocks_of(b, profile_op(r, 1), &w);
}

static bool is_near(const struct block *b, uint64_t start_ns, uint64_t by_ns)
{
	return b->start_ns + by_ns >= start_ns && b->start_ns <= start_ns + by_ns;
}

static void blocks_are_of_the_launch_with_their_id(void)
{
	struct recording r;
	struct blocks b;
	struct profile_reader *reader;
	const struct block_run *run_of_9;

	begin(&r, "blocks");
	block(&r, 9, 3, 2000010, 500);
	block(&r, 9, 0, 2000005, 500);
	run(&r, 8, 2000000, 1000); /* at the same time */
	run(&r, 9, 2000000, 1000);
	block(&r, 8, 1, 2000020, 970);
	block(&r, 7, 1, 2000020, 10); /* of nothing that was recorded */
	reader = end(&r, &b);
	run_of_9 = find(&b, reader, 9, 2000000);
	CHECK(run_of_9 && run_of_9->count == 2 && run_of_9->error_ns <= 250);
	if (run_of_9) {
		const struct block *first = &b.items.items[run_of_9->first];

		CHECK(first[0].number == 0 && first[1].number == 3 && first[1].sm == 1);
		/* Kernel 8 leaves 10 ns of doubt, and both together no more. */
		CHECK(is_near(first, 2000005, 15) && first->duration_ns == 500);
	}
	CHECK(find(&b, reader, 8, 2000000) && find(&b, reader, 8, 2000000)->count == 1);
	CHECK(!find(&b, reader, 8, 2000001) && !find(&b, reader, 7, 2000000));
	blocks_release(&b);
	profile_reader_close(reader);
}

/* A node of a graph, whose runs have one id. */
static void runs(struct recording *r, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		run(r, 5, 1000000 + 1000 * i, 900);
}

static void all_blocks_of_a_node_are_given_to_its_runs_in_turn(void)
{
	struct recording r;
	struct blocks b;
	struct profile_reader *reader;

	begin(&r, "blocks");
	for (unsigned int i = 0; i < 12; i++)
		block(&r, 5, i % 4, 1000000 + 1000 * (i / 4) + 5 * (i % 4), 870);
	runs(&r, 3);
	reader = end(&r, &b);
	for (unsigned int i = 0; i < 3; i++) {
		const struct block_run *of = find(&b, reader, 5, 1000000 + 1000 * i);

		CHECK(of && of->count == 4 && of->error_ns <= 8);
		CHECK(of && is_near(&b.items.items[of->first], 1000000 + 1000 * i, 16));
	}
	CHECK(!b.unplaced);
	blocks_release(&b);
	profile_reader_close(reader);
}

static void a_block_that_may_be_of_two_runs_is_of_none(void)
{
	struct recording r;
	struct blocks b;
	struct profile_reader *reader;

	begin(&r, "blocks");
	/* One is missing, and nothing else says how far the clocks are from each other. */
	for (unsigned int i = 0; i < 11; i++)
		block(&r, 5, i % 4, 1000000 + 1000 * (i / 4), 800);
	runs(&r, 3);
	reader = end(&r, &b);
	CHECK(b.unplaced == 11 && !find(&b, reader, 5, 1000000));
	blocks_release(&b);
	profile_reader_close(reader);
}

static void with_another_kernel_the_time_says_which_run(void)
{
	struct recording r;
	struct blocks b;
	struct profile_reader *reader;

	begin(&r, "blocks");
	block(&r, 4, 0, 500001, 998);
	run(&r, 4, 500000, 1000);
	for (unsigned int i = 0; i < 11; i++)
		block(&r, 5, i % 4, 1000100 + 1000 * (i / 4), 700);
	runs(&r, 3);
	reader = end(&r, &b);
	for (unsigned int i = 0; i < 3; i++) {
		const struct block_run *of = find(&b, reader, 5, 1000000 + 1000 * i);

		CHECK(of && of->count == (i < 2 ? 4 : 3));
		CHECK(of && is_near(&b.items.items[of->first], 1000100 + 1000 * i, 1));
	}
	CHECK(!b.unplaced);
	blocks_release(&b);
	profile_reader_close(reader);
}

static void what_other_tools_send_are_no_blocks(void)
{
	struct recording r;
	struct blocks b;
	struct profile_reader *reader;

	begin(&r, "other");
	block(&r, 9, 0, 2000005, 500);
	run(&r, 9, 2000000, 1000);
	reader = end(&r, &b);
	CHECK(!b.items.count && !find(&b, reader, 9, 2000000));
	blocks_release(&b);
	profile_reader_close(reader);
}

/* As a file may say: together 2^64 and 1 blocks, where one was seen. */
static void grids_that_cannot_be_and_times_without_end_place_nothing(void)
{
	static const uint32_t grids[][3] = {
		{UINT32_MAX, 1, 1}, {UINT32_MAX, 1, 1}, {UINT32_MAX, UINT32_MAX, 1}, {2, 1, 1}};
	struct recording r;
	struct profile_reader *reader;
	struct blocks b;

	begin(&r, "blocks");
	for (size_t i = 0; i < sizeof(grids) / sizeof(*grids); i++) {
		struct profile_op op = {.kind = OP_KERNEL, .process = 1, .device = 1};

		memcpy(op.grid, grids[i], sizeof(op.grid));
		CHECK(!profile_add_op(r.w, &op, &r.op));
		run(&r, 9, 1000 * (i + 1), 100);
	}
	block(&r, 9, 0, 1010, 50);
	run(&r, 10, UINT64_MAX - 10, 5);
	block(&r, 10, 0, 1ull << 63, 50);
	reader = end(&r, &b);
	CHECK(b.items.count == 1 && b.left_out >= 1);
	vec_foreach (of, &b.runs)
		CHECK(of->first + (uint64_t)of->count <= b.items.count);
	blocks_release(&b);
	profile_reader_close(reader);
}

static void first_blocks_are_as_late_as_their_kernels_at_least(void)
{
	struct recording r;
	struct late late;
	struct profile_reader *reader;

	begin_with(&r, "launchlate", "starts");
	for (unsigned int i = 0; i < 3; i++) {
		struct profile_work w = {.op = r.op,
			.grid = 20 + i,
			.launch_ns = 1000000 + 100000 * i,
			.start_ns = 1005000 + 100000 * i,
			.duration_ns = 700 + 100 * i};

		CHECK(!profile_write_work(r.w, &w));
		/* One begins with its kernel, others 40 and 80 ns later. */
		block(&r, 20 + i, 0, w.start_ns + 40 * i, 0);
	}
	block(&r, 99, 0, 1500000, 0);
	reader = read_back(&r);
	CHECK(!late_read(&late, reader));
	CHECK(late.kernels.count == 1 && late.unknown == 1);
	if (late.kernels.count) {
		const struct late_kernel *k = &late.kernels.items[0];

		CHECK(k->count == 3 && k->least_ns >= 4999 && k->least_ns <= 5001);
		CHECK(k->most_ns >= 5079 && k->most_ns <= 5081 && late.error_ns >= 700 &&
			late.error_ns <= 702);
	}
	late_release(&late);
	profile_reader_close(reader);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(blocks_are_of_the_launch_with_their_id);
	RUN(all_blocks_of_a_node_are_given_to_its_runs_in_turn);
	RUN(a_block_that_may_be_of_two_runs_is_of_none);
	RUN(with_another_kernel_the_time_says_which_run);
	RUN(what_other_tools_send_are_no_blocks);
	RUN(grids_that_cannot_be_and_times_without_end_place_nothing);
	RUN(first_blocks_are_as_late_as_their_kernels_at_least);
	unlink(in_folder("b.xpu"));
	rmdir(folder);
	return tap_end();
}
