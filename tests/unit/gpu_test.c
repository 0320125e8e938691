// SPDX-License-Identifier: MIT
/* All backends of a recording are one GPU side: what reaches which of them, and what is added
 * up. */
#include "gpu/gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "tap.h"

#define BACKENDS 2

/* A backend that notes what it was asked. The first has the first instance, and the second the
 * next. */
struct gpu_backend {
	struct gpu_shared *shared;
	uint32_t instance;
	uint32_t pid;
	unsigned int spaces, chunks, changes, leaves;
	unsigned int snapshots, drains, stops, finishes;
	bool live;
	bool busy;
};

static struct gpu_backend made[BACKENDS];
static size_t made_count;
static int drain_error;

static int open_fake(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	struct gpu_backend *b = &made[made_count++];

	*b = (struct gpu_backend){.shared = shared,
		.instance = ++shared->last_instance,
		.pid = 100 * shared->last_instance};
	*ret = b;
	return 0;
}

static int open_nothing(
	struct gpu_backend **ret, const struct gpu_options *options, struct gpu_shared *shared)
{
	buf_puts(options->notes, "no such GPU here\n");
	return 0;
}

static bool is_plausible(struct gpu_backend *b, const struct gpu_launch *e)
{
	return e->instance != b->instance || e->pid == b->pid;
}

static int code_mapped(struct gpu_backend *b, const struct code_change *change)
{
	b->changes++;
	return 0;
}

static int space(struct gpu_backend *b, const struct walker_space *space)
{
	b->spaces++;
	return 0;
}

static int table_chunk(struct gpu_backend *b, uint32_t index, int fd)
{
	b->chunks++;
	return 0;
}

static int leaves(struct gpu_backend *b, uint32_t pid)
{
	b->leaves++;
	return 0;
}

static int snapshot(struct gpu_backend *b)
{
	b->snapshots++;
	return 0;
}

static int drain(struct gpu_backend *b, bool *ret_busy)
{
	b->drains++;
	*ret_busy |= b->busy;
	return drain_error;
}

static int stop(struct gpu_backend *b)
{
	b->stops++;
	return 0;
}

static int finish(struct gpu_backend *b)
{
	b->finishes++;
	return 0;
}

static bool has_connected(const struct gpu_backend *b, uint32_t process)
{
	return process == b->instance;
}

static void stats(const struct gpu_backend *b, struct gpu_stats *ret)
{
	ret->instances_live = b->live;
	ret->reported_ns = b->pid;
	if (b->instance == 2) {
		ret->ended = "it ended";
		ret->finalized = "it was taken out";
	}
}

static void close_fake(struct gpu_backend *b)
{
	b->live = false;
}

static const struct gpu_backend_ops first = {
	.name = "first",
	.open = open_fake,
	.is_plausible = is_plausible,
	.code_mapped = code_mapped,
	.space = space,
	.table_chunk = table_chunk,
	.leaves = leaves,
	.snapshot = snapshot,
	.drain = drain,
	.stop = stop,
	.finish = finish,
	.has_connected = has_connected,
	.stats = stats,
	.close = close_fake,
};

/* It has no libraries in programs, and is not interested in what they map. */
static const struct gpu_backend_ops second = {
	.name = "second",
	.open = open_fake,
	.snapshot = snapshot,
	.drain = drain,
	.stop = stop,
	.finish = finish,
	.stats = stats,
	.close = close_fake,
};

static const struct gpu_backend_ops absent = {.name = "absent", .open = open_nothing};

const struct gpu_backend_ops *const gpu_backends[] = {&first, &absent, &second, NULL};

static struct profile_writer *writer;
static struct tasks *tasks;
static struct gpu *gpu;
static struct buf notes;
static unsigned int launches;

static int count_launch(void *context, const struct gpu_launch *e)
{
	launches++;
	return 0;
}

static void begin(bool open)
{
	const struct gpu_options options = {.notes = &notes};

	made_count = 0;
	launches = 0;
	drain_error = 0;
	notes = BUF_INIT;
	CHECK(!profile_writer_open(&writer, "/dev/null") && !tasks_new(&tasks, writer));
	CHECK(!gpu_new(&gpu, writer, tasks, (struct gpu_events){.launch = count_launch}));
	if (open)
		CHECK(!gpu_open(gpu, &options));
}

static void end(void)
{
	gpu_free(gpu);
	tasks_free(tasks);
	profile_writer_abort(writer);
	buf_release(&notes);
}

static uint64_t invalid(void)
{
	struct profile_totals totals;

	profile_writer_totals(writer, &totals);
	return totals.losses[LOSS_GPU_INVALID];
}

static bool arrives(uint32_t instance, uint32_t pid)
{
	const struct gpu_events door = gpu_marker_launches(gpu);
	const struct gpu_launch e = {.instance = instance, .pid = pid, .kind = CALL_LAUNCH};
	unsigned int before = launches;

	CHECK(!door.launch(door.context, &e));
	return launches == before + 1;
}

static void all_backends_are_opened_but_those_that_are_not_there(void)
{
	begin(true);
	CHECK(gpu_is_open(gpu) && made_count == 2 && made[0].instance == 1 &&
		made[1].instance == 2);
	CHECK_TEXT(buf_text(&notes), "no such GPU here\n");
	end();
}

static void a_marker_counts_only_in_the_process_of_its_instance(void)
{
	begin(true);
	CHECK(arrives(1, 100) && arrives(2, 200) && arrives(2, 201));
	CHECK(invalid() == 0);
	CHECK(!arrives(1, 200) && invalid() == 1);
	CHECK(!arrives(3, 300) && invalid() == 2);
	end();
}

static void markers_of_another_recording_are_nothing_without_a_backend(void)
{
	begin(false);
	CHECK(!gpu_is_open(gpu) && !arrives(1, 100) && invalid() == 0);
	CHECK(!gpu_has_connected(gpu, 1) && !gpu_reported_ns(gpu) && !gpu_is_live(gpu));
	end();
}

static void news_reach_those_that_ask_for_them(void)
{
	struct walker_news news;

	begin(true);
	news = gpu_walker_news(gpu);
	CHECK(!news.space(news.context, &(struct walker_space){.pid = 100}));
	CHECK(!news.code_mapped(news.context, &(struct code_change){.pid = 100}));
	CHECK(!news.table_chunk(news.context, 0, 1) && !news.leaves(news.context, 100));
	CHECK(made[0].spaces == 1 && made[0].changes == 1 && made[0].chunks == 1 &&
		made[0].leaves == 1);
	CHECK(!made[1].spaces && !made[1].changes && !made[1].chunks && !made[1].leaves);
	end();
}

static void a_round_is_one_of_every_backend_and_busy_if_one_is(void)
{
	bool busy = true;

	begin(true);
	CHECK(!gpu_snapshot(gpu) && !gpu_drain(gpu, &busy) && !busy);
	made[0].busy = true;
	CHECK(!gpu_snapshot(gpu) && !gpu_drain(gpu, &busy) && busy);
	CHECK(made[0].snapshots == 2 && made[1].snapshots == 2 && made[0].drains == 2 &&
		made[1].drains == 2);
	drain_error = -EIO;
	CHECK(gpu_drain(gpu, &busy) == -EIO && made[0].drains == 3 && made[1].drains == 2);
	end();
}

static void the_end_waits_for_the_last_backend(void)
{
	begin(true);
	made[1].live = true;
	CHECK(!gpu_stop(gpu) && made[0].stops == 1 && made[1].stops == 1);
	CHECK(gpu_is_live(gpu));
	made[1].live = false;
	CHECK(!gpu_is_live(gpu));
	CHECK(!gpu_finish(gpu) && made[0].finishes == 1 && made[1].finishes == 1);
	end();
}

static void note(void *context, const char *lines, enum gpu_missing what)
{
	buf_printf(context, "%s%s|", lines, what == GPU_MISSING_WORK ? "!" : "");
}

static void what_came_of_it_is_of_all(void)
{
	struct buf refusals = BUF_INIT;

	begin(true);
	CHECK(gpu_reported_ns(gpu) == 300);
	CHECK(gpu_has_connected(gpu, 1) && !gpu_has_connected(gpu, 2));
	gpu_each_refusal(gpu, note, &refusals);
	CHECK_TEXT(buf_text(&refusals), "!|it ended!||||||||||it was taken out|");
	buf_release(&refusals);
	end();
}

int main(void)
{
	RUN(all_backends_are_opened_but_those_that_are_not_there);
	RUN(a_marker_counts_only_in_the_process_of_its_instance);
	RUN(markers_of_another_recording_are_nothing_without_a_backend);
	RUN(news_reach_those_that_ask_for_them);
	RUN(a_round_is_one_of_every_backend_and_busy_if_one_is);
	RUN(the_end_waits_for_the_last_backend);
	RUN(what_came_of_it_is_of_all);
	return tap_end();
}
