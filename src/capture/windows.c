// SPDX-License-Identifier: MIT
#include "capture/windows.h"

#include "base/clock.h"

#define WINDOW_NS     (20 * NS_PER_MS)
#define WINDOW_MIN_NS NS_PER_MS
#define PERIOD_NS     NS_PER_SECOND /* the first one's length */
#define SHARE_MAX     4		    /* a period has so many windows' length at least */
#define REPAID_IN     4		    /* so many periods save what was spent too much */

/* xorshift: nobody has to be unable to guess it. */
static uint64_t random_below(struct windows *w, uint64_t limit)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return limit ? w->random % limit : 0;
}

static uint64_t scaled(uint64_t ns, uint64_t by, uint64_t of)
{
	return (uint64_t)((unsigned __int128)ns * by / of);
}

static void plan(struct windows *w, uint64_t since_ns, uint64_t period_ns)
{
	w->since_ns = since_ns;
	w->until_ns = since_ns + period_ns;
	w->planned_ns = since_ns + random_below(w, period_ns - w->length_ns);
}

void windows_begin(struct windows *w, uint32_t overhead, uint64_t now_ns, uint64_t seed)
{
	*w = (struct windows){.overhead = overhead, .begin_ns = now_ns, .random = seed | 1};
	/* As if programs took half as long again in a window: few do. */
	w->length_ns = scaled(2 * PERIOD_NS, overhead, 1000000);
	if (w->length_ns > WINDOW_NS)
		w->length_ns = WINDOW_NS;
	if (w->length_ns < WINDOW_MIN_NS)
		w->length_ns = WINDOW_MIN_NS;
	plan(w, now_ns, PERIOD_NS);
}

/* Of each two numbers, the older counts less. */
void windows_end(struct windows *w, uint64_t now_ns, uint64_t cost_ns)
{
	if (now_ns > w->until_ns)
		w->until_ns = now_ns;
	w->window_cost_ns = w->window_cost_ns ? (3 * w->window_cost_ns + cost_ns) / 4 : cost_ns;
	w->spent_ns += cost_ns;
}

void windows_next(struct windows *w)
{
	uint64_t allowed_ns = scaled(w->until_ns - w->begin_ns, w->overhead, 1000000);
	uint64_t over_ns = w->spent_ns > allowed_ns ? (w->spent_ns - allowed_ns) / REPAID_IN : 0;
	uint64_t period_ns = scaled(w->window_cost_ns + over_ns, 1000000, w->overhead);

	if (period_ns < SHARE_MAX * w->length_ns)
		period_ns = SHARE_MAX * w->length_ns;
	/* never in step with anything */
	plan(w, w->until_ns, period_ns + random_below(w, period_ns / 4));
}

uint64_t windows_cut(const struct windows *w, uint64_t start_ns, uint64_t now_ns)
{
	uint64_t stands_for_ns = scaled(now_ns - start_ns, w->until_ns - w->since_ns, w->length_ns);
	uint64_t since_ns =
		now_ns - w->since_ns > stands_for_ns ? now_ns - stands_for_ns : w->since_ns;

	return since_ns < start_ns ? since_ns : start_ns;
}
