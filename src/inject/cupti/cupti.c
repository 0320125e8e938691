// SPDX-License-Identifier: MIT
/*
 * CUPTI as one of the library's APIs (inject/api.h).
 *
 * CUDA loads the library that $CUDA_INJECTION64_PATH names and calls InitializeInjection, once, in
 * the middle of the program's first CUDA call. CUPTI is found and subscribed to.
 *
 * Into a program that runs already, `xpuprof record -p` puts the library, and calls xpuprof_join in
 * a thread made for it.
 *
 * Once CUPTI has ended itself (health.h) it is not called any more, and everything else goes on.
 *
 * cuptiActivityFlushAll(0) hands over buffers whose records are all finished. By itself, CUPTI only
 * returns full buffers: seldom when the program does nothing, and not at all before its first call.
 */
#include "inject/cupti/cupti.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "inject/api.h"
#include "inject/cupti/armed.h"
#include "inject/cupti/checksums.h"
#include "inject/cupti/claims.h"
#include "inject/cupti/finalize.h"
#include "inject/cupti/health.h"
#include "inject/cupti/probes.h"
#include "inject/cupti/sampling.h"
#include "inject/cupti/stay.h"
#include "guest/hooks.h"
#include "inject/images.h"
#include "inject/library.h"

/* CUPTI's buffers in device memory, of some 3.2 MB for 100,000 pieces of work each, in every
 * context; its own limit of 250 would be most of a gigabyte. */
#define DEVICE_BUFFERS 64

#define CALIBRATIONS  100
#define CLOCK_STEP_NS 100000
#define LAUNCHES_NS   50000000

/* In a program that was joined sampling is switched off in this time; and then, whenever it is
 * tried again. */
#define SAMPLING_END_NS 2000000000ull
#define AGAIN_NS	300000000ull

struct cupti cupti;
struct cuda_driver cuda_driver;

__attribute__((visibility("default"))) int InitializeInjection(void);
void *xpuprof_join_run(int socket);

/* CUPTI's time minus ours, by the best of many triples. */
static void calibrate(struct wire_clock *record, int triples)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < triples; i++) {
		uint64_t theirs, before = now_ns(), after;

		if (!cupti.GetTimestamp || cupti.GetTimestamp(&theirs))
			return;
		after = now_ns();
		if (after - before >= best_ns)
			continue;
		best_ns = after - before;
		record->offset_ns = (int64_t)(theirs - (before + best_ns / 2));
		record->error_ns = (best_ns + 1) / 2;
	}
}

/* CUPTI never forgets whose clock it has: in a program that was joined it keeps its own. */
static bool give_our_clock(void)
{
	return !library.joined && cupti.ActivityRegisterTimestampCallback &&
	       !cupti.ActivityRegisterTimestampCallback(now_ns);
}

static void set_clock(void)
{
	struct wire_clock record = {.type = WIRE_CLOCK, .method = WIRE_CLOCK_OURS};

	if (!give_our_clock()) {
		record.method = WIRE_CLOCK_CALIBRATED;
		calibrate(&record, CALIBRATIONS);
	}
	cupti.clock_offset_ns = record.offset_ns;
	send_slot(&record);
}

/* CUPTI's own clock is that of the day, which somebody may set meanwhile. */
static void follow_clock(void)
{
	struct wire_clock now = {0};

	calibrate(&now, 3);
	if (now.error_ns && llabs(now.offset_ns - cupti.clock_offset_ns) > CLOCK_STEP_NS)
		cupti.clock_offset_ns = now.offset_ns;
}

static void report_cupti(void)
{
	const struct cupti *c = &cupti;
	struct wire_tracer record = {
		.type = WIRE_TRACER,
		.api_version = c->api_version,
		.driver_version = cuda_driver.version,
		.path_size = (uint32_t)strlen(c->path),
	};

	send_long(&record, sizeof(record), c->path, record.path_size);
}

/* Records come on with sampling then. */
static bool samples_first(void)
{
	return library.stalls && library.joined && !library.overhead;
}

static int subscribe_callback(void)
{
	return cupti.Subscribe(&cupti.subscriber, on_callback, NULL);
}

static void unsubscribe(void)
{
	if (cupti.subscriber)
		cupti.Unsubscribe(cupti.subscriber);
	cupti.subscriber = NULL;
	callbacks_are_over();
}

/* Callbacks of all calls are for that alone, and nothing else ends them. */
static int disarm(void)
{
	int result;

	count_all_calls();
	result = sampling_late_disarm();
	if (result || armed_is())
		return result;
	pthread_mutex_lock(&library.no_fork);
	unsubscribe();
	result = subscribe_callback();
	pthread_mutex_unlock(&library.no_fork);
	return result;
}

/* 0 or CUPTI's result. */
static int enable_first_records(void)
{
	int result;

	if (samples_first())
		return 0;
	result = armed_is() ? disarm() : 0;
	if (result || armed_is())
		return result;
	if (library.joined && !health_answers(0))
		return CUPTI_UNKNOWN;
	return enable_records();
}

/* Activity records: 0 or CUPTI's result. */
static int enable_activity(void)
{
	struct cupti *c = &cupti;
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
	c->may_call = true;
	set_clock();
	if (library.queue_times && c->ActivityEnableLatencyTimestamps)
		c->ActivityEnableLatencyTimestamps(1);
	result = enable_first_records();
	if (result)
		return result;
	enable_markers();
	if (library.overhead)
		disable_records(); /* until there is a burst */
	return 0;
}

static bool is_in_use(int result)
{
	return result == CUPTI_MULTIPLE_SUBSCRIBERS || result == CUPTI_MAX_LIMIT_REACHED;
}

static enum wire_reason subscribe(void)
{
	int result;

	if (library.joined)
		armed_give_way();
	result = subscribe_callback();
	if (result)
		return is_in_use(result) ? WIRE_REASON_IN_USE : WIRE_REASON_REFUSED;
	if (library.joined && !health_answers(0)) {
		unsubscribe();
		return WIRE_REASON_REFUSED;
	}
	return WIRE_REASON_NONE;
}

static void give_up_buffers(void)
{
	pthread_mutex_lock(&library.no_fork);
	cupti.may_call = stay_behind() != 0;
	pthread_mutex_unlock(&library.no_fork);
}

static void leave(void)
{
	if (health_has_ended() || sampling_late_is_kept())
		return;
	if (library.joined && cupti.may_call)
		give_up_buffers();
	pthread_mutex_lock(&library.no_fork);
	unsubscribe();
	pthread_mutex_unlock(&library.no_fork);
}

/* The program ran all the time, and sampling is on. */
static bool let_go(void)
{
	if (!sampling_late_is_kept())
		return true;
	sampling_late_leave();
	for (uint64_t end_ns = now_ns() + AGAIN_NS; !sampling_late_end();)
		if (now_ns() > end_ns)
			return false;
	disable_callbacks();
	leave();
	return true;
}

/* CUPTI itself stays: to unload it in a program that goes on is not known to be safe. */
static bool release_all(void)
{
	if (cupti.may_call && !health_has_ended())
		give_up_buffers();
	if (cupti.may_call || sampling_has_abandoned())
		return false;
	buffers_release();
	sampling_free_windows();
	if (cupti.handle && cupti.was_there)
		dlclose(cupti.handle);
	if (cuda_driver.handle)
		dlclose(cuda_driver.handle);
	return true;
}

static enum wire_reason start(void)
{
	enum wire_reason reason;
	int result;

	if (find_cupti(&cupti, &cuda_driver))
		return WIRE_REASON_NO_TRACER;
	report_cupti();
	probes_find();
	finalize_begin();
	reason = buffers_init() ? WIRE_REASON_MEMORY : subscribe();
	if (reason)
		return reason;
	/* CUPTI would never forget whose function it has. */
	if (library.stalls && !library.joined)
		checksums_init();
	result = enable_activity();
	if (!result)
		return WIRE_REASON_NONE;
	leave();
	return is_in_use(result) ? WIRE_REASON_IN_USE : WIRE_REASON_REFUSED;
}

static enum wire_reason follow_calls(void)
{
	if (samples_first()) {
		count_all_calls();
		if (sampling_late_first())
			return WIRE_REASON_REFUSED;
	}
	return enable_callbacks() ? WIRE_REASON_NONE : WIRE_REASON_REFUSED;
}

/* ------------------------------------------------------- our thread */

static void ask_for_records(uint32_t flag)
{
	size_t dropped = 0;
	uint64_t begin_ns;

	if (health_has_ended())
		return;
	pthread_mutex_lock(&library.no_fork);
	begin_ns = now_ns();
	cupti.ActivityFlushAll(flag);
	library.tracer_ns += now_ns() - begin_ns;
	if (!cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped) && dropped)
		count(WIRE_DROPPED_BY_TRACER, dropped);
	pthread_mutex_unlock(&library.no_fork);
}

static void flush(void)
{
	if (library.joined)
		follow_clock();
	ask_for_records(0);
}

static void drain(void)
{
	buffers_drain(convert_buffer);
}

/* Everything that CUPTI has, finished or not. */
static void flush_all(void)
{
	ask_for_records(0);
	drain();
	ask_for_records(CUPTI_FLUSH_FORCED);
	drain();
}

static void switch_to(enum inject_follow what)
{
	switch (what) {
	case FOLLOW_CALLS:
		enable_call_callbacks();
		break;
	case FOLLOW_WORK:
		enable_records();
		break;
	case FOLLOW_NOTHING:
		disable_records();
		disable_call_callbacks();
	}
}

static void follow(enum inject_follow what)
{
	pthread_mutex_lock(&library.no_fork);
	if (health_answers(0))
		switch_to(what);
	pthread_mutex_unlock(&library.no_fork);
}

/* If CUPTI has ended, only what it had handed over before is left to send. */
static void report_end(void)
{
	if (!health_has_ended())
		return;
	drain();
	health_report();
	claims_release_all();
}

static void tick(void)
{
	health_ask_if_due();
	report_end();
	if (!library.stalls)
		return;
	images_send();
	if (library.joined)
		sampling_late_tick();
	sampling_drain_if_due();
}

/* The program goes on meanwhile. */
static void end_sampling(void)
{
	uint64_t end_ns = now_ns() + SAMPLING_END_NS;

	sampling_late_leave();
	while (!sampling_late_end()) {
		if (now_ns() > end_ns) {
			sampling_late_keep();
			return;
		}
		flush();
		drain();
	}
}

static void disable_all(void)
{
	uint64_t begin_ns = now_ns();

	if (!health_answers(0))
		return;
	disable_records();
	disable_markers();
	disable_callbacks();
	library.tracer_ns += now_ns() - begin_ns;
}

/* Where a graph waits to run when records are switched off, and is launched again, CUPTI (13.0)
 * reports its work with the end times of later runs: so what was asked for may run for a while. */
static void stop(void)
{
	struct timespec pause = {.tv_nsec = LAUNCHES_NS};

	health_ask(0);
	if (library.stalls && library.joined)
		end_sampling();
	__atomic_store_n(&library.guard->stopping, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&library.guard->recording, 0, __ATOMIC_SEQ_CST);
	nanosleep(&pause, NULL);
	pthread_mutex_lock(&library.no_fork);
	disable_all();
	__atomic_store_n(&library.guard->stopping, 0, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&library.no_fork);
}

static void finish(bool program_goes_on)
{
	if (!program_goes_on)
		health_ask(0);
	if (library.stalls) {
		if (library.joined)
			sampling_late_give_up();
		sampling_finish(program_goes_on);
		images_finish();
	}
	flush_all();
	report_end();
}

static void discard(void)
{
	ask_for_records(CUPTI_FLUSH_FORCED);
	images_drop();
}

static uint64_t sleep_ns(uint64_t most_ns)
{
	return library.stalls && library.joined ? sampling_late_sleep_ns(most_ns) : most_ns;
}

static const struct inject_api api = {
	.can_join = true,
	.arm = armed_begin,
	.start = start,
	.follow_calls = follow_calls,
	.follow = follow,
	.tick = tick,
	.sleep_ns = sleep_ns,
	.flush = flush,
	.drain = drain,
	.stop = stop,
	.finish = finish,
	.finalize = finalize,
	.discard = discard,
	.leave = leave,
	.let_go = let_go,
	.release = release_all,
	.forget = claims_forget,
};

int InitializeInjection(void)
{
	inject_begin(&api);
	return 1;
}

/* What unloads the library, NULL: it stays (guest/join_entry.h). */
void *xpuprof_join_run(int socket)
{
	return inject_join(&api, socket) ? NULL : hooks_unload();
}
