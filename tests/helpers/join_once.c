// SPDX-License-Identifier: MIT
/*
 * Puts a library into a program (src/join/), and takes it out again.
 *
 *	join_once PID LIBRARY ENTRY [TIMES [MILLISECONDS]]
 *
 * Each time it says what the library has said, or why it could not be; it stays there for so long.
 * With no time it stays until standard input ends. It is executed for the sandbox, too, as xpuprof
 * is.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "join/join.h"
#include "sandbox/sandbox.h"

static void stay(long ms)
{
	char byte;

	if (ms >= 0)
		usleep((useconds_t)ms * 1000);
	else
		while (read(STDIN_FILENO, &byte, 1) > 0)
			;
}

/* What the library says comes when it runs; at its end it hangs up. */
static int once(const struct join_options *options, long ms)
{
	uint64_t begin_ns = clock_now_ns();
	struct join_result result;
	struct join *j;
	char said[128] = "";
	int socket, error = join_begin(&j, options) ?: join_end(j, &result);

	if (error) {
		printf("refused: %s\n", error_text());
		return 1;
	}
	socket = result.socket;
	if (recv(socket, said, sizeof(said) - 1, 0) <= 0)
		snprintf(said, sizeof(said), "nothing");
	printf("%s in %.1f ms: %s\n", result.woken ? "woken" : "joined",
		(double)(clock_now_ns() - begin_ns) / 1e6, said);
	fflush(stdout);
	stay(ms);
	shutdown(socket, SHUT_WR);
	error = recv(socket, said, sizeof(said), 0) != 0;
	close(socket);
	puts(error ? "it did not leave" : "left");
	fflush(stdout);
	return error;
}

int main(int argc, char **argv)
{
	struct join_options options;
	long times = argc > 4 ? atol(argv[4]) : 1, ms = argc > 5 ? atol(argv[5]) : -1;
	int bad = 0;

	if (argc == 3 && !strcmp(argv[1], SANDBOX_COMMAND))
		return sandbox_run(argv[2]);
	if (argc < 4)
		return 2;
	options = (struct join_options){.pid = (uint32_t)atol(argv[1]),
		.sandbox = "/proc/self/exe",
		.library = open(argv[2], O_RDONLY | O_CLOEXEC),
		.entry = argv[3]};
	while (times-- && !bad)
		bad = once(&options, ms);
	return bad;
}
