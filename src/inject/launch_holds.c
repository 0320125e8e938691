// SPDX-License-Identifier: MIT
/* The rare part of the launch path: launches that are held; and the variables of launches.h. */
#include "inject/launches.h"

#include <errno.h>
#include <pthread.h>

#define HOLD_PATIENCE_NS 2000000000ull /* of threads that are held, with all holds that overlap */
#define HOLD_PAUSE_NS	 2000000
#define HOLD_PAUSES	 10

__thread struct launching_thread launching;
uint32_t first_correlation, first_unrecorded;

void begin_slow(struct undisturbed *ret)
{
	ret->error = errno;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ret->cancel_state);
}

void end_slow(const struct undisturbed *u)
{
	int unused;

	pthread_setcancelstate(u->cancel_state, &unused);
	errno = u->error;
}

static void pause_briefly(void)
{
	struct timespec pause = {.tv_nsec = HOLD_PAUSE_NS};

	nanosleep(&pause, NULL);
}

static bool is_patient(void)
{
	return now_ns() < __atomic_load_n(&library.guard->held_until_ns, __ATOMIC_RELAXED);
}

void launches_wait(void)
{
	struct undisturbed u;

	begin_slow(&u);
	while (launches_are_held() && is_patient())
		pause_briefly();
	end_slow(&u);
}

/*
 * Launches that are going on end in calls, which are reported in the ring: when it stops moving,
 * they have ended. The time limit begins with the first of several holds, so that launches are not
 * stopped for good by contexts that come and go, nor by a call from which the API never returns.
 */
void launches_hold(void)
{
	uint64_t *shared = &library.ring.control->head, head, before = 0;

	if (!launches_are_held())
		__atomic_store_n(&library.guard->held_until_ns, now_ns() + HOLD_PATIENCE_NS,
			__ATOMIC_RELAXED);
	__atomic_fetch_add(&library.guard->held, 1, __ATOMIC_SEQ_CST);
	launching.holds++;
	for (int n = 0; n < HOLD_PAUSES; n++) {
		head = __atomic_load_n(shared, __ATOMIC_RELAXED);
		if (n && head == before)
			return;
		before = head;
		pause_briefly();
	}
}

void launches_release(void)
{
	launching.holds--;
	__atomic_fetch_sub(&library.guard->held, 1, __ATOMIC_SEQ_CST);
}
