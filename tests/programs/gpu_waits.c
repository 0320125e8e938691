// SPDX-License-Identifier: MIT
/*
 * Waits by each synchronizing call for a kernel that it knows, and says how long each call took:
 *
 *	gpu_waits
 *
 * one JSON object a line on stdout: the call, when it began and ended (CLOCK_MONOTONIC), the kernel
 * that it waited for, what was waited for (the kind of profile_sync), and whether other work was
 * still running when it returned. Kernels run for some milliseconds; on the simulated GPU for what
 * their names say.
 */
#define GPU_OWN_KERNELS                                                                            \
	GPU_KERNEL("for_stream_us9000")                                                            \
	GPU_KERNEL("for_event_us7000")                                                             \
	GPU_KERNEL("for_default_stream_us5000")                                                    \
	GPU_KERNEL("for_context_us8000")                                                           \
	GPU_KERNEL("for_thread_us6000")                                                            \
	GPU_KERNEL("behind_us15000")

#include "gpu.h"

#include <pthread.h>
#include <time.h>

#ifdef GPU_RUNTIME
#define CALL(driver, runtime) runtime
#else
#define CALL(driver, runtime) driver
#endif

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void told(const char *api, const char *kind, const char *kernel, uint64_t start_ns,
	bool others_go_on)
{
	uint64_t end_ns = now_ns();

	printf("{\"api\": \"%s\", \"kind\": \"%s\", \"kernel\": \"%s\", \"start_ns\": %llu, "
	       "\"end_ns\": %llu, \"others_go_on\": %s}\n",
		api, kind, kernel, (unsigned long long)start_ns, (unsigned long long)end_ns,
		others_go_on ? "true" : "false");
}

static void launch(const char *kernel, gpu_stream s, unsigned int thousand_rounds)
{
	static void *out;

	if (!out)
		out = gpu_alloc(256);
	if (!gpu_try_launch_at(gpu_get_kernel(kernel), out, thousand_rounds * 1000, s))
		exit(1);
}

/* The first launch of a kernel loads it; that is over before anything is measured. */
static void load_kernels(void)
{
	static const char *const names[] = {"for_stream_us9000", "for_event_us7000",
		"for_default_stream_us5000", "for_context_us8000", "for_thread_us6000",
		"behind_us15000"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		launch(names[i], NULL, 1);
	gpu_wait();
}

STAGE void wait_for_stream(gpu_stream s, gpu_stream other)
{
	uint64_t start_ns;

	launch("behind_us15000", other, 8000);
	launch("for_stream_us9000", s, 3000);
	start_ns = now_ns();
	gpu_stream_wait(s);
	told(CALL("cuStreamSynchronize", "cudaStreamSynchronize"), "stream", "for_stream_us9000",
		start_ns, true);
	gpu_stream_wait(other);
}

/* The event was recorded before, too, in another stream: the last time counts. */
STAGE void wait_for_event(gpu_stream s, gpu_stream other, gpu_event e)
{
	uint64_t start_ns;

	gpu_event_record(e, other);
	launch("for_event_us7000", s, 3000);
	gpu_event_record(e, s);
	launch("behind_us15000", s, 8000);
	start_ns = now_ns();
	gpu_event_wait(e);
	told(CALL("cuEventSynchronize", "cudaEventSynchronize"), "event", "for_event_us7000",
		start_ns, true);
	gpu_stream_wait(s);
}

STAGE void wait_for_default_stream(void)
{
	uint64_t start_ns;

	launch("for_default_stream_us5000", NULL, 3000);
	start_ns = now_ns();
	gpu_stream_wait(NULL);
	told(CALL("cuStreamSynchronize", "cudaStreamSynchronize"), "stream",
		"for_default_stream_us5000", start_ns, false);
}

STAGE void wait_for_context(gpu_stream s)
{
	uint64_t start_ns;

	launch("for_context_us8000", s, 3000);
	start_ns = now_ns();
	gpu_wait();
	told(CALL("cuCtxSynchronize", "cudaDeviceSynchronize"), "context", "for_context_us8000",
		start_ns, false);
}

/* The wait is the first thing that this thread asks of CUDA (in the driver's form it has to name its context before). */
static void *thread(void *stream)
{
	uint64_t start_ns;

#ifndef GPU_RUNTIME
	gpu_enter_thread();
#endif
	start_ns = now_ns();
	gpu_stream_wait((gpu_stream)stream);
	told(CALL("cuStreamSynchronize", "cudaStreamSynchronize"), "stream", "for_thread_us6000",
		start_ns, false);
	return NULL;
}

STAGE void wait_in_new_thread(gpu_stream s)
{
	pthread_t waiter;

	launch("for_thread_us6000", s, 3000);
	if (pthread_create(&waiter, NULL, thread, s))
		exit(1);
	pthread_join(waiter, NULL);
}

/* A capture that forks and joins by events is whole. */
STAGE void capture(gpu_stream s, gpu_stream other)
{
	gpu_event fork = gpu_event_new(), join = gpu_event_new();

	gpu_capture_begin(s);
	gpu_event_record(fork, s);
	gpu_stream_wait_event(other, fork);
	launch("behind_us15000", other, 1);
	gpu_event_record(join, other);
	gpu_stream_wait_event(s, join);
	gpu_graph_free(gpu_capture_end(s));
	gpu_event_free(fork);
	gpu_event_free(join);
}

int main(void)
{
	gpu_stream s, other;
	gpu_event e;

	if (!gpu_open("gpu_waits"))
		return 1;
	s = gpu_stream_new(false);
	other = gpu_stream_new(false);
	e = gpu_event_new();
	load_kernels();
	capture(s, other);
	wait_for_stream(s, other);
	wait_for_event(s, other, e);
	wait_for_default_stream();
	wait_for_context(s);
	wait_in_new_thread(s);
	return 0;
}
