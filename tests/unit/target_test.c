// SPDX-License-Identifier: MIT
/* The gate that a program waits at. */
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/target.h"
#include "tap.h"

static const struct signals no_signals = SIGNALS_INIT;
static struct target_user user;
static char *command[] = {"sh", "-c", "exit 5", NULL};

static int end_of(struct target *t)
{
	int status;

	while (!target_reap(t, &status))
		usleep(1000);
	return status;
}

static void a_program_waits_at_the_gate_and_runs_when_it_is_opened(void)
{
	struct target t = TARGET_INIT;
	int status = 0;

	CHECK(target_spawn(&t, &user, &no_signals, command) == 0);
	usleep(50000);
	CHECK(!target_reap(&t, &status));
	CHECK(target_release(&t, command[0]) == 0);
	CHECK(target_shell_status(end_of(&t)) == 5);
	target_close(&t);
}

static void a_program_whose_recorder_goes_away_before_never_runs(void)
{
	struct target t = TARGET_INIT;

	CHECK(target_spawn(&t, &user, &no_signals, command) == 0);
	close(t.gate);
	t.gate = -1;
	CHECK(target_shell_status(end_of(&t)) == 126);
	target_close(&t);
}

static void a_program_that_was_killed_at_the_gate_ended_by_a_signal(void)
{
	struct target t = TARGET_INIT;

	CHECK(target_spawn(&t, &user, &no_signals, command) == 0);
	kill(t.pid, SIGKILL);
	usleep(50000);
	CHECK(target_release(&t, command[0]) == 0);
	CHECK(target_shell_status(end_of(&t)) == 128 + SIGKILL);
	target_close(&t);
}

/* Comes before the C library's, which takes memory and locks and may load libraries: not for a
 * child. */
int initgroups(const char *name, gid_t group)
{
	_exit(99);
}

static void a_user_has_its_groups_without_a_look_up_in_the_child(void)
{
	char *groups[] = {"sh", "-c",
		"test $(id -u) = 65534 && test \"$(id -G)\" = \"$(id -G nobody)\"", NULL};
	struct target t = TARGET_INIT;
	struct target_user nobody;

	if (geteuid() || !getpwnam("nobody") || getpwnam("nobody")->pw_uid != 65534)
		return (void)SKIP("needs root, and nobody as user 65534");
	setenv("SUDO_UID", "65534", 1);
	CHECK(!target_user_find(&nobody, false) && nobody.account.switched &&
		nobody.account.group_count);
	unsetenv("SUDO_UID");
	CHECK(target_spawn(&t, &nobody, &no_signals, groups) == 0);
	CHECK(target_release(&t, groups[0]) == 0);
	CHECK(target_shell_status(end_of(&t)) == 0);
	target_close(&t);
	target_user_release(&nobody);
}

int main(void)
{
	if (target_user_find(&user, true))
		return 1;
	RUN(a_program_waits_at_the_gate_and_runs_when_it_is_opened);
	RUN(a_program_whose_recorder_goes_away_before_never_runs);
	RUN(a_program_that_was_killed_at_the_gate_ended_by_a_signal);
	RUN(a_user_has_its_groups_without_a_look_up_in_the_child);
	target_user_release(&user);
	return tap_end();
}
