// SPDX-License-Identifier: MIT
/*
 * A CUDA program that is joined to have its instructions sampled, with threads in calls of the
 * driver in all kinds of ways: tests/cli/joined_stalls.t.
 *
 * usage: held_target WHAT...
 *
 *	launch       two threads launch, and synchronize now and then
 *	copy         a thread copies, one allocates and loads modules
 *	host         a thread has functions of the program run by the driver
 *	signals      a handler of a signal that comes each 2 ms launches, in the middle of calls that take no locks
 *	forks        a thread forks; children leave by exit()
 *	locks        two threads launch with a lock held, one wants it in a function that the driver runs
 *	waits        a thread waits 300 ms for the GPU, again and again
 *	never        two threads take turns with that, so that one is always in a call, from SIGUSR1 until SIGUSR2
 *	since        a thread waits for the GPU in one call, from before it says "ready", for 4 seconds
 *	sleeps       a thread has called, and sleeps
 *	spins        a thread calculates, and never calls
 *	contexts     a second context is used
 *	ends         the context is destroyed after SIGUSR1, and another one made
 *	exits        leaves by exit() after SIGUSR1, in another thread than the first
 *
 * Says "ready", and at SIGTERM, when all threads have ended, "done" and the longest time a launch took
 * in milliseconds.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

enum { BYTES = 1 << 16, THREADS_MAX = 32 };

static const char slow_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			       ".visible .entry early_us20(.param .u64 a) { ret; }\n"
			       ".visible .entry slow_us300000(.param .u64 a) { ret; }\n"
			       ".visible .entry long_us4000000(.param .u64 a) { ret; }\n";

static CUfunction early, slow, longest;
static _Atomic bool over, always, asked;
static _Atomic uint64_t longest_ns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void launch_one(CUfunction function, CUstream stream)
{
	uint64_t begin = now_ns(), took, before = longest_ns;

	CHECK(cuda.cuLaunchKernel(function, 64, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	took = now_ns() - begin;
	while (took > before && !atomic_compare_exchange_weak(&longest_ns, &before, took))
		;
}

static CUstream new_stream(void)
{
	CUstream stream;

	CHECK(cuda.cuCtxSetCurrent(context));
	CHECK(cuda.cuStreamCreate(&stream, 1));
	return stream;
}

static void *launch(void *unused)
{
	CUstream stream = new_stream();

	while (!over) {
		for (int n = 0; n < 50; n++)
			launch_one(early, stream);
		CHECK(cuda.cuStreamSynchronize(stream));
	}
	return NULL;
}

static void *copy(void *unused)
{
	static char bytes[BYTES];

	CHECK(cuda.cuCtxSetCurrent(context));
	while (!over) {
		CHECK(cuda.cuMemcpyHtoD_v2(memory, bytes, BYTES));
		CHECK(cuda.cuMemcpyDtoH_v2(bytes, memory, BYTES));
	}
	return NULL;
}

static void *load(void *unused)
{
	CUdeviceptr some;
	CUmodule module;

	CHECK(cuda.cuCtxSetCurrent(context));
	while (!over) {
		CHECK(cuda.cuMemAlloc_v2(&some, BYTES));
		CHECK(cuda.cuMemFree_v2(some));
		CHECK(cuda.cuModuleLoadData(&module, slow_ptx));
		CHECK(cuda.cuModuleUnload(module));
		usleep(200);
	}
	return NULL;
}

static void take_lock(void *unused)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void do_nothing(void *unused)
{
}

static void *have_run(void *function)
{
	CUstream stream = new_stream();

	while (!over) {
		launch_one(early, stream);
		CHECK(cuda.cuLaunchHostFunc(stream, *(CUhostFn *)function, NULL));
		CHECK(cuda.cuStreamSynchronize(stream));
	}
	return NULL;
}

static void *launch_locked(void *unused)
{
	CUstream stream = new_stream();

	while (!over) {
		pthread_mutex_lock(&lock);
		launch_one(early, stream);
		pthread_mutex_unlock(&lock);
	}
	CHECK(cuda.cuStreamSynchronize(stream));
	return NULL;
}

static void launch_in_handler(int number)
{
	CHECK(cuda.cuLaunchKernel(early, 64, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

static void *take_signals(void *unused)
{
	const struct itimerval each = {{0, 2000}, {0, 2000}};
	CUdevice device;
	sigset_t alarm;

	CHECK(cuda.cuCtxSetCurrent(context));
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	signal(SIGALRM, launch_in_handler);
	setitimer(ITIMER_REAL, &each, NULL);
	while (!over)
		CHECK(cuda.cuDeviceGet(&device, 0));
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	CHECK(cuda.cuCtxSynchronize());
	return NULL;
}

static void *fork_on(void *unused)
{
	int status;
	pid_t child;

	while (!over) {
		fflush(stdout);
		child = fork();
		if (!child) {
			cuda.cuCtxSynchronize();
			exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0 || status)
			printf("a child ended with %d\n", status);
	}
	return NULL;
}

static void *wait_slowly(void *unused)
{
	CUstream stream = new_stream();

	while (!over) {
		launch_one(slow, stream);
		CHECK(cuda.cuStreamSynchronize(stream));
	}
	return NULL;
}

/* Each begins when the other has waited for half of its time. */
static void *wait_in_turn(void *delay)
{
	CUstream stream = new_stream();

	while (!over) {
		if (!always) {
			usleep(1000);
			continue;
		}
		usleep((useconds_t)(uintptr_t)delay);
		printf("inside\n");
		while (always && !over) {
			launch_one(slow, stream);
			CHECK(cuda.cuStreamSynchronize(stream));
		}
	}
	return NULL;
}

static atomic_bool is_waiting;

static void *wait_long(void *unused)
{
	CUstream stream = new_stream();

	launch_one(longest, stream);
	is_waiting = true;
	CHECK(cuda.cuStreamSynchronize(stream));
	printf("waited\n");
	return NULL;
}

static void *sleep_on(void *unused)
{
	CHECK(cuda.cuCtxSetCurrent(context));
	launch_one(early, NULL);
	CHECK(cuda.cuCtxSynchronize());
	while (!over)
		usleep(100000);
	return NULL;
}

static void *spin(void *unused)
{
	while (!over)
		;
	return NULL;
}

static void *use_another(void *unused)
{
	CUcontext other;
	CUdevice device;

	CHECK(cuda.cuDeviceGet(&device, 0));
	CHECK(cuda.cuCtxCreate_v2(&other, 0, device));
	while (!over) {
		CHECK(cuda.cuCtxSynchronize());
		usleep(1000);
	}
	return NULL;
}

static void use_new(int round)
{
	CUfunction function;
	CUcontext mine;
	CUdevice device;
	CUmodule module;

	CHECK(cuda.cuDeviceGet(&device, 0));
	CHECK(cuda.cuCtxCreate_v2(&mine, 0, device));
	CHECK(cuda.cuModuleLoadData(&module, slow_ptx));
	CHECK(cuda.cuModuleGetFunction(&function, module, "early_us20"));
	printf("context %d\n", round);
	while (!over && !asked) {
		launch_one(function, NULL);
		CHECK(cuda.cuCtxSynchronize());
	}
	asked = false;
	CHECK(cuda.cuCtxDestroy_v2(mine));
}

static void *end_contexts(void *unused)
{
	for (int round = 1; !over; round++)
		use_new(round);
	return NULL;
}

static void *exit_on(void *unused)
{
	while (!over && !asked)
		usleep(1000);
	printf("exits\n");
	exit(0);
}

static const CUhostFn nothing = do_nothing, locking = take_lock;

static const struct {
	const char *name;
	void *(*run)(void *);
	void *argument;
} parts[] = {
	{"launch", launch, NULL},
	{"launch", launch, NULL},
	{"copy", copy, NULL},
	{"copy", load, NULL},
	{"host", have_run, (void *)&nothing},
	{"signals", take_signals, NULL},
	{"forks", fork_on, NULL},
	{"locks", launch_locked, NULL},
	{"locks", launch_locked, NULL},
	{"locks", have_run, (void *)&locking},
	{"waits", wait_slowly, NULL},
	{"never", wait_in_turn, NULL},
	{"never", wait_in_turn, (void *)150000},
	{"since", wait_long, NULL},
	{"sleeps", sleep_on, NULL},
	{"spins", spin, NULL},
	{"contexts", use_another, NULL},
	{"ends", end_contexts, NULL},
	{"exits", exit_on, NULL},
};

static bool is_asked(const char *name, char **asked_for)
{
	while (*++asked_for)
		if (!strcmp(*asked_for, name))
			return true;
	return false;
}

static void take_orders(const sigset_t *orders)
{
	int number;

	while (!over && !sigwait(orders, &number)) {
		if (number == SIGTERM)
			over = true;
		else
			always = asked = number == SIGUSR1;
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	sigset_t blocked, orders;
	CUmodule module;
	int count = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	begin("held_target");
	CHECK(cuda.cuModuleLoadData(&module, slow_ptx));
	CHECK(cuda.cuModuleGetFunction(&early, module, "early_us20"));
	CHECK(cuda.cuModuleGetFunction(&slow, module, "slow_us300000"));
	CHECK(cuda.cuModuleGetFunction(&longest, module, "long_us4000000"));
	sigemptyset(&orders);
	sigaddset(&orders, SIGTERM);
	sigaddset(&orders, SIGUSR1);
	sigaddset(&orders, SIGUSR2);
	blocked = orders;
	sigaddset(&blocked, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	for (size_t n = 0; n < sizeof(parts) / sizeof(*parts); n++)
		if (is_asked(parts[n].name, argv))
			pthread_create(&threads[count++], NULL, parts[n].run, parts[n].argument);
	while (is_asked("since", argv) && !is_waiting)
		usleep(1000);
	usleep(20000);
	printf("ready\n");
	take_orders(&orders);
	while (count)
		pthread_join(threads[--count], NULL);
	printf("done %llu ms\n", (unsigned long long)(longest_ns / 1000000));
	return 0;
}
