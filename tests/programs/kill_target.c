// SPDX-License-Identifier: MIT
/*
 * A program that says what it did and when, for tests/kill.py.
 *
 *	kill_target SECONDS [cpu]	cpu: nothing of CUDA
 *
 *	begin PID NS
 *	step NS1 NS2 CPU_NS	CPU time since the last step, and a launch that began and returned then
 *	end DESCRIPTORS RINGS	what is open, and what is mapped of a recorder's memory
 *
 * Times are those of CLOCK_MONOTONIC. Ends with status 7.
 */
#include "gpu.h"

#include <dirent.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEP_SPIN_NS  1000000ull
#define STEP_PAUSE_NS 3000000ull

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

STAGE void spin(void)
{
	uint64_t until = now(CLOCK_PROCESS_CPUTIME_ID) + STEP_SPIN_NS;

	while (now(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
}

STAGE void step(gpu_kernel kernel)
{
	const struct timespec pause = {.tv_nsec = STEP_PAUSE_NS};
	uint64_t begin;

	spin();
	begin = now(CLOCK_MONOTONIC);
	if (kernel)
		gpu_launch(kernel, NULL);
	printf("step %llu %llu %llu\n", (unsigned long long)begin,
		(unsigned long long)now(CLOCK_MONOTONIC),
		(unsigned long long)now(CLOCK_PROCESS_CPUTIME_ID));
	nanosleep(&pause, NULL);
}

static int count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (folder && readdir(folder))
		count++;
	closedir(folder);
	return count - 3; /* the two dots, and the folder */
}

static int count_rings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int count = 0;

	while (maps && fgets(line, sizeof(line), maps))
		count += strstr(line, "/memfd:xpuprof") != NULL;
	fclose(maps);
	return count;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	gpu_kernel kernel = NULL;
	uint64_t end;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("begin %d %llu\n", (int)getpid(), (unsigned long long)now(CLOCK_MONOTONIC));
	if (argc < 3 && !gpu_open("kill_target"))
		return 1;
	if (argc < 3)
		kernel = gpu_get_kernel("count_a_us5");
	end = now(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	while (now(CLOCK_MONOTONIC) < end)
		step(kernel);
	if (kernel)
		gpu_wait();
	printf("end %d %d\n", count_descriptors(), count_rings());
	return 7;
}
