// SPDX-License-Identifier: MIT
/* Lengths of what happens again and again: of launches, from launch to launch, of markers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/writer.h"
#include "tap.h"
#include "view/timeline/repeats.h"

static char path[] = "/tmp/repeats_test.XXXXXX";
static struct profile_writer *w;
static uint32_t process, device[2], correlation;

static uint32_t string(const char *text)
{
	uint32_t id = 0;

	CHECK(profile_add_string(w, text, strlen(text), &id) == 0);
	return id;
}

static void begin(void)
{
	const struct profile_process p = {.pid = 10};
	struct profile_device d = {.uuid = {1}};

	CHECK(profile_writer_open(&w, path) == 0);
	CHECK(profile_add_process(w, &p, &process) == 0);
	CHECK(profile_add_device(w, &d, &device[0]) == 0);
	d.uuid[0] = 2;
	CHECK(profile_add_device(w, &d, &device[1]) == 0);
}

static void launch(const char *kernel, size_t on, uint64_t start_ns, uint64_t length_ns)
{
	const struct profile_op op = {.kind = OP_KERNEL,
		.process = process,
		.device = device[on],
		.context = 1,
		.stream = 7,
		.name = string(kernel)};
	struct profile_work work = {.start_ns = start_ns,
		.duration_ns = length_ns,
		.instance = 1,
		.correlation = ++correlation};

	CHECK(profile_add_op(w, &op, &work.op) == 0);
	CHECK(profile_write_work(w, &work) == 0);
}

static void mark(const char *name, uint64_t start_ns, uint64_t length_ns)
{
	const struct profile_marker m = {.start_ns = start_ns,
		.duration_ns = length_ns,
		.name = string(name),
		.kind = MARKER_RANGE};

	CHECK(profile_write_marker(w, &m) == 0);
}

/* Of what was written; to be released. */
static int read_repeats(struct repeats *p, const struct repeats_wanted *wanted)
{
	struct profile_reader *names, *r;
	struct profile_event e;
	int error;

	CHECK(profile_reader_open(&names, path) == 0);
	while (profile_reader_next(names, &e) > 0)
		;
	CHECK(profile_reader_open_again(&r, names) == 0);
	*p = (struct repeats){0};
	error = repeats_read(p, r, names, wanted);
	profile_reader_close(r);
	profile_reader_close(names);
	return error;
}

static const struct repeats_wanted everything = {
	.to_ns = UINT64_MAX, .below_ns = UINT64_MAX, .most = 100};

static bool is(const struct repeats *p, size_t n, uint64_t start_ns, uint64_t length_ns)
{
	return n < p->longest.count && p->longest.items[n].start_ns == start_ns &&
	       p->longest.items[n].length_ns == length_ns;
}

static uint64_t sum_of_bars(const struct repeats *p)
{
	uint64_t sum = 0, at_ns = p->bars.count ? p->bars.items[0].from_ns : 0;

	vec_foreach (bar, &p->bars) {
		CHECK(bar->from_ns == at_ns && bar->to_ns > bar->from_ns);
		at_ns = bar->to_ns;
		sum += bar->count;
	}
	return sum;
}

static void launches_of_a_kernel_are_listed_by_length(void)
{
	struct repeats_wanted wanted = everything;
	struct repeats p;

	begin();
	launch("step", 0, 1000, 30);
	launch("step", 0, 2000, 10);
	launch("other", 0, 2500, 999);
	launch("step", 1, 3000, 20);
	launch("step", 1, 4000, 30);
	mark("step", 1000, 7);
	CHECK(profile_writer_close(w) == 0);
	wanted.name = "step";
	CHECK(read_repeats(&p, &wanted) == 0);
	CHECK(p.count == 4 && p.total_ns == 90 && p.min_ns == 10 && p.median_ns == 30 &&
		p.max_ns == 30);
	/* Of equal ones the earlier first. */
	CHECK(is(&p, 0, 1000, 30) && is(&p, 1, 4000, 30));
	CHECK(is(&p, 2, 3000, 20) && is(&p, 3, 2000, 10));
	CHECK(p.matching == 4 && sum_of_bars(&p) == 4);
	/* What there is, the most time first. */
	CHECK(p.names.count == 3 && !strcmp(p.names.items[0].text, "other"));
	CHECK(p.names.items[1].count == 4 && p.names.items[1].time_ns == 90);
	CHECK(p.names.items[2].is_marker && p.names.items[2].count == 1);
	repeats_release(&p);
	wanted.at_least_ns = 20;
	wanted.below_ns = 30;
	CHECK(read_repeats(&p, &wanted) == 0);
	CHECK(p.count == 4 && p.matching == 1 && is(&p, 0, 3000, 20));
	repeats_release(&p);
	wanted = everything;
	wanted.name = "step";
	wanted.from_ns = 1001;
	wanted.to_ns = 3000;
	CHECK(read_repeats(&p, &wanted) == 0);
	CHECK(p.count == 1 && is(&p, 0, 2000, 10));
	repeats_release(&p);
}

/* Launches are not in the order of time, and those of the other device are no part of it. */
static void periods_are_from_launch_to_launch_on_a_device(void)
{
	struct repeats_wanted wanted = everything;
	struct repeats p;

	begin();
	launch("step", 0, 5000, 30);
	launch("step", 1, 1500, 10);
	launch("step", 0, 1000, 30);
	launch("other", 0, 3000, 30);
	launch("step", 0, 2000, 10);
	launch("step", 1, 1600, 10);
	CHECK(profile_writer_close(w) == 0);
	wanted.name = "step";
	wanted.of = REPEATS_PERIODS;
	CHECK(read_repeats(&p, &wanted) == 0);
	CHECK(p.count == 3 && is(&p, 0, 2000, 3000) && is(&p, 1, 1000, 1000) &&
		is(&p, 2, 1500, 100));
	CHECK(sum_of_bars(&p) == 3);
	repeats_release(&p);
}

static void markers_are_no_kernels(void)
{
	struct repeats_wanted wanted = everything;
	struct repeats p;

	begin();
	launch("step", 0, 1000, 30);
	mark("step", 1000, 70);
	mark("step", 1200, 0);
	mark("step", 2000, 80);
	CHECK(profile_writer_close(w) == 0);
	wanted.name = "step";
	wanted.of = REPEATS_MARKERS;
	wanted.most = 1;
	CHECK(read_repeats(&p, &wanted) == 0);
	CHECK(p.count == 2 && p.matching == 2 && p.longest.count == 1 && is(&p, 0, 2000, 80));
	repeats_release(&p);
	wanted.name = "none";
	CHECK(read_repeats(&p, &wanted) == 0);
	CHECK(!p.count && !p.bars.count && !p.longest.count && p.names.count == 2);
	repeats_release(&p);
}

/* From nothing to nearly all that 64 bits hold: few bars, and all of it in them. */
static void bars_hold_lengths_of_any_scale(void)
{
	struct repeats_wanted wanted = everything;
	struct repeats p;

	begin();
	for (unsigned int bit = 0; bit < 63; bit++)
		launch("step", 0, 1000, (uint64_t)1 << bit);
	launch("step", 0, 1000, 0);
	launch("step", 0, 1000, INT64_MAX);
	launch("step", 0, 1000, UINT64_MAX);
	CHECK(profile_writer_close(w) == 0);
	wanted.name = "step";
	CHECK(read_repeats(&p, &wanted) == 0);
	CHECK(p.count == 66 && p.max_ns == UINT64_MAX && !p.min_ns);
	CHECK(sum_of_bars(&p) == 66 && p.bars.count <= 4 * 64 + 1);
	repeats_release(&p);
	begin();
	for (uint64_t n = 0; n < 500; n++)
		launch("step", 0, 1000 + n, 1000000 + n);
	CHECK(profile_writer_close(w) == 0);
	CHECK(read_repeats(&p, &wanted) == 0);
	CHECK(sum_of_bars(&p) == 500 && p.bars.count > 50 && p.bars.count <= REPEATS_BARS + 1);
	CHECK(p.bars.items[0].from_ns == 1000000);
	repeats_release(&p);
}

static void their_names_are_known(void)
{
	enum repeats_of of = REPEATS_LAUNCHES;

	CHECK(repeats_parse("markers", &of) == 0 && of == REPEATS_MARKERS);
	CHECK(repeats_parse("periods", &of) == 0 && of == REPEATS_PERIODS);
	CHECK(repeats_parse("else", &of) == -EINVAL && of == REPEATS_PERIODS);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	RUN(launches_of_a_kernel_are_listed_by_length);
	RUN(periods_are_from_launch_to_launch_on_a_device);
	RUN(markers_are_no_kernels);
	RUN(bars_hold_lengths_of_any_scale);
	RUN(their_names_are_known);
	unlink(path);
	return tap_end();
}
