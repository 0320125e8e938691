// SPDX-License-Identifier: MIT
#include "view/fold/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/large.h"
#include "profile/model.h"

void keys_release(struct keys *k)
{
	vec_release(&k->items);
	free(k->index);
	*k = (struct keys){0};
}

static uint32_t *find_hashed(const struct keys *k, const struct gather_key *key, uint64_t hash)
{
	size_t i = hash & k->mask;

	while (k->index[i] && memcmp(&k->items.items[k->index[i] - 1], key, sizeof(*key)))
		i = (i + 1) & k->mask;
	return &k->index[i];
}

static uint32_t *find(const struct keys *k, const struct gather_key *key)
{
	return find_hashed(k, key, gather_hash(key));
}

static int grow(struct keys *k)
{
	size_t capacity = k->index ? (k->mask + 1) * 2 : 1024;
	uint32_t *index = calloc(capacity, sizeof(*index));

	if (!index || k->items.count >= UINT32_MAX / 2) {
		free(index);
		return error_set(-ENOMEM, "not enough memory for the events");
	}
	free(k->index);
	k->index = index;
	k->mask = capacity - 1;
	for (size_t n = 0; n < k->items.count; n++)
		*find(k, &k->items.items[n]) = (uint32_t)n + 1;
	return 0;
}

static int add_hashed(struct keys *k, const struct gather_key *key, uint64_t hash, uint32_t *ret)
{
	uint32_t *slot;
	int error;

	if (!k->index || (k->items.count + 1) * 3 > (k->mask + 1) * 2) {
		error = grow(k);
		if (error)
			return error;
	}
	slot = find_hashed(k, key, hash);
	if (!*slot) {
		if (vec_push(&k->items, *key))
			return error_set(-ENOMEM, "not enough memory for the events");
		*slot = (uint32_t)k->items.count;
	}
	*ret = *slot - 1;
	return 0;
}

int keys_add(struct keys *k, const struct gather_key *key, uint32_t *ret)
{
	return add_hashed(k, key, gather_hash(key), ret);
}

bool keys_find(const struct keys *k, const struct gather_key *key, uint32_t *ret)
{
	uint32_t found = k->index ? *find(k, key) : 0;

	if (found)
		*ret = found - 1;
	return found;
}

/* ------------------------------------------------------------------ in two halves */

void event_keys_release(struct event_keys *k)
{
	keys_release(&k->codes);
	keys_release(&k->rests);
	event_keys_settle(k);
}

void event_keys_settle(struct event_keys *k)
{
	free(k->places);
	k->places = NULL;
	k->place_count = 0;
}

/* A call, its work and a launch without work stand on the same code. */
static struct gather_key code_of(const struct gather_key *whole)
{
	struct gather_key code = *whole;

	code.thread = code.op = 0;
	if (code.stack && code.event != EVENT_SAMPLE && code.event != EVENT_WAIT) {
		code.event = EVENT_WORK;
		code.reason = JOIN_OK;
	}
	return code;
}

static struct gather_key rest_of(const struct gather_key *whole)
{
	struct gather_key rest = *whole;

	rest.stack = rest.node_stack = rest.api = 0;
	return rest;
}

static bool may_have_place(const struct gather_key *code)
{
	return code->stack && !code->node_stack && code->event == EVENT_WORK;
}

/* NULL: there is none yet. */
static struct event_key_place *place_of(const struct event_keys *k, const struct gather_key *code)
{
	return code->stack < k->place_count ? &k->places[code->stack] : NULL;
}

static bool is_of(const struct event_key_place *place, const struct gather_key *code)
{
	return place && place->code && place->api == code->api;
}

void event_keys_begin(
	const struct event_keys *k, const struct gather_key *whole, struct event_keys_step *ret)
{
	ret->code = code_of(whole);
	ret->rest = rest_of(whole);
	ret->has_place = may_have_place(&ret->code);
	if (ret->has_place) {
		__builtin_prefetch(place_of(k, &ret->code));
		return;
	}
	ret->hash = gather_hash(&ret->code);
	if (k->codes.index)
		__builtin_prefetch(&k->codes.index[ret->hash & k->codes.mask]);
}

/* There are few rests. */
void event_keys_go_on(const struct event_keys *k, const struct event_keys_step *step)
{
	uint32_t number;

	if (!k->codes.index)
		return;
	if (step->has_place) {
		if (!is_of(place_of(k, &step->code), &step->code))
			__builtin_prefetch(
				&k->codes.index[gather_hash(&step->code) & k->codes.mask]);
		return;
	}
	number = k->codes.index[step->hash & k->codes.mask];
	if (number)
		__builtin_prefetch(&k->codes.items.items[number - 1]);
}

/* Where there is no memory for places, all are looked up. */
static struct event_key_place *make_place(struct event_keys *k, uint32_t stack)
{
	size_t count = (size_t)stack + stack / 4 + 1024;
	struct event_key_place *places;

	if (stack < k->place_count)
		return &k->places[stack];
	places = count <= UINT32_MAX ? realloc(k->places, count * sizeof(*places)) : NULL;
	if (!places)
		return NULL;
	large_advise(places, count * sizeof(*places));
	memset(places + k->place_count, 0, (count - k->place_count) * sizeof(*places));
	k->places = places;
	k->place_count = (uint32_t)count;
	return &places[stack];
}

static int add_placed(struct event_keys *k, const struct gather_key *code, uint32_t *ret)
{
	struct event_key_place *place = place_of(k, code);
	int error;

	if (is_of(place, code)) {
		*ret = place->code - 1;
		return 0;
	}
	error = keys_add(&k->codes, code, ret);
	place = error ? NULL : make_place(k, code->stack);
	if (place)
		*place = (struct event_key_place){code->api, *ret + 1};
	return error;
}

int event_keys_end(struct event_keys *k, const struct event_keys_step *step, struct event_pair *ret)
{
	int error = step->has_place ? add_placed(k, &step->code, &ret->code)
				    : add_hashed(&k->codes, &step->code, step->hash, &ret->code);

	return error ?: keys_add(&k->rests, &step->rest, &ret->rest);
}

bool event_keys_find(
	const struct event_keys *k, const struct gather_key *whole, struct event_pair *ret)
{
	const struct gather_key code = code_of(whole), rest = rest_of(whole);

	return keys_find(&k->codes, &code, &ret->code) && keys_find(&k->rests, &rest, &ret->rest);
}

struct gather_key event_keys_at(const struct event_keys *k, struct event_pair pair)
{
	struct gather_key whole = k->rests.items.items[pair.rest];
	const struct gather_key *code = &k->codes.items.items[pair.code];

	whole.stack = code->stack;
	whole.node_stack = code->node_stack;
	whole.api = code->api;
	return whole;
}
