// SPDX-License-Identifier: MIT
/*
 * Our own thread. It sends the work that the API has handed over, asks the API for work that has
 * finished since, and watches the recorder.
 *
 *	          +--> sleep, at most a tick ---+
 *	          |                             v
 *	          |          begin or end a burst, if due (bursts.h)
 *	          |          flush, if due; drain what is complete
 *	          |                             |
 *	          +---- nothing special <-------+--> the process ends: finish, DONE, end
 *	                                        +--> stop: stop, finish, DONE, leave, end
 *	                                        +--> it costs too much: so too, QUIET instead of DONE
 *	                                        +--> the recorder is gone: stop, discard, leave, end
 *
 * The API is asked at short intervals while the ring moves, and not at all until the program calls
 * it again: we are started in the middle of a call, which may go on for long.
 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/apis.h"
#include "inject/bursts.h"
#include "inject/library.h"
#include "guest/own_thread.h"
#include "inject/stack_end.h"
#include "inject/space.h"

#define TICK_NS	  100000000ull
#define IDLE_NS	  1000000000ull
#define ROOM_NS	  1000000000ull /* patience with a full ring */
#define FINISH_NS 5000000000ull /* patience of the ending process with us */

static struct {
	uint64_t flushed_ns;
	uint64_t moved_ns; /* when the ring was last seen to move */
	uint64_t head;
	uint32_t sleeping; /* our thread is, or is about to be */
	uint32_t has_work; /* since it drained last */
	bool has_moved;	   /* the program has called the API since we began */
	bool gave_up;	   /* waited for room in vain; not again until there was some */
} collector;

void collector_wake(void)
{
	__atomic_fetch_add(&library.ring.control->wake, 1, __ATOMIC_SEQ_CST);
	futex_wake(&library.ring.control->wake);
}

void collector_has_work(void)
{
	__atomic_store_n(&collector.has_work, 1, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&collector.sleeping, 0, __ATOMIC_SEQ_CST))
		collector_wake();
}

static bool may_sleep(void)
{
	return !__atomic_load_n(&collector.has_work, __ATOMIC_SEQ_CST) && !space_is_stale() &&
	       !__atomic_load_n(&library.news, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&library.finish, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&library.ring.control->command, __ATOMIC_SEQ_CST);
}

/* Until work has come, another thread wakes us, or timeout_ns have passed. */
static void sleep_until_needed(uint64_t timeout_ns)
{
	uint32_t *wake = &library.ring.control->wake;
	uint32_t seen = __atomic_load_n(wake, __ATOMIC_SEQ_CST);

	__atomic_store_n(&collector.sleeping, 1, __ATOMIC_SEQ_CST);
	if (may_sleep())
		futex_wait(wake, seen, timeout_ns);
	__atomic_store_n(&collector.sleeping, 0, __ATOMIC_SEQ_CST);
}

/* The recorder is slow or gone: false once waiting has no point. */
static bool wait_for_room(uint64_t *since_ns)
{
	struct timespec pause = {.tv_nsec = 200000};
	uint64_t now = now_ns();

	if (collector.gave_up || connection_lost(&library.connection))
		return false;
	if (!*since_ns)
		*since_ns = now;
	if (now - *since_ns > ROOM_NS) {
		collector.gave_up = true;
		return false;
	}
	connection_hurry(&library.connection);
	nanosleep(&pause, NULL);
	return true;
}

bool send_slot(const void *payload)
{
	uint64_t since_ns = 0;

	while (!ring_put(&library.ring, payload))
		if (!wait_for_room(&since_ns))
			return false;
	collector.gave_up = false;
	return true;
}

bool send_long(const void *head, size_t head_size, const void *body, size_t body_size)
{
	uint64_t since_ns = 0;

	while (!ring_put_long(&library.ring, head, head_size, body, body_size))
		if (!wait_for_room(&since_ns))
			return false;
	collector.gave_up = false;
	return true;
}

static void flush_if_due(void)
{
	uint64_t now = now_ns();
	uint64_t head = __atomic_load_n(&library.ring.control->head, __ATOMIC_RELAXED);

	if (head != collector.head) {
		collector.head = head;
		collector.moved_ns = now;
		collector.has_moved = true;
	}
	if (!collector.has_moved)
		return;
	if (now - collector.flushed_ns < (now - collector.moved_ns < IDLE_NS ? TICK_NS : IDLE_NS))
		return;
	apis_flush();
	collector.flushed_ns = now_ns();
}

static void report_end(enum wire_state state)
{
	__atomic_store_n(&library.guard->recording, 0, __ATOMIC_SEQ_CST);
	sent_report();
	__atomic_store_n(&library.ring.control->state, state, __ATOMIC_RELEASE);
	connection_hurry(&library.connection);
}

/* From here on we are dead. */
static void leave_program(void)
{
	__atomic_store_n(&library.leaving, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&library.guard->alive, 0, __ATOMIC_SEQ_CST);
	apis_leave();
	__atomic_store_n(&library.leaving, 0, __ATOMIC_SEQ_CST);
	connection_close(&library.connection);
}

/* The process ends. */
static void finish(void)
{
	bursts_end();
	apis_finish(false);
	report_end(WIRE_DONE);
}

static uint32_t as_us(uint64_t ns)
{
	return ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000) + 1 : UINT32_MAX;
}

/* The program goes on without us. */
static void stop(enum wire_state state)
{
	uint64_t begin_ns = now_ns();

	library.tracer_ns = 0;
	bursts_end();
	apis_stop();
	apis_finish(true);
	if (library.finalize)
		library.ring.control->finalized = apis_finalize();
	library.ring.control->stop_us = as_us(now_ns() - begin_ns);
	library.ring.control->stop_tracer_us = as_us(library.tracer_ns);
	report_end(state);
	leave_program();
}

/* The budget cannot be held. */
static void give_up(void)
{
	library.ring.control->reason = WIRE_REASON_OVERHEAD;
	stop(WIRE_QUIET);
}

/* The program goes on, and nobody reads us any more. */
static void abandon(void)
{
	apis_stop();
	apis_discard();
	leave_program();
}

/* What is handed over from now on is work again. */
static void drain(void)
{
	__atomic_store_n(&collector.has_work, 0, __ATOMIC_SEQ_CST);
	apis_drain();
}

/* False when the thread is to end. */
static bool work_on(void)
{
	if (__atomic_load_n(&library.finish, __ATOMIC_SEQ_CST)) {
		finish();
		return false;
	}
	if (__atomic_load_n(&library.ring.control->command, __ATOMIC_SEQ_CST) ==
		WIRE_COMMAND_STOP) {
		stop(WIRE_DONE);
		return false;
	}
	if (connection_lost(&library.connection)) {
		abandon();
		return false;
	}
	if (!bursts_round()) {
		give_up();
		return false;
	}
	library.ring.control->echo =
		__atomic_load_n(&library.ring.control->heartbeat, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&library.news, 0, __ATOMIC_SEQ_CST))
		connection_hurry(&library.connection);
	space_update();
	space_watch();
	sent_watch();
	stack_end_answer();
	apis_tick();
	flush_if_due();
	drain();
	return true;
}

/* At once: until the recorder can identify our waits, they count as the program's. */
static void introduce_thread(void)
{
	struct wire_thread record = {.type = WIRE_THREAD, .tid = (uint32_t)syscall(SYS_gettid)};

	send_slot(&record);
	connection_hurry(&library.connection);
}

void collector_is_over(void)
{
	__atomic_store_n(&library.finished, 1, __ATOMIC_SEQ_CST);
	futex_wake(&library.finished);
}

void collector_run(void)
{
	pthread_setname_np(pthread_self(), "xpuprof");
	collector.head = __atomic_load_n(&library.ring.control->head, __ATOMIC_RELAXED);
	introduce_thread();
	collector.flushed_ns = collector.moved_ns = now_ns();
	bursts_begin();
	do
		sleep_until_needed(apis_sleep_ns(bursts_sleep_ns(TICK_NS)));
	while (work_on());
	collector_is_over();
}

static void *collector_main(void *context)
{
	collector_run();
	return NULL;
}

int collector_start(void)
{
	return own_thread_start(collector_main, NULL);
}

void collector_finish(void)
{
	uint64_t deadline_ns = now_ns() + FINISH_NS;

	__atomic_store_n(&library.finish, 1, __ATOMIC_SEQ_CST);
	collector_wake();
	while (!__atomic_load_n(&library.finished, __ATOMIC_SEQ_CST) && now_ns() < deadline_ns)
		futex_wait(&library.finished, 0, deadline_ns - now_ns());
}
