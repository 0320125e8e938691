// SPDX-License-Identifier: MIT
/*
 * What was written to the ring, for the recorder to compare with what came.
 *
 * The program may map other memory over the ring. Then everything goes on: records fill the new
 * memory until it is full, and are counted there, and the recorder sees nothing of it. Our own
 * thread notices that the control page is not the one of the connection any more: it has not the
 * instance's number, or its head stands where it was long ago. The socket still leads to the
 * recorder. From then on what is in the new memory is reported once a second, and at the end.
 *
 * Launches need nothing for this: the head of the ring counts what they write.
 */
#include "inject/library.h"

#define REPORT_NS 1000000000ull

static struct {
	uint64_t head;	  /* of the ring that was given to us, as it was last seen */
	bool replaced;	  /* by other memory, */
	uint64_t base;	  /* whose head was this at first */
	uint64_t missing; /* in memory that was replaced in turn */
	uint64_t latest;  /* in the present one */
	uint64_t reported_ns;
} sent;

static uint64_t head_now(void)
{
	return __atomic_load_n(&library.ring.control->head, __ATOMIC_ACQUIRE);
}

static bool is_ours(void)
{
	const struct wire_control *c = library.ring.control;

	return c->magic == WIRE_MAGIC && c->version == WIRE_VERSION &&
	       c->instance == library.instance;
}

/* Memory that is mapped anew is empty. */
static uint64_t written_elsewhere(void)
{
	uint64_t head = head_now(), sum = head > sent.base ? head - sent.base : 0;

	for (int n = 0; n < WIRE_COUNTS; n++)
		sum += __atomic_load_n(&library.ring.control->counts[n], __ATOMIC_RELAXED);
	return sum;
}

/* Its head and its counts only grow, but for memory that is another once more. */
static void look(void)
{
	uint64_t head = head_now(), elsewhere;

	if (!sent.replaced && is_ours() && head >= sent.head) {
		sent.head = head;
		return;
	}
	if (!sent.replaced)
		sent.base = head < sent.head ? 0 : sent.head;
	sent.replaced = true;
	elsewhere = written_elsewhere();
	if (elsewhere < sent.latest)
		sent.missing += sent.latest;
	sent.latest = elsewhere;
}

static void report(void)
{
	struct wire_sent message = {.magic = WIRE_MAGIC,
		.sent = sent.head,
		.missing = sent.replaced ? sent.missing + sent.latest + !sent.latest : 0};

	connection_send(&library.connection, &message, sizeof(message));
	sent.reported_ns = now_ns();
}

void sent_watch(void)
{
	look();
	if (sent.replaced && now_ns() - sent.reported_ns >= REPORT_NS)
		report();
}

void sent_report(void)
{
	look();
	report();
}
