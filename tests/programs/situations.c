// SPDX-License-Identifier: MIT
/*
 * Programs in situations that are hard for a profiler (tests/gpu/situations.py).
 *
 *	situations threads [OPTION...]	launches from some threads, also after SIGINT, which ends it as time
 *					does
 *	situations exit [OPTION...]	calls exit(3) after so many seconds, while all of them launch
 *	situations contexts [OPTION...]	makes and destroys contexts, beside threads that launch
 *
 *	--threads N	that launch in the first context (4)
 *	--launches N	by each of them, at most
 *	--seconds S	at most (10)
 *	--contexts N	at most (50)
 *
 * "launching" on stdout says when it begins. At the end, but for `exit`, come the number of
 * launches of each kernel and whether the sums that the kernels made on the GPU are those of so
 * many launches, as one JSON object; the status says that, too. On the simulated GPU, where kernels
 * compute nothing, the sums must be 0.
 */

/* Each block adds 1 to what it is given. */
#define COUNTING_KERNEL(name)                                                                      \
	GPU_KERNEL_THAT(name, "4", "3",                                                            \
		"\tsetp.eq.u32 %p3, %r2, 0;\n"                                                     \
		"\tmov.u64 %rd2, 1;\n"                                                             \
		"\t@%p3 red.global.add.u64 [%rd1], %rd2;\n")

#define STEADY		"steady_us50"
#define BRIEF		"brief_us20"
#define GPU_OWN_KERNELS COUNTING_KERNEL(STEADY) COUNTING_KERNEL(BRIEF)

#include "gpu.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	THREADS_MAX = 64,
	STEADY_ROUNDS = 20000,
	BRIEF_ROUNDS = 8000,
	IN_A_CONTEXT = 20,
	EXIT_STATUS = 3
};

struct launcher {
	pthread_t thread;
	gpu_stream stream;
	void *sum; /* on the device */
	unsigned long launched;
	bool failed;
};

static struct {
	int threads;
	unsigned long launches, contexts;
	double seconds;
	bool until_refused; /* and no waiting: exit() comes in between */
	gpu_kernel steady;
	struct launcher launchers[THREADS_MAX];
} t = {4, ~0ul, 50, 10, false, NULL, {}};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	interrupted = signal;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool is_right(uint64_t sum, unsigned long launched)
{
	uint64_t expected = strncmp(gpu.name, "Simulated", 9) ? launched * GPU_GRID : 0;

	if (sum != expected)
		fprintf(stderr, "situations: the kernels added up %llu, not %llu\n",
			(unsigned long long)sum, (unsigned long long)expected);
	return sum == expected;
}

/* Two places to launch from, so that samples that do not name their launch have to be apportioned.
 */
STAGE bool launch_here(struct launcher *l)
{
	return gpu_try_launch_at(t.steady, l->sum, STEADY_ROUNDS, l->stream);
}

STAGE bool launch_there(struct launcher *l)
{
	bool taken = gpu_try_launch_at(t.steady, l->sum, STEADY_ROUNDS, l->stream);

	__asm__ volatile(""); /* another function than the one above */
	return taken;
}

static void *launch_on_and_on(void *argument)
{
	struct launcher *l = (struct launcher *)argument;
	double end = now() + t.seconds;

	gpu_enter_thread();
	while (l->launched < t.launches && !l->failed &&
		(t.until_refused || (!interrupted && now() < end))) {
		l->failed = !(l->launched % 2 ? launch_here(l) : launch_there(l));
		l->launched += !l->failed;
		if (l->launched % 20 == 0 && !t.until_refused && !l->failed)
			gpu_stream_wait(l->stream);
	}
	return NULL;
}

static bool start_threads(void)
{
	t.steady = gpu_get_kernel(STEADY);
	for (int i = 0; i < t.threads; i++) {
		struct launcher *l = &t.launchers[i];

		l->stream = gpu_stream_new(false);
		l->sum = gpu_alloc(sizeof(uint64_t));
		gpu_set(l->sum, 0, sizeof(uint64_t));
	}
	gpu_wait();
	printf("launching\n");
	fflush(stdout);
	for (int i = 0; i < t.threads; i++)
		if (pthread_create(&t.launchers[i].thread, NULL, launch_on_and_on, &t.launchers[i]))
			return false;
	return true;
}

static bool end_threads(unsigned long *ret_launched)
{
	bool right = true;
	uint64_t sum;

	*ret_launched = 0;
	for (int i = 0; i < t.threads; i++) {
		struct launcher *l = &t.launchers[i];

		pthread_join(l->thread, NULL);
		gpu_stream_wait(l->stream);
		gpu_copy(&sum, l->sum, sizeof(sum), GPU_DTOH);
		right &= is_right(sum, l->launched) && !l->failed;
		*ret_launched += l->launched;
	}
	return right;
}

static int end(unsigned long steady, unsigned long brief, unsigned long contexts, bool right)
{
	printf("{\"" STEADY "\": %lu, \"" BRIEF "\": %lu, \"contexts\": %lu, \"right\": %s}\n",
		steady, brief, contexts, right ? "true" : "false");
	return !right;
}

static int run_threads(void)
{
	unsigned long launched;
	bool right;

	if (!start_threads())
		return 1;
	right = end_threads(&launched);
	return end(launched, 0, 0, right);
}

static int run_exit(void)
{
	t.until_refused = true;
	if (!start_threads())
		return 1;
	usleep((useconds_t)(t.seconds * 1e6));
	exit(EXIT_STATUS);
}

#ifndef GPU_RUNTIME
STAGE void launch_in_context(CUfunction kernel, void *sum)
{
	for (int i = 0; i < IN_A_CONTEXT; i++) {
		if (!gpu_try_launch_at(kernel, sum, BRIEF_ROUNDS, NULL)) {
			fprintf(stderr, "situations: a launch in a context of its own failed\n");
			exit(1);
		}
	}
}

static bool use_context(void)
{
	CUcontext context;
	CUfunction kernel;
	CUmodule module;
	CUdevice device;
	uint64_t sum;
	void *at;

	GPU_CHECK(cuDeviceGet(&device, 0));
	GPU_CHECK(cuCtxCreate_v2(&context, 0, device));
	GPU_CHECK(cuModuleLoadData(&module, gpu_ptx));
	GPU_CHECK(cuModuleGetFunction(&kernel, module, BRIEF));
	at = gpu_alloc(sizeof(sum));
	gpu_set(at, 0, sizeof(sum));
	launch_in_context(kernel, at);
	gpu_wait();
	gpu_copy(&sum, at, sizeof(sum), GPU_DTOH);
	GPU_CHECK(cuCtxDestroy_v2(context));
	return is_right(sum, IN_A_CONTEXT);
}

static int run_contexts(void)
{
	unsigned long launched, contexts = 0;
	double latest = now() + t.seconds;
	bool right = true;

	if (!start_threads())
		return 1;
	while (right && contexts < t.contexts && now() < latest) {
		right = use_context();
		contexts++;
	}
	gpu_enter_thread();
	interrupted = SIGINT;
	right &= end_threads(&launched);
	return end(launched, contexts * IN_A_CONTEXT, contexts, right);
}
#endif

static const struct {
	const char *name;
	int (*run)(void);
} situations[] = {
	{"threads", run_threads},
	{"exit", run_exit},
#ifndef GPU_RUNTIME
	{"contexts", run_contexts},
#endif
};

static bool take_options(int argc, char **argv)
{
	for (int i = 2; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "0";

		if (!strcmp(argv[i], "--threads") && atoi(value) > 0 && atoi(value) <= THREADS_MAX)
			t.threads = atoi(value);
		else if (!strcmp(argv[i], "--launches") && atol(value) > 0)
			t.launches = (unsigned long)atol(value);
		else if (!strcmp(argv[i], "--contexts") && atol(value) > 0)
			t.contexts = (unsigned long)atol(value);
		else if (!strcmp(argv[i], "--seconds") && atof(value) > 0)
			t.seconds = atof(value);
		else
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	if (!take_options(argc, argv))
		return 2;
	for (size_t i = 0; argc > 1 && i < sizeof(situations) / sizeof(situations[0]); i++) {
		if (strcmp(argv[1], situations[i].name))
			continue;
		if (signal(SIGINT, interrupt) == SIG_ERR || !gpu_open("situations"))
			return 1;
		return situations[i].run();
	}
	return 2;
}
