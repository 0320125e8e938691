// SPDX-License-Identifier: MIT
/*
 * crowd KIND: more of something than anybody has, until we are killed.
 *
 *	files      code mapped from 60,000 files with long names, in this folder
 *	mappings   code mapped at 40,000 places of each of 16 processes
 *	forks      800 processes at once, each of a parent that had mapped code at 60,000 places,
 *	           and with one more of its own
 *	changes    code mapped and unmapped without a pause by 4 threads
 *	threads    threads that come, name themselves and go
 *	processes  processes that come and go
 *	images     processes that run one program after another
 *	names      a thread that takes one name after another
 *	stacks     code of our own making, that runs at random depths and places
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

static char own[4096];

static void *map(const char *path, void *at)
{
	int fd = open(path, O_RDONLY);
	void *p = mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);

	close(fd);
	return p;
}

static void files(void)
{
	char first[4096], head[16384], path[300];
	int fd = open("/proc/self/exe", O_RDONLY);
	ssize_t size = read(fd, head, sizeof(head));

	memset(first, 'n', 230);
	for (int i = 0;; i++) {
		int out;

		snprintf(path, sizeof(path), "%.220s%d", first, i);
		out = open(path, O_CREAT | O_WRONLY, 0755);
		if (write(out, head, (size_t)size) != size)
			err(1, "write");
		close(out);
		if (map(path, NULL) == MAP_FAILED)
			pause();
		unlink(path);
	}
}

static void mappings(void)
{
	for (int i = 0; i < 15; i++)
		if (!fork())
			break;
	for (int i = 0; i < 20000; i++)
		if (map(own, (char *)0x100000000000 + (size_t)i * 8192) == MAP_FAILED)
			break;
	for (;;)
		;
}

static pid_t fork_one_that_maps(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(20);
	map(own, NULL);
	for (;;)
		pause();
}

/* What is unmapped costs nobody but who remembers it. */
static void forks(void)
{
	pid_t pids[800] = {0};

	for (size_t n = 0;; n = (n + 1) % LENGTH(pids)) {
		for (int i = 0; n % 200 == 0 && i < 60000; i++)
			munmap(map(own, (char *)0x100000000000 + (size_t)i * 8192), 4096);
		if (pids[n]) {
			kill(pids[n], SIGKILL);
			waitpid(pids[n], NULL, 0);
		}
		pids[n] = fork_one_that_maps();
	}
}

static void *change(void *none)
{
	for (;;)
		munmap(map(own, NULL), 4096);
	return none;
}

static void changes(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, change, NULL);
	change(NULL);
}

static void *rename_and_go(void *number)
{
	char name[16];

	snprintf(name, sizeof(name), "n%zx", (size_t)number);
	prctl(PR_SET_NAME, name);
	for (volatile int i = 0; i < 20000; i++)
		;
	return NULL;
}

static void threads(void)
{
	pthread_t at_once[64];

	for (size_t n = 0;;) {
		for (size_t i = 0; i < LENGTH(at_once); i++)
			pthread_create(&at_once[i], NULL, rename_and_go, (void *)n++);
		for (size_t i = 0; i < LENGTH(at_once); i++)
			pthread_join(at_once[i], NULL);
	}
}

static void processes(void)
{
	for (;;) {
		for (int i = 0; i < 32; i++)
			if (!fork())
				_exit(0);
		while (wait(NULL) > 0)
			;
	}
}

static void images(void)
{
	for (;;) {
		for (int i = 0; i < 4; i++)
			if (!fork()) {
				execl(own, own, "exit", NULL);
				_exit(1);
			}
		while (wait(NULL) > 0)
			;
	}
}

static void names(void)
{
	char name[16];

	for (unsigned int i = 0;; i++) {
		snprintf(name, sizeof(name), "n%x", i);
		prctl(PR_SET_NAME, name);
	}
}

/* Each a function of 64 bytes that calls the next of a list of addresses. x86-64. */
static void stacks(void)
{
	enum { BYTES = 256 << 20 };
	unsigned char *code = mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* push rbp; mov rbp,rsp; dec esi; js spin; mov rax,[rdi]; add rdi,8; call rax; pop rbp;
	 * ret; spin: ... */
	// clang-format off
	static const unsigned char body[] = {
		0x55, 0x48, 0x89, 0xe5, 0xff, 0xce, 0x78, 0x0b, 0x48, 0x8b, 0x07, 0x48,
		0x83, 0xc7, 0x08, 0xff, 0xd0, 0x5d, 0xc3,
		/* at 19: spin */
		0xb9, 0x00, 0x00, 0x10, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3,
	};
	// clang-format on
	unsigned char *way[128];
	unsigned long random = 1;

	for (;;) {
		for (size_t i = 0; i < LENGTH(way); i++) {
			random = random * 6364136223846793005 + 1442695040888963407;
			way[i] = code + (random >> 33) % (BYTES / 64) * 64;
			memcpy(way[i], body, sizeof(body));
		}
		((void (*)(void *, int))way[0])(way + 1, 120);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {{"files", files}, {"mappings", mappings}, {"forks", forks},
		{"changes", changes}, {"threads", threads}, {"processes", processes},
		{"images", images}, {"names", names}, {"stacks", stacks}};

	if (argc < 2)
		errx(1, "usage: crowd KIND");
	if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
		err(1, "readlink");
	alarm(20);
	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kinds[i].run();
	return 0;
}
