// SPDX-License-Identifier: MIT
/* Records of the kernel's rings that make no sense are counted as that, and as nothing else. */
#include <stdlib.h>
#include <unistd.h>

#include "capture/capture_internal.h"
#include "profile/reader.h"
#include "tap.h"

#define NO_PID 5000000u /* above what a kernel gives out */

static char path[] = "/tmp/xpuprof-records-test-XXXXXX";
static struct capture c;
static struct profile_reader *r;

static void begin(void)
{
	c = (struct capture){0};
	CHECK(!profile_writer_open(&c.w, path) && !tasks_new(&c.tasks, c.w) &&
		!waits_new(&c.waits, c.w, c.tasks, 0));
	CHECK(!profile_writer_begin(c.w));
}

static void look(void)
{
	struct profile_event event;

	CHECK(!profile_writer_close(c.w) && !profile_reader_open(&r, path));
	CHECK(!profile_reader_next(r, &event));
}

static void end(void)
{
	profile_reader_close(r);
	waits_free(c.waits);
	tasks_free(c.tasks);
}

/* Of all losses there is this one, so often. */
static bool is_the_only_loss(enum profile_loss loss, uint64_t count)
{
	for (enum profile_loss other = LOSS_SAMPLES_RING_FULL; other < LOSS_KINDS; other++)
		if (profile_loss_count(r, other) != (other == loss ? count : 0))
			return false;
	return true;
}

static void samples_that_make_no_sense_are_counted_as_that(void)
{
	struct bpf_sample_event e = {.time_ns = 1, .pid = NO_PID, .tid = NO_PID};

	begin();
	CHECK(!records_handle_sample(&c, &e, sizeof(e) - 8));
	e.stack.user_depth = 1; /* and no word behind it */
	CHECK(!records_handle_sample(&c, &e, sizeof(e)));
	e.stack = (struct bpf_stack){.walk_end = WALK_ENDS};
	CHECK(!records_handle_sample(&c, &e, sizeof(e)));
	look();
	CHECK(is_the_only_loss(LOSS_SAMPLES_INVALID, 3));
	end();
}

static void launch_stacks_that_make_no_sense_are_counted_as_that(void)
{
	struct bpf_launch_event e = {.instance = 1, .correlation = 1, .call_kind = CALL_LAUNCH};

	begin();
	CHECK(!records_handle_launch(&c, &e, sizeof(e) - 8));
	e.stack.python_depth = 1;
	CHECK(!records_handle_launch(&c, &e, sizeof(e)));
	look();
	CHECK(is_the_only_loss(LOSS_STACKS_INVALID, 2));
	end();
}

static void waits_that_make_no_sense_are_counted_as_that(void)
{
	struct bpf_wait_begin_event e = {
		.kind = BPF_WAIT_BEGIN, .reason = WAIT_LOCK, .pid = NO_PID, .tid = NO_PID};
	struct bpf_wait_event too_long = {
		.kind = BPF_WAIT_END, .reason = WAIT_LOCK, .time_ns = 5, .duration_ns = 10};
	struct bpf_asleep_event asleep = {
		.kind = BPF_WAIT_ASLEEP, .reason = WAIT_LOCK, .pid = NO_PID, .tid = NO_PID};
	const size_t bare = offsetof(struct bpf_asleep_event, kernel);

	begin();
	CHECK(!records_handle_wait(&c, &asleep, bare - 8));
	asleep.kernel_depth = 2;
	CHECK(!records_handle_wait(&c, &asleep, bare + 8));
	asleep.kernel_depth = BPF_KERNEL_DEPTH_MAX + 1;
	CHECK(!records_handle_wait(&c, &asleep, sizeof(asleep)));
	asleep.kernel_depth = 0;
	asleep.walk_end = WALK_ENDS;
	CHECK(!records_handle_wait(&c, &asleep, sizeof(asleep)));
	asleep.walk_end = 0;
	asleep.reason = WAIT_REASONS;
	CHECK(!records_handle_wait(&c, &asleep, sizeof(asleep)));
	CHECK(!records_handle_wait(&c, &e, sizeof(e) - 8));
	e.stack.raw_size = 4;
	CHECK(!records_handle_wait(&c, &e, sizeof(e)));
	e.stack.raw_size = 0;
	e.reason = WAIT_REASONS;
	CHECK(!records_handle_wait(&c, &e, sizeof(e)));
	CHECK(!records_handle_wait(&c, &too_long, sizeof(too_long)));
	look();
	CHECK(is_the_only_loss(LOSS_WAITS_INVALID, 9));
	end();
}

static void what_the_recorders_own_child_does_before_its_exec_is_left_out(void)
{
	struct bpf_wait_event wait = {.kind = BPF_WAIT_END,
		.reason = WAIT_LOCK,
		.time_ns = 50,
		.duration_ns = 10,
		.pid = NO_PID,
		.tid = NO_PID};
	struct bpf_life_event life = {
		.kind = BPF_WAIT_LIFE, .pid = NO_PID, .tid = NO_PID, .since_ns = 1, .until_ns = 60};
	struct bpf_sample_event sample = {
		.time_ns = 2, .period_ns = 1, .pid = NO_PID, .tid = NO_PID};
	struct bpf_wait_begin_event begins = {
		.kind = BPF_WAIT_BEGIN, .reason = WAIT_LOCK, .pid = NO_PID, .tid = NO_PID};
	struct bpf_asleep_event asleep = {
		.kind = BPF_WAIT_ASLEEP, .reason = WAIT_LOCK, .pid = NO_PID, .tid = NO_PID};

	begin();
	capture_ignore_until_exec(&c, NO_PID);
	CHECK(!records_handle_sample(&c, &sample, sizeof(sample)));
	CHECK(!records_handle_wait(&c, &asleep, sizeof(asleep)));
	CHECK(!records_handle_wait(&c, &begins, sizeof(begins)));
	CHECK(!records_handle_wait(&c, &wait, sizeof(wait)));
	CHECK(!records_handle_wait(&c, &life, sizeof(life)));
	CHECK(!waits_finish(c.waits));
	look();
	CHECK(is_the_only_loss(LOSS_SAMPLES_INVALID, 0) && !profile_counts(r).threads);
	end();
}

int main(void)
{
	close(mkstemp(path));
	RUN(samples_that_make_no_sense_are_counted_as_that);
	RUN(launch_stacks_that_make_no_sense_are_counted_as_that);
	RUN(waits_that_make_no_sense_are_counted_as_that);
	RUN(what_the_recorders_own_child_does_before_its_exec_is_left_out);
	unlink(path);
	return tap_end();
}
