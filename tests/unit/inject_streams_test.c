// SPDX-License-Identifier: MIT
/* The library keeps the context of each stream from when it is made until it is destroyed, whatever
 * its handle. */
#include <pthread.h>

#include "inject/cupti/cupti.h"
#include "inject/library.h"
#include "inject/cupti/streams.h"
#include "tap.h"

#define THREADS 4
#define ROUNDS	20000
#define HELD	16

/* Replace CUPTI's: contexts are numbered by their handles, a stream has the number that was set
 * last. */
static __thread uint32_t next_number;

static int get_context_id(void *context, uint32_t *ret)
{
	*ret = (uint32_t)(uintptr_t)context;
	return CUPTI_OK;
}

static int get_stream_id(void *context, void *stream, uint8_t per_thread, uint32_t *ret)
{
	(void)stream;
	*ret = next_number;
	return context && !per_thread && next_number ? CUPTI_OK : CUPTI_INVALID_CONTEXT;
}

static void *handle(uintptr_t number)
{
	return (void *)number;
}

static void make(uintptr_t context, uintptr_t stream, uint32_t number)
{
	next_number = number;
	streams_made(handle(context), handle(stream));
}

static bool is(uintptr_t stream, uint32_t context, uint32_t number)
{
	uint32_t found_context = 0, found_number = 0;

	return streams_find(handle(stream), &found_context, &found_number) &&
	       found_context == context && found_number == number;
}

static bool is_kept(uintptr_t stream)
{
	uint32_t context, number;

	return streams_find(handle(stream), &context, &number);
}

static void a_stream_is_kept_from_when_it_was_made_until_it_ends(void)
{
	CHECK(!is_kept(0x1000));
	make(3, 0x1000, 13);
	make(4, 0x1010, 14);
	CHECK(is(0x1000, 3, 13) && is(0x1010, 4, 14) && !is_kept(0x1020));
	streams_end(handle(0x1000));
	CHECK(!is_kept(0x1000) && is(0x1010, 4, 14));
	streams_end(handle(0x1000));
	streams_end(handle(0x1010));
	CHECK(!is_kept(0x1010));
}

static void a_handle_that_comes_again_is_the_new_stream(void)
{
	make(3, 0x1000, 13);
	streams_end(handle(0x1000));
	make(4, 0x1000, 21);
	CHECK(is(0x1000, 4, 21));
	/* Its end was not reported. */
	make(5, 0x1000, 22);
	CHECK(is(0x1000, 5, 22));
	/* A stream without a number is not kept. */
	make(6, 0x1000, 0);
	CHECK(!is_kept(0x1000));
}

static void a_context_ends_its_streams(void)
{
	make(3, 0x1000, 13);
	make(4, 0x1010, 14);
	make(3, 0x1020, 15);
	streams_end_all(handle(3));
	CHECK(!is_kept(0x1000) && is(0x1010, 4, 14) && !is_kept(0x1020));
	streams_end_all(NULL);
	CHECK(is(0x1010, 4, 14));
	streams_end_all(handle(4));
	CHECK(!is_kept(0x1010));
}

static void default_streams_are_not_kept(void)
{
	for (uintptr_t stream = 0; stream <= 2; stream++) {
		make(3, stream, 7);
		CHECK(!is_kept(stream));
		streams_end(handle(stream));
	}
}

static void without_their_numbers_streams_are_not_kept(void)
{
	cupti.GetStreamIdEx = NULL;
	make(3, 0x1000, 13);
	cupti.GetStreamIdEx = get_stream_id;
	CHECK(!is_kept(0x1000));
	cupti.GetContextId = NULL;
	make(3, 0x1000, 13);
	streams_end_all(handle(3));
	cupti.GetContextId = get_context_id;
	CHECK(!is_kept(0x1000));
}

static void of_more_than_fit_some_are_not_kept_and_none_is_wrong(void)
{
	uint32_t kept = 0, wrong = 0, count = 20000;

	for (uint32_t n = 1; n <= count; n++)
		make(3, 0x7f0000000000 + n * 64, n);
	for (uint32_t n = 1; n <= count; n++) {
		kept += is(0x7f0000000000 + n * 64, 3, n);
		wrong += is_kept(0x7f0000000000 + n * 64) && !is(0x7f0000000000 + n * 64, 3, n);
	}
	CHECK(kept >= 2048 && kept < count && !wrong);
	streams_end_all(handle(3));
	kept = 0;
	for (uint32_t n = 1; n <= count; n++)
		kept += is_kept(0x7f0000000000 + n * 64);
	CHECK(!kept);
	make(4, 0x1000, 13);
	CHECK(is(0x1000, 4, 13));
	streams_end(handle(0x1000));
}

struct worker {
	pthread_t thread;
	uint32_t number;
	uint32_t wrong;
};

/* Handles of all threads are mixed, but no two have the same at a time, as with streams. */
static void *make_and_destroy(void *worker)
{
	struct worker *w = worker;

	for (uint32_t round = 1; round <= ROUNDS; round++) {
		for (uint32_t n = 0; n < HELD; n++)
			make(10 + w->number, 0x2000 + (n * THREADS + w->number) * 16,
				round * HELD + n);
		for (uint32_t n = 0; n < HELD; n++) {
			uintptr_t stream = 0x2000 + (n * THREADS + w->number) * 16;

			w->wrong += !is(stream, 10 + w->number, round * HELD + n);
			streams_end(handle(stream));
			w->wrong += is_kept(stream);
		}
	}
	return NULL;
}

static void threads_make_and_destroy_streams_beside_each_other(void)
{
	struct worker workers[THREADS];

	for (uint32_t n = 0; n < THREADS; n++) {
		workers[n] = (struct worker){.number = n};
		CHECK(!pthread_create(&workers[n].thread, NULL, make_and_destroy, &workers[n]));
	}
	for (int n = 0; n < 1000; n++)
		streams_end_all(handle(3)); /* not of theirs */
	for (uint32_t n = 0; n < THREADS; n++) {
		pthread_join(workers[n].thread, NULL);
		CHECK(!workers[n].wrong);
	}
}

int main(void)
{
	cupti.GetContextId = get_context_id;
	cupti.GetStreamIdEx = get_stream_id;
	RUN(a_stream_is_kept_from_when_it_was_made_until_it_ends);
	RUN(a_handle_that_comes_again_is_the_new_stream);
	RUN(a_context_ends_its_streams);
	RUN(default_streams_are_not_kept);
	RUN(without_their_numbers_streams_are_not_kept);
	RUN(of_more_than_fit_some_are_not_kept_and_none_is_wrong);
	RUN(threads_make_and_destroy_streams_beside_each_other);
	return tap_end();
}
