// SPDX-License-Identifier: MIT
/*
 * CUPTI wants to be ended within a callback at the end of a call: so our thread makes one that does
 * nothing (cuDriverGetVersion), with its callback on. Another thread that makes the same call just
 * then may be the one.
 */
#include "inject/cupti/finalize.h"

#include <time.h>

#include "inject/cupti/cupti.h"
#include "inject/cupti/health.h"
#include "inject/cupti/stay.h"
#include "inject/library.h"

#define CUDA_NOT_INITIALIZED 3
#define PATIENCE_NS	     1000000000ull
#define PAUSE_NS	     1000000

enum end_state {
	END_NOT_WANTED = 0,
	END_WANTED, /* the next callback is to do it */
	END_BEGUN,
	END_DONE,
};

static struct {
	bool seen_all;	 /* CUDA began when we were there already */
	uint32_t graphs; /* changes: one was made */
	uint32_t state;	 /* changes: enum end_state */
	int result;	 /* of cuptiFinalize */
} end;

void finalize_begin(void)
{
	void *context;

	end.seen_all = !library.joined ||
		       (cuda_driver.cuCtxGetCurrent &&
			       cuda_driver.cuCtxGetCurrent(&context) == CUDA_NOT_INITIALIZED);
}

void finalize_on_resource(uint32_t id)
{
	switch (id) {
	case CUPTI_RESOURCE_GRAPH_CLONED:
	case CUPTI_RESOURCE_NODE_CREATED:
	case CUPTI_RESOURCE_NODE_CLONED:
	case CUPTI_RESOURCE_EXEC_CREATE_STARTING:
	case CUPTI_RESOURCE_EXEC_CREATED:
		__atomic_store_n(&end.graphs, 1, __ATOMIC_RELEASE);
	}
}

void finalize_on_driver_call(uint32_t site)
{
	uint32_t wanted = END_WANTED;

	if (site != CUPTI_SITE_EXIT || !__atomic_compare_exchange_n(&end.state, &wanted, END_BEGUN,
					       false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	end.result = cupti.Finalize();
	__atomic_store_n(&end.state, END_DONE, __ATOMIC_RELEASE);
}

/* END_NOT_WANTED: nobody called back. END_BEGUN: that takes too long. */
static enum end_state await_callback(void)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t until_ns = now_ns() + PATIENCE_NS;
	uint32_t wanted = END_WANTED;

	/* from here on none begins */
	if (__atomic_compare_exchange_n(
		    &end.state, &wanted, END_NOT_WANTED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return END_NOT_WANTED;
	while (__atomic_load_n(&end.state, __ATOMIC_ACQUIRE) != END_DONE && now_ns() < until_ns)
		nanosleep(&pause, NULL);
	return __atomic_load_n(&end.state, __ATOMIC_ACQUIRE);
}

static enum wire_finalized end_in_a_callback(void)
{
	enum end_state state;
	int version;

	if (cupti.EnableCallback(true, cupti.subscriber, CUPTI_DOMAIN_DRIVER, FINALIZE_DRIVER_CALL))
		return WIRE_FINALIZE_FAILED;
	__atomic_store_n(&end.state, END_WANTED, __ATOMIC_RELEASE);
	cuda_driver.cuDriverGetVersion(&version);
	state = await_callback();
	if (state == END_NOT_WANTED)
		return WIRE_FINALIZE_FAILED;
	health_we_ended_it();
	return state == END_DONE && !end.result ? WIRE_FINALIZED : WIRE_FINALIZE_FAILED;
}

enum wire_finalized finalize(void)
{
	enum wire_finalized result;

	if (!end.seen_all)
		return WIRE_FINALIZE_LATE;
	if (__atomic_load_n(&end.graphs, __ATOMIC_ACQUIRE))
		return WIRE_FINALIZE_GRAPHS;
	if (!cupti.Finalize || !cuda_driver.cuDriverGetVersion || !health_ask(0))
		return WIRE_FINALIZE_FAILED;
	pthread_mutex_lock(&library.no_fork);
	if (library.joined && cupti.may_call)
		cupti.may_call = stay_behind() != 0;
	result = end_in_a_callback();
	pthread_mutex_unlock(&library.no_fork);
	return result;
}
