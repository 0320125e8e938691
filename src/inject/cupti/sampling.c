// SPDX-License-Identifier: MIT
/*
 * Instructions are sampled by context:
 *
 *	program's thread                         our thread
 *	context created: enable, configure
 *	                                         every tick: GetData until nothing remains -> a window
 *	                                                                 and its rows, into the ring
 *	context ends: GetData, disable, the rest
 *	                                         the process ends, or we stop: the same, until
 *	                                         nothing comes any more
 *
 * A device can be sampled in one context at a time (claims.h); the others are refused.
 *
 * Sampling must be switched on where the context is made, before it has modules: without control of
 * start and stop CUPTI samples no instructions of modules that were loaded earlier. Switched on or
 * off by a thread while another launches, CUPTI (13.0 on an H200) hangs for good. So both are only
 * done where the program makes or destroys a context, with launches held for those 100 ms
 * (launches_hold). At the end of the process or of the recording sampling stays on. Fetching may be
 * done beside launches.
 *
 * Samples come late: the GPU leaves them in memory, CUPTI's threads look there every
 * SAMPLING_SLEEP_MS, and two or three of each multiprocessor stay behind until sampling is switched
 * off. So the stretch of time that a window covers ends a little before it is fetched.
 *
 * Locks. Whoever asks CUPTI about a context holds the lock of the context's slot. CUPTI and the
 * driver have locks of their own. The program's thread may hold those when it calls us back, while
 * our thread waits for them with the slot's lock held. So the program's thread waits for the slot's
 * lock only so long, and then leaves the context to CUPTI and our thread to itself. Our thread only
 * ever tries a slot's lock.
 */
#include "inject/cupti/sampling.h"

#include "inject/cupti/claims.h"
#include "inject/cupti/cupti.h"
#include "inject/cupti/health.h"
#include "inject/cupti/sampling_slot.h"
#include "inject/launches.h"
#include "inject/library.h"

#define CONTEXTS	 64u
#define ROUNDS		 64 /* at most, at a tick */
#define TICK_NS		 100000000ull
#define RING_PATIENCE_NS 200000000ull /* of the program's thread with a full ring */
#define LATENCY_NS	 10000000ull  /* of samples: 5 to 20 ms */
#define STOP_NS		 30000000ull
#define FINISH_NS	 300000000ull
/* Samples that come faster than CUPTI hands over pile up in its memory; what is left comes in
 * heaps. */
#define FINISH_FAST_NS 4000000000ull
/* So often nothing came, with half of SAMPLING_SLEEP_MS between: then nothing will. Time is no
 * measure: to fetch may take more than a second while CUPTI decodes. */
#define QUIET	   6
#define QUIET_FAST 100

static struct {
	struct sampling_slot slots[CONTEXTS];
	uint64_t drained_ns;
	uint32_t exits;	   /* enum exit_time: when our exit handler was registered again */
	uint32_t refusals; /* bits: kinds that were reported */
} sampling = {
	.slots = {[0 ... CONTEXTS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}},
};

enum sampling_state sampling_state_of(const struct sampling_slot *p)
{
	return __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
}

void sampling_set_state(struct sampling_slot *p, enum sampling_state state)
{
	__atomic_store_n(&p->state, state, __ATOMIC_RELEASE);
}

/* ---- refusals ---- */

unsigned int sampling_refusal_of(int result)
{
	switch (result) {
	case CUPTI_RIGHTS:
	case CUPTI_VIRTUAL_DEVICE_RIGHTS:
		return WIRE_STALLS_RIGHTS;
	case CUPTI_HARDWARE_BUSY:
	case CUPTI_OTHER_PROFILER:
	case CUPTI_INVALID_OPERATION: /* it is on already */
		return WIRE_STALLS_BUSY;
	case CUPTI_OUT_OF_MEMORY:
		return WIRE_STALLS_MEMORY;
	case CUPTI_NOT_SUPPORTED:
	case CUPTI_VIRTUAL_DEVICE:
	case CUPTI_LEGACY_DEVICE:
		return WIRE_STALLS_DEVICE;
	default:
		return result >= CUPTI_CONFIDENTIAL && result <= CUPTI_WSL_DEVICE
			       ? WIRE_STALLS_DEVICE
			       : WIRE_STALLS_OTHER;
	}
}

static bool came_too_fast(unsigned int refusal)
{
	return refusal == WIRE_STALLS_OVERRUN || refusal == WIRE_STALLS_UNFETCHED;
}

/* Once for each kind of refusal. */
void sampling_report_holder(const struct sampling_slot *p, unsigned int refusal, int result,
	const struct claim_holder *holder)
{
	struct wire_stalls_refused record = {
		.type = WIRE_STALLS_REFUSED,
		.refusal = (uint8_t)refusal,
		.period = came_too_fast(refusal) ? p->safe_period : 0,
		.device = p->device,
		.context = p->id,
		.result = result,
		.holder_pid = holder->pid,
		.holder_uid = holder->uid,
	};
	uint32_t bit = 1u << refusal;

	if (__atomic_fetch_or(&sampling.refusals, bit, __ATOMIC_RELAXED) & bit)
		return;
	if (!sampling_put_patiently(&record, sizeof(record), NULL, 0, now_ns() + RING_PATIENCE_NS))
		__atomic_fetch_and(&sampling.refusals, ~bit, __ATOMIC_RELAXED);
}

void sampling_report_refusal(const struct sampling_slot *p, unsigned int refusal, int result)
{
	sampling_report_holder(p, refusal, result, &(struct claim_holder){0});
}

void sampling_release(struct sampling_slot *p)
{
	sampling_release_setup(p);
	p->context = NULL;
	sampling_set_state(p, SAMPLING_FREE);
}

/* ---- CUPTI; the slot's lock is held ---- */

static int fetch_once(struct sampling_slot *p, bool ours)
{
	struct cupti_sampling_data params = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_sampling_data, data),
		.context = p->context,
		.data = &p->fetched.data,
	};
	int result;

	if (ours)
		pthread_mutex_lock(&library.no_fork);
	result = cupti.PCSamplingGetData(&params);
	if (ours)
		pthread_mutex_unlock(&library.no_fork);
	return result;
}

/*
 * Samples cannot be fetched, now or later. When another process has begun to sample the device,
 * CUPTI returns CUPTI_UNKNOWN, if it has not ended altogether. When its memory was full once, it
 * returns that memory is short, then and always. The end of a context is reported elsewhere.
 */
static void give_up(struct sampling_slot *p, int result, bool ours)
{
	uint32_t sampled = SAMPLING_ON;

	if (!__atomic_compare_exchange_n(&p->state, &sampled, SAMPLING_GIVEN_UP, false,
		    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
		result == CUPTI_INVALID_CONTEXT)
		return;
	if (result == CUPTI_OUT_OF_MEMORY)
		sampling_report_refusal(p, WIRE_STALLS_OVERRUN, result);
	else if (result != CUPTI_UNKNOWN)
		sampling_report_refusal(p, sampling_refusal_of(result), result);
	else if (!ours || health_ask(result))
		sampling_report_refusal(p, WIRE_STALLS_DISPLACED, result);
}

bool sampling_fetch(struct sampling_slot *p, bool ours)
{
	uint64_t end_ns = now_ns() - LATENCY_NS;
	bool some = false;

	for (int round = 0; round < ROUNDS; round++) {
		int result = fetch_once(p, ours);
		size_t remaining = p->fetched.data.remaining;

		if (result) {
			give_up(p, result, ours);
			break;
		}
		if (ours)
			health_worked();
		some |= p->fetched.data.samples || p->fetched.data.count;
		sampling_send(p, &p->fetched, end_ns, ours);
		if (!remaining || sampling_state_of(p) != SAMPLING_ON)
			break;
	}
	if (p->since_ns < end_ns)
		p->since_ns = end_ns;
	return some;
}

static void disable(const struct sampling_slot *p)
{
	struct cupti_sampling_context params = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_sampling_context, context),
		.context = p->context,
	};

	cupti.PCSamplingDisable(&params);
}

void sampling_close(struct sampling_slot *p, bool ours)
{
	uint32_t device = p->device;

	count(WIRE_LOST_STALLS,
		p->rest.data.remaining); /* instructions: of each one sample at least */
	sampling_send(p, &p->rest, now_ns(), ours);
	sampling_release(p);
	claim_release(device);
}

/* The last samples: those that CUPTI has not decoded yet come when sampling is switched off. In the
 * program's thread. */
static void end(struct sampling_slot *p)
{
	if (sampling_state_of(p) == SAMPLING_ON)
		sampling_fetch(p, false);
	launches_hold();
	disable(p);
	launches_release();
	sampling_close(p, false);
}

/* ---- a context is made ---- */

static int enable(struct sampling_slot *p)
{
	struct cupti_sampling_context params = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_sampling_context, context),
		.context = p->context,
	};
	int result = cupti.PCSamplingEnable(&params);

	if (result)
		return result;
	result = sampling_set_up(p);
	if (result)
		disable(p);
	return result;
}

/* With launches held, and the device claimed. */
static int enable_held(struct sampling_slot *p)
{
	int result;

	launches_hold();
	result = enable(p);
	launches_release();
	if (result)
		claim_release(p->device);
	return result;
}

bool sampling_is_possible(void)
{
	const struct cupti *c = &cupti;

	return c->GetDeviceId && c->GetContextId && c->PCSamplingEnable && c->PCSamplingDisable &&
	       c->PCSamplingSetConfigurationAttribute && c->PCSamplingGetConfigurationAttribute &&
	       c->PCSamplingGetNumStallReasons && c->PCSamplingGetStallReasons &&
	       c->PCSamplingGetData;
}

struct sampling_slot *sampling_claim_slot(void)
{
	if (!sampling_make_windows())
		return NULL;
	for (uint32_t n = 0; n < CONTEXTS; n++) {
		uint32_t expected = SAMPLING_FREE;

		if (__atomic_compare_exchange_n(&sampling.slots[n].state, &expected, SAMPLING_SETUP,
			    false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &sampling.slots[n];
	}
	return NULL;
}

unsigned int sampling_claim(
	struct sampling_slot *p, void *context, struct claim_holder *ret_holder, int *ret_result)
{
	const struct cupti *c = &cupti;
	int result;

	*ret_result = 0;
	if (!claim_samples(0))
		return WIRE_STALLS_BUSY;
	p->context = context;
	p->device = p->id = 0;
	p->samples = p->without_code = 0;
	result = c->GetDeviceId(context, &p->device);
	if (!result)
		result = c->GetContextId(context, &p->id);
	if (!result && p->device >= WIRE_DEVICES)
		result = CUPTI_NOT_SUPPORTED;
	*ret_result = result;
	return result ? sampling_refusal_of(result) : claim_device(p->device, ret_holder);
}

void sampling_context_created(void *context)
{
	struct claim_holder holder = {0};
	struct sampling_slot none = {0}, *p;
	unsigned int refusal;
	int result;

	if (!sampling_is_possible()) {
		sampling_report_refusal(&none, WIRE_STALLS_NO_FUNCTION, 0);
		return;
	}
	p = sampling_claim_slot();
	if (!p) {
		sampling_report_refusal(&none, WIRE_STALLS_CONTEXTS, 0);
		return;
	}
	refusal = sampling_claim(p, context, &holder, &result);
	if (refusal == WIRE_STALLS_STRANGER) {
		sampling_report_holder(p, refusal, 0, &holder);
		refusal = 0;
	}
	if (!refusal) {
		result = enable_held(p);
		refusal = result ? sampling_refusal_of(result) : 0;
	}
	if (refusal) {
		sampling_report_holder(p, refusal, result, &holder);
		sampling_release(p);
		return;
	}
	p->since_ns = now_ns();
	sampling_set_state(p, SAMPLING_ON);
}

/* ---- and ends ---- */

static bool is_on(const struct sampling_slot *p)
{
	return sampling_state_of(p) == SAMPLING_ON || sampling_state_of(p) == SAMPLING_GIVEN_UP;
}

static void abandon(struct sampling_slot *p)
{
	sampling_set_state(p, SAMPLING_ABANDONED);
	sampling_report_refusal(p, WIRE_STALLS_LATE, 0);
}

bool sampling_has_abandoned(void)
{
	for (uint32_t n = 0; n < CONTEXTS; n++)
		if (sampling_state_of(&sampling.slots[n]) == SAMPLING_ABANDONED)
			return true;
	return false;
}

void sampling_context_ends(void *context)
{
	for (uint32_t n = 0; n < CONTEXTS; n++) {
		struct sampling_slot *p = &sampling.slots[n];

		if (!is_on(p) || p->context != context)
			continue;
		if (!sampling_lock_patiently(&p->lock)) {
			abandon(p);
			return;
		}
		if (!library.joined)
			end(p);
		else if (!sampling_late_context_ends(p))
			abandon(p);
		pthread_mutex_unlock(&p->lock);
		return;
	}
}

/* ---- our thread ---- */

/*
 * What CUPTI's threads have not decoded when the program exits, they never do: an exit handler of
 * CUPTI's stops them, which is registered some time after the context was made. So ours is
 * registered again when a kernel was launched, and when the first samples have come.
 */
enum exit_time {
	EXIT_LAUNCHED = 1,
	EXIT_SAMPLED = 2,
};

static void exit_first(enum exit_time time)
{
	struct undisturbed u;

	if (__atomic_load_n(&sampling.exits, __ATOMIC_RELAXED) & time ||
		__atomic_fetch_or(&sampling.exits, time, __ATOMIC_RELAXED) & time)
		return;
	begin_slow(&u);
	exit_before_others();
	end_slow(&u);
}

void sampling_launched(void)
{
	exit_first(EXIT_LAUNCHED);
}

/* True: some samples came. */
static bool drain(void)
{
	bool some = false;

	for (uint32_t n = 0; n < CONTEXTS; n++) {
		struct sampling_slot *p = &sampling.slots[n];

		if (sampling_state_of(p) != SAMPLING_ON || pthread_mutex_trylock(&p->lock))
			continue;
		if (sampling_state_of(p) == SAMPLING_ON)
			some |= sampling_fetch(p, true);
		pthread_mutex_unlock(&p->lock);
	}
	if (some)
		exit_first(EXIT_SAMPLED);
	return some;
}

void sampling_drain_if_due(void)
{
	uint64_t now = now_ns();

	if (now - sampling.drained_ns < TICK_NS || health_has_ended())
		return;
	drain();
	sampling.drained_ns = now_ns();
}

static bool is_any(bool fast)
{
	for (uint32_t n = 0; n < CONTEXTS; n++)
		if (sampling_state_of(&sampling.slots[n]) == SAMPLING_ON &&
			(!fast || sampling.slots[n].is_fast))
			return true;
	return false;
}

static void report_unfetched(void)
{
	for (uint32_t n = 0; n < CONTEXTS; n++)
		if (sampling_state_of(&sampling.slots[n]) == SAMPLING_ON &&
			sampling.slots[n].is_fast)
			sampling_report_refusal(&sampling.slots[n], WIRE_STALLS_UNFETCHED, 0);
}

/* If CUPTI may be far behind, it is waited for as long as something comes. */
void sampling_finish(bool program_goes_on)
{
	struct timespec pause = {.tv_nsec = SAMPLING_SLEEP_MS * 1000000 / 2};
	bool fast = is_any(true);
	uint64_t patience_ns = fast ? FINISH_FAST_NS : program_goes_on ? STOP_NS : FINISH_NS;
	uint64_t begin_ns = now_ns();
	unsigned int quiet = 0, enough = fast ? QUIET_FAST : QUIET;

	while (!health_has_ended() && is_any(false) && quiet < enough &&
		now_ns() - begin_ns < patience_ns) {
		quiet = drain() ? 0 : quiet + 1;
		nanosleep(&pause, NULL);
	}
	if (fast && !health_has_ended() && quiet < enough)
		report_unfetched();
}
