// SPDX-License-Identifier: MIT
/*
 * The injected library's life.
 *
 * An API's entry point calls inject_begin, once, in the middle of the program's first call, or
 * inject_join in a program that runs already and goes on when the recording is over. Without
 * a recorder nothing happens at all. With one, the API is started, and our thread. If anything
 * fails, the library reports it to the recorder, if it is connected, and stays quiet for good.
 *
 * fork: the kernel wipes the guard page, so that the child's copy finds itself dead in every
 * callback, handler and at exit. The ring is not mapped in the child. The handler below closes the
 * sockets, or the recorder would think that the instance lives on as long as the child. While the
 * parent forks, our thread is kept out of the API and the loader, for a moment at most: a lock of
 * theirs that is held just then would be held in the child for ever.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/apis.h"
#include "inject/asked.h"
#include "inject/door.h"
#include "guest/hooks.h"
#include "inject/leave.h"
#include "inject/library.h"
#include "inject/stack_end.h"
#include "inject/space.h"
#include "inject/stacks.h"
#include "wire/marker.h"

#define FORK_PATIENCE_NS   50000000
#define TABLES_PATIENCE_NS 1000000000ull
#define LEAVE_PATIENCE_NS  5000000000ull
#define EXIT_PATIENCE_NS   1000000000ull
#define EXIT_PAUSE_NS	   1000000
#define AGAIN_PATIENCE_NS  50000000ull /* with what has not left so far */
#define AGAIN_MIN_NS	   1000000000ull
#define AGAIN_MAX_NS	   60000000000ull

struct library library = {.connection.socket.fd = -1, .no_fork = PTHREAD_MUTEX_INITIALIZER};

static __thread bool fork_locked;

void fork_begins(void)
{
	struct timespec until;

	if (clock_gettime(CLOCK_REALTIME, &until))
		return;
	until.tv_nsec += FORK_PATIENCE_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	fork_locked = !pthread_mutex_timedlock(&library.no_fork, &until);
}

void fork_has_ended(void)
{
	if (fork_locked)
		pthread_mutex_unlock(&library.no_fork);
	fork_locked = false;
}

static void before_fork(void)
{
	if (library.guard && is_alive())
		fork_begins();
}

static void after_fork_in_child(void)
{
	if (!library.guard)
		return;
	library.guard->alive = library.guard->recording =
		0; /* for kernels that did not wipe the page */
	connection_close(&library.connection);
	apis_forget();
}

/* The API's own end is not to meet our thread in there. */
static void await_leaving(void)
{
	struct timespec pause = {.tv_nsec = EXIT_PAUSE_NS};
	uint64_t end_ns = now_ns() + EXIT_PATIENCE_NS;

	__atomic_store_n(&library.finish, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&library.leaving, __ATOMIC_SEQ_CST) && now_ns() < end_ns)
		nanosleep(&pause, NULL);
}

/* A child of vfork that calls exit() shares our memory, the guard page too: it is not our end. */
static void at_exit(void)
{
	if (!library.guard || getpid() != library.pid)
		return;
	if (is_alive())
		collector_finish();
	else
		await_leaving();
	__atomic_store_n(&library.guard->alive, 0, __ATOMIC_SEQ_CST);
}

void exit_before_others(void)
{
	(void)hooks_add_exit();
}

int guard_make(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page;

	if (library.guard)
		return 0;
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -errno;
	madvise(page, size, MADV_WIPEONFORK);
	library.guard = page;
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

static enum wire_reason start_api(const struct inject_api *api)
{
	enum wire_reason reason = api->start();

	if (reason)
		return reason;
	if (!api->only_says)
		prepare_walking();
	reason = api->follow_calls();
	if (reason)
		api->leave();
	else
		apis_add(api);
	return reason;
}

static bool make_tables(void)
{
	return !tables_init() && !stacks_init() && (!library.overhead || !asked_init());
}

/* On failure the reason has been reported. */
static bool begin_running(const struct inject_api *api)
{
	enum wire_reason reason = make_tables() ? start_api(api) : WIRE_REASON_MEMORY;

	if (reason) {
		go_quiet(reason);
		return false;
	}
	/* All kinds of calls at once: one of a thread is not to be seen before another's. */
	__atomic_store_n(&library.guard->recording, !library.overhead, __ATOMIC_SEQ_CST);
	__atomic_store_n(&library.ring.control->state, WIRE_RUNNING, __ATOMIC_RELEASE);
	return true;
}

static bool is_running(void)
{
	return __atomic_load_n(&library.ring.control->state, __ATOMIC_ACQUIRE) == WIRE_RUNNING;
}

/* Everything after the connection. */
static bool start_recording(const struct inject_api *api)
{
	if (!begin_running(api))
		return false;
	if (!collector_start())
		return true;
	apis_leave();
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
	library.overhead = control->overhead;
	library.times_one_in = control->times_one_in;
	library.finalize = control->finalize;
	library.markers = control->markers;
	library.stalls = (uint8_t)control->stalls;
	library.stall_period = (uint8_t)control->stall_period;
	if (control->marker < LAUNCH_MARKER_KINDS)
		library.marker = markers[control->marker];
}

/* False: it has been reported. */
static bool come_alive(void *memory, uint32_t slots)
{
	static const struct hooks hooks = {
		before_fork, fork_has_ended, after_fork_in_child, at_exit};

	apply_configuration(memory, slots);
	if (hooks_add(&hooks, library.joined)) {
		go_quiet(WIRE_REASON_MEMORY);
		return false;
	}
	library.guard->alive = 1;
	return true;
}

/* The library of a program that was started with it is never unloaded: nobody waits for our thread
 * and for callbacks. */
static void stay_loaded(void)
{
	Dl_info info;

	if (dladdr(&library, &info) && info.dli_fname)
		(void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* False: there is no recorder. */
static bool begin_with_recorder(const struct inject_api *api)
{
	const char *path = getenv(WIRE_ENV_SOCKET);
	uint32_t slots;
	void *memory;

	if (!path || !*path || guard_make())
		return false;
	if (connection_open(&library.connection, path, &memory, &slots))
		return false;
	if (come_alive(memory, slots) && start_recording(api))
		exit_before_others();
	return true;
}

static void await_recorder(const struct inject_api *api)
{
	library.has_door = true;
	door_keep();
	if (api->arm)
		api->arm();
}

static void begin_first(const struct inject_api *api)
{
	library.begun = getpid();
	stay_loaded();
	if (!begin_with_recorder(api) && api->can_join)
		await_recorder(api);
}

/* Beside one that has connected. If it fails, that is reported, and the others go on. Without a
 * recorder, it may be the first one that can be recorded later. */
static void begin_another(const struct inject_api *api)
{
	enum wire_reason reason;

	if (library.guard && is_alive() && is_running()) {
		reason = start_api(api);
		if (reason)
			library.ring.control->reason = reason;
	} else if (!library.ring.control && api->can_join && !library.has_door) {
		await_recorder(api);
	}
}

/* Which API is to begin later, and in which process that was said. */
static const struct inject_api *later;
static pid_t later_pid;

static void begin_later(void)
{
	const struct inject_api *api = __atomic_exchange_n(&later, NULL, __ATOMIC_SEQ_CST);

	if (api && !apis_has(api))
		begin_another(api);
}

/* A forked child has nothing to say. */
static void say_at_exit(void *context)
{
	const struct inject_api *api = __atomic_load_n(&later, __ATOMIC_SEQ_CST);

	if (api && getpid() == later_pid)
		inject_begin(api);
}

void inject_begin_later(const struct inject_api *api)
{
	__atomic_store_n(&later, api, __ATOMIC_SEQ_CST);
	if (!api)
		return;
	if (!__atomic_exchange_n(&later_pid, getpid(), __ATOMIC_SEQ_CST))
		(void)hooks_add_last(say_at_exit);
	if (library.guard && is_alive())
		inject_begin(api);
}

/* A forked child is dead, and a thread that its parent had then may have been in here. */
bool inject_begin(const struct inject_api *api)
{
	static pthread_mutex_t beginning = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	pid_t begun = __atomic_load_n(&library.begun, __ATOMIC_SEQ_CST);
	bool begins;

	if (begun && begun != getpid())
		return false;
	pthread_mutex_lock(&beginning);
	if (!library.begun)
		begin_first(api);
	else if (!apis_has(api))
		begin_another(api);
	if (library.guard && is_alive())
		begin_later();
	begins = apis_has(api) && is_alive();
	pthread_mutex_unlock(&beginning);
	return begins;
}

/* Nothing of the program's is handled in our thread. */
static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static void release_guard(void)
{
	struct guard *guard = library.guard;

	__atomic_store_n(&library.guard, NULL, __ATOMIC_SEQ_CST);
	munmap(guard, (size_t)sysconf(_SC_PAGESIZE));
}

/* When the process ends, its exit handlers wait for us. */
static bool is_ending(void)
{
	return __atomic_load_n(&library.finish, __ATOMIC_SEQ_CST);
}

/* The API of a program that was joined, whether or not it could be started. */
static const struct inject_api *joined_api;

static bool let_go(void)
{
	bool gone;

	__atomic_store_n(&library.leaving, 1, __ATOMIC_SEQ_CST);
	gone = !is_ending() && (!joined_api->let_go || joined_api->let_go());
	__atomic_store_n(&library.leaving, 0, __ATOMIC_SEQ_CST);
	return gone;
}

/* False while something may still run in the library's code, or come back to it. Who was about to
 * begin a call that waits, as we let go, is seen there the second time. */
static bool release_all(uint64_t patience_ns)
{
	if (!let_go() || !leave_await(patience_ns) || !let_go() || !hooks_remove() ||
		!joined_api->release())
		return false;
	stacks_release();
	tables_release();
	asked_release();
	connection_release_ring();
	release_guard();
	return true;
}

/* Sleeps, and tries again now and then, and after each that was let in meanwhile. False: it
 * cannot leave any more. */
static bool leave_by_and_by(void)
{
	uint64_t pause_ns = AGAIN_MIN_NS;
	struct door door;

	if (is_ending() || door_open(&door, DOOR_OF_COPY))
		return false;
	while (!is_ending()) {
		if (door_sleep(&door, pause_ns))
			pause_ns = AGAIN_MIN_NS;
		else if (pause_ns < AGAIN_MAX_NS)
			pause_ns *= 2;
		if (!release_all(AGAIN_PATIENCE_NS))
			continue;
		door_close(&door);
		return true;
	}
	return false;
}

int inject_join(const struct inject_api *api, int socket)
{
	uint32_t slots;
	void *memory;

	block_signals();
	if (library.guard || guard_make()) {
		close(socket);
		return 1;
	}
	joined_api = api;
	library.joined = true;
	if (connection_open_pair(&library.connection, socket, &memory, &slots)) {
		release_guard();
		return 0;
	}
	if (come_alive(memory, slots)) {
		exit_before_others();
		if (begin_running(api))
			collector_run();
		else
			collector_is_over();
	}
	return release_all(LEAVE_PATIENCE_NS) || leave_by_and_by() ? 0 : 1;
}
