// SPDX-License-Identifier: MIT
#include "profile/events.h"

#include <math.h>

#include "profile/varint.h"

#define KIND_BITS 3
#define KIND_MASK 7
/* Later kinds have 0 there, and their number above it: old readers skip them. */
#define KIND_LATER	8
#define LATER_KIND_BITS (2 * KIND_BITS)

enum {
	SAMPLE_PERIOD = 1 << 0, /* the period is given, else as before */
};

enum {
	CALL_INSTANCE = 1 << 0, /* the instance is given, else as before */
	CALL_RESULT = 1 << 1,	/* the result is given, else 0 */
	CALL_OBSERVED = 1 << 2, /* it was observed */
};

/* A piece of work with flags above the fourth takes a second byte for its head. */
enum {
	WORK_AS_CALL = 1 << 0,	   /* thread, stack, api and launch_ns are those of its call */
	WORK_BYTES = 1 << 1,	   /* bytes are given, else 0 */
	WORK_NODE = 1 << 2,	   /* graph_node and node_stack are given, else 0 */
	WORK_INSTANCE = 1 << 3,	   /* the instance is given, else as before */
	WORK_LAUNCH = 1 << 4,	   /* thread, stack, api and launch_ns are given, else 0 */
	WORK_JOIN = 1 << 5,	   /* join is given, else JOIN_OK */
	WORK_QUEUED = 1 << 6,	   /* queued_ns is given, else 0 */
	WORK_SUBMITTED = 1 << 7,   /* submitted_ns is given, else 0 */
	WORK_STREAM = 1 << 8,	   /* graph_context and graph_stream are given, else 0 */
	WORK_GRID = 1 << 9,	   /* grid is given, else 0 */
	WORK_STANDS_FOR = 1 << 10, /* stands_for is given, else 0 */
};

enum {
	PENDING_INSTANCE = 1 << 0, /* the instance is given, else as before */
};

enum {
	STALL_WINDOW = 1 << 0,	    /* the window is given, else as before */
	STALL_CORRELATION = 1 << 1, /* the correlation id is given, else as before */
	STALL_SAMPLES = 1 << 2,	    /* their number is given, else 1 */
};

enum {
	COUNT_DEVICE = 1 << 0,	 /* the device is given, else as before */
	COUNT_DURATION = 1 << 1, /* the duration is given, else as before */
};

enum {
	DRIVER_SOURCE = 1 << 0,	  /* source is given, else as before */
	DRIVER_RING = 1 << 1,	  /* ring is given, else as before */
	DRIVER_THREAD = 1 << 2,	  /* thread is given, else as before */
	DRIVER_DURATION = 1 << 3, /* the duration is given, else 0 */
	DRIVER_JOB = 1 << 4,	  /* the job is given, else 0 */
	DRIVER_BYTES = 1 << 5,	  /* bytes are given, else 0 */
	DRIVER_FOREIGN = 1 << 6,  /* it is foreign */
	DRIVER_UNFINISHED = 1 << 7,
};

enum {
	WAIT_THREAD = 1 << 0,  /* the thread is given, else as before */
	WAIT_QUEUED = 1 << 1,  /* queued_ns is given, else 0 */
	WAIT_OTHERS = 1 << 2,  /* others and others_ns are given, else 0 */
	WAIT_WAKER = 1 << 3,   /* the waker is given, else 0 */
	WAIT_ASSUMED = 1 << 4, /* the stack is assumed */
};

enum {
	SYNC_INSTANCE = 1 << 0, /* the instance is given, else as before */
	SYNC_AS_CALL = 1 << 1,	/* thread, stack and api are those of its call */
	SYNC_RECORDED = 1 << 2, /* recorded_ns is given, else 0 */
};

enum {
	MARKER_THREAD = 1 << 0, /* the thread is given, else as before */
	MARKER_DOMAIN = 1 << 1, /* the domain is given, else as before */
	MARKER_UNFINISHED = 1 << 2,
};

enum {
	FOUND_MAP = 1 << 0,	/* the map is given, else as before */
	FOUND_CONTEXT = 1 << 1, /* the context is given, else as before */
	FOUND_RECORD = 1 << 2,	/* grid, program and text are given, else 0 */
	FOUND_SM = 1 << 3,	/* the multiprocessor is given, else 0 */
	FOUND_THREAD = 1 << 4,	/* the thread is given, else 0 */
};

/* `api` and the kind of call share a number; `name` and the kind of a driver's event, too. */
#define CALL_KIND_BITS 3
_Static_assert(CALL_KINDS <= 1 << CALL_KIND_BITS, "call kinds need more bits");
#define DRIVER_KIND_BITS 3
_Static_assert(DRIVER_KINDS <= 1 << DRIVER_KIND_BITS, "kinds of driver events need more bits");
#define WAIT_REASON_BITS 4
_Static_assert(WAIT_REASONS <= 1 << WAIT_REASON_BITS, "reasons of waits need more bits");
_Static_assert(EVENT_LAST < KIND_LATER + (1 << KIND_BITS), "event kinds need more bits");

/* A reader may come that far past the end of an event before it notices: size, head and 18
 * fields. */
_Static_assert(EVENT_READ_PAST >= 20 * VARINT_MAX_BYTES, "EVENT_READ_PAST is too small");

void event_coder_reset(struct event_coder *c)
{
	c->chunk++;
	c->instance = 0;
	c->period_ns = 0;
	c->graph_node = 0;
	c->grid = 0;
	memset(c->base_ns, 0, sizeof(c->base_ns));
	memset(c->correlation, 0, sizeof(c->correlation));
	c->stall = (struct profile_stall){0};
	c->count = (struct profile_count){0};
	c->driver = (struct profile_driver){0};
	c->job = 0;
	c->waiting = 0;
	c->marking = c->domain = 0;
	c->found = (struct profile_found){0};
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
	       w->op >= 1 && w->op <= counts[TABLE_OPS] && w->join < JOIN_REASONS &&
	       w->stands_for <= WORK_STANDS_FOR_MAX;
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

bool driver_is_valid(const struct profile_driver *d, const uint32_t counts[TABLE_COUNT])
{
	return d->thread <= counts[TABLE_THREADS] && d->source <= counts[TABLE_STRINGS] &&
	       d->ring <= counts[TABLE_STRINGS] && d->name <= counts[TABLE_STRINGS] &&
	       d->kind >= 1 && d->kind < DRIVER_KINDS &&
	       (d->kind != DRIVER_MOMENT || !d->duration_ns);
}

bool wait_is_valid(const struct profile_wait *w, const uint32_t counts[TABLE_COUNT])
{
	return w->thread <= counts[TABLE_THREADS] && w->waker <= counts[TABLE_THREADS] &&
	       w->stack <= counts[TABLE_STACKS] && w->reason >= 1 && w->reason < WAIT_REASONS &&
	       w->queued_ns <= w->duration_ns;
}

bool life_is_valid(const struct profile_life *l, const uint32_t counts[TABLE_COUNT])
{
	return l->thread >= 1 && l->thread <= counts[TABLE_THREADS] && l->run_ns <= l->duration_ns;
}

bool sync_is_valid(const struct profile_sync *s, const uint32_t counts[TABLE_COUNT])
{
	return s->thread <= counts[TABLE_THREADS] && s->stack <= counts[TABLE_STACKS] &&
	       s->api <= counts[TABLE_STRINGS] && s->device <= counts[TABLE_DEVICES] &&
	       s->kind >= 1 && s->kind < SYNC_KINDS;
}

bool marker_is_valid(const struct profile_marker *m, const uint32_t counts[TABLE_COUNT])
{
	return m->thread <= counts[TABLE_THREADS] && m->name <= counts[TABLE_STRINGS] &&
	       m->domain <= counts[TABLE_STRINGS] && m->kind >= 1 && m->kind < MARKER_KINDS &&
	       (m->kind != MARKER_MOMENT || !m->duration_ns);
}

bool found_is_valid(const struct profile_found *f, const uint32_t counts[TABLE_COUNT])
{
	return f->map >= 1 && f->map <= counts[TABLE_PROBE_MAPS] && f->context >= 1 &&
	       f->context <= counts[TABLE_PROBE_CONTEXTS] && f->size <= FOUND_MAX_BYTES;
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
	case EVENT_DRIVER:
		return driver_is_valid(&e->driver, counts);
	case EVENT_WAIT:
		return wait_is_valid(&e->wait, counts);
	case EVENT_LIFE:
		return life_is_valid(&e->life, counts);
	case EVENT_SYNC:
		return sync_is_valid(&e->sync, counts);
	case EVENT_MARKER:
		return marker_is_valid(&e->marker, counts);
	case EVENT_FOUND:
		return found_is_valid(&e->found, counts);
	}
	return false;
}

/* Differences are taken modulo 2^64 (2^32 for correlation ids), so that any two numbers have
 * one. */

static uint8_t *put_time(
	struct event_coder *c, enum profile_event_kind kind, uint64_t start_ns, uint8_t *p)
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
	if (kind < KIND_LATER)
		return varint_put(p + 1, kind | flags << KIND_BITS);
	return varint_put(p + 1, (kind - KIND_LATER) << KIND_BITS | flags << LATER_KIND_BITS);
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

static void decode_sample(
	struct event_coder *c, unsigned int flags, const uint8_t **p, struct profile_sample *ret)
{
	ret->kind = SAMPLE_SEEN;
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
			     (call->result ? CALL_RESULT : 0) |
			     (call->observed ? CALL_OBSERVED : 0);
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

static void decode_call(
	struct event_coder *c, unsigned int flags, const uint8_t **p, struct profile_call *ret)
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
	ret->observed = flags & CALL_OBSERVED;
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
	if (w->graph_context || w->graph_stream)
		flags |= WORK_STREAM;
	if (w->grid)
		flags |= WORK_GRID;
	if (w->stands_for)
		flags |= WORK_STANDS_FOR;
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
	if (flags & WORK_STREAM) {
		p = varint_put(p, w->graph_context);
		p = varint_put(p, w->graph_stream);
	}
	if (flags & WORK_GRID) {
		p = varint_put(p, zigzag((int64_t)(w->grid - c->grid)));
		c->grid = w->grid;
	}
	if (flags & WORK_STANDS_FOR)
		p = varint_put(p, w->stands_for);
	return finish(start, p);
}

/* False when it refers to a call that is not there. */
static bool decode_launch(
	struct event_coder *c, unsigned int flags, const uint8_t **p, struct profile_work *ret)
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

static bool decode_work(
	struct event_coder *c, unsigned int flags, const uint8_t **p, struct profile_work *ret)
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
	ret->graph_context = flags & WORK_STREAM ? (uint32_t)varint_get(p) : 0;
	ret->graph_stream = flags & WORK_STREAM ? (uint32_t)varint_get(p) : 0;
	ret->grid = 0;
	if (flags & WORK_GRID)
		ret->grid = c->grid += (uint64_t)unzigzag(varint_get(p));
	ret->stands_for = flags & WORK_STANDS_FOR ? get_table_id(p) : 0;
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

static void decode_pending(
	struct event_coder *c, unsigned int flags, const uint8_t **p, struct profile_pending *ret)
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

static void decode_stall(
	struct event_coder *c, unsigned int flags, const uint8_t **p, struct profile_stall *ret)
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

uint8_t *event_encode_count(
	struct event_coder *c, const struct profile_count *count, uint8_t *start)
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

static void decode_count(
	struct event_coder *c, unsigned int flags, const uint8_t **p, struct profile_count *ret)
{
	ret->start_ns = get_time(c, EVENT_COUNT, p);
	ret->counter = get_near(p, c->count.counter);
	ret->value = get_double(p);
	ret->device = flags & COUNT_DEVICE ? get_table_id(p) : c->count.device;
	ret->duration_ns = flags & COUNT_DURATION ? varint_get(p) : c->count.duration_ns;
	c->count = *ret;
}

static unsigned int driver_flags(const struct event_coder *c, const struct profile_driver *d)
{
	return (d->source != c->driver.source ? DRIVER_SOURCE : 0) |
	       (d->ring != c->driver.ring ? DRIVER_RING : 0) |
	       (d->thread != c->driver.thread ? DRIVER_THREAD : 0) |
	       (d->duration_ns ? DRIVER_DURATION : 0) | (d->job ? DRIVER_JOB : 0) |
	       (d->bytes ? DRIVER_BYTES : 0) | (d->foreign ? DRIVER_FOREIGN : 0) |
	       (d->unfinished ? DRIVER_UNFINISHED : 0);
}

/* The times of stretches are near each other at their ends, as they are written when they have
 * ended; jobs are numbered in turn. */
uint8_t *event_encode_driver(struct event_coder *c, const struct profile_driver *d, uint8_t *start)
{
	unsigned int flags = driver_flags(c, d);
	uint8_t *p = begin(start, EVENT_DRIVER, flags);

	p = put_time(c, EVENT_DRIVER, d->start_ns + d->duration_ns, p);
	p = varint_put(p, (uint64_t)d->name << DRIVER_KIND_BITS | d->kind);
	if (flags & DRIVER_SOURCE)
		p = varint_put(p, d->source);
	if (flags & DRIVER_RING)
		p = varint_put(p, d->ring);
	if (flags & DRIVER_THREAD)
		p = varint_put(p, d->thread);
	if (flags & DRIVER_DURATION)
		p = varint_put(p, d->duration_ns);
	if (flags & DRIVER_JOB) {
		p = varint_put(p, zigzag((int64_t)(d->job - c->job)));
		c->job = d->job;
	}
	if (flags & DRIVER_BYTES)
		p = varint_put(p, d->bytes);
	c->driver = *d;
	return finish(start, p);
}

static void decode_driver(
	struct event_coder *c, unsigned int flags, const uint8_t **p, struct profile_driver *ret)
{
	uint64_t end_ns = get_time(c, EVENT_DRIVER, p), name_and_kind = varint_get(p);

	ret->kind = name_and_kind & ((1 << DRIVER_KIND_BITS) - 1);
	name_and_kind >>= DRIVER_KIND_BITS;
	ret->name = name_and_kind <= UINT32_MAX ? (uint32_t)name_and_kind : UINT32_MAX;
	ret->source = flags & DRIVER_SOURCE ? get_table_id(p) : c->driver.source;
	ret->ring = flags & DRIVER_RING ? get_table_id(p) : c->driver.ring;
	ret->thread = flags & DRIVER_THREAD ? get_table_id(p) : c->driver.thread;
	ret->duration_ns = flags & DRIVER_DURATION ? varint_get(p) : 0;
	ret->start_ns = end_ns - ret->duration_ns;
	ret->job = 0;
	if (flags & DRIVER_JOB)
		ret->job = c->job += (uint64_t)unzigzag(varint_get(p));
	ret->bytes = flags & DRIVER_BYTES ? varint_get(p) : 0;
	ret->foreign = flags & DRIVER_FOREIGN;
	ret->unfinished = flags & DRIVER_UNFINISHED;
	c->driver = *ret;
}

uint8_t *event_encode_wait(struct event_coder *c, const struct profile_wait *w, uint8_t *start)
{
	unsigned int flags = (w->thread != c->waiting ? WAIT_THREAD : 0) |
			     (w->queued_ns ? WAIT_QUEUED : 0) |
			     (w->others || w->others_ns ? WAIT_OTHERS : 0) |
			     (w->waker ? WAIT_WAKER : 0) | (w->assumed ? WAIT_ASSUMED : 0);
	uint8_t *p = begin(start, EVENT_WAIT, flags);

	p = put_time(c, EVENT_WAIT, w->start_ns, p);
	p = varint_put(p, w->duration_ns);
	p = varint_put(p, (uint64_t)w->stack << WAIT_REASON_BITS | w->reason);
	if (flags & WAIT_THREAD)
		p = varint_put(p, w->thread);
	if (flags & WAIT_QUEUED)
		p = varint_put(p, w->queued_ns);
	if (flags & WAIT_OTHERS) {
		p = varint_put(p, w->others);
		p = varint_put(p, w->others_ns);
	}
	if (flags & WAIT_WAKER)
		p = varint_put(p, w->waker);
	c->waiting = w->thread;
	return finish(start, p);
}

static void decode_wait(
	struct event_coder *c, unsigned int flags, const uint8_t **p, struct profile_wait *ret)
{
	uint64_t stack_and_reason;

	ret->start_ns = get_time(c, EVENT_WAIT, p);
	ret->duration_ns = varint_get(p);
	stack_and_reason = varint_get(p);
	ret->reason = stack_and_reason & ((1 << WAIT_REASON_BITS) - 1);
	stack_and_reason >>= WAIT_REASON_BITS;
	ret->stack = stack_and_reason <= UINT32_MAX ? (uint32_t)stack_and_reason : UINT32_MAX;
	if (flags & WAIT_THREAD)
		c->waiting = get_table_id(p);
	ret->thread = c->waiting;
	ret->queued_ns = flags & WAIT_QUEUED ? varint_get(p) : 0;
	ret->others = flags & WAIT_OTHERS ? varint_get(p) : 0;
	ret->others_ns = flags & WAIT_OTHERS ? varint_get(p) : 0;
	ret->waker = flags & WAIT_WAKER ? get_table_id(p) : 0;
	ret->assumed = flags & WAIT_ASSUMED;
}

uint8_t *event_encode_life(struct event_coder *c, const struct profile_life *l, uint8_t *start)
{
	uint8_t *p = begin(start, EVENT_LIFE, 0);

	p = put_time(c, EVENT_LIFE, l->start_ns, p);
	p = varint_put(p, l->duration_ns);
	p = varint_put(p, l->run_ns);
	p = varint_put(p, l->thread);
	return finish(start, p);
}

static void decode_life(struct event_coder *c, const uint8_t **p, struct profile_life *ret)
{
	ret->start_ns = get_time(c, EVENT_LIFE, p);
	ret->duration_ns = varint_get(p);
	ret->run_ns = varint_get(p);
	ret->thread = get_table_id(p);
}

static bool is_sync_of_call(struct event_coder *c, const struct profile_sync *s)
{
	const struct call_slot *slot = slot_of(c, s->instance, s->correlation);

	return slot_holds(c, slot, s->instance, s->correlation) && slot->thread == s->thread &&
	       slot->stack == s->stack && slot->api == s->api;
}

uint8_t *event_encode_sync(struct event_coder *c, const struct profile_sync *s, uint8_t *start)
{
	unsigned int flags = (s->instance != c->instance ? SYNC_INSTANCE : 0) |
			     (is_sync_of_call(c, s) ? SYNC_AS_CALL : 0) |
			     (s->recorded_ns ? SYNC_RECORDED : 0);
	uint8_t *p = begin(start, EVENT_SYNC, flags);

	p = put_id(c, EVENT_SYNC, flags & SYNC_INSTANCE, s->instance, s->correlation, p);
	p = put_time(c, EVENT_SYNC, s->start_ns, p);
	p = varint_put(p, s->duration_ns);
	p = varint_put(p, s->kind);
	p = varint_put(p, s->device);
	p = varint_put(p, s->context);
	p = varint_put(p, s->stream);
	if (!(flags & SYNC_AS_CALL)) {
		p = varint_put(p, s->thread);
		p = varint_put(p, s->stack);
		p = varint_put(p, s->api);
	}
	if (flags & SYNC_RECORDED)
		p = varint_put(p, zigzag((int64_t)(s->start_ns - s->recorded_ns)));
	return finish(start, p);
}

/* False when it refers to a call that is not there. */
static bool decode_sync(
	struct event_coder *c, unsigned int flags, const uint8_t **p, struct profile_sync *ret)
{
	const struct call_slot *slot;

	get_id(c, EVENT_SYNC, flags & SYNC_INSTANCE, p, &ret->instance, &ret->correlation);
	ret->start_ns = get_time(c, EVENT_SYNC, p);
	ret->duration_ns = varint_get(p);
	ret->kind = get_table_id(p);
	ret->device = get_table_id(p);
	ret->context = (uint32_t)varint_get(p);
	ret->stream = (uint32_t)varint_get(p);
	if (flags & SYNC_AS_CALL) {
		slot = slot_of(c, ret->instance, ret->correlation);
		if (!slot_holds(c, slot, ret->instance, ret->correlation))
			return false;
		ret->thread = slot->thread;
		ret->stack = slot->stack;
		ret->api = slot->api;
	} else {
		ret->thread = get_table_id(p);
		ret->stack = get_table_id(p);
		ret->api = get_table_id(p);
	}
	ret->recorded_ns =
		flags & SYNC_RECORDED ? ret->start_ns - (uint64_t)unzigzag(varint_get(p)) : 0;
	return true;
}

uint8_t *event_encode_marker(struct event_coder *c, const struct profile_marker *m, uint8_t *start)
{
	unsigned int flags = (m->thread != c->marking ? MARKER_THREAD : 0) |
			     (m->domain != c->domain ? MARKER_DOMAIN : 0) |
			     (m->unfinished ? MARKER_UNFINISHED : 0);
	uint8_t *p = begin(start, EVENT_MARKER, flags);

	p = put_time(c, EVENT_MARKER, m->start_ns, p);
	p = varint_put(p, m->duration_ns);
	p = varint_put(p, m->kind);
	p = varint_put(p, m->name);
	if (flags & MARKER_THREAD)
		p = varint_put(p, c->marking = m->thread);
	if (flags & MARKER_DOMAIN)
		p = varint_put(p, c->domain = m->domain);
	return finish(start, p);
}

static void decode_marker(
	struct event_coder *c, unsigned int flags, const uint8_t **p, struct profile_marker *ret)
{
	ret->start_ns = get_time(c, EVENT_MARKER, p);
	ret->duration_ns = varint_get(p);
	ret->kind = get_table_id(p);
	ret->name = get_table_id(p);
	if (flags & MARKER_THREAD)
		c->marking = get_table_id(p);
	if (flags & MARKER_DOMAIN)
		c->domain = get_table_id(p);
	ret->thread = c->marking;
	ret->domain = c->domain;
	ret->unfinished = flags & MARKER_UNFINISHED;
}

static unsigned int found_flags(const struct event_coder *c, const struct profile_found *f)
{
	return (f->map != c->found.map ? FOUND_MAP : 0) |
	       (f->context != c->found.context ? FOUND_CONTEXT : 0) |
	       (f->program ? FOUND_RECORD : 0) | (f->sm ? FOUND_SM : 0) |
	       (f->thread ? FOUND_THREAD : 0);
}

/* The bytes are what is left of the event. */
uint8_t *event_encode_found(struct event_coder *c, const struct profile_found *f, uint8_t *start)
{
	unsigned int flags = found_flags(c, f);
	uint8_t fields[EVENT_MAX_BYTES], *p = begin(fields, EVENT_FOUND, flags);
	size_t size;

	p = put_time(c, EVENT_FOUND, f->time_ns, p);
	if (flags & FOUND_MAP)
		p = varint_put(p, f->map);
	if (flags & FOUND_CONTEXT)
		p = varint_put(p, f->context);
	if (flags & FOUND_RECORD) {
		p = varint_put(p, zigzag((int64_t)(f->grid - c->found.grid)));
		p = varint_put(p, f->program);
		p = varint_put(p, f->text);
	}
	if (flags & FOUND_SM)
		p = varint_put(p, f->sm);
	if (flags & FOUND_THREAD)
		p = varint_put(p, f->thread);
	c->found = *f;
	size = (size_t)(p - fields) - 1;
	start = varint_put(start, size + f->size);
	memcpy(start, fields + 1, size);
	if (f->size)
		memcpy(start + size, f->bytes, f->size);
	return start + size + f->size;
}

/* False when it ends before its bytes begin. */
static bool decode_found(struct event_coder *c, unsigned int flags, const uint8_t **p,
	const uint8_t *end, struct profile_found *ret)
{
	ret->time_ns = get_time(c, EVENT_FOUND, p);
	ret->map = flags & FOUND_MAP ? get_table_id(p) : c->found.map;
	ret->context = flags & FOUND_CONTEXT ? get_table_id(p) : c->found.context;
	ret->grid = 0;
	ret->program = ret->text = 0;
	if (flags & FOUND_RECORD) {
		ret->grid = c->found.grid + (uint64_t)unzigzag(varint_get(p));
		ret->program = get_table_id(p);
		ret->text = get_table_id(p);
	}
	ret->sm = flags & FOUND_SM ? get_table_id(p) : 0;
	ret->thread = flags & FOUND_THREAD ? varint_get(p) : 0;
	if (*p > end || end - *p > FOUND_MAX_BYTES)
		return false;
	ret->bytes = *p;
	ret->size = (uint32_t)(end - *p);
	*p = end;
	c->found = *ret;
	return true;
}

/* Removes the kind from an event's head, which leaves the flags. */
static enum profile_event_kind decode_kind(uint64_t *head)
{
	unsigned int kind = *head & KIND_MASK;

	*head >>= KIND_BITS;
	if (kind)
		return kind;
	kind = KIND_LATER + (*head & KIND_MASK);
	*head >>= KIND_BITS;
	return kind;
}

int event_decode(
	struct event_coder *c, const uint8_t **p, const uint8_t *end, struct profile_event *ret)
{
	const uint8_t *at = *p, *event_end;
	uint64_t size = varint_get(&at), head;
	unsigned int flags;
	bool sound = true;

	if (at > end || size > (uint64_t)(end - at))
		return -1;
	event_end = at + size;
	*p = event_end;
	head = varint_get(&at);
	ret->kind = decode_kind(&head);
	flags = (unsigned int)head;
	switch (ret->kind) {
	case EVENT_SAMPLE:
		decode_sample(c, flags, &at, &ret->sample);
		break;
	case EVENT_CALL:
		decode_call(c, flags, &at, &ret->call);
		break;
	case EVENT_WORK:
		sound = decode_work(c, flags, &at, &ret->work);
		break;
	case EVENT_PENDING:
		decode_pending(c, flags, &at, &ret->pending);
		break;
	case EVENT_STALL:
		decode_stall(c, flags, &at, &ret->stall);
		break;
	case EVENT_COUNT:
		decode_count(c, flags, &at, &ret->count);
		break;
	case EVENT_DRIVER:
		decode_driver(c, flags, &at, &ret->driver);
		break;
	case EVENT_WAIT:
		decode_wait(c, flags, &at, &ret->wait);
		break;
	case EVENT_LIFE:
		decode_life(c, &at, &ret->life);
		break;
	case EVENT_SYNC:
		sound = decode_sync(c, flags, &at, &ret->sync);
		break;
	case EVENT_MARKER:
		decode_marker(c, flags, &at, &ret->marker);
		break;
	case EVENT_FOUND:
		sound = decode_found(c, flags, &at, event_end, &ret->found);
		break;
	default:
		return at <= event_end ? 0 : -1;
	}
	return sound && at <= event_end ? 1 : -1;
}
