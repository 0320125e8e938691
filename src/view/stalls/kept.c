// SPDX-License-Identifier: MIT
#include "view/stalls/kept.h"

#include <errno.h>

#include "base/error.h"
#include "view/fold/event_nodes.h"

void stalls_kept_release(struct stalls_kept *k)
{
	stalls_release(&k->stalls);
	keys_release(&k->launches);
	*k = (struct stalls_kept){0};
}

static bool is_kept(const struct stalls_kept *k, const struct view_options *o)
{
	return k->read && k->by == o->by && k->graph_stack == o->graph_stack &&
	       k->threads == (o->range.thread != NULL);
}

static int read_all(struct stalls_kept *k, struct profile_reader *r)
{
	struct profile_event event;
	int more, error = 0;

	profile_reader_clip(r, NULL);
	while (!error && (more = profile_reader_next(r, &event)))
		error = more < 0 ? more : stalls_event(&k->stalls, &event);
	return error ?: stalls_finish(&k->stalls);
}

static int number_launches(struct stalls_kept *k)
{
	uint32_t number;
	int error = 0;

	vec_foreach (l, &k->stalls.launches)
		error = error ?: keys_add(&k->launches, &l->key, &number);
	return error;
}

int stalls_kept_read(struct stalls_kept *k, const struct view_options *o)
{
	struct profile_reader *r;
	int error;

	if (is_kept(k, o))
		return 0;
	stalls_kept_release(k);
	error = profile_reader_open_again(&r, o->range.known->done);
	if (error)
		return error;
	error = stalls_init(&k->stalls, r, o, NULL);
	k->stalls.keeps_firsts = true;
	error = error ?: read_all(k, r);
	error = error ?: number_launches(k);
	k->stalls.reader = NULL; /* whoever shows it has one of its own */
	profile_reader_close(r);
	if (error) {
		stalls_kept_release(k);
		return error;
	}
	k->by = o->by;
	k->graph_stack = o->graph_stack;
	k->threads = o->range.thread != NULL;
	k->read = true;
	return 0;
}

void stalls_kept_trim(struct stalls_kept *k)
{
	size_t bytes = k->stalls.rows.capacity * sizeof(*k->stalls.rows.items) +
		       k->stalls.launches.capacity *
			       (sizeof(*k->stalls.launches.items) + sizeof(struct gather_key));

	if (bytes > STALLS_KEPT_BYTES)
		stalls_kept_release(k);
}

int stalls_kept_launch(struct stalls_kept *k, const struct gather_key *whole,
	const struct view_options *o, uint32_t *ret)
{
	struct gather_key key = event_key_for(whole, o);
	int error;

	if (key.op < k->stalls.firsts.count)
		key.op = k->stalls.firsts.items[key.op];
	error = keys_add(&k->launches, &key, ret);
	if (!error && *ret >= k->stalls.launches.count)
		return error_set(-ESTALE, "the recording has work that it had not before");
	return error;
}
