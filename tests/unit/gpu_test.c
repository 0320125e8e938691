// SPDX-License-Identifier: MIT
/* All backends of a recording are one GPU side: what reaches which of them, and what is added
 * up. */
#include "gpu/gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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
	bool wrote, covered,
		reports;     /* an API: into its ring, before a snapshot, and that was drained */
	bool drains_nothing; /* as when there is too much in other rings */
	char heard[64];	     /* names of a driver's kernels; + reported, - not, | an end */
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
	strcat(b->heard, "|");
	return 0;
}

static bool hears_drivers(void)
{
	return true;
}

static int driver_kernel(struct gpu_backend *b, const struct driver_kernel *k, bool reported)
{
	if (strlen(b->heard) + strlen(k->name) + 2 < sizeof(b->heard))
		strcat(strcat(b->heard, k->name), reported ? "+" : "-");
	return 0;
}

static bool reports(const struct gpu_backend *b, uint32_t process, uint32_t api)
{
	return b->reports && process == 7 && api == 2;
}

static int snapshot(struct gpu_backend *b)
{
	b->snapshots++;
	b->covered = b->wrote;
	return 0;
}

static int drain(struct gpu_backend *b, bool *ret_busy)
{
	b->drains++;
	*ret_busy |= b->busy;
	b->reports |= b->covered && !b->drains_nothing;
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
	.reports = reports,
	.stats = stats,
	.close = close_fake,
};

/* It has no libraries in programs, and is not interested in what they map, but in what their
 * driver says. */
static const struct gpu_backend_ops second = {
	.name = "second",
	.open = open_fake,
	.leaves = leaves,
	.hears_drivers = hears_drivers,
	.driver_kernel = driver_kernel,
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
	CHECK(!made[1].spaces && !made[1].changes && !made[1].chunks && made[1].leaves == 1);
	end();
}

static void says(const char *name)
{
	const struct driver_news news = gpu_driver_news(gpu);
	const struct driver_kernel k = {.pid = 100, .process = 7, .api = 2, .name = name};

	CHECK(!news.kernel(news.context, &k));
}

static void leaves_now(uint32_t pid)
{
	const struct walker_news news = gpu_walker_news(gpu);

	CHECK(!news.leaves(news.context, pid));
}

static void drains(void)
{
	bool busy;

	CHECK(!gpu_drain(gpu, &busy));
}

/* Its library writes what it is, and then the kernel is launched, both behind a snapshot. */
static void a_kernel_waits_until_its_program_can_have_said_that_it_has_a_library(void)
{
	begin(true);
	CHECK(!gpu_snapshot(gpu));
	made[0].wrote = true;
	says("a");
	drains();
	CHECK_TEXT(made[1].heard, "");
	CHECK(!gpu_snapshot(gpu));
	says("b");
	drains();
	CHECK_TEXT(made[1].heard, "a+");
	CHECK(!gpu_snapshot(gpu));
	drains();
	CHECK_TEXT(made[1].heard, "a+b+");
	end();
}

static void without_a_library_it_comes_a_round_later(void)
{
	begin(true);
	CHECK(!gpu_snapshot(gpu));
	says("a");
	drains();
	CHECK_TEXT(made[1].heard, "");
	CHECK(!gpu_snapshot(gpu));
	drains();
	CHECK_TEXT(made[1].heard, "a-");
	end();
}

static void while_rings_are_not_drained_it_waits_for_a_bounded_time(void)
{
	int rounds = 0;

	begin(true);
	CHECK(!gpu_snapshot(gpu));
	made[0].wrote = made[0].busy = made[0].drains_nothing = true;
	says("a");
	drains();
	for (int n = 0; n < 4; n++) {
		CHECK(!gpu_snapshot(gpu));
		drains();
	}
	CHECK_TEXT(made[1].heard, "");
	made[0].drains_nothing = made[0].busy = false;
	CHECK(!gpu_snapshot(gpu));
	drains();
	CHECK_TEXT(made[1].heard, "a+");
	made[0].busy = true;
	says("b");
	while (strcmp(made[1].heard, "a+b+") && rounds++ < 100) {
		CHECK(!gpu_snapshot(gpu));
		drains();
	}
	CHECK(rounds > 2 && rounds < 20);
	end();
}

static void the_end_of_a_program_comes_behind_its_kernels(void)
{
	begin(true);
	CHECK(!gpu_snapshot(gpu));
	leaves_now(100);
	CHECK_TEXT(made[1].heard, "|");
	says("a");
	leaves_now(100);
	leaves_now(200);
	says("b");
	CHECK_TEXT(made[1].heard, "||");
	CHECK(made[0].leaves == 3);
	drains();
	CHECK(!gpu_snapshot(gpu));
	drains();
	CHECK_TEXT(made[1].heard, "||a-|b-");
	end();
}

static void what_waits_at_the_end_is_not_lost(void)
{
	begin(true);
	CHECK(!gpu_snapshot(gpu));
	says("a");
	leaves_now(100);
	CHECK(!gpu_finish(gpu));
	CHECK_TEXT(made[1].heard, "a-|");
	end();
}

static void too_many_kernels_do_not_wait(void)
{
	const uint32_t many = 100000;

	begin(true);
	CHECK(!gpu_snapshot(gpu));
	for (uint32_t n = 0; n < many && !*made[1].heard; n++) {
		says(n ? "" : "a");
		CHECK(n < many - 1);
	}
	CHECK(strchr(made[1].heard, 'a'));
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
	CHECK_TEXT(buf_text(&refusals), "!|it ended!|||||||||||it was taken out||");
	buf_release(&refusals);
	end();
}

int main(void)
{
	RUN(all_backends_are_opened_but_those_that_are_not_there);
	RUN(a_marker_counts_only_in_the_process_of_its_instance);
	RUN(markers_of_another_recording_are_nothing_without_a_backend);
	RUN(news_reach_those_that_ask_for_them);
	RUN(a_kernel_waits_until_its_program_can_have_said_that_it_has_a_library);
	RUN(without_a_library_it_comes_a_round_later);
	RUN(while_rings_are_not_drained_it_waits_for_a_bounded_time);
	RUN(the_end_of_a_program_comes_behind_its_kernels);
	RUN(what_waits_at_the_end_is_not_lost);
	RUN(too_many_kernels_do_not_wait);
	RUN(a_round_is_one_of_every_backend_and_busy_if_one_is);
	RUN(the_end_waits_for_the_last_backend);
	RUN(what_came_of_it_is_of_all);
	return tap_end();
}
