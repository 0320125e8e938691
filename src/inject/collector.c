// SPDX-License-Identifier: MIT
/*
 * Our own thread. It takes the buffers that CUPTI has filled, fetches those that are not full yet,
 * and watches the recorder.
 *
 *	          +--> sleep, at most a tick ---+
 *	          |                             v
 *	          |        flush, if due; convert what is complete
 *	          |                             |
 *	          +---- nothing special <-------+--> the process ends: flush all, DONE, end
 *	                                        +--> stop: disable, flush all, DONE, end
 *	                                        +--> the recorder is gone: disable, end
 *
 * Once CUPTI has ended itself (health.h) it is not called any more, and all else goes on.
 *
 * cuptiActivityFlushAll(0) hands over buffers whose records are all finished. It is called at short
 * intervals while the ring moves, since CUPTI by itself only gives back full buffers, seldom when the
 * program does nothing, and not at all before its first call: we are started in the middle of cuInit,
 * which may go on for long.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/cupti/claims.h"
#include "inject/cupti/health.h"
#include "inject/cupti/images.h"
#include "inject/library.h"
#include "inject/own_stack.h"
#include "inject/cupti/sampling.h"
#include "inject/space.h"

#define TICK_NS	    100000000ull
#define IDLE_NS	    1000000000ull
#define ROOM_NS	    1000000000ull /* patience with a full ring */
#define FINISH_NS   5000000000ull /* patience of the ending process with us */
#define STACK_BYTES (1u << 20)

static struct {
	uint64_t flushed_ns;
	uint64_t moved_ns; /* when the ring was last seen to move */
	uint64_t head;
	bool has_moved; /* the program has called CUDA since we began */
	bool gave_up; /* waited for room in vain; not again until there was some */
} collector;

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

static void ask_for_records(uint32_t flag)
{
	size_t dropped = 0;

	if (health_has_ended())
		return;
	pthread_mutex_lock(&library.no_fork);
	library.cupti.ActivityFlushAll(flag);
	if (!library.cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped) && dropped)
		count(WIRE_DROPPED_BY_TRACER, dropped);
	pthread_mutex_unlock(&library.no_fork);
}

static void flush(uint32_t flag)
{
	ask_for_records(flag);
	buffers_drain(convert_buffer);
	collector.flushed_ns = now_ns();
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
	if (now - collector.flushed_ns >= (now - collector.moved_ns < IDLE_NS ? TICK_NS : IDLE_NS))
		flush(0);
}

static void stop_recording(void)
{
	bool works = health_ask(0);

	pthread_mutex_lock(&library.no_fork);
	if (works)
		disable_records();
	__atomic_store_n(&library.guard->recording, 0, __ATOMIC_SEQ_CST);
	if (works)
		enable_callbacks(false);
	pthread_mutex_unlock(&library.no_fork);
}

/* Everything that CUPTI has, finished or not. */
static void flush_all(void)
{
	flush(0);
	flush(CUPTI_FLUSH_FORCED);
}

/* The same of samples of instructions. */
static void finish_sampling(bool program_goes_on)
{
	if (!library.stalls)
		return;
	sampling_finish(program_goes_on);
	images_finish();
}

/* Where CUPTI has ended, what it had handed over before that is all there is. */
static void tell_of_end(void)
{
	if (!health_has_ended())
		return;
	buffers_drain(convert_buffer);
	health_tell();
	claims_drop_all();
}

static void say_done(void)
{
	tell_of_end();
	__atomic_store_n(&library.guard->recording, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&library.ring.control->state, WIRE_DONE, __ATOMIC_RELEASE);
	connection_hurry(&library.connection);
}

/* From here on we are dead; CUPTI is free for others. */
static void leave_program(void)
{
	__atomic_store_n(&library.guard->alive, 0, __ATOMIC_SEQ_CST);
	if (!health_has_ended()) {
		pthread_mutex_lock(&library.no_fork);
		library.cupti.Unsubscribe(library.cupti.subscriber);
		pthread_mutex_unlock(&library.no_fork);
	}
	connection_close(&library.connection);
}

/* The program goes on without us. */
static void stop(void)
{
	stop_recording();
	finish_sampling(true);
	flush_all();
	say_done();
	leave_program();
}

/* So it does when nobody reads us any more. */
static void abandon(void)
{
	stop_recording();
	ask_for_records(CUPTI_FLUSH_FORCED);
	images_drop();
	leave_program();
}

/* False when the thread is to end. */
static bool work_on(void)
{
	if (__atomic_load_n(&library.finish, __ATOMIC_SEQ_CST)) {
		health_ask(0);
		finish_sampling(false);
		flush_all();
		say_done();
		return false;
	}
	if (__atomic_load_n(&library.ring.control->command, __ATOMIC_SEQ_CST) ==
		WIRE_COMMAND_STOP) {
		stop();
		return false;
	}
	if (connection_lost(&library.connection)) {
		abandon();
		return false;
	}
	library.ring.control->echo =
		__atomic_load_n(&library.ring.control->heartbeat, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&library.news, 0, __ATOMIC_SEQ_CST))
		connection_hurry(&library.connection);
	space_update();
	space_watch();
	own_stack_answer();
	health_ask_if_due();
	tell_of_end();
	if (library.stalls) {
		images_send();
		sampling_drain_if_due();
	}
	flush_if_due();
	buffers_drain(convert_buffer);
	return true;
}

/* At once: until it is known whose waits these are they count as the program's. */
static void introduce_thread(void)
{
	struct wire_thread record = {.type = WIRE_THREAD, .tid = (uint32_t)syscall(SYS_gettid)};

	send_slot(&record);
	connection_hurry(&library.connection);
}

static void *collector_main(void *context)
{
	pthread_setname_np(pthread_self(), "xpuprof");
	introduce_thread();
	collector.flushed_ns = collector.moved_ns = now_ns();
	do
		collector_sleep(TICK_NS);
	while (work_on());
	__atomic_store_n(&library.finished, 1, __ATOMIC_SEQ_CST);
	futex_wake(&library.finished);
	return NULL;
}

int collector_start(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int error;

	collector.head = __atomic_load_n(&library.ring.control->head, __ATOMIC_RELAXED);
	error = pthread_attr_init(&attributes);
	if (error)
		return -error;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attributes, collector_main, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}

void collector_finish(void)
{
	uint64_t deadline_ns = now_ns() + FINISH_NS;

	__atomic_store_n(&library.finish, 1, __ATOMIC_SEQ_CST);
	collector_wake();
	while (!__atomic_load_n(&library.finished, __ATOMIC_SEQ_CST) && now_ns() < deadline_ns)
		futex_wait(&library.finished, 0, deadline_ns - now_ns());
}
