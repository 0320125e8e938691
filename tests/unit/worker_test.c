// SPDX-License-Identifier: MIT
/* Work in a child: it ends when it has to, also where we must not signal it. */
#include "symbolize/worker.h"

#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rights.h"
#include "tap.h"

static long take_all(void *context, const char *data, size_t size)
{
	return (long)size;
}

static int run_for_ever(void *context, int out)
{
	if (context && rights_become(RIGHTS_NOBODY, RIGHTS_NOBODY))
		return 1;
	for (;;)
		;
}

static int say_whether_it_ends_with_us(void *context, int out)
{
	int number = 0;

	return prctl(PR_GET_PDEATHSIG, &number) || number != SIGKILL;
}

static void one_that_takes_too_long_is_ended(void)
{
	const struct worker w = {
		.run = run_for_ever, .handle = take_all, .limits = {.ns = NS_PER_SECOND / 5}};

	CHECK(worker_run(&w) == -ETIME);
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* In a process of our own, which has no right to end it. */
static int run_unable_to_end(void)
{
	int is_nobody = 1;
	const struct worker w = {.run = run_for_ever,
		.handle = take_all,
		.context = &is_nobody,
		.limits = {.ns = NS_PER_SECOND / 2}};
	int status = 0;

	alarm(60);
	if (rights_keep(~(1ull << CAP_KILL)) || worker_run(&w) != -ETIME)
		return 1;
	/* It ends by itself, as it has used its time; on a quick machine worker_run has seen it. */
	if (wait(&status) < 0)
		return errno != ECHILD;
	return !WIFSIGNALED(status);
}

static void one_that_we_must_not_signal_holds_nobody_up_and_ends(void)
{
	int status = -1;
	pid_t child;

	if (geteuid()) {
		SKIP("not root");
		return;
	}
	fflush(stdout);
	child = fork();
	if (!child)
		_exit(run_unable_to_end());
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void one_with_anothers_rights_ends_with_us(void)
{
	const struct user nobody = {.switched = true, .uid = RIGHTS_NOBODY, .gid = RIGHTS_NOBODY};
	struct worker w = {.run = say_whether_it_ends_with_us,
		.handle = take_all,
		.limits = {.ns = 20 * NS_PER_SECOND}};

	CHECK(worker_run(&w) == 0);
	w.user = geteuid() ? NULL : &nobody;
	CHECK(worker_run(&w) == 0);
}

int main(void)
{
	RUN(one_that_takes_too_long_is_ended);
	RUN(one_that_we_must_not_signal_holds_nobody_up_and_ends);
	RUN(one_with_anothers_rights_ends_with_us);
	return tap_end();
}
