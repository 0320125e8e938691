// SPDX-License-Identifier: MIT
/*
 * Work that has ended, as records. Its times are placed by its device's clock (clock.h). Where they
 * are unknown or contradict themselves, the work is sent as one that took no time, when its call
 * returned, and counted.
 */
#include "inject/bursts.h"
#include "inject/device_clock.h"
#include "inject/opencl/opencl.h"

#define ASK_NS	   100000000ull
#define LONGEST_NS (1ull << 50)
#define SLACK_NS   1000ull /* resolutions that drivers state are rounded */

/* A clock that is not known that well yet may soon be: its work waits. */
#define GOOD_NS	    20000ull
#define PATIENCE_NS 200000000ull

static struct device_clock clocks[DEVICES_MAX];

/* What its device is asked for its time for, now and then. False: it cannot be asked. */
static bool ask_device(uint32_t index)
{
	struct device_clock *c = &clocks[index];
	uint64_t before_ns = now_ns(), theirs_ns = 0, host_ns;
	int32_t result;

	if (c->cannot_ask || (c->asked_ns && before_ns - c->asked_ns < ASK_NS))
		return !c->cannot_ask;
	pthread_mutex_lock(&library.no_fork);
	before_ns = now_ns();
	result = opencl.clGetDeviceAndHostTimer
			 ? opencl.clGetDeviceAndHostTimer(
				   devices[index].handle, &theirs_ns, &host_ns)
			 : -1;
	c->asked_ns = now_ns();
	pthread_mutex_unlock(&library.no_fork);
	c->cannot_ask = result || !theirs_ns;
	if (!c->cannot_ask &&
		!clock_bound(c, theirs_ns, before_ns, c->asked_ns, devices[index].resolution_ns))
		c->cannot_ask = !c->known; /* that was no time at all */
	return !c->cannot_ask;
}

static bool makes_sense(const struct piece *p)
{
	return p->times[TIME_START] && p->times[TIME_START] <= p->times[TIME_END] &&
	       p->times[TIME_END] - p->times[TIME_START] < LONGEST_NS;
}

/* False: its times contradict those of others. */
static bool bound_by(const struct piece *p)
{
	const struct device *d = &devices[p->queue->device];

	if (!p->times[TIME_QUEUED])
		return true;
	return clock_bound(&clocks[p->queue->device], p->times[TIME_QUEUED], p->entered_ns,
		p->returned_ns, d->resolution_ns);
}

/* Places the times. False: they cannot have been in the call, or before it. */
static bool place(const struct piece *p, struct wire_work *ret)
{
	uint64_t error_ns, slack_ns;
	int64_t offset_ns;

	if (!clock_offset(&clocks[p->queue->device], p->returned_ns, &offset_ns, &error_ns))
		return false;
	slack_ns = error_ns + devices[p->queue->device].resolution_ns + SLACK_NS;
	ret->start_ns = p->times[TIME_START] - (uint64_t)offset_ns;
	ret->end_ns = p->times[TIME_END] - (uint64_t)offset_ns;
	if (ret->start_ns > ret->end_ns || ret->start_ns + slack_ns < p->entered_ns ||
		ret->end_ns > now_ns() + slack_ns)
		return false;
	if (ret->kind == WIRE_WORK_KERNEL && p->times[TIME_QUEUED] <= p->times[TIME_SUBMITTED] &&
		p->times[TIME_SUBMITTED] <= p->times[TIME_START] && p->times[TIME_QUEUED]) {
		ret->queued_ns = p->times[TIME_QUEUED] - (uint64_t)offset_ns;
		ret->submitted_ns = p->times[TIME_SUBMITTED] - (uint64_t)offset_ns;
	}
	clock_note_error(error_ns);
	return true;
}

static void add_reported(const struct wire_work *w)
{
	uint64_t *sum = &library.ring.control->reported_ns;

	__atomic_store_n(sum, *sum + (w->end_ns - w->start_ns), __ATOMIC_RELAXED);
}

static void report(const struct piece *p)
{
	struct wire_work work = {.type = WIRE_WORK,
		.kind = p->work.kind,
		.correlation = p->correlation,
		.start_ns = p->returned_ns,
		.end_ns = p->returned_ns};
	struct wire_op op = {.kind = p->work.kind,
		.copy_kind = p->work.copy_kind,
		.source_memory = p->work.source_memory,
		.target_memory = p->work.target_memory,
		.device = devices[p->queue->device].record.number,
		.context = p->queue->context,
		.stream = p->queue->number};

	memcpy(op.grid, p->work.grid, sizeof(op.grid));
	memcpy(op.block, p->work.block, sizeof(op.block));
	if (work.kind != WIRE_WORK_KERNEL)
		work.bytes = p->work.bytes;
	if (p->not_timed) {
		work.flags = WIRE_WORK_NOT_TIMED;
	} else if (!p->times[TIME_START] || !place(p, &work)) {
		work.start_ns = work.end_ns = p->returned_ns;
		work.queued_ns = work.kind == WIRE_WORK_KERNEL ? 0 : work.queued_ns;
		count(WIRE_UNTIMED, 1);
	}
	work.stands_for = p->stands_for > 1 ? p->stands_for : 0;
	bursts_count_work();
	add_reported(&work);
	devices_introduce(p->queue->device);
	work.op = table_op(&op, p->work.name);
	if (!work.op || !send_slot(&work))
		count(WIRE_LOST_WORK, 1);
}

static bool is_better_later(const struct piece *p)
{
	uint64_t error_ns;
	int64_t offset_ns;

	return p->times[TIME_START] && now_ns() - p->returned_ns < PATIENCE_NS &&
	       clock_offset(&clocks[p->queue->device], p->returned_ns, &offset_ns, &error_ns) &&
	       error_ns > GOOD_NS;
}

static void learn(struct piece *p)
{
	if (p->learned)
		return;
	p->learned = true;
	if (!makes_sense(p) || (!ask_device(p->queue->device) && !bound_by(p)))
		p->times[TIME_START] = 0;
}

/* All bounds first: they are narrower than each alone. */
void report_pieces(struct piece *pieces[], size_t count, bool may_wait)
{
	clock_measure_systems();
	for (size_t n = 0; n < count; n++)
		learn(pieces[n]);
	for (size_t n = 0; n < count; n++) {
		pieces[n]->waits = may_wait && is_better_later(pieces[n]);
		if (!pieces[n]->waits)
			report(pieces[n]);
	}
	if (ring_used(&library.ring) > (library.ring.mask + 1) / 4)
		connection_hurry(&library.connection);
	clock_report_errors();
}
