// SPDX-License-Identifier: MIT
/*
 * Until the first context all calls of the driver call back, and threads count themselves in them
 * (inside.h): sampling must not be switched beside another thread in a call. If those cannot be
 * held where the first context is made, or one may be in a call that began before (earlier.h), the
 * program is not armed.
 *
 * Only the thread that has changed the page's state from DOOR_ARMS_WAIT does anything: the one that
 * makes the first context, or the recorder's, which then unsubscribes for us.
 *
 * To unsubscribe in the middle of the callback is not known to be safe, so a thread does it. It is
 * there before we subscribe: CUPTI is never kept because it cannot be made. It opens nothing: for a
 * moment that would take a number that the program may expect for a descriptor of its own.
 */
#include "inject/cupti/armed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "inject/cupti/claims.h"
#include "inject/cupti/cupti.h"
#include "inject/cupti/earlier.h"
#include "inject/cupti/inside.h"
#include "inject/cupti/sampling_slot.h"
#include "inject/door.h"
#include "guest/hooks.h"
#include "inject/launches.h"
#include "guest/own_thread.h"
#include "vendor/nvidia/environment.h"

#define LONG_NS	    3600000000000ull
#define GIVE_WAY_NS 1000000000ull
#define POLL_NS	    1000000
#define HOLDS	    5  /* are tried */
#define LOOKS	    20 /* at calls that began earlier */

static struct {
	struct door_page *page;
	void *subscriber;
	struct sampling_slot slot; /* CUPTI has its buffer's address */
} arms;

static uint32_t *state(void)
{
	return &arms.page->armed.state;
}

static uint32_t state_now(void)
{
	return __atomic_load_n(state(), __ATOMIC_SEQ_CST);
}

static bool change(uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(
		state(), &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void set_state(enum door_arms to)
{
	__atomic_store_n(state(), to, __ATOMIC_SEQ_CST);
	futex_wake(state());
}

static int call(int (*function)(struct cupti_sampling_context *), void *context)
{
	struct cupti_sampling_context params = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_sampling_context, context),
		.context = context,
	};

	return function(&params);
}

/* ---- the program's thread ---- */

static bool claim(struct sampling_slot *p, void *context)
{
	struct claim_holder holder;
	int result;
	unsigned int refusal = sampling_claim(p, context, &holder, &result);

	/* If another user samples, CUPTI would end in this process. */
	if (refusal == WIRE_STALLS_STRANGER)
		claim_release(p->device);
	return !refusal;
}

/* CUPTI has the buffer as long as sampling is on. If it takes so long that the others go on,
 * nothing more is safe until they are held again. */
static bool enable(struct sampling_slot *p)
{
	if (call(cupti.PCSamplingEnable, p->context))
		return false;
	if (!inside_is_held() || !sampling_set_up_idle(p))
		return true;
	if (!call(cupti.PCSamplingDisable, p->context))
		sampling_release_setup(p);
	return false;
}

/* Whether it stays so. */
static bool arm(void *context)
{
	struct sampling_slot *p = &arms.slot;
	struct own_socket claimed;

	if (!claim(p, context))
		return false;
	if (!enable(p)) {
		claim_release(p->device);
		return false;
	}
	claimed = claim_socket(p->device);
	arms.page->armed.claim_fd = claimed.fd;
	arms.page->armed.claim_dev = claimed.dev;
	arms.page->armed.claim_ino = claimed.ino;
	return true;
}

static bool try_often(int times, bool (*attempt)(void))
{
	struct timespec pause = {.tv_nsec = POLL_NS};

	for (int n = 0; n < times; n++) {
		if (attempt())
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static bool hold_others(void)
{
	return try_often(LOOKS, earlier_have_ended) && try_often(HOLDS, inside_hold);
}

static void on_context(void *context)
{
	struct undisturbed u;
	bool held, armed;

	/* a child has no page */
	if (getpid() != library.begun || !change(DOOR_ARMS_WAIT, DOOR_ARMS_BUSY))
		return;
	begin_slow(&u);
	held = hold_others();
	armed = held && arm(context);
	if (held)
		inside_release();
	arms.page->armed.subject = armed ? (uintptr_t)context : 0;
	set_state(DOOR_ARMS_RETIRE);
	end_slow(&u);
}

static void on_driver_call(uint32_t site)
{
	if (site == CUPTI_SITE_ENTER)
		inside_enter(NULL, false);
	else
		inside_exit();
}

static void on_early_callback(void *userdata, uint32_t domain, uint32_t id, const void *data)
{
	if (data && domain == CUPTI_DOMAIN_DRIVER && inside_is_counted())
		on_driver_call(((const struct cupti_callback_data *)data)->site);
	if (data && domain == CUPTI_DOMAIN_RESOURCE && id == CUPTI_RESOURCE_CONTEXT_CREATED)
		on_context(((const struct cupti_resource_data *)data)->context);
}

/* ---- our thread ---- */

/* Some thread is in a call, in which the domain must not be switched off (launch.c). */
static void unsubscribe(void *subscriber)
{
	pthread_mutex_lock(&library.no_fork);
	cupti.Unsubscribe(subscriber);
	pthread_mutex_unlock(&library.no_fork);
}

static void *retire(void *unused)
{
	uint32_t seen;

	prctl(PR_SET_NAME, "xpuprof-arms");
	while ((seen = state_now()) == DOOR_ARMS_WAIT || seen == DOOR_ARMS_BUSY)
		futex_wait(state(), seen, LONG_NS);
	inside_end();
	if (seen != DOOR_ARMS_RETIRE)
		return NULL;
	unsubscribe(arms.subscriber);
	set_state(arms.page->armed.subject ? DOOR_ARMED : DOOR_UNARMED);
	return NULL;
}

/* ---- the beginning ---- */

static bool is_wanted(void)
{
	const char *wish = getenv(NVIDIA_ARMED_VARIABLE);

	return wish && !strcmp(wish, "1");
}

static bool is_possible(void)
{
	return !find_cupti(&cupti, &cuda_driver) && sampling_is_possible() &&
	       cupti.PCSamplingStart && cupti.PCSamplingStop;
}

/* Our thread is out of CUPTI, or will not go there. */
static void at_exit(void)
{
	uint64_t end_ns = now_ns() + GIVE_WAY_NS;
	uint32_t seen;

	if (getpid() != library.begun || change(DOOR_ARMS_WAIT, DOOR_UNARMED))
		return;
	while ((seen = state_now()) == DOOR_ARMS_RETIRE && now_ns() < end_ns)
		futex_wait(state(), seen, end_ns - now_ns());
}

/* Whoever had the lock is not there. */
static void in_child(void)
{
	claims_forget();
	library.no_fork = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* False: CUPTI refuses. */
static bool enable_early_callbacks(void)
{
	inside_begin();
	if (cupti.EnableDomain(true, arms.subscriber, CUPTI_DOMAIN_DRIVER))
		return false;
	earlier_begin();
	return !cupti.EnableCallback(
		true, arms.subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_CONTEXT_CREATED);
}

static void await_context(void)
{
	if (cupti.Subscribe(&arms.subscriber, on_early_callback, NULL)) {
		set_state(DOOR_UNARMED);
		return;
	}
	arms.page->armed.subject = (uintptr_t)arms.subscriber;
	set_state(DOOR_ARMS_WAIT);
	if (!enable_early_callbacks() && change(DOOR_ARMS_WAIT, DOOR_ARMS_BUSY)) {
		arms.page->armed.subject = 0;
		set_state(DOOR_ARMS_RETIRE);
	}
}

void armed_begin(void)
{
	static const struct hooks hooks = {fork_begins, fork_has_ended, in_child, at_exit};

	if (!is_wanted() || !(arms.page = door_of_program()) || !is_possible() || guard_make() ||
		hooks_add(&hooks, false) || hooks_add_exit())
		return;
	set_state(DOOR_ARMS_BUSY);
	if (own_thread_start(retire, NULL))
		set_state(DOOR_UNARMED);
	else
		await_context();
}

/* ---- a recorder's library ---- */

void armed_give_way(void)
{
	struct timespec pause = {.tv_nsec = POLL_NS};
	uint64_t end_ns = now_ns() + GIVE_WAY_NS;
	uint32_t seen;

	arms.page = door_of_program();
	if (!arms.page)
		return;
	if (change(DOOR_ARMS_WAIT, DOOR_UNARMED)) {
		unsubscribe((void *)(uintptr_t)arms.page->armed.subject);
		futex_wake(state());
		return;
	}
	while (((seen = state_now()) == DOOR_ARMS_BUSY || seen == DOOR_ARMS_RETIRE) &&
		now_ns() < end_ns)
		nanosleep(&pause, NULL);
}

bool armed_is(void)
{
	return arms.page && state_now() == DOOR_ARMED;
}

/* The context may have ended: then nothing is left of that. */
bool armed_end(void)
{
	const struct door_armed *a = &arms.page->armed;
	struct own_socket claimed = {a->claim_fd, a->claim_dev, a->claim_ino};
	void *context = (void *)(uintptr_t)a->subject;
	uint32_t device;
	int result = 0;

	pthread_mutex_lock(&library.no_fork);
	if (!cupti.GetDeviceId || !cupti.GetDeviceId(context, &device))
		result = call(cupti.PCSamplingDisable, context);
	pthread_mutex_unlock(&library.no_fork);
	if (result)
		return false;
	socket_close(&claimed);
	set_state(DOOR_UNARMED);
	return true;
}
