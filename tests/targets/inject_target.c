// SPDX-License-Identifier: MIT
/*
 * A CUDA program that does what programs do around the injected library, to be recorded by
 * gpu_record or xpuprof: tests/cli/inject.t.
 *
 * usage: inject_target WHAT [COUNT]
 *
 *	launch       COUNT launches, then a synchronization
 *	threads      the same in each of four threads
 *	slow         a millisecond between launches
 *	hold         half; says "held" and waits for the end of its input; the other half
 *	shapes       COUNT launches, no two of the same grid
 *	fork         half; a child that uses CUDA and leaves through exit(); the other half
 *	forks        as fork, children forked from several threads while others launch
 *	forking      says "ready", then forks and nothing else until SIGTERM; children leave through exit()
 *	orphan       COUNT launches; a child that lives for two seconds, and does not use CUDA. It lives when its parent ends
 *	spawn        half; /bin/true by posix_spawn and by vfork; the other half
 *	exec         half; then this program again, launching the other half
 *	close        half; every descriptor above 2 closed and opened again as something else; half
 *	empty        copies and sets of no bytes, and launches of a graph without nodes
 *	graph        a captured graph of three kernels, launched COUNT times
 *	_exit, kill  COUNT launches, time for them to get through, and an end without exit handlers
 *	scribble     COUNT launches, then everything shared with the recorder overwritten; COUNT launches
 *	truncate     COUNT launches, an attempt to truncate what is shared; COUNT launches
 *	signals      COUNT launches under a timer signal that must only come to the program's own thread
 *	descriptors  prints the descriptors that are open below 100
 *	abandoned    whether the library's thread is there; then launches until it is gone, for a minute at most
 *
 * Says "done" at the end, so that a test sees it got there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

#define CHILD_SECONDS 10 /* of a child that has nothing to do */

static char **arguments;
static volatile sig_atomic_t strays, alarms, forks_on = 1;

static CUresult launch_into(CUstream stream)
{
	void *parameters[] = {&memory};

	return cuda.cuLaunchKernel(axpy, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
}

static void shapes(int count)
{
	void *parameters[] = {&memory};

	for (int n = 1; n <= count; n++)
		CHECK(cuda.cuLaunchKernel(
			axpy, (unsigned int)n, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
	CHECK(cuda.cuCtxSynchronize());
}

static void launch(int count)
{
	for (int n = 0; n < count; n++)
		CHECK(launch_into(NULL));
	CHECK(cuda.cuCtxSynchronize());
}

static void pause_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t))
		;
}

static void *launch_in_thread(void *count)
{
	CHECK(cuda.cuCtxSetCurrent(context));
	launch(*(int *)count);
	return NULL;
}

static void in_threads(int count)
{
	pthread_t threads[4];

	for (int n = 0; n < 4; n++)
		pthread_create(&threads[n], NULL, launch_in_thread, &count);
	for (int n = 0; n < 4; n++)
		pthread_join(threads[n], NULL);
}

static void slowly(int count)
{
	for (int n = 0; n < count; n++) {
		CHECK(launch_into(NULL));
		pause_ms(1);
	}
	CHECK(cuda.cuCtxSynchronize());
}

static void hold(int count)
{
	char byte;

	launch(count / 2);
	puts("held");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	launch(count - count / 2);
}

/* For what was launched to get through to the recorder, which nobody is told. */
static void pause_for_records(void)
{
	pause_ms(1500);
}

/* The child of a forking program: CUDA says no, and it leaves in the orderly way. */
static void fork_child(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		if (launch_into(NULL) == CUDA_SUCCESS)
			_exit(3);
		exit(7);
	}
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		printf("child: status %d\n", status);
}

static void with_fork(int count)
{
	launch(count / 2);
	fork_child();
	launch(count - count / 2);
}

static void with_orphan(int count)
{
	int started[2];
	char byte = 0;

	launch(count);
	if (pipe(started))
		exit(1);
	if (fork()) {
		close(started[1]);
		if (read(started[0], &byte, 1) != 1)
			exit(1);
		return;
	}
	if (write(started[1], &byte, 1) != 1)
		_exit(1);
	for (int fd = 0; fd < 3; fd++)
		close(fd); /* nobody is to wait for it */
	pause_ms(2000);
	_exit(0);
}

static void *fork_in_thread(void *count)
{
	CHECK(cuda.cuCtxSetCurrent(context));
	for (int n = 0; n < 10; n++) {
		fork_child();
		launch(*(int *)count / 10);
	}
	return NULL;
}

static void with_forks(int count)
{
	pthread_t threads[3];

	for (int n = 0; n < 3; n++)
		pthread_create(&threads[n], NULL, fork_in_thread, &count);
	for (int n = 0; n < 3; n++)
		pthread_join(threads[n], NULL);
}

static void end_forking(int number)
{
	forks_on = 0;
}

/* A child that hangs is killed, and seen by its status. */
static void *fork_on(void *nothing)
{
	while (forks_on) {
		int status = 0;
		pid_t child = fork();

		if (!child) {
			signal(SIGALRM, SIG_DFL);
			alarm(CHILD_SECONDS);
			exit(7);
		}
		waitpid(child, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
			printf("child: status %d\n", status);
		fflush(stdout); /* or children would say it, too */
	}
	return NULL;
}

static void forking(int count)
{
	pthread_t other;

	launch(count);
	puts("ready");
	fflush(stdout);
	signal(SIGTERM, end_forking);
	pthread_create(&other, NULL, fork_on, NULL);
	fork_on(NULL);
	pthread_join(other, NULL);
}

static void with_spawn(int count)
{
	char *command[] = {"/bin/true", NULL};
	pid_t child;

	launch(count / 2);
	if (!posix_spawn(&child, command[0], NULL, NULL, command, NULL))
		waitpid(child, NULL, 0);
	child = vfork();
	if (!child) {
		execv(command[0], command);
		_exit(127);
	}
	waitpid(child, NULL, 0);
	launch(count - count / 2);
}

static void with_exec(int count)
{
	char rest[16];

	launch(count / 2);
	pause_for_records();
	snprintf(rest, sizeof(rest), "%d", count - count / 2);
	execl(arguments[0], arguments[0], "launch", rest, NULL);
}

static void with_close(int count)
{
	char text[] = "untouched";
	int fd;

	launch(count / 2);
	for (fd = 3; fd < 1024; fd++)
		close(fd);
	for (int n = 0; n < 512; n++)
		fd = open("/dev/null", O_RDWR); /* our numbers, the program's files */
	pause_ms(300);
	launch(count - count / 2);
	pause_ms(300);
	if (write(fd, text, sizeof(text)) != sizeof(text))
		printf("the program's own descriptor was taken away\n");
}

static void with_graph(int count)
{
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;

	CHECK(cuda.cuStreamCreate(&stream, 1));
	CHECK(cuda.cuStreamBeginCapture_v2(stream, 0));
	for (int n = 0; n < 3; n++)
		CHECK(launch_into(stream));
	CHECK(cuda.cuStreamEndCapture(stream, &graph));
	CHECK(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int n = 0; n < count; n++)
		CHECK(cuda.cuGraphLaunch(exec, stream));
	CHECK(cuda.cuStreamSynchronize(stream));
}

static void with_nothing(int count)
{
	CUgraphExec exec;
	CUgraph graph;

	with_graph(1); /* of nodes that do something, so that it shows that these are reported */
	CHECK(cuda.cuMemcpyHtoD_v2(memory, arguments, 0));
	CHECK(cuda.cuMemsetD8_v2(memory, 0, 0));
	CHECK(cuda.cuGraphCreate(&graph, 0));
	CHECK(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int n = 0; n < count; n++)
		CHECK(cuda.cuGraphLaunch(exec, NULL));
	CHECK(cuda.cuCtxSynchronize());
}

static void then_leave(int count)
{
	launch(count);
	pause_for_records();
	puts("done");
	fflush(stdout);
	_exit(0);
}

static void then_kill(int count)
{
	launch(count);
	pause_for_records();
	puts("done");
	fflush(stdout);
	kill(getpid(), SIGKILL);
}

static void scribble_over(unsigned long start, unsigned long end)
{
	unsigned long seed = 1;

	for (unsigned long *word = (unsigned long *)start; word < (unsigned long *)end; word++)
		*word = seed = seed * 6364136223846793005ul + 1442695040888963407ul;
}

static void truncate_mapping(unsigned long start, unsigned long end)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", start, end);
	printf("%s\n", truncate(path, 0) ? strerror(errno) : "truncated");
}

/* Does something bad to the memory that is shared with the recorder, between launches. */
static void harm(int count, void (*how)(unsigned long start, unsigned long end))
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];

	launch(count);
	pause_for_records();
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "xpuprof-ring") && sscanf(line, "%lx-%lx", &start, &end) == 2)
			how(start, end);
	fclose(maps);
	launch(count);
}

static void with_scribbles(int count)
{
	harm(count, scribble_over);
}

static void with_truncation(int count)
{
	harm(count, truncate_mapping);
}

static void on_alarm(int number)
{
	alarms++;
	strays += syscall(SYS_gettid) != getpid();
}

static void with_signals(int count)
{
	struct itimerval timer = {.it_interval.tv_usec = 1000, .it_value.tv_usec = 1000};

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (count-- && alarms < 200)
		slowly(10);
	printf("%s\n", strays ? "signals went astray" : "no signal went astray");
}

static void list_descriptors(int count)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	char path[300], target[256] = "";
	ssize_t size;

	launch(count);
	while (folder && (entry = readdir(folder))) {
		if (atoi(entry->d_name) < 3 || atoi(entry->d_name) > 99)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		size = readlink(path, target, sizeof(target));
		if (size > 0 && strncmp(target, "/proc", 5))
			printf("descriptor %s: %.*s\n", entry->d_name, (int)size, target);
	}
	closedir(folder);
}

static bool has_our_thread(void)
{
	DIR *folder = opendir("/proc/self/task");
	struct dirent *entry;
	char path[300], name[32];
	bool found = false;

	while ((entry = readdir(folder))) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		found |= fgets(name, sizeof(name), file) && !strcmp(name, "xpuprof\n");
		fclose(file);
	}
	closedir(folder);
	return found;
}

static void abandoned(int count)
{
	for (int n = 0; n < 6000 && !has_our_thread(); n++)
		pause_ms(10); /* it takes its name when it begins */
	printf("%s\n", has_our_thread() ? "a thread" : "no thread");
	fflush(stdout);
	for (int n = 0; n < 600 && has_our_thread(); n++)
		slowly(100);
	printf("%s\n", has_our_thread() ? "a thread" : "no thread");
}

static const struct {
	const char *name;
	void (*run)(int count);
} programs[] = {
	{"launch", launch},
	{"shapes", shapes},
	{"threads", in_threads},
	{"slow", slowly},
	{"hold", hold},
	{"fork", with_fork},
	{"forks", with_forks},
	{"forking", forking},
	{"orphan", with_orphan},
	{"spawn", with_spawn},
	{"exec", with_exec},
	{"close", with_close},
	{"empty", with_nothing},
	{"graph", with_graph},
	{"_exit", then_leave},
	{"kill", then_kill},
	{"scribble", with_scribbles},
	{"truncate", with_truncation},
	{"signals", with_signals},
	{"descriptors", list_descriptors},
	{"abandoned", abandoned},
};

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 100;

	arguments = argv;
	for (size_t n = 0; argc > 1 && n < sizeof(programs) / sizeof(programs[0]); n++)
		if (!strcmp(programs[n].name, argv[1])) {
			begin("inject_target");
			programs[n].run(count);
			puts("done");
			return 0;
		}
	fprintf(stderr, "usage: inject_target WHAT [COUNT]\n");
	return 2;
}
