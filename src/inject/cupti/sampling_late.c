// SPDX-License-Identifier: MIT
/*
 * Instructions are sampled in a program that was joined:
 *
 *	our thread                               the program's threads
 *	callbacks of all calls on                ... count themselves in calls (inside.h)
 *	no earlier call goes on (earlier.h)
 *	hold; records on;                        wait where they begin a call
 *	enable, configure, start; release
 *	all other callbacks on: it is recorded
 *	every tick: GetData                      as ever
 *	hold; stop, GetData, disable; release    wait where they begin a call
 *	callbacks off
 *
 * CUPTI (13.0 on an H100) hangs for good if one of these steps meets another thread in a call of
 * the driver, and each takes up to 100 ms. So they are done while calls are held. A hold that
 * cannot be had in 20 ms is given back, and tried again after a pause of random length, so that it
 * does not keep step with the program.
 *
 * With control of start and stop, instructions of modules are sampled that were loaded before.
 * Their code is not to be had: only their functions' names. Of functions that ran between the first
 * subscriber of the process and the first time that sampling was enabled, CUPTI has none, for as
 * long as the process runs, if that was in a graph, or with callbacks of resources
 * (CUPTI_DOMAIN_RESOURCE) on: it counts their samples as those of unknown kernels. And there is a
 * subscriber before calls can be held. Records cannot be switched on after sampling. So they are
 * while calls are held, and the recording begins then. If nobody comes out of calls for FIRST_NS,
 * it begins without.
 *
 * In a program that is armed (armed.h) the first hold switches that off, too, before records are
 * switched on. Without it there are none, so it is waited for, whatever is recorded.
 *
 * A context that ends is switched off by the thread that ends it, in the callback for that. It is
 * itself in a call, which CUPTI bears: only others must not be.
 *
 * If sampling cannot be switched off it stays on, and so do callbacks, and the library: CUPTI
 * writes into its memory. Then it is tried again now and then.
 */
#include "inject/cupti/armed.h"
#include "inject/cupti/claims.h"
#include "inject/cupti/cupti.h"
#include "inject/cupti/earlier.h"
#include "inject/cupti/health.h"
#include "inject/cupti/inside.h"
#include "inject/cupti/sampling.h"
#include "inject/cupti/sampling_slot.h"
#include "inject/draws.h"
#include "inject/launches.h"

#define PAUSE_MIN_NS	20000000ull
#define PAUSE_MAX_NS	250000000ull
#define GIVE_UP_NS	60000000000ull
#define CONTEXT_END_NS	200000000ull
#define CONTEXT_WAIT_NS 1000000ull
#define FIRST_NS	1000000000ull
#define NOBODY_NS	300000000ull /* nobody has called for so long, from the beginning */
#define JUDGED		500	     /* samples that say whether CUPTI knows the code */
#define NAMELESS_PART	8	     /* kernels of the driver's copies and sets are fewer */
/* Beside results of CUPTI's: a step took so long that threads went on, or it cannot be switched
 * off. */
#define HOLD_LOST (-1)
/* Beside refusals: it is tried again. */
#define NOT_NOW WIRE_STALLS_REFUSALS

enum phase {
	OFF = 0, /* it is tried to switch it on */
	ON,
	KEPT, /* it could not be switched off */
	OVER,
};

static struct {
	enum phase phase;
	struct sampling_slot *slot;
	uint64_t begun_ns, next_ns;
	uint64_t pause_ns; /* about so long until the next try */
	uint32_t tries;
	unsigned int why; /* the latest failed */
	bool is_first;	  /* nothing is recorded so far */
	bool has_records;
	bool judged;
	uint64_t disarmed_ns; /* so long it took, which is to be reported */
} late;

static void pause_ns(uint64_t ns)
{
	struct timespec pause = {
		.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};

	nanosleep(&pause, NULL);
}

/* Half of it to one and a half. */
static uint64_t about(uint64_t ns)
{
	return ns / 2 + draws_random(now_ns()) % ns;
}

static uint64_t next_pause_ns(void)
{
	uint64_t ns = about(late.pause_ns);

	late.pause_ns += late.pause_ns / 8;
	if (late.pause_ns > PAUSE_MAX_NS)
		late.pause_ns = PAUSE_MAX_NS;
	return ns;
}

void sampling_late_prepare(void)
{
	inside_begin();
}

void sampling_late_begin(void)
{
	earlier_begin();
	late.begun_ns = now_ns();
	late.pause_ns = PAUSE_MIN_NS;
}

void sampling_late_over(void)
{
	inside_end();
}

/* Where CUPTI has ended no call begins with a callback: nobody would be held. */
static bool hold(void)
{
	if (!inside_hold())
		return false;
	if (health_ask(0))
		return true;
	inside_release();
	return false;
}

/* ---- steps; calls are held ---- */

/* `ours`: in our thread, while no child is forked. The program's thread has locks of the driver. */
static int step(int (*function)(struct cupti_sampling_context *), const struct sampling_slot *p,
	bool ours, uint64_t *ret_ns)
{
	struct cupti_sampling_context params = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_sampling_context, context),
		.context = p->context,
	};
	uint64_t begin_ns = now_ns();
	int result;

	if (ours)
		pthread_mutex_lock(&library.no_fork);
	result = function(&params);
	if (ours)
		pthread_mutex_unlock(&library.no_fork);
	*ret_ns = now_ns() - begin_ns;
	return result;
}

static int set_up(struct sampling_slot *p, uint64_t *ret_ns)
{
	uint64_t begin_ns = now_ns();
	int result;

	pthread_mutex_lock(&library.no_fork);
	result = sampling_set_up(p);
	pthread_mutex_unlock(&library.no_fork);
	*ret_ns = now_ns() - begin_ns;
	return result;
}

/* Else CUPTI still has the address of the slot. */
static bool is_off_after(int disabled)
{
	return !disabled || disabled == CUPTI_INVALID_CONTEXT;
}

/* 0, a result of CUPTI's, or HOLD_LOST: then it may be on, and nothing more is safe. */
static int switch_on(struct sampling_slot *p, uint64_t steps_ns[3])
{
	int result = step(cupti.PCSamplingEnable, p, true, &steps_ns[0]);
	uint64_t unused;

	if (result)
		return result;
	if (!inside_is_held())
		return HOLD_LOST;
	result = set_up(p, &steps_ns[1]);
	if (!inside_is_held())
		return HOLD_LOST;
	if (!result)
		result = step(cupti.PCSamplingStart, p, true, &steps_ns[2]);
	if (result && !inside_is_held())
		return HOLD_LOST;
	if (result && !is_off_after(step(cupti.PCSamplingDisable, p, true, &unused)))
		return HOLD_LOST;
	return result;
}

/* False: the hold was ended meanwhile, or CUPTI refuses. */
static bool switch_off(struct sampling_slot *p, bool ours, uint64_t steps_ns[3])
{
	uint64_t begin_ns;

	if (!inside_is_held())
		return false;
	step(cupti.PCSamplingStop, p, ours, &steps_ns[0]);
	begin_ns = now_ns();
	if (sampling_state_of(p) == SAMPLING_ON)
		sampling_fetch(p, ours);
	steps_ns[1] = now_ns() - begin_ns;
	if (!inside_is_held() || health_has_ended())
		return false;
	return is_off_after(step(cupti.PCSamplingDisable, p, ours, &steps_ns[2]));
}

/* ---- our thread ---- */

static void report(enum wire_stalls_switch what, uint64_t held_ns, const uint64_t steps_ns[3])
{
	struct wire_stalls_held record = {
		.type = WIRE_STALLS_HELD,
		.what = (uint8_t)what,
		.tries = late.tries,
		.held_ns = held_ns,
		.steps_ns = {steps_ns[0], steps_ns[1], steps_ns[2]},
	};

	send_slot(&record);
}

static void refuse(unsigned int refusal, int result, const struct claim_holder *holder)
{
	static const struct sampling_slot none;

	late.phase = OVER;
	sampling_report_holder(late.slot ? late.slot : &none, refusal, result, holder);
	if (late.slot)
		sampling_release(late.slot);
	late.slot = NULL;
}

/* Calls are held. True: the program is not armed, or no more. */
static bool disarm(void)
{
	uint64_t begin_ns = now_ns();

	if (!armed_is())
		return true;
	if (!armed_end())
		return false;
	late.disarmed_ns += now_ns() - begin_ns;
	return true;
}

static int follow_work(void)
{
	int result = 0;

	if (!late.has_records) {
		pthread_mutex_lock(&library.no_fork);
		result = health_answers(0) ? enable_records() : CUPTI_UNKNOWN;
		pthread_mutex_unlock(&library.no_fork);
	}
	late.has_records |= !result;
	return result;
}

static unsigned int not_now(unsigned int why)
{
	late.why = why;
	return NOT_NOW;
}

/* Calls are held: what refuses it, or NOT_NOW; 0: it is on. */
static unsigned int begin_held(
	struct sampling_slot *p, struct claim_holder *holder, int *ret_result, uint64_t steps_ns[3])
{
	bool several, contested;
	void *context = inside_context(&several);
	unsigned int refusal;

	if (!context)
		return several ? WIRE_STALLS_SEVERAL : not_now(0);
	if (!disarm() || !inside_is_held())
		return not_now(WIRE_STALLS_INSIDE);
	*ret_result = follow_work();
	if (*ret_result)
		return sampling_refusal_of(*ret_result);
	refusal = sampling_claim(p, context, holder, ret_result);
	if (*ret_result == CUPTI_INVALID_CONTEXT) {
		inside_context_ends(context);
		return not_now(0);
	}
	contested = refusal == WIRE_STALLS_STRANGER;
	if (refusal && !contested)
		return refusal;
	if (!inside_is_held()) {
		claim_release(p->device);
		return not_now(WIRE_STALLS_INSIDE);
	}
	*ret_result = switch_on(p, steps_ns);
	if (*ret_result && *ret_result != HOLD_LOST) {
		claim_release(p->device);
		return sampling_refusal_of(*ret_result);
	}
	p->since_ns = now_ns();
	sampling_set_state(p, SAMPLING_ON);
	if (*ret_result)
		return WIRE_STALLS_INSIDE;
	return contested ? WIRE_STALLS_STRANGER : 0;
}

static void report_disarmed(void)
{
	if (late.disarmed_ns)
		report(WIRE_STALLS_DISARMED, late.disarmed_ns, (uint64_t[3]){0});
	late.disarmed_ns = 0;
}

static bool get_slot(void)
{
	if (!late.slot)
		late.slot = sampling_claim_slot();
	return late.slot;
}

/* While calls are held, if all went well: so each is seen from its begin, with its work. */
static void begin_recording(void)
{
	pthread_mutex_lock(&library.no_fork);
	enable_callbacks();
	pthread_mutex_unlock(&library.no_fork);
	__atomic_store_n(&library.guard->recording, 1, __ATOMIC_SEQ_CST);
}

static void begin(void)
{
	uint64_t begin_ns = now_ns(), held_ns, steps_ns[3] = {0};
	struct claim_holder holder = {0};
	unsigned int refusal;
	int result = 0;

	late.tries++;
	if (!hold()) {
		late.why = health_has_ended() ? 0 : WIRE_STALLS_INSIDE;
		return;
	}
	refusal = begin_held(late.slot, &holder, &result, steps_ns);
	if (late.is_first && late.has_records)
		begin_recording();
	inside_release();
	report_disarmed();
	if (refusal == NOT_NOW)
		return;
	held_ns = now_ns() - begin_ns;
	if (refusal == WIRE_STALLS_STRANGER || result == HOLD_LOST)
		sampling_report_holder(late.slot, refusal, 0, &holder);
	else if (refusal) {
		refuse(refusal, result, &holder);
		return;
	}
	late.phase = ON;
	report(WIRE_STALLS_ON, held_ns, steps_ns);
}

static void refuse_simply(unsigned int refusal)
{
	refuse(refusal, 0, &(struct claim_holder){0});
}

static void try_to_begin(void)
{
	bool several;
	void *context = inside_context(&several);

	if (several)
		refuse_simply(WIRE_STALLS_SEVERAL);
	else if (!context)
		late.why = 0; /* it has asked for nothing so far */
	else if (!sampling_is_possible() || !cupti.PCSamplingStart || !cupti.PCSamplingStop)
		refuse_simply(WIRE_STALLS_NO_FUNCTION);
	else if (!get_slot())
		refuse_simply(WIRE_STALLS_CONTEXTS);
	else if (!earlier_have_ended())
		late.why = WIRE_STALLS_EARLIER;
	else
		begin();
}

static bool is_on(const struct sampling_slot *p)
{
	return sampling_state_of(p) == SAMPLING_ON || sampling_state_of(p) == SAMPLING_GIVEN_UP;
}

/* Contexts may have come and gone. */
static void follow_contexts(void)
{
	static const struct sampling_slot none;
	bool several;

	(void)inside_context(&several);
	if (several)
		sampling_report_refusal(&none, WIRE_STALLS_SEVERAL, 0);
	if (is_on(late.slot))
		return;
	late.slot = NULL;
	late.phase = several ? OVER : OFF;
	late.begun_ns = now_ns();
}

void sampling_late_give_up(void)
{
	if (late.phase == OFF && late.why)
		refuse_simply(late.why);
}

/* Whether CUPTI knows what samples are of, as soon as enough have come. */
static void judge(const struct sampling_slot *p)
{
	if (late.judged || p->samples < JUDGED || p->without_code <= p->samples / NAMELESS_PART)
		return;
	late.judged = true;
	sampling_report_refusal(p, WIRE_STALLS_NAMELESS, 0);
}

uint64_t sampling_late_sleep_ns(uint64_t most_ns)
{
	uint64_t now = now_ns();

	if (late.phase != OFF || health_has_ended() || late.next_ns >= now + most_ns)
		return most_ns;
	return late.next_ns > now ? late.next_ns - now : 1;
}

static void try_if_due(void)
{
	if (late.phase != OFF || now_ns() < late.next_ns)
		return;
	try_to_begin();
	late.next_ns = now_ns() + next_pause_ns();
	if (now_ns() - late.begun_ns > GIVE_UP_NS)
		sampling_late_give_up();
}

void sampling_late_tick(void)
{
	if (health_has_ended())
		return;
	if (late.phase == ON)
		follow_contexts();
	if (late.phase == ON)
		judge(late.slot);
	try_if_due();
}

static bool is_to_leave(void)
{
	return __atomic_load_n(&library.ring.control->command, __ATOMIC_SEQ_CST) ||
	       __atomic_load_n(&library.finish, __ATOMIC_SEQ_CST) ||
	       connection_lost(&library.connection);
}

static bool try_to_disarm(void)
{
	uint64_t begin_ns = now_ns();
	bool done;

	late.tries++;
	if (!earlier_have_ended() || !hold())
		return false;
	done = disarm();
	inside_release();
	if (done)
		late.disarmed_ns = now_ns() - begin_ns;
	report_disarmed();
	return done;
}

int sampling_late_disarm(void)
{
	uint64_t begun_ns = now_ns();
	bool ends;

	while (armed_is() && !try_to_disarm()) {
		ends = is_to_leave();
		if (ends || health_has_ended() || now_ns() - begun_ns > GIVE_UP_NS) {
			report(WIRE_STALLS_ARMED, 0, (uint64_t[3]){0});
			library.ring.control->reason = WIRE_REASON_REFUSED;
			return ends ? 0 : CUPTI_NOT_COMPATIBLE;
		}
		pause_ns(next_pause_ns());
	}
	return 0;
}

int sampling_late_first(void)
{
	bool several;
	int result;

	late.is_first = true;
	while (late.phase == OFF && !health_has_ended() && !is_to_leave()) {
		uint64_t waited_ns = now_ns() - late.begun_ns;
		bool called = inside_context(&several) || several;

		if (waited_ns > FIRST_NS || (!called && waited_ns > NOBODY_NS))
			break;
		try_to_begin();
		if (late.phase == OFF)
			pause_ns(about(PAUSE_MIN_NS));
	}
	late.is_first = false;
	result = sampling_late_disarm();
	return result || armed_is() ? result : follow_work();
}

/* True: it is off. The slot's lock is held. */
static bool try_to_end(struct sampling_slot *p)
{
	uint64_t begin_ns, held_ns, steps_ns[3] = {0};
	bool off;

	if (sampling_state_of(p) == SAMPLING_ON)
		sampling_fetch(p, true);
	late.tries++;
	begin_ns = now_ns();
	if (!hold())
		return false;
	off = switch_off(p, true, steps_ns);
	inside_release();
	held_ns = now_ns() - begin_ns;
	if (!off)
		return false;
	sampling_close(p, true);
	library.tracer_ns += steps_ns[0] + steps_ns[1] + steps_ns[2];
	report(WIRE_STALLS_OFF, held_ns, steps_ns);
	return true;
}

static bool is_off(struct sampling_slot *p)
{
	bool off;

	if (!is_on(p))
		return true;
	if (pthread_mutex_trylock(&p->lock))
		return false;
	off = !is_on(p) || try_to_end(p);
	pthread_mutex_unlock(&p->lock);
	return off;
}

void sampling_late_leave(void)
{
	sampling_late_give_up();
	late.pause_ns = PAUSE_MIN_NS;
	late.tries = 0;
}

bool sampling_late_end(void)
{
	if ((late.phase == ON || late.phase == KEPT) && !health_has_ended() && !is_off(late.slot)) {
		pause_ns(next_pause_ns());
		return false;
	}
	late.phase = OVER;
	return true;
}

void sampling_late_keep(void)
{
	__atomic_store_n(&late.phase, KEPT, __ATOMIC_RELAXED);
	report(WIRE_STALLS_KEPT, 0, (uint64_t[3]){0});
}

bool sampling_late_is_kept(void)
{
	return __atomic_load_n(&late.phase, __ATOMIC_RELAXED) == KEPT;
}

/* ---- the program's thread ---- */

bool sampling_late_context_ends(struct sampling_slot *p)
{
	uint64_t deadline_ns = now_ns() + CONTEXT_END_NS, unused[3];
	bool off = false;

	while (!off && now_ns() < deadline_ns) {
		if (!inside_hold()) {
			pause_ns(about(CONTEXT_WAIT_NS));
			continue;
		}
		off = switch_off(p, false, unused);
		inside_release();
	}
	if (off)
		sampling_close(p, false);
	return off;
}
