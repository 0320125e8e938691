// SPDX-License-Identifier: MIT
/* What `xpuprof record` says at its end. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "cmd/status.h"
#include "tap.h"

static char path[] = "/tmp/status_test.XXXXXX";

static const char *summary(const struct profile_totals *t)
{
	static struct buf text;
	int saved = dup(STDERR_FILENO), fd = open(path, O_WRONLY | O_TRUNC);

	dup2(fd, STDERR_FILENO);
	status_summary(t, 1000000000, "p.xpu");
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fd);
	buf_reset(&text);
	CHECK(io_read_file(path, 1 << 20, &text) == 0);
	return buf_text(&text);
}

static void the_share_of_complete_stacks_is_said_when_it_is_below_99_5_percent(void)
{
	struct profile_totals t = {.samples = 700, .calls = 500, .stacks = 1000};

	t.losses[LOSS_STACKS_INCOMPLETE] = 6;
	CHECK(strstr(summary(&t),
		"\nxpuprof: only 99.4 % of the stacks are complete: 'xpuprof report' says why\n"));
	t.losses[LOSS_STACKS_INCOMPLETE] = 5;
	CHECK(!strstr(summary(&t), "are complete"));
	t.losses[LOSS_STACKS_INCOMPLETE] = 0;
	CHECK(!strstr(summary(&t), "are complete"));
}

static void an_incomplete_stack_is_counted_once_and_not_by_reason(void)
{
	struct profile_totals t = {.samples = 70, .stacks = 1000};

	t.losses[LOSS_STACKS_INCOMPLETE] = t.losses[LOSS_WALK_FAULT] = 1;
	CHECK(strstr(summary(&t), "xpuprof: lost or incomplete:\n           1 incomplete stack\n"));
	CHECK(!strstr(summary(&t), "not readable"));
	t.losses[LOSS_STACKS_INCOMPLETE] = t.losses[LOSS_WALK_FAULT] = 2;
	CHECK(strstr(summary(&t), " 2 incomplete stacks\n"));
	t.losses[LOSS_STACKS_INCOMPLETE] = t.losses[LOSS_WALK_FAULT] = 0;
	CHECK(!strstr(summary(&t), "lost or incomplete"));
}

static void a_program_without_gpu_work_has_no_gpu_figures(void)
{
	struct profile_totals t = {.samples = 1, .cpu_ns = 10000000};

	CHECK(!strcmp(summary(&t), "xpuprof: 1.00 s, CPU time 10 ms (1 sample), no GPU work\n"
				   "xpuprof: wrote p.xpu (recording, 0 B)\n"));
	t.calls = 2;
	CHECK(strstr(summary(&t), ", GPU time 0 ns (0 pieces of work, 2 API calls)\n"));
}

static void events_of_drivers_are_counted_beside_gpu_work(void)
{
	struct profile_totals t = {.drivers = 1};

	CHECK(strstr(summary(&t), ", no GPU work, 1 driver event\n"));
	t.calls = 2;
	t.drivers = 1200;
	CHECK(strstr(summary(&t), "2 API calls), 1,200 driver events\n"));
}

static void nothing_is_said_of_stacks_where_there_are_none(void)
{
	struct profile_totals t = {.samples = 0};

	CHECK(!strstr(summary(&t), "are complete"));
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	RUN(the_share_of_complete_stacks_is_said_when_it_is_below_99_5_percent);
	RUN(an_incomplete_stack_is_counted_once_and_not_by_reason);
	RUN(a_program_without_gpu_work_has_no_gpu_figures);
	RUN(events_of_drivers_are_counted_beside_gpu_work);
	RUN(nothing_is_said_of_stacks_where_there_are_none);
	unlink(path);
	return tap_end();
}
