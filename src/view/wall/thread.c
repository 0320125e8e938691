// SPDX-License-Identifier: MIT
#include "view/wall/thread.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Without going below 0. */
static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Takes as much as there is, of `wanted`. */
static uint64_t take(uint64_t *room, uint64_t wanted)
{
	uint64_t share = least(*room, wanted);

	*room -= share;
	return share;
}

struct wall_shares wall_thread_divide(const struct wall_thread *t)
{
	uint64_t inside = less(t->gpu_ns, t->inside_ns);
	uint64_t outside = less(less(t->elapsed_ns, t->gpu_ns), t->outside_ns);
	struct wall_shares s;

	if (!t->has_life)
		return (struct wall_shares){t->others_outside_ns, 0, t->rests_ns, t->samples_ns, 0};
	s.others_outside_ns = take(&outside, t->others_outside_ns);
	take(&inside, t->others_outside_ns - s.others_outside_ns);
	s.others_inside_ns =
		take(&outside, t->others_inside_ns - take(&inside, t->others_inside_ns));
	s.rests_ns = take(&outside, t->rests_ns);
	take(&inside, t->rests_ns - s.rests_ns);
	s.run_ns = take(&outside, less(t->run_ns, inside));
	s.unknown_ns = outside;
	return s;
}
