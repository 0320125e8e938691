// SPDX-License-Identifier: MIT
/*
 * Events that are alike come near to each other, so what a list has of a pair of keys is mostly
 * added to the sum that was added to last for this pair. Where that is, is kept by the hash of the
 * pair; it is looked at whether it is of it, in this list. A sum that is not found so is begun
 * anew.
 */
#include "view/fold/event_sums.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/large.h"

#define SUBJECT	  "the sums of the recording"
#define PLACES	  ((size_t)1 << 20)
#define TIME_MAX  (((uint64_t)1 << EVENT_SUM_TIME_BITS) - 1)
#define COUNT_MAX (((uint64_t)1 << EVENT_SUM_COUNT_BITS) - 1)

static int short_memory(void)
{
	return error_memory(SUBJECT);
}

int event_sums_init(struct event_sums *s)
{
	s->places = calloc(PLACES, sizeof(*s->places));
	return s->places ? 0 : short_memory();
}

void event_sums_release(struct event_sums *s)
{
	event_keys_release(&s->keys);
	free(s->places);
	*s = (struct event_sums){0};
}

static uint32_t *place_of(const struct event_sums *s, struct event_pair pair)
{
	uint64_t both = (uint64_t)pair.code << 32 | pair.rest;

	return &s->places[hash_u64(both) & (PLACES - 1)];
}

static bool is_of(const struct event_sum *sum, struct event_pair pair)
{
	return sum->pair.code == pair.code && sum->pair.rest == pair.rest;
}

/* False where it has no room for that. */
static bool add_to(struct event_sum *sum, const struct event_sum *more)
{
	if (sum->time_ns > TIME_MAX - more->time_ns || sum->count > COUNT_MAX - more->count)
		return false;
	sum->time_ns += more->time_ns;
	sum->count += more->count;
	return true;
}

int event_sums_put(struct event_sums *s, struct event_sum_list *to, struct event_sum sum)
{
	uint32_t *place;
	struct event_sum *at;

	if (!s->places && event_sums_init(s))
		return short_memory();
	place = place_of(s, sum.pair);
	at = *place < to->count ? &to->items[*place] : NULL;

	if (at && is_of(at, sum.pair) && add_to(at, &sum))
		return 0;
	*place = (uint32_t)to->count;
	s->sums++;
	return large_push(to, sum) ? short_memory() : 0;
}

static int add_one(struct event_sums *s, const struct event_sum_waiting *w, struct event_pair pair)
{
	uint64_t time_ns = w->time_ns, count = w->count;
	int error = 0;

	do {
		uint64_t some_ns = time_ns < TIME_MAX ? time_ns : TIME_MAX;
		uint64_t some = count < COUNT_MAX ? count : COUNT_MAX;

		error = event_sums_put(
			s, w->to, (struct event_sum){pair, some_ns & TIME_MAX, some & COUNT_MAX});
		time_ns -= some_ns;
		count -= some;
	} while (!error && (time_ns || count));
	return error;
}

void event_sums_settle(struct event_sums *s)
{
	event_keys_settle(&s->keys);
	free(s->places);
	s->places = NULL;
}

int event_sums_rest(struct event_sums *s)
{
	struct event_pair pairs[EVENT_SUMS_WAITING];
	const struct event_sum_waiting *waiting = s->waiting;
	size_t count = s->waiting_count;
	int error = s->places || !count ? 0 : event_sums_init(s);

	s->waiting_count = 0;
	for (size_t i = 0; !error && i < count; i++)
		event_keys_go_on(&s->keys, &waiting[i].key);
	for (size_t i = 0; !error && i < count; i++) {
		error = event_keys_end(&s->keys, &waiting[i].key, &pairs[i]);
		if (!error)
			__builtin_prefetch(place_of(s, pairs[i]), 1);
	}
	for (size_t i = 0; !error && i < count; i++) {
		uint32_t place = *place_of(s, pairs[i]);

		if (place < waiting[i].to->count)
			__builtin_prefetch(&waiting[i].to->items[place], 1);
	}
	for (size_t i = 0; !error && i < count; i++)
		error = add_one(s, &waiting[i], pairs[i]);
	return error;
}

int event_sums_add(struct event_sums *s, struct event_sum_list *to, const struct gather_key *whole,
	uint64_t time_ns, uint64_t count)
{
	struct event_sum_waiting *w = &s->waiting[s->waiting_count++];

	w->to = to;
	w->count = count;
	w->time_ns = time_ns;
	event_keys_begin(&s->keys, whole, &w->key);
	return s->waiting_count < EVENT_SUMS_WAITING ? 0 : event_sums_rest(s);
}

/* ------------------------------------------------------------------ merging */

/* Where those of each code begin, in the order of codes; the last is the end. */
static uint32_t *find_begins(const struct event_sums *s, const struct event_sum_list *list)
{
	size_t codes = s->keys.codes.items.count;
	uint32_t *begins = calloc(codes + 2, sizeof(*begins));

	if (!begins)
		return NULL;
	vec_foreach (sum, list)
		begins[sum->pair.code + 2]++;
	for (size_t n = 2; n < codes + 2; n++)
		begins[n] += begins[n - 1];
	return begins;
}

static int by_rest(const void *a, const void *b)
{
	const struct event_sum *x = a, *y = b;

	return x->pair.rest < y->pair.rest ? -1 : x->pair.rest > y->pair.rest;
}

/* Of one code; returns how many are left. */
static size_t merge_code(struct event_sum *sums, size_t count)
{
	size_t kept = 0;

	if (count > 1)
		qsort(sums, count, sizeof(*sums), by_rest);
	for (size_t n = 0; n < count; n++)
		if (!kept || !is_of(&sums[kept - 1], sums[n].pair) ||
			!add_to(&sums[kept - 1], &sums[n]))
			sums[kept++] = sums[n];
	return kept;
}

/* Each goes to where the next one of its code is: begins[code + 1] becomes the end of it. */
static void order_by_code(
	const struct event_sum_list *list, uint32_t *begins, struct event_sum *ret)
{
	vec_foreach (sum, list)
		ret[begins[sum->pair.code + 1]++] = *sum;
}

int event_sums_merge(struct event_sums *s, struct event_sum_list *list)
{
	size_t codes = s->keys.codes.items.count, kept = 0;
	uint32_t *ends = find_begins(s, list);
	struct event_sum *ordered = large_alloc(list->count, sizeof(*ordered));

	if (!ends || !ordered) {
		free(ends);
		free(ordered);
		return short_memory();
	}
	order_by_code(list, ends, ordered);
	for (size_t n = 0; n < codes; n++) {
		struct event_sum *sums = &ordered[ends[n]];
		size_t left = merge_code(sums, ends[n + 1] - ends[n]);

		for (size_t i = 0; i < left; i++)
			ordered[kept++] = sums[i];
	}
	free(ends);
	free(list->items);
	s->sums -= list->count - kept;
	list->items = ordered;
	list->capacity = list->count;
	list->count = kept;
	return 0;
}
