// SPDX-License-Identifier: MIT
/* What threads ran, put together so that processes have what the kernel says of them. */
#include <stdlib.h>
#include <unistd.h>

#include "capture/cpu_accounts.h"
#include "profile/reader.h"
#include "tap.h"

static char path[] = "/tmp/cpu_accounts_XXXXXX";

static struct profile_writer *begin(uint32_t threads)
{
	struct profile_writer *w;
	uint32_t id;

	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_add_process(w, &(struct profile_process){.pid = 1}, &id));
	for (uint32_t tid = 1; tid <= threads; tid++)
		CHECK(!profile_add_thread(
			w, &(struct profile_thread){.process = 1, .tid = tid}, &id));
	return w;
}

static struct profile_reader *finish(struct cpu_accounts *a, struct profile_writer *w)
{
	struct profile_reader *r;
	struct profile_event e;

	CHECK(!cpu_accounts_finish(a, w) && !profile_writer_close(w));
	CHECK(!profile_reader_open(&r, path));
	while (profile_reader_next(r, &e) > 0)
		;
	return r;
}

static uint64_t sum(const struct profile_reader *r, uint32_t threads)
{
	uint64_t ns = 0;

	for (uint32_t t = 1; t <= threads; t++)
		ns += profile_account(r, t) ? profile_account(r, t)->run_ns : 0;
	return ns;
}

/* Thread t of `process`, which ran for 1010 ns, of which the process has 1000. */
static struct thread_account ended(uint32_t thread, uint64_t process, uint64_t process_ended_ns)
{
	return (struct thread_account){.thread = thread,
		.run_ns = 1010,
		.process = process,
		.process_ended_ns = process_ended_ns,
		.ended_ns = 1010};
}

static void threads_are_cut_to_what_their_process_ran_in_whatever_order_they_come(void)
{
	struct cpu_accounts a = {0};
	struct profile_writer *w = begin(50);
	struct profile_reader *r;
	struct thread_account t;

	for (uint32_t i = 1; i <= 50; i++) {
		t = ended(i, 7, i % 2 ? 50000 : 1000 * i);
		t.last = i == 10; /* the kernel frees them in any order */
		CHECK(!cpu_accounts_add(&a, w, &t));
	}
	r = finish(&a, w);
	CHECK(sum(r, 50) == 50000 && profile_account(r, 10)->run_ns == 1000);
	profile_reader_close(r);
}

static void a_process_that_ended_is_written_and_forgotten(void)
{
	struct cpu_accounts a = {0};
	struct profile_writer *w = begin(2);
	struct thread_account t = ended(1, 7, 1000), u = ended(2, 7, 1000);
	struct profile_totals totals;
	struct profile_reader *r;

	t.last = u.last = true;
	CHECK(!cpu_accounts_add(&a, w, &t));
	profile_writer_totals(w, &totals);
	CHECK(totals.account_ns == 1000 && !a.processes.count);
	CHECK(!cpu_accounts_add(&a, w, &u)); /* the number is another's now */
	r = finish(&a, w);
	CHECK(sum(r, 2) == 2000);
	profile_reader_close(r);
}

static void threads_that_had_ended_before_the_recording_are_no_part_of_it(void)
{
	struct cpu_accounts a = {0};
	struct profile_writer *w = begin(1);
	struct thread_account before = {
		.process = 7, .process_ended_ns = 5000000, .ended_ns = 5000000};
	struct thread_account t = ended(1, 7, 5001000);
	struct profile_reader *r;

	CHECK(!cpu_accounts_add(&a, w, &before) && !cpu_accounts_add(&a, w, &t));
	r = finish(&a, w);
	CHECK(sum(r, 1) == 1000);
	profile_reader_close(r);
}

static void a_thread_that_runs_on_has_what_it_ran(void)
{
	struct cpu_accounts a = {0};
	struct profile_writer *w = begin(1);
	struct thread_account t = {.thread = 1, .run_ns = 30, .process = 7};
	struct profile_reader *r;

	CHECK(!cpu_accounts_add(&a, w, &t) && !cpu_accounts_add(&a, w, &t)); /* exec between */
	r = finish(&a, w);
	CHECK(sum(r, 1) == 60);
	profile_reader_close(r);
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	RUN(threads_are_cut_to_what_their_process_ran_in_whatever_order_they_come);
	RUN(a_process_that_ended_is_written_and_forgotten);
	RUN(threads_that_had_ended_before_the_recording_are_no_part_of_it);
	RUN(a_thread_that_runs_on_has_what_it_ran);
	unlink(path);
	return tap_end();
}
