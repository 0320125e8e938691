// SPDX-License-Identifier: MIT
/*
 * The injected library's life.
 *
 * An API's entry point calls inject_begin, once, in the middle of the program's first call. Without
 * a recorder nothing happens at all. With one, the API is started, and our thread. If anything
 * fails, the library reports it to the recorder, if it is connected, and stays quiet for good.
 *
 * fork: the kernel wipes the guard page, so that the child's copy finds itself dead in every
 * callback, handler and at exit. The ring is not mapped in the child. The handler below closes the
 * sockets, or the recorder would think that the instance lives on as long as the child. While the
 * parent forks, our thread is kept out of the API and the loader, for a moment at most: a lock of
 * theirs that is held just then would be held in the child for ever.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/api.h"
#include "inject/library.h"
#include "inject/stack_end.h"
#include "inject/space.h"
#include "inject/stacks.h"
#include "wire/marker.h"

#define FORK_PATIENCE_NS   50000000
#define TABLES_PATIENCE_NS 1000000000ull

struct library library = {.connection.fd = -1, .no_fork = PTHREAD_MUTEX_INITIALIZER};

static __thread bool fork_locked;

static void before_fork(void)
{
	struct timespec until;

	if (!is_alive() || clock_gettime(CLOCK_REALTIME, &until))
		return;
	until.tv_nsec += FORK_PATIENCE_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	fork_locked = !pthread_mutex_timedlock(&library.no_fork, &until);
}

static void after_fork_in_parent(void)
{
	if (fork_locked)
		pthread_mutex_unlock(&library.no_fork);
	fork_locked = false;
}

static void after_fork_in_child(void)
{
	library.guard->alive = library.guard->recording =
		0; /* for kernels that did not wipe the page */
	connection_close(&library.connection);
	library.api->forget();
}

/* A child of vfork that calls exit() shares our memory, the guard page too: it is not our end. */
static void at_exit(void)
{
	if (getpid() != library.pid)
		return;
	if (is_alive())
		collector_finish();
	__atomic_store_n(&library.guard->alive, 0, __ATOMIC_SEQ_CST);
}

void exit_before_others(void)
{
	atexit(at_exit);
}

static int make_guard(void)
{
	long size = sysconf(_SC_PAGESIZE);

	library.guard = mmap(
		NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (library.guard == MAP_FAILED)
		return -errno;
	madvise(library.guard, (size_t)size, MADV_WIPEONFORK);
	return 0;
}

static void go_quiet(enum wire_reason reason)
{
	struct wire_control *control = library.ring.control;

	library.guard->alive = library.guard->recording = 0;
	control->reason = reason;
	__atomic_store_n(&control->state, WIRE_QUIET, __ATOMIC_RELEASE);
	connection_close(&library.connection);
}

/* So that even the first launches can be walked, by us or at the marker. All the code that they go
 * through is mapped by now, most of it for long: its tables are ready or nearly so. */
static void prepare_walking(void)
{
	space_await(now_ns() + TABLES_PATIENCE_NS);
	if (!library.walk)
		return;
	stack_end_of((uintptr_t)__builtin_frame_address(0));
	stack_end_answer();
}

static enum wire_reason start_api(void)
{
	const struct inject_api *api = library.api;
	enum wire_reason reason =
		tables_init() || stacks_init() ? WIRE_REASON_MEMORY : api->start();

	if (reason)
		return reason;
	prepare_walking();
	reason = api->follow_calls();
	if (reason)
		api->leave();
	return reason;
}

/* Everything after the connection; on failure the reason has been reported. */
static bool start_recording(void)
{
	enum wire_reason reason = start_api();

	if (reason) {
		go_quiet(reason);
		return false;
	}
	__atomic_store_n(&library.ring.control->state, WIRE_RUNNING, __ATOMIC_RELEASE);
	if (!collector_start())
		return true;
	library.api->leave();
	go_quiet(WIRE_REASON_MEMORY);
	return false;
}

static void apply_configuration(void *memory, uint32_t slots)
{
	static void (*const markers[LAUNCH_MARKER_KINDS])(uint64_t, uint64_t, uint64_t) = {
		[LAUNCH_MARKER_NOP1] = xpuprof_launch_marker_nop1,
		[LAUNCH_MARKER_NOP5] = xpuprof_launch_marker_nop5,
		[LAUNCH_MARKER_NOP10] = xpuprof_launch_marker_nop10,
	};
	const struct wire_control *control = memory;

	library.ring = ring_at(memory, slots);
	library.instance = control->instance;
	library.pid = getpid();
	library.queue_times = control->queue_times;
	library.walk = control->walk;
	library.syncs = control->syncs;
	library.stalls = (uint8_t)control->stalls;
	library.stall_period = (uint8_t)control->stall_period;
	if (control->marker < LAUNCH_MARKER_KINDS)
		library.marker = markers[control->marker];
}

void inject_begin(const struct inject_api *api)
{
	const char *path = getenv(WIRE_ENV_SOCKET);
	uint32_t slots;
	void *memory;

	if (library.guard || !path || !*path || make_guard())
		return;
	library.api = api;
	if (connection_open(&library.connection, path, &memory, &slots))
		return;
	apply_configuration(memory, slots);
	if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child)) {
		go_quiet(WIRE_REASON_MEMORY);
		return;
	}
	library.guard->alive = 1;
	library.guard->recording = 1;
	if (start_recording())
		atexit(at_exit);
}
