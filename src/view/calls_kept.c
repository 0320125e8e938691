// SPDX-License-Identifier: MIT
#include "view/calls_kept.h"

#include <stdlib.h>

#include "base/error.h"
#include "view/fold/event_nodes.h"

#define SUBJECT	  "the calls"
#define CODES_MAX ((size_t)1 << 21) /* numbers that fit */
#define COUNT_MAX (((uint64_t)1 << 22) - 1)
#define WAITING	  32 /* calls whose codes are looked up together */

struct waiting {
	struct event_keys_step key;
	struct gather_key whole;
	uint64_t start_ns;
};

struct reading {
	struct calls_kept *kept;
	const struct slice_sums *sums;
	struct event_keys keys; /* the codes are those of the sums */
	struct waiting waiting[WAITING];
	size_t waiting_count;
};

static void release_slices(struct calls_kept *k)
{
	for (uint32_t n = 0; n < k->slice_count; n++)
		vec_release(&k->slices[n]);
	free(k->slices);
	k->slices = NULL;
	k->slice_count = 0;
}

void calls_kept_release(struct calls_kept *k)
{
	release_slices(k);
	keys_release(&k->rests);
	vec_release(&k->others);
	*k = (struct calls_kept){0};
}

static struct calls_slice *slice_of(const struct reading *x, uint64_t start_ns)
{
	const struct slice_sums *s = x->sums;
	uint64_t n = start_ns < s->start_ns ? 0 : (start_ns - s->start_ns) / s->width_ns + 1;

	return &x->kept->slices[n < s->count - 1 ? n : s->count - 1];
}

static int add_other(struct reading *x, const struct waiting *w)
{
	const struct calls_other other = {w->whole, w->start_ns};

	return vec_push(&x->kept->others, other) ? error_memory(SUBJECT) : 0;
}

static int add_alike(struct reading *x, const struct waiting *w, uint32_t code)
{
	struct calls_slice *slice = slice_of(x, w->start_ns);
	struct calls_alike *last = slice->count ? &slice->items[slice->count - 1] : NULL;
	uint32_t rest;
	int error = keys_add(&x->keys.rests, &w->key.rest, &rest);

	if (error || rest >= CODES_MAX) {
		x->kept->too_large = true;
		return error;
	}
	if (last && last->code == code && last->rest == rest && last->count < COUNT_MAX) {
		last->count++;
		return 0;
	}
	x->kept->alike++;
	return vec_push(slice,
		       ((struct calls_alike){code & (CODES_MAX - 1), rest & (CODES_MAX - 1), 1}))
		       ? error_memory(SUBJECT)
		       : 0;
}

static int add_waiting(struct reading *x)
{
	size_t count = x->waiting_count;
	int error = 0;

	x->waiting_count = 0;
	for (size_t n = 0; n < count; n++)
		event_keys_go_on(&x->keys, &x->waiting[n].key);
	for (size_t n = 0; !error && n < count; n++) {
		const struct waiting *w = &x->waiting[n];
		uint32_t code;

		error = keys_find(&x->keys.codes, &w->key.code, &code) ? add_alike(x, w, code)
								       : add_other(x, w);
	}
	return error;
}

static int add_call(struct reading *x, const struct profile_event *e)
{
	struct waiting *w = &x->waiting[x->waiting_count++];

	w->whole = event_whole_key(e);
	w->start_ns = e->call.start_ns;
	event_keys_begin(&x->keys, &w->whole, &w->key);
	return x->waiting_count < WAITING ? 0 : add_waiting(x);
}

static bool is_too_large(const struct calls_kept *k)
{
	return k->too_large ||
	       k->alike * sizeof(struct calls_alike) + k->others.count * sizeof(*k->others.items) >
		       CALLS_KEPT_BYTES;
}

static int read_all(struct reading *x, struct profile_reader *r)
{
	struct profile_event e;
	int more, error = 0;

	profile_reader_clip(r, NULL);
	while (!error && !is_too_large(x->kept) && (more = profile_reader_next(r, &e)))
		if (more < 0)
			error = more;
		else if (e.kind == EVENT_CALL && e.call.kind != CALL_SYNC)
			error = add_call(x, &e);
	return error ?: add_waiting(x);
}

static int read_slices(
	struct calls_kept *k, const struct slice_sums *sums, const struct range_known *known)
{
	struct reading x = {.kept = k, .sums = sums, .keys.codes = sums->all.keys.codes};
	struct profile_reader *r;
	int error;

	k->slices = calloc(sums->count, sizeof(*k->slices));
	if (!k->slices)
		return error_memory(SUBJECT);
	k->slice_count = sums->count;
	error = profile_reader_open_again(&r, known->done);
	if (error)
		return error;
	error = read_all(&x, r);
	profile_reader_close(r);
	k->rests = x.keys.rests;
	return error;
}

int calls_kept_read(
	struct calls_kept *k, const struct slice_sums *sums, const struct range_known *known)
{
	bool too_large;
	int error = 0;

	if (k->read)
		return 0;
	k->too_large = sums->all.keys.codes.items.count > CODES_MAX;
	if (!k->too_large)
		error = read_slices(k, sums, known);
	too_large = is_too_large(k);
	if (error || too_large)
		calls_kept_release(k);
	k->too_large = too_large;
	k->read = !error;
	return error;
}
