// SPDX-License-Identifier: MIT
#include "profile/spread.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/root.h"

void spread_release(struct spread *s)
{
	vec_release(&s->strata);
	map_release(&s->draw_index);
	vec_release(&s->draws);
}

/* NULL: there is no memory for it. */
static struct spread_stratum *stratum_of(struct spread *s, uint32_t number)
{
	if (s->strata.count && s->strata.items[s->latest].number == number)
		return &s->strata.items[s->latest];
	for (s->latest = 0; s->latest < s->strata.count; s->latest++)
		if (s->strata.items[s->latest].number == number)
			return &s->strata.items[s->latest];
	if (vec_push(&s->strata, (struct spread_stratum){.number = number})) {
		s->latest = 0;
		return NULL;
	}
	return &s->strata.items[s->latest];
}

/* Moves the part of a burst to the front, where it is mostly found. The last one makes room for
 * that of a burst that is not there. */
static struct spread_part *part_of(struct spread_stratum *s, uint32_t burst)
{
	struct spread_part part = {.burst = burst};
	size_t at = 0;

	while (at < SPREAD_RECENT && s->recent[at].burst && s->recent[at].burst != burst)
		at++;
	if (at == SPREAD_RECENT) {
		at--;
		s->squares += s->recent[at].value * s->recent[at].value;
	} else if (s->recent[at].burst) {
		part = s->recent[at];
	}
	memmove(s->recent + 1, s->recent, at * sizeof(*s->recent));
	s->recent[0] = part;
	return &s->recent[0];
}

int spread_add(struct spread *s, const struct bursts *bursts, uint32_t burst, double value)
{
	const struct burst *of = burst ? &bursts->all.items[burst - 1] : NULL;
	struct spread_stratum *stratum;

	s->sum += value;
	if (!of)
		return 0;
	stratum = stratum_of(s, of->stratum);
	if (!stratum)
		return -ENOMEM;
	part_of(stratum, burst)->value += value;
	stratum->sum += value;
	stratum->products += value * burst_stands_for_ns(of);
	return 0;
}

/* NULL: there is no memory for it. */
static struct spread_draws *draws_of(struct spread *s, uint64_t sort)
{
	const uint64_t *found = map_get(&s->draw_index, sort);

	if (found)
		return &s->draws.items[*found];
	if (vec_push(&s->draws, (struct spread_draws){.sort = sort}) ||
		map_put(&s->draw_index, sort, s->draws.count - 1))
		return NULL;
	return &s->draws.items[s->draws.count - 1];
}

int spread_add_draw(struct spread *s, uint64_t sort, double stands_for, double value)
{
	struct spread_draws *d = draws_of(s, sort);

	if (!d)
		return -ENOMEM;
	s->sum += value;
	d->count++;
	d->of += stands_for;
	d->of_squares += stands_for * stands_for;
	d->longest = stands_for > d->longest ? stands_for : d->longest;
	d->sum += value;
	d->squares += value * value;
	d->products += value * stands_for;
	return 0;
}

/* False: it is not known. The squares of all differences are summed as those of a - b are. */
static bool variance_of(const struct spread_stratum *s, const struct bursts_extent *of, double *ret)
{
	double squares = s->squares, n = (double)of->count, rate;

	if (of->count < 2)
		return false;
	rate = s->sum / of->of_ns;
	for (size_t i = 0; i < SPREAD_RECENT; i++)
		squares += s->recent[i].value * s->recent[i].value;
	squares += rate * (rate * of->of_squares - 2 * s->products);
	*ret = n / (n - 1) * squares * (1 - of->recorded_ns / of->of_ns);
	/* Roundings may leave less than nothing. */
	*ret = *ret > 0 ? *ret : 0;
	return true;
}

/* Of some draws, of all of which this is the extent. */
static double variance_of_draws(const struct spread_draws *d, const struct spread_draws *of)
{
	double rate = d->sum / of->of, last = rate * of->longest;
	double squares = d->squares + rate * (rate * of->of_squares - 2 * d->products);

	squares *= of->count / (of->count - 1) * (1 - of->count / of->of);
	return (squares > 0 ? squares : 0) + last * last / 6; /* roundings, as above */
}

static void add_draws(struct spread_draws *to, const struct spread_draws *d)
{
	to->count += d->count;
	to->of += d->of;
	to->of_squares += d->of_squares;
	to->longest = d->longest > to->longest ? d->longest : to->longest;
	to->sum += d->sum;
	to->squares += d->squares;
	to->products += d->products;
}

/* False: it is not known. */
static bool variance_of_all_draws(const struct spread *s, const struct spread *whole, double *ret)
{
	struct spread_draws single = {0}, all_single = {0};

	*ret = 0;
	vec_foreach (of, &whole->draws)
		if (of->count == 1)
			add_draws(&all_single, of);
	vec_foreach (d, &s->draws) {
		const uint64_t *at = map_get(&whole->draw_index, d->sort);
		const struct spread_draws *of = at ? &whole->draws.items[*at] : d;

		if (of->count > 1)
			*ret += variance_of_draws(d, of);
		else
			add_draws(&single, d);
	}
	if (single.count && all_single.count < 2)
		return false;
	*ret += single.count ? variance_of_draws(&single, &all_single) : 0;
	return true;
}

struct spread_range spread_range(const struct spread *s, const struct bursts *bursts,
	const struct spread *whole, uint64_t seen)
{
	struct spread_range range = {.low = seen, .high = SPREAD_NOT_KNOWN};
	double sum = 0, variance = 0, error;

	if ((!bursts->all.count && !bursts->drawn && s->sum) ||
		!variance_of_all_draws(s, whole ? whole : s, &sum))
		return range;
	vec_foreach (stratum, &s->strata) {
		if (!variance_of(stratum, &bursts->strata.items[stratum->number], &variance))
			return range;
		sum += variance;
	}
	error = 2 * root(sum);
	if (s->sum - error > (double)seen)
		range.low = profile_rounded(s->sum - error);
	range.high = profile_rounded(s->sum + error);
	return range;
}
