// SPDX-License-Identifier: MIT
/*
 * Batches are numbered as they come, and the n-th is in place n modulo AHEAD_BATCHES. The counts of
 * those that are filled and of those that are taken are all that the mutex is for. The thread is
 * woken when half of the batches are free, not for each of them.
 *
 * What a batch has stays where it is until the reader takes the next: payloads are read there, and
 * events of what was found point into it.
 */
#include "profile/ahead.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "profile/events.h"
#include "profile/format.h"

#define AHEAD_BATCHES 8
#define BATCH_BYTES   ((size_t)64 << 10)  /* when so much is in it, it is handed over */
#define THREAD_BYTES  ((size_t)128 << 10) /* of stack */

/* An event in a batch: this, and as much of the struct of its kind as is not 0 or the reader's to
 * fill in, and for EVENT_FOUND what was found. Less memory goes from one CPU to the other so. */
struct packed {
	uint32_t kind, size;
	char bytes[];
};

#define ALIGNED(size)	 (((size) + 7) & ~(size_t)7)
#define PACKED_MAX_BYTES (sizeof(struct profile_event) + ALIGNED(FOUND_MAX_BYTES))
_Static_assert(sizeof(struct packed) <= offsetof(struct profile_event, sample),
	"a packed event has more than an event");

struct batch {
	struct chunk chunk; /* that it is of, or part of */
	int error;	    /* instead of a chunk */
	bool last;	    /* of its chunk */
	bool senseless;	    /* behind its last event is one that makes no sense */
	/* the chunk's payload; or, if it has events, these or some of them, packed */
	char *bytes;
	size_t capacity, used;
};

struct ahead {
	struct chunk_file *file;
	struct event_coder *coder;
	uint64_t until;
	pthread_t thread;

	pthread_mutex_t mutex; /* for: */
	pthread_cond_t filled_more, taken_more;
	uint64_t filled, taken;
	bool stop;

	/* the thread's */
	struct chunk chunk;		   /* the present one */
	const uint8_t *event, *events_end; /* what is left of its events */

	/* the reader's */
	struct batch *batch; /* the present one; NULL before the first */
	size_t at;	     /* bytes of its events that were taken */

	struct batch batches[AHEAD_BATCHES];
};

/* ------------------------------------------------------------------ the thread */

static int reserve(struct batch *b, size_t size)
{
	char *bytes;

	if (size <= b->capacity)
		return 0;
	bytes = realloc(b->bytes, size);
	if (!bytes)
		return -ENOMEM;
	b->bytes = bytes;
	b->capacity = size;
	return 0;
}

/* The chunk's place in the file's buffer is needed for the next one. */
static int keep_payload(struct batch *b)
{
	size_t size = b->chunk.size;
	int error = reserve(b, size + CHUNK_READ_PAST);

	if (error)
		return error;
	memcpy(b->bytes, b->chunk.payload, size);
	memset(b->bytes + size, 0, CHUNK_READ_PAST);
	b->chunk.payload = (const uint8_t *)b->bytes;
	return 0;
}

/* What of an event's struct is in the file. */
static size_t size_of(const struct profile_event *e)
{
	static const size_t sizes[EVENT_LAST + 1] = {
		[EVENT_SAMPLE] = sizeof(e->sample),
		[EVENT_CALL] = offsetof(struct profile_call, weight),
		[EVENT_WORK] = offsetof(struct profile_work, weight),
		[EVENT_PENDING] = sizeof(e->pending),
		[EVENT_STALL] = sizeof(e->stall),
		[EVENT_COUNT] = sizeof(e->count),
		[EVENT_DRIVER] = sizeof(e->driver),
		[EVENT_WAIT] = sizeof(e->wait),
		[EVENT_LIFE] = sizeof(e->life),
		[EVENT_SYNC] = sizeof(e->sync),
		[EVENT_MARKER] = sizeof(e->marker),
		[EVENT_FOUND] = sizeof(e->found),
	};
	const struct profile_work *w = &e->work;

	if (e->kind == EVENT_WORK && !w->bytes && !w->queued_ns && !w->submitted_ns &&
		!w->graph_node && !w->grid && !w->node_stack && !w->graph_context &&
		!w->graph_stream)
		return offsetof(struct profile_work, bytes);
	return sizes[e->kind];
}

static void pack(struct batch *b, const struct profile_event *e)
{
	struct packed *to = (struct packed *)(b->bytes + b->used);

	to->kind = e->kind;
	to->size = (uint32_t)size_of(e);
	memcpy(to->bytes, &e->sample, to->size);
	b->used += ALIGNED(sizeof(*to) + to->size);
	if (e->kind != EVENT_FOUND)
		return;
	memcpy(b->bytes + b->used, e->found.bytes, e->found.size);
	b->used += ALIGNED(e->found.size);
}

/* An event of a kind that is not known here is left out. */
static int decode_events(struct ahead *a, struct batch *b)
{
	struct profile_event e = {0};
	int error = reserve(b, BATCH_BYTES + PACKED_MAX_BYTES);

	while (!error && a->event < a->events_end && b->used < BATCH_BYTES) {
		int got = event_decode(a->coder, &a->event, a->events_end, &e);

		if (got > 0)
			pack(b, &e);
		b->senseless = got < 0;
		if (got < 0)
			a->event = a->events_end;
	}
	return error;
}

static int begin_chunk(struct ahead *a, struct batch *b)
{
	int error;

	if (a->file->next >= a->until) {
		b->chunk = (struct chunk){.state = CHUNK_IS_CUT, .begin = a->file->next};
		return 0;
	}
	error = chunk_file_next(a->file, &b->chunk);
	if (!error && b->chunk.state == CHUNK_IS_WHOLE)
		error = chunk_file_payload(a->file, &b->chunk);
	if (error || b->chunk.state != CHUNK_IS_WHOLE)
		return error;
	if (b->chunk.type != CHUNK_EVENTS)
		return keep_payload(b);
	a->chunk = b->chunk;
	a->event = b->chunk.payload;
	a->events_end = a->event + b->chunk.size;
	event_coder_reset(a->coder);
	return decode_events(a, b);
}

static void fill(struct ahead *a, struct batch *b)
{
	b->senseless = false;
	b->used = 0;
	b->chunk = a->chunk;
	b->error = a->event < a->events_end ? decode_events(a, b) : begin_chunk(a, b);
	b->last = a->event == a->events_end;
}

/* Whether there is a batch to be filled. */
static bool wait_for_room(struct ahead *a)
{
	bool stop;

	pthread_mutex_lock(&a->mutex);
	while (a->filled - a->taken == AHEAD_BATCHES && !a->stop)
		pthread_cond_wait(&a->taken_more, &a->mutex);
	stop = a->stop;
	pthread_mutex_unlock(&a->mutex);
	return !stop;
}

/* Nothing comes behind it. */
static bool is_the_end(const struct batch *b)
{
	return b->error || b->chunk.state != CHUNK_IS_WHOLE || b->senseless;
}

static void *run(void *ahead)
{
	struct ahead *a = ahead;
	bool more = true;

	while (more && wait_for_room(a)) {
		struct batch *b = &a->batches[a->filled % AHEAD_BATCHES];

		fill(a, b);
		more = !is_the_end(b);
		pthread_mutex_lock(&a->mutex);
		a->filled++;
		pthread_cond_signal(&a->filled_more);
		pthread_mutex_unlock(&a->mutex);
	}
	return NULL;
}

/* ------------------------------------------------------------------ the reader */

/* Hands the present batch back and takes the next. */
static void take(struct ahead *a)
{
	pthread_mutex_lock(&a->mutex);
	if (a->batch) {
		a->taken++;
		if (a->filled - a->taken <= AHEAD_BATCHES / 2)
			pthread_cond_signal(&a->taken_more);
	}
	while (a->filled == a->taken)
		pthread_cond_wait(&a->filled_more, &a->mutex);
	pthread_mutex_unlock(&a->mutex);
	a->batch = &a->batches[a->taken % AHEAD_BATCHES];
	a->at = 0;
}

int ahead_chunk(struct ahead *a, struct chunk *ret)
{
	if (!a->batch || !is_the_end(a->batch))
		take(a);
	*ret = a->batch->chunk;
	return a->batch->error;
}

static void unpack(struct ahead *a, struct profile_event *ret)
{
	const struct packed *from = (const struct packed *)(a->batch->bytes + a->at);

	ret->kind = from->kind;
	memcpy(&ret->sample, from->bytes, from->size);
	a->at += ALIGNED(sizeof(*from) + from->size);
	if (ret->kind == EVENT_WORK && from->size == offsetof(struct profile_work, bytes))
		memset(&ret->work.bytes, 0,
			offsetof(struct profile_work, weight) -
				offsetof(struct profile_work, bytes));
	if (ret->kind != EVENT_FOUND)
		return;
	ret->found.bytes = (const uint8_t *)a->batch->bytes + a->at;
	a->at += ALIGNED(ret->found.size);
}

int ahead_event(struct ahead *a, struct profile_event *ret)
{
	while (a->at == a->batch->used) {
		if (a->batch->senseless)
			return -1;
		if (a->batch->last)
			return 0;
		take(a);
	}
	unpack(a, ret);
	return 1;
}

/* ------------------------------------------------------------------ begin and end */

static void release(struct ahead *a)
{
	for (size_t i = 0; i < AHEAD_BATCHES; i++)
		free(a->batches[i].bytes);
	pthread_mutex_destroy(&a->mutex);
	pthread_cond_destroy(&a->filled_more);
	pthread_cond_destroy(&a->taken_more);
	free(a);
}

static int make_batches(struct ahead *a)
{
	for (size_t i = 0; i < AHEAD_BATCHES; i++) {
		int error = reserve(&a->batches[i], BATCH_BYTES + PACKED_MAX_BYTES);

		if (error)
			return error;
	}
	return 0;
}

/* Signals are for the other threads. */
static int start_thread(struct ahead *a)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int error;

	if (pthread_attr_init(&attributes))
		return -ENOMEM;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_attr_setstacksize(&attributes, THREAD_BYTES);
	error = error ?: pthread_create(&a->thread, &attributes, run, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}

int ahead_start(
	struct ahead **ret, struct chunk_file *file, struct event_coder *coder, uint64_t until)
{
	struct ahead *a = calloc(1, sizeof(*a));
	int error;

	if (!a)
		return -ENOMEM;
	a->file = file;
	a->coder = coder;
	a->until = until;
	pthread_mutex_init(&a->mutex, NULL);
	pthread_cond_init(&a->filled_more, NULL);
	pthread_cond_init(&a->taken_more, NULL);
	error = make_batches(a);
	error = error ?: start_thread(a);
	if (error) {
		release(a);
		return error;
	}
	*ret = a;
	return 0;
}

void ahead_stop(struct ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->mutex);
	a->stop = true;
	pthread_cond_signal(&a->taken_more);
	pthread_mutex_unlock(&a->mutex);
	pthread_join(a->thread, NULL);
	release(a);
}
