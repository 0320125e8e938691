// SPDX-License-Identifier: MIT
/*
 * To ask CUPTI, we enable a callback that is enabled already: one that it accepted in the
 * beginning, and that is far from the launch path. Until then, and where it has not, one that never
 * comes.
 */
#include "inject/cupti/health.h"

#include "inject/cupti/cupti.h"
#include "inject/cupti/inside.h"
#include "inject/library.h"

#define ASK_NS	      1000000000ull
#define MESSAGE_BYTES 256
#define UNUSED_CALL   178 /* cuGLInit: of CUDA 2, and does nothing since */

enum state {
	WORKS = 0,
	ENDING, /* a thread writes down how */
	ENDED,
};

static struct {
	bool accepted; /* that callback, in the beginning */
	uint64_t worked_ns;
	bool reported;
	uint32_t state;
	/* How it ended. */
	int32_t result;
	uint64_t since_ns;
	char message[MESSAGE_BYTES];
} health;

static int enable_once_more(void)
{
	const struct cupti *c = &cupti;

	return c->EnableCallback(
		true, c->subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_NODE_CREATED);
}

/* With a call that nobody makes. A callback of resources would cost names of code: CUPTI (13.0)
 * names what ran before instructions are sampled only where nobody asked for these. */
static int enable_unused_call(void)
{
	const struct cupti *c = &cupti;
	int result = c->EnableCallback(true, c->subscriber, CUPTI_DOMAIN_DRIVER, UNUSED_CALL);

	if (!result && !inside_is_counted()) /* all calls call back then */
		c->EnableCallback(false, c->subscriber, CUPTI_DOMAIN_DRIVER, UNUSED_CALL);
	return result;
}

bool health_has_ended(void)
{
	return __atomic_load_n(&health.state, __ATOMIC_ACQUIRE) != WORKS;
}

static void note_end(int32_t result, const char *message, uint64_t since_ns)
{
	uint32_t works = WORKS;

	if (!__atomic_compare_exchange_n(
		    &health.state, &works, ENDING, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	health.result = result;
	health.since_ns = since_ns;
	for (size_t n = 0; message && message[n] && n < MESSAGE_BYTES - 1; n++)
		health.message[n] = message[n];
	__atomic_store_n(&health.state, ENDED, __ATOMIC_RELEASE);
}

bool health_answers(int result)
{
	uint64_t asked_ns = now_ns();
	int failed;

	if (health_has_ended())
		return false;
	failed = health.accepted ? enable_once_more() : enable_unused_call();
	if (failed)
		note_end(result ? result : failed, NULL, health.worked_ns);
	else
		health.worked_ns = asked_ns;
	return !failed;
}

void health_begin(void)
{
	const struct cupti *c = &cupti;

	health.worked_ns = now_ns();
	health.accepted = !enable_once_more();
	if (!health.accepted)
		health_answers(0);
	c->EnableCallback(true, c->subscriber, CUPTI_DOMAIN_STATE, CUPTI_STATE_FATAL_ERROR);
}

void health_on_state(uint32_t id, const struct cupti_state_data *d)
{
	if (id != CUPTI_STATE_FATAL_ERROR)
		return;
	note_end(d->result, d->message, now_ns());
	collector_wake();
}

void health_worked(void)
{
	health.worked_ns = now_ns();
}

bool health_ask(int result)
{
	bool answers;

	pthread_mutex_lock(&library.no_fork);
	answers = health_answers(result);
	pthread_mutex_unlock(&library.no_fork);
	return answers;
}

void health_ask_if_due(void)
{
	if (now_ns() - health.worked_ns >= ASK_NS)
		health_ask(0);
}

void health_we_ended_it(void)
{
	health.reported = true;
	note_end(0, NULL, now_ns());
}

void health_report(void)
{
	struct wire_tracer_ended record = {.type = WIRE_TRACER_ENDED};

	if (health.reported || __atomic_load_n(&health.state, __ATOMIC_ACQUIRE) != ENDED)
		return;
	record.result = health.result;
	record.since_ns = health.since_ns;
	record.message_size = (uint32_t)strnlen(health.message, MESSAGE_BYTES);
	health.reported = send_long(&record, sizeof(record), health.message, record.message_size);
	connection_hurry(&library.connection);
}
