// SPDX-License-Identifier: MIT
/*
 * A program that uses the API of a vendor that does not exist (null.h): ten times two kernels of a
 * millisecond, a wait for them, and a pause in which the GPU has nothing to do: long enough to be
 * the reason of its idleness on a busy machine too.
 */
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "null.h"

#define STEP __attribute__((noinline, used))

enum { ROUNDS = 10, WORK_NS = 1000000, PAUSE_NS = 20000000 };

static int driver = -1;
static uint64_t busy_until_ns;

int nullLaunch(const char *kernel);
int nullSynchronize(void);

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void sleep_until(uint64_t end_ns)
{
	const struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000ull),
		.tv_nsec = (long)(end_ns % 1000000000ull)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

static int report(struct null_record *r)
{
	static uint32_t correlation;

	r->correlation = ++correlation;
	r->pid = (uint32_t)getpid();
	r->tid = (uint32_t)syscall(SYS_gettid);
	r->call_end_ns = now_ns();
	return driver < 0 || write(driver, r, sizeof(*r)) == sizeof(*r) ? 0 : -1;
}

/* From the call on: not this function. */
static void walk(struct null_record *r)
{
	void *frames[NULL_FRAMES];
	int depth = backtrace(frames, NULL_FRAMES);

	for (int n = 1; n < depth; n++)
		r->frames[r->depth++] = (uint64_t)(uintptr_t)frames[n];
}

STEP int nullLaunch(const char *kernel)
{
	struct null_record r = {.kind = NULL_LAUNCH, .call_start_ns = now_ns()};

	walk(&r);
	snprintf(r.kernel, sizeof(r.kernel), "%s", kernel);
	r.work_start_ns = busy_until_ns > r.call_start_ns ? busy_until_ns : r.call_start_ns;
	r.work_end_ns = busy_until_ns = r.work_start_ns + WORK_NS;
	return report(&r);
}

STEP int nullSynchronize(void)
{
	struct null_record r = {.kind = NULL_SYNC, .call_start_ns = now_ns()};

	walk(&r);
	sleep_until(busy_until_ns);
	return report(&r);
}

STEP static int forward(void)
{
	int failed = nullLaunch("null_gemm");

	failed |= nullLaunch("null_relu");
	return failed;
}

STEP static int wait_for_result(void)
{
	int failed = nullSynchronize();

	__asm__ volatile("");
	return failed;
}

STEP static int pause_between(void)
{
	sleep_until(now_ns() + PAUSE_NS);
	return 0;
}

int main(void)
{
	const char *path = getenv(NULL_LOG_VARIABLE);
	int failed = 0;

	driver = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	for (int n = 0; n < ROUNDS; n++)
		failed |= forward() | wait_for_result() | pause_between();
	return failed != 0;
}
