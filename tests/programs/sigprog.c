// SPDX-License-Identifier: MIT
/*
 * Reports the signals it gets: prints "ready", then the name of each, and leaves with status 0 when
 * there was none for the given time, or at once after the given number.
 *
 *	sigprog [SECONDS [COUNT]]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(int argc, char **argv)
{
	static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE,
		SIGTSTP, SIGCONT, SIGWINCH};
	struct timespec limit = {argc > 1 ? atoi(argv[1]) : 2, 0};
	int count = argc > 2 ? atoi(argv[2]) : 0, seen = 0, number;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	while ((number = sigtimedwait(&set, NULL, &limit)) > 0) {
		printf("SIG%s\n", sigabbrev_np(number));
		fflush(stdout);
		if (++seen == count)
			break;
	}
	return 0;
}
