// SPDX-License-Identifier: MIT
/*
 * The injected library's life.
 *
 * CUDA loads the library that $CUDA_INJECTION64_PATH names and calls InitializeInjection, once, in
 * the middle of the program's first CUDA call. Without a recorder nothing happens at all. With one,
 * CUPTI is found, subscribed to, and our thread started. Whatever fails is told to the recorder if
 * there is a connection, and the library stays quiet for good.
 *
 * fork: the guard page is wiped by the kernel, so that the child's copy finds itself dead in every
 * callback, handler and at exit; the ring is not mapped there; the sockets are closed by the handler
 * below (the recorder would else think that the instance lives on as long as the child). While the
 * parent forks our thread is kept out of CUPTI and the loader, for a moment at most: a lock of theirs
 * that is held just then would be held in the child for ever.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/cupti/claims.h"
#include "inject/cupti/health.h"
#include "inject/cupti/images.h"
#include "inject/library.h"
#include "wire/marker.h"
#include "inject/own_stack.h"
#include "inject/space.h"
#include "inject/stacks.h"

/* CUPTI's buffers in device memory, of some 3.2 MB for 100,000 pieces of work each, in every
 * context; its own limit of 250 would be most of a gigabyte. */
#define DEVICE_BUFFERS	 64
#define FORK_PATIENCE_NS 50000000
#define TABLES_PATIENCE_NS 1000000000ull

struct library library = {.connection.fd = -1, .no_fork = PTHREAD_MUTEX_INITIALIZER};

static __thread bool fork_locked;

__attribute__((visibility("default"))) int InitializeInjection(void);

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
	claims_forget();
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

/* CUPTI's time minus ours, by the best of many triples. */
static void calibrate(struct wire_clock *record)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		uint64_t cupti, before = now_ns(), after;

		if (!library.cupti.GetTimestamp || library.cupti.GetTimestamp(&cupti))
			return;
		after = now_ns();
		if (after - before >= best_ns)
			continue;
		best_ns = after - before;
		record->offset_ns = (int64_t)(cupti - (before + best_ns / 2));
		record->error_ns = (best_ns + 1) / 2;
	}
}

static void set_clock(void)
{
	struct wire_clock record = {.type = WIRE_CLOCK, .method = WIRE_CLOCK_OURS};
	struct cupti *c = &library.cupti;

	if (!c->ActivityRegisterTimestampCallback || c->ActivityRegisterTimestampCallback(now_ns)) {
		record.method = WIRE_CLOCK_CALIBRATED;
		calibrate(&record);
	}
	library.clock_offset_ns = record.offset_ns;
	send_slot(&record);
}

static void tell_cupti(void)
{
	const struct cupti *c = &library.cupti;
	struct wire_tracer record = {
		.type = WIRE_TRACER,
		.api_version = c->api_version,
		.driver_version = library.driver.version,
		.path_size = (uint32_t)strlen(c->path),
	};

	send_long(&record, sizeof(record), c->path, record.path_size);
}

/* Activity records: 0 or CUPTI's result. */
static int enable_activity(void)
{
	struct cupti *c = &library.cupti;
	size_t pool = DEVICE_BUFFERS, pool_size = sizeof(pool), zeroed_size = 1;
	uint8_t zeroed = 1;
	int result;

	if (c->ActivitySetAttribute) {
		c->ActivitySetAttribute(
			CUPTI_ATTRIBUTE_DEVICE_BUFFER_POOL_LIMIT, &pool_size, &pool);
		c->ActivitySetAttribute(CUPTI_ATTRIBUTE_ZEROED_OUT_BUFFER, &zeroed_size, &zeroed);
	}
	result = c->ActivityRegisterCallbacks(buffer_requested, buffer_completed);
	if (result)
		return result;
	set_clock();
	if (library.queue_times && c->ActivityEnableLatencyTimestamps)
		c->ActivityEnableLatencyTimestamps(1);
	return enable_records();
}

static bool is_taken(int result)
{
	return result == CUPTI_MULTIPLE_SUBSCRIBERS || result == CUPTI_MAX_LIMIT_REACHED;
}

/* So that already the first launches can be walked, by us or at the marker. All that they go through is mapped by
 * now, and most of it was long before: its tables are there or nearly there. */
static void prepare_walking(void)
{
	space_await(now_ns() + TABLES_PATIENCE_NS);
	if (!library.walk)
		return;
	own_stack_end((uintptr_t)__builtin_frame_address(0));
	own_stack_answer();
}

/* Everything after the connection; on failure the reason has been told. */
static bool start_recording(void)
{
	struct cupti *c = &library.cupti;
	int result;

	if (find_cupti(c, &library.driver)) {
		go_quiet(WIRE_REASON_NO_TRACER);
		return false;
	}
	tell_cupti();
	if (buffers_init() || tables_init() || stacks_init()) {
		go_quiet(WIRE_REASON_MEMORY);
		return false;
	}
	result = c->Subscribe(&c->subscriber, on_callback, NULL);
	if (result) {
		go_quiet(is_taken(result) ? WIRE_REASON_TAKEN : WIRE_REASON_REFUSED);
		return false;
	}
	__atomic_store_n(&library.ring.control->state, WIRE_RUNNING, __ATOMIC_RELEASE);
	if (library.stalls)
		images_init();
	result = enable_activity();
	prepare_walking();
	if (result || !enable_callbacks(true) || collector_start()) {
		c->Unsubscribe(c->subscriber);
		go_quiet(WIRE_REASON_REFUSED);
		return false;
	}
	return true;
}

static void take_configuration(void *memory, uint32_t slots)
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

int InitializeInjection(void)
{
	const char *path = getenv(WIRE_ENV_SOCKET);
	uint32_t slots;
	void *memory;

	if (library.guard || !path || !*path || make_guard())
		return 1;
	if (connection_open(&library.connection, path, &memory, &slots))
		return 1;
	take_configuration(memory, slots);
	if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child)) {
		go_quiet(WIRE_REASON_MEMORY);
		return 1;
	}
	library.guard->alive = 1;
	library.guard->recording = 1;
	if (start_recording())
		atexit(at_exit);
	return 1;
}
