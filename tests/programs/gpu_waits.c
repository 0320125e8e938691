// SPDX-License-Identifier: MIT
/*
 * Waits by each synchronizing call for a kernel that it knows, and says how long each call took:
 *
 *	gpu_waits
 *
 * one JSON object a line on stdout: the function that waited (stage), the call, when it began and
 * ended (CLOCK_MONOTONIC), the kernel that it waited for, what was waited for (the kind of
 * profile_sync), and whether other work was still running when it returned. Kernels run for some
 * milliseconds; on the simulated GPU for what their names say. Then, in one object, how many
 * contexts there were, and whether the handle of a destroyed stream came again.
 *
 * Where there are two contexts (of two devices; or in the driver's form of one) some calls name a
 * stream of the one while the other is current.
 */
#define GPU_OWN_KERNELS                                                                            \
	GPU_KERNEL("for_stream_us9000")                                                            \
	GPU_KERNEL("for_event_us7000")                                                             \
	GPU_KERNEL("for_default_stream_us5000")                                                    \
	GPU_KERNEL("for_context_us8000")                                                           \
	GPU_KERNEL("for_thread_us6000")                                                            \
	GPU_KERNEL("short_graph_us20000")                                                          \
	GPU_KERNEL("long_graph_us60000")                                                           \
	GPU_KERNEL("far_stream_us9000")                                                            \
	GPU_KERNEL("far_event_us7000")                                                             \
	GPU_KERNEL("used_again_us6000")                                                            \
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

static void told(const char *stage, const char *api, const char *kind, const char *kernel,
	uint64_t start_ns, bool others_go_on)
{
	uint64_t end_ns = now_ns();

	printf("{\"stage\": \"%s\", \"api\": \"%s\", \"kind\": \"%s\", \"kernel\": \"%s\", "
	       "\"start_ns\": %llu, "
	       "\"end_ns\": %llu, \"others_go_on\": %s}\n",
		stage, api, kind, kernel, (unsigned long long)start_ns, (unsigned long long)end_ns,
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

/* The first launch of a kernel in a context loads it; that is over before anything is measured. */
static void load_kernels(void)
{
	static const char *const names[] = {"for_stream_us9000", "for_event_us7000",
		"for_default_stream_us5000", "for_context_us8000", "for_thread_us6000",
		"short_graph_us20000", "long_graph_us60000", "far_stream_us9000",
		"far_event_us7000", "used_again_us6000", "behind_us15000"};

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
	told(__func__, CALL("cuStreamSynchronize", "cudaStreamSynchronize"), "stream",
		"for_stream_us9000", start_ns, true);
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
	told(__func__, CALL("cuEventSynchronize", "cudaEventSynchronize"), "event",
		"for_event_us7000", start_ns, true);
}

STAGE void wait_for_default_stream(void)
{
	uint64_t start_ns;

	launch("for_default_stream_us5000", NULL, 3000);
	start_ns = now_ns();
	gpu_stream_wait(NULL);
	told(__func__, CALL("cuStreamSynchronize", "cudaStreamSynchronize"), "stream",
		"for_default_stream_us5000", start_ns, false);
}

STAGE void wait_for_context(gpu_stream s)
{
	uint64_t start_ns;

	launch("for_context_us8000", s, 3000);
	start_ns = now_ns();
	gpu_wait();
	told(__func__, CALL("cuCtxSynchronize", "cudaDeviceSynchronize"), "context",
		"for_context_us8000", start_ns, false);
}

/* The wait is the first thing that this thread asks of CUDA (in the driver's form it has to name
 * its context before). */
STAGE void *wait_first(void *stream)
{
	uint64_t start_ns;

#ifndef GPU_RUNTIME
	gpu_enter_thread();
#endif
	start_ns = now_ns();
	gpu_stream_wait((gpu_stream)stream);
	told(__func__, CALL("cuStreamSynchronize", "cudaStreamSynchronize"), "stream",
		"for_thread_us6000", start_ns, false);
	return NULL;
}

STAGE void wait_in_new_thread(gpu_stream s)
{
	pthread_t waiter;

	launch("for_thread_us6000", s, 3000);
	if (pthread_create(&waiter, NULL, wait_first, s))
		exit(1);
	pthread_join(waiter, NULL);
}

/* A capture that forks and joins by events is whole, and so when streams come and go meanwhile. */
STAGE void capture(gpu_stream s, gpu_stream other)
{
	gpu_event fork = gpu_event_new(), join = gpu_event_new();

	gpu_capture_begin_strict(s);
	gpu_stream_free(gpu_stream_new(false));
	gpu_event_record(fork, s);
	gpu_stream_wait_event(other, fork);
	launch("behind_us15000", other, 1);
	gpu_event_record(join, other);
	gpu_stream_wait_event(s, join);
	gpu_graph_free(gpu_capture_end(s));
	gpu_event_free(fork);
	gpu_event_free(join);
}

STAGE gpu_exec graph_of(const char *kernel, gpu_stream s, unsigned int thousand_rounds)
{
	gpu_graph g;
	gpu_exec exec;

	gpu_capture_begin(s);
	launch(kernel, s, thousand_rounds);
	g = gpu_capture_end(s);
	exec = gpu_graph_instantiate(g);
	gpu_graph_free(g);
	/* The first launch takes it to the device. */
	gpu_exec_launch(exec, s);
	gpu_stream_wait(s);
	return exec;
}

/* No work: it becomes a part of another graph, which is never launched, or the driver refuses
 * it. */
STAGE void capture_launch(gpu_exec exec, gpu_stream s)
{
	gpu_capture_begin(s);
	gpu_try_exec_launch(exec, s);
	gpu_capture_give_up(s);
}

/* The graph in the other stream began before and ends later. */
STAGE void wait_for_graph(gpu_stream s, gpu_stream other, gpu_exec mine, gpu_exec others)
{
	uint64_t start_ns;

	gpu_exec_launch(others, other);
	gpu_exec_launch(mine, s);
	start_ns = now_ns();
	gpu_stream_wait(s);
	told(__func__, CALL("cuStreamSynchronize", "cudaStreamSynchronize"), "stream",
		"short_graph_us20000", start_ns, true);
}

STAGE void wait_with_graphs(gpu_stream s, gpu_stream other)
{
	gpu_exec mine = graph_of("short_graph_us20000", s, 8000),
		 others = graph_of("long_graph_us60000", other, 24000);

	capture_launch(mine, s);
	capture_launch(mine, GPU_OWN_STREAM);
	wait_for_graph(s, other, mine, others);
	gpu_wait();
	gpu_exec_free(mine);
	gpu_exec_free(others);
}

/* The stream is of `home`, and another context is current. */
STAGE void wait_for_far_stream(const struct gpu *home, const struct gpu *away, gpu_stream s)
{
	uint64_t start_ns;

	gpu_use_again(home);
	launch("far_stream_us9000", s, 3000);
	gpu_use_again(away);
	start_ns = now_ns();
	gpu_stream_wait(s);
	told(__func__, CALL("cuStreamSynchronize", "cudaStreamSynchronize"), "stream",
		"far_stream_us9000", start_ns, false);
}

/* So are the stream and the event. */
STAGE void wait_for_far_event(const struct gpu *home, const struct gpu *away, gpu_stream s)
{
	uint64_t start_ns;
	gpu_event e;

	gpu_use_again(home);
	e = gpu_event_new();
	launch("far_event_us7000", s, 3000);
	gpu_use_again(away);
	gpu_event_record(e, s);
	gpu_use_again(home);
	launch("behind_us15000", s, 8000);
	gpu_use_again(away);
	start_ns = now_ns();
	gpu_event_wait(e);
	told(__func__, CALL("cuEventSynchronize", "cudaEventSynchronize"), "event",
		"far_event_us7000", start_ns, true);
}

/* A stream of `away` with the handle that one of `home` had, if the driver gives it out again at
 * once. */
STAGE bool wait_for_handle_used_again(const struct gpu *home, const struct gpu *away)
{
	gpu_stream gone, s;
	uint64_t start_ns;

	gpu_use_again(home);
	gone = gpu_stream_new(false);
	gpu_stream_free(gone);
	gpu_use_again(away);
	s = gpu_stream_new(false);
	launch("used_again_us6000", s, 3000);
	gpu_use_again(home);
	start_ns = now_ns();
	gpu_stream_wait(s);
	told(__func__, CALL("cuStreamSynchronize", "cudaStreamSynchronize"), "stream",
		"used_again_us6000", start_ns, false);
	return s == gone;
}

/* False: there is no second context. */
static bool wait_across_contexts(gpu_stream s, bool *ret_used_again)
{
	struct gpu home = gpu, away;

	if (!gpu_use_second_context())
		return false;
	load_kernels();
	away = gpu;
	wait_for_far_stream(&home, &away, s);
	wait_for_far_event(&home, &away, s);
	gpu_use_again(&home);
	gpu_wait();
	*ret_used_again = wait_for_handle_used_again(&home, &away);
	return true;
}

int main(void)
{
	bool two_contexts, used_again = false;
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
	gpu_wait();
	wait_for_event(s, other, e);
	gpu_wait();
	wait_for_default_stream();
	wait_for_context(s);
	wait_in_new_thread(s);
	wait_with_graphs(s, other);
	two_contexts = wait_across_contexts(s, &used_again);
	printf("{\"contexts\": %d, \"handle_used_again\": %s}\n", two_contexts ? 2 : 1,
		used_again ? "true" : "false");
	return 0;
}
