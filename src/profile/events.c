// SPDX-License-Identifier: MIT
#include "profile/events.h"

#include <math.h>

#include "profile/varint.h"

#define KIND_BITS 3
#define KIND_MASK 7

enum {
	SAMPLE_PERIOD = 1 << 0, /* the period is given, else as before */
};

enum {
	CALL_INSTANCE = 1 << 0, /* the instance is given, else as before */
	CALL_RESULT = 1 << 1,   /* the result is given, else 0 */
};

/* A piece of work with flags above the fourth takes a second byte for its head. */
enum {
	WORK_AS_CALL = 1 << 0,   /* thread, stack, api and launch_ns are those of its call */
	WORK_BYTES = 1 << 1,     /* bytes are given, else 0 */
	WORK_NODE = 1 << 2,      /* graph_node and node_stack are given, else 0 */
	WORK_INSTANCE = 1 << 3,  /* the instance is given, else as before */
	WORK_LAUNCH = 1 << 4,    /* thread, stack, api and launch_ns are given, else 0 */
	WORK_JOIN = 1 << 5,      /* join is given, else JOIN_OK */
	WORK_QUEUED = 1 << 6,    /* queued_ns is given, else 0 */
	WORK_SUBMITTED = 1 << 7, /* submitted_ns is given, else 0 */
};

enum {
	PENDING_INSTANCE = 1 << 0, /* the instance is given, else as before */
};

enum {
	STALL_WINDOW = 1 << 0,      /* the window is given, else as before */
	STALL_CORRELATION = 1 << 1, /* the correlation id is given, else as before */
	STALL_SAMPLES = 1 << 2,     /* their number is given, else 1 */
};

enum {
	COUNT_DEVICE = 1 << 0,   /* the device is given, else as before */
	COUNT_DURATION = 1 << 1, /* the duration is given, else as before */
};

/* `api` and the kind of call share a number. */
#define CALL_KIND_BITS 3
_Static_assert(CALL_KINDS <= 1 << CALL_KIND_BITS, "call kinds need more bits");

/* A reader may come that far past the end of an event before it notices: size, head and 14
 * fields. */
_Static_assert(EVENT_READ_PAST >= 16 * VARINT_MAX_BYTES, "EVENT_READ_PAST is too small");

void event_coder_reset(struct event_coder *c)
{
	c->chunk++;
	c->instance = 0;
	c->period_ns = 0;
	c->graph_node = 0;
	memset(c->base_ns, 0, sizeof(c->base_ns));
	memset(c->correlation, 0, sizeof(c->correlation));
	c->stall = (struct profile_stall){0};
	c->count = (struct profile_count){0};
}

static struct call_slot *slot_of(struct event_coder *c, uint32_t instance, uint32_t correlation)
{
	return &c->slots[(correlation + instance * 0x9e3779b1u) % CALL_SLOTS];
}

static bool slot_holds(const struct event_coder *c, const struct call_slot *slot, uint32_t instance,
	uint32_t correlation)
{
	return slot->chunk == c->chunk && slot->correlation == correlation &&
	       slot->instance == instance;
}

static void remember_call(struct event_coder *c, const struct profile_call *call)
{
	*slot_of(c, call->instance, call->correlation) = (struct call_slot){
		.start_ns = call->start_ns,
		.thread = call->thread,
		.stack = call->stack,
		.api = call->api,
		.instance = call->instance,
		.correlation = call->correlation,
		.chunk = c->chunk,
	};
}

bool sample_is_valid(const struct profile_sample *s, const uint32_t counts[TABLE_COUNT])
{
	return s->thread <= counts[TABLE_THREADS] && s->stack <= counts[TABLE_STACKS];
}

bool call_is_valid(const struct profile_call *c, const uint32_t counts[TABLE_COUNT])
{
	return c->thread <= counts[TABLE_THREADS] && c->stack <= counts[TABLE_STACKS] &&
		c->api <= counts[TABLE_STRINGS] && c->kind >= 1 && c->kind < CALL_KINDS;
}

bool work_is_valid(const struct profile_work *w, const uint32_t counts[TABLE_COUNT])
{
	return w->thread <= counts[TABLE_THREADS] && w->stack <= counts[TABLE_STACKS] &&
		w->node_stack <= counts[TABLE_STACKS] && w->api <= counts[TABLE_STRINGS] &&
		w->op >= 1 && w->op <= counts[TABLE_OPS] && w->join < JOIN_REASONS;
}

bool pending_is_valid(const struct profile_pending *p, const uint32_t counts[TABLE_COUNT])
{
	return p->thread <= counts[TABLE_THREADS] && p->stack <= counts[TABLE_STACKS] &&
		p->api <= counts[TABLE_STRINGS] && p->reason >= 1 && p->reason < PENDING_REASONS;
}

bool stall_is_valid(const struct profile_stall *s, const uint32_t counts[TABLE_COUNT])
{
	return s->window >= 1 && s->window <= counts[TABLE_WINDOWS] && s->instruction >= 1 &&
		s->instruction <= counts[TABLE_INSTRUCTIONS] && s->reason <= counts[TABLE_STRINGS];
}

bool count_is_valid(const struct profile_count *c, const uint32_t counts[TABLE_COUNT])
{
	return c->counter >= 1 && c->counter <= counts[TABLE_COUNTERS] &&
		c->device <= counts[TABLE_DEVICES] && isfinite(c->value);
}

bool event_is_valid(const struct profile_event *e, const uint32_t counts[TABLE_COUNT])
{
	switch (e->kind) {
	case EVENT_SAMPLE:
		return sample_is_valid(&e->sample, counts);
	case EVENT_CALL:
		return call_is_valid(&e->call, counts);
	case EVENT_WORK:
		return work_is_valid(&e->work, counts);
	case EVENT_PENDING:
		return pending_is_valid(&e->pending, counts);
	case EVENT_STALL:
		return stall_is_valid(&e->stall, counts);
	case EVENT_COUNT:
		return count_is_valid(&e->count, counts);
	}
	return false;
}

/* Differences are taken modulo 2^64 (2^32 for correlation ids), so that any two numbers have
 * one. */

static uint8_t *put_time(struct event_coder *c, enum profile_event_kind kind, uint64_t start_ns,
	uint8_t *p)
{
	p = varint_put(p, zigzag((int64_t)(start_ns - c->base_ns[kind])));
	c->base_ns[kind] = start_ns;
	return p;
}

static uint64_t get_time(struct event_coder *c, enum profile_event_kind kind, const uint8_t **p)
{
	c->base_ns[kind] += (uint64_t)unzigzag(varint_get(p));
	return c->base_ns[kind];
}

/* The instance is written when it is not that of the event before; `given` says so in the flags. */
static uint8_t *put_id(struct event_coder *c, enum profile_event_kind kind, bool given,
	uint32_t instance, uint32_t correlation, uint8_t *p)
{
	if (given)
		p = varint_put(p, instance);
	c->instance = instance;
	p = varint_put(p, zigzag((int32_t)(correlation - c->correlation[kind])));
	c->correlation[kind] = correlation;
	return p;
}

static void get_id(struct event_coder *c, enum profile_event_kind kind, bool given,
	const uint8_t **p, uint32_t *ret_instance, uint32_t *ret_correlation)
{
	if (given)
		c->instance = (uint32_t)varint_get(p);
	c->correlation[kind] += (uint32_t)unzigzag(varint_get(p));
	*ret_instance = c->instance;
	*ret_correlation = c->correlation[kind];
}

/* An id minus the last one, as those of neighbours are close to each other. */
static uint8_t *put_near(uint8_t *p, uint32_t id, uint32_t last)
{
	return varint_put(p, zigzag((int32_t)(id - last)));
}

static uint32_t get_near(const uint8_t **p, uint32_t last)
{
	return last + (uint32_t)unzigzag(varint_get(p));
}

/* An id; one that does not fit becomes one that no table holds. */
static uint32_t get_table_id(const uint8_t **p)
{
	uint64_t id = varint_get(p);

	return id <= UINT32_MAX ? (uint32_t)id : UINT32_MAX;
}

/* The 8 bytes that hold it, lowest first. */
static uint8_t *put_double(uint8_t *p, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, 8);
	bits = htole64(bits);
	memcpy(p, &bits, 8);
	return p + 8;
}

static double get_double(const uint8_t **p)
{
	uint64_t bits;
	double x;

	memcpy(&bits, *p, 8);
	bits = le64toh(bits);
	memcpy(&x, &bits, 8);
	*p += 8;
	return x;
}

static uint8_t *begin(uint8_t *p, enum profile_event_kind kind, unsigned int flags)
{
	return varint_put(p + 1, kind | flags << KIND_BITS);
}

/* Fills in the size of the event that began at `start`: below 128, hence one byte. */
static uint8_t *finish(uint8_t *start, uint8_t *p)
{
	*start = (uint8_t)(p - start - 1);
	return p;
}

uint8_t *event_encode_sample(struct event_coder *c, const struct profile_sample *s, uint8_t *start)
{
	bool given = s->period_ns != c->period_ns;
	uint8_t *p = begin(start, EVENT_SAMPLE, given ? SAMPLE_PERIOD : 0);

	p = put_time(c, EVENT_SAMPLE, s->time_ns, p);
	p = varint_put(p, s->thread);
	p = varint_put(p, s->stack);
	p = varint_put(p, s->cpu);
	if (given)
		p = varint_put(p, s->period_ns);
	c->period_ns = s->period_ns;
	return finish(start, p);
}

static void decode_sample(struct event_coder *c, unsigned int flags, const uint8_t **p,
	struct profile_sample *ret)
{
	ret->time_ns = get_time(c, EVENT_SAMPLE, p);
	ret->thread = get_table_id(p);
	ret->stack = get_table_id(p);
	ret->cpu = (uint32_t)varint_get(p);
	if (flags & SAMPLE_PERIOD)
		c->period_ns = varint_get(p);
	ret->period_ns = c->period_ns;
}

uint8_t *event_encode_call(struct event_coder *c, const struct profile_call *call, uint8_t *start)
{
	unsigned int flags = (call->instance != c->instance ? CALL_INSTANCE : 0) |
		(call->result ? CALL_RESULT : 0);
	uint8_t *p = begin(start, EVENT_CALL, flags);

	p = put_id(c, EVENT_CALL, flags & CALL_INSTANCE, call->instance, call->correlation, p);
	p = put_time(c, EVENT_CALL, call->start_ns, p);
	p = varint_put(p, call->duration_ns);
	p = varint_put(p, call->thread);
	p = varint_put(p, call->stack);
	p = varint_put(p, (uint64_t)call->api << CALL_KIND_BITS | call->kind);
	if (flags & CALL_RESULT)
		p = varint_put(p, zigzag(call->result));
	remember_call(c, call);
	return finish(start, p);
}

static void decode_call(struct event_coder *c, unsigned int flags, const uint8_t **p,
	struct profile_call *ret)
{
	uint64_t api_and_kind;

	get_id(c, EVENT_CALL, flags & CALL_INSTANCE, p, &ret->instance, &ret->correlation);
	ret->start_ns = get_time(c, EVENT_CALL, p);
	ret->duration_ns = varint_get(p);
	ret->thread = get_table_id(p);
	ret->stack = get_table_id(p);
	api_and_kind = varint_get(p);
	ret->kind = api_and_kind & ((1 << CALL_KIND_BITS) - 1);
	api_and_kind >>= CALL_KIND_BITS;
	ret->api = api_and_kind <= UINT32_MAX ? (uint32_t)api_and_kind : UINT32_MAX;
	ret->result = flags & CALL_RESULT ? (int32_t)unzigzag(varint_get(p)) : 0;
	remember_call(c, ret);
}

static bool is_as_call(struct event_coder *c, const struct profile_work *w)
{
	const struct call_slot *slot = slot_of(c, w->instance, w->correlation);

	return slot_holds(c, slot, w->instance, w->correlation) && slot->thread == w->thread &&
		slot->stack == w->stack && slot->api == w->api && slot->start_ns == w->launch_ns;
}

static unsigned int work_flags(struct event_coder *c, const struct profile_work *w)
{
	unsigned int flags = 0;

	if (is_as_call(c, w))
		flags |= WORK_AS_CALL;
	else if (w->thread || w->stack || w->api || w->launch_ns)
		flags |= WORK_LAUNCH;
	if (w->bytes)
		flags |= WORK_BYTES;
	if (w->graph_node || w->node_stack)
		flags |= WORK_NODE;
	if (w->instance != c->instance)
		flags |= WORK_INSTANCE;
	if (w->join != JOIN_OK)
		flags |= WORK_JOIN;
	if (w->queued_ns)
		flags |= WORK_QUEUED;
	if (w->submitted_ns)
		flags |= WORK_SUBMITTED;
	return flags;
}

uint8_t *event_encode_work(struct event_coder *c, const struct profile_work *w, uint8_t *start)
{
	unsigned int flags = work_flags(c, w);
	uint8_t *p = begin(start, EVENT_WORK, flags);

	p = put_id(c, EVENT_WORK, flags & WORK_INSTANCE, w->instance, w->correlation, p);
	p = put_time(c, EVENT_WORK, w->start_ns, p);
	p = varint_put(p, w->duration_ns);
	p = varint_put(p, w->op);
	if (flags & WORK_BYTES)
		p = varint_put(p, w->bytes);
	if (flags & WORK_NODE) {
		p = varint_put(p, zigzag((int64_t)(w->graph_node - c->graph_node)));
		p = varint_put(p, w->node_stack);
		c->graph_node = w->graph_node;
	}
	if (flags & WORK_LAUNCH) {
		p = varint_put(p, w->thread);
		p = varint_put(p, w->stack);
		p = varint_put(p, w->api);
		p = varint_put(p, zigzag((int64_t)(w->start_ns - w->launch_ns)));
	}
	if (flags & WORK_JOIN)
		p = varint_put(p, w->join);
	if (flags & WORK_QUEUED)
		p = varint_put(p, zigzag((int64_t)(w->start_ns - w->queued_ns)));
	if (flags & WORK_SUBMITTED)
		p = varint_put(p, zigzag((int64_t)(w->start_ns - w->submitted_ns)));
	return finish(start, p);
}

/* False when it refers to a call that is not there. */
static bool decode_launch(struct event_coder *c, unsigned int flags, const uint8_t **p,
	struct profile_work *ret)
{
	const struct call_slot *slot;

	ret->thread = ret->stack = ret->api = 0;
	ret->launch_ns = 0;
	if (flags & WORK_AS_CALL) {
		slot = slot_of(c, ret->instance, ret->correlation);
		if (!slot_holds(c, slot, ret->instance, ret->correlation))
			return false;
		ret->thread = slot->thread;
		ret->stack = slot->stack;
		ret->api = slot->api;
		ret->launch_ns = slot->start_ns;
	} else if (flags & WORK_LAUNCH) {
		ret->thread = get_table_id(p);
		ret->stack = get_table_id(p);
		ret->api = get_table_id(p);
		ret->launch_ns = ret->start_ns - (uint64_t)unzigzag(varint_get(p));
	}
	return true;
}

static bool decode_work(struct event_coder *c, unsigned int flags, const uint8_t **p,
	struct profile_work *ret)
{
	get_id(c, EVENT_WORK, flags & WORK_INSTANCE, p, &ret->instance, &ret->correlation);
	ret->start_ns = get_time(c, EVENT_WORK, p);
	ret->duration_ns = varint_get(p);
	ret->op = get_table_id(p);
	ret->bytes = flags & WORK_BYTES ? varint_get(p) : 0;
	ret->graph_node = 0;
	ret->node_stack = 0;
	if (flags & WORK_NODE) {
		c->graph_node += (uint64_t)unzigzag(varint_get(p));
		ret->graph_node = c->graph_node;
		ret->node_stack = get_table_id(p);
	}
	if (!decode_launch(c, flags, p, ret))
		return false;
	ret->join = flags & WORK_JOIN ? get_table_id(p) : JOIN_OK;
	ret->queued_ns =
		flags & WORK_QUEUED ? ret->start_ns - (uint64_t)unzigzag(varint_get(p)) : 0;
	ret->submitted_ns =
		flags & WORK_SUBMITTED ? ret->start_ns - (uint64_t)unzigzag(varint_get(p)) : 0;
	return true;
}

uint8_t *event_encode_pending(
	struct event_coder *c, const struct profile_pending *pending, uint8_t *start)
{
	bool given = pending->instance != c->instance;
	uint8_t *p = begin(start, EVENT_PENDING, given ? PENDING_INSTANCE : 0);

	p = put_id(c, EVENT_PENDING, given, pending->instance, pending->correlation, p);
	p = put_time(c, EVENT_PENDING, pending->start_ns, p);
	p = varint_put(p, pending->thread);
	p = varint_put(p, pending->stack);
	p = varint_put(p, pending->api);
	p = varint_put(p, pending->reason);
	return finish(start, p);
}

static void decode_pending(struct event_coder *c, unsigned int flags, const uint8_t **p,
	struct profile_pending *ret)
{
	get_id(c, EVENT_PENDING, flags & PENDING_INSTANCE, p, &ret->instance, &ret->correlation);
	ret->start_ns = get_time(c, EVENT_PENDING, p);
	ret->thread = get_table_id(p);
	ret->stack = get_table_id(p);
	ret->api = get_table_id(p);
	ret->reason = get_table_id(p);
}

/* Rows of one window come together, those of one function and reason close to each other. */
uint8_t *event_encode_stall(struct event_coder *c, const struct profile_stall *s, uint8_t *start)
{
	unsigned int flags = (s->window != c->stall.window ? STALL_WINDOW : 0) |
		(s->correlation != c->stall.correlation ? STALL_CORRELATION : 0) |
		(s->samples != 1 ? STALL_SAMPLES : 0);
	uint8_t *p = begin(start, EVENT_STALL, flags);

	p = put_near(p, s->instruction, c->stall.instruction);
	p = put_near(p, s->reason, c->stall.reason);
	if (flags & STALL_SAMPLES)
		p = varint_put(p, s->samples);
	if (flags & STALL_WINDOW)
		p = put_near(p, s->window, c->stall.window);
	if (flags & STALL_CORRELATION)
		p = put_near(p, s->correlation, c->stall.correlation);
	c->stall = *s;
	return finish(start, p);
}

static void decode_stall(struct event_coder *c, unsigned int flags, const uint8_t **p,
	struct profile_stall *ret)
{
	ret->instruction = get_near(p, c->stall.instruction);
	ret->reason = get_near(p, c->stall.reason);
	ret->samples = flags & STALL_SAMPLES ? varint_get(p) : 1;
	ret->window = c->stall.window;
	if (flags & STALL_WINDOW)
		ret->window = get_near(p, c->stall.window);
	ret->correlation = c->stall.correlation;
	if (flags & STALL_CORRELATION)
		ret->correlation = get_near(p, c->stall.correlation);
	c->stall = *ret;
}

uint8_t *event_encode_count(struct event_coder *c, const struct profile_count *count, uint8_t *start)
{
	unsigned int flags = (count->device != c->count.device ? COUNT_DEVICE : 0) |
		(count->duration_ns != c->count.duration_ns ? COUNT_DURATION : 0);
	uint8_t *p = begin(start, EVENT_COUNT, flags);

	p = put_time(c, EVENT_COUNT, count->start_ns, p);
	p = put_near(p, count->counter, c->count.counter);
	p = put_double(p, count->value);
	if (flags & COUNT_DEVICE)
		p = varint_put(p, count->device);
	if (flags & COUNT_DURATION)
		p = varint_put(p, count->duration_ns);
	c->count = *count;
	return finish(start, p);
}

static void decode_count(struct event_coder *c, unsigned int flags, const uint8_t **p,
	struct profile_count *ret)
{
	ret->start_ns = get_time(c, EVENT_COUNT, p);
	ret->counter = get_near(p, c->count.counter);
	ret->value = get_double(p);
	ret->device = flags & COUNT_DEVICE ? get_table_id(p) : c->count.device;
	ret->duration_ns = flags & COUNT_DURATION ? varint_get(p) : c->count.duration_ns;
	c->count = *ret;
}

int event_decode(struct event_coder *c, const uint8_t **p, const uint8_t *end,
	struct profile_event *ret)
{
	const uint8_t *at = *p, *event_end;
	uint64_t size = varint_get(&at), head;
	bool sound = true;

	if (at > end || size > (uint64_t)(end - at))
		return -1;
	event_end = at + size;
	*p = event_end;
	head = varint_get(&at);
	ret->kind = head & KIND_MASK;
	switch (ret->kind) {
	case EVENT_SAMPLE:
		decode_sample(c, (unsigned int)(head >> KIND_BITS), &at, &ret->sample);
		break;
	case EVENT_CALL:
		decode_call(c, (unsigned int)(head >> KIND_BITS), &at, &ret->call);
		break;
	case EVENT_WORK:
		sound = decode_work(c, (unsigned int)(head >> KIND_BITS), &at, &ret->work);
		break;
	case EVENT_PENDING:
		decode_pending(c, (unsigned int)(head >> KIND_BITS), &at, &ret->pending);
		break;
	case EVENT_STALL:
		decode_stall(c, (unsigned int)(head >> KIND_BITS), &at, &ret->stall);
		break;
	case EVENT_COUNT:
		decode_count(c, (unsigned int)(head >> KIND_BITS), &at, &ret->count);
		break;
	default:
		return at <= event_end ? 0 : -1;
	}
	return sound && at <= event_end ? 1 : -1;
}
