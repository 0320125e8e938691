// SPDX-License-Identifier: MIT
#include "inject/device_clock.h"

#include <time.h>

#include "inject/library.h"

/* NTP slews the system's clocks against each other by no more (adjtimex). */
#define SLEW_MILLIONTHS 500
#define UNSLEWED_NS	1000000 /* nothing is widened for less */
#define TRIPLES		5
#define SYSTEM_CLOCKS	4
/* No clock is later: 255 years, twice as far as a 56-bit one of Intel's reaches. */
#define LATEST_NS (7ull << 60)

static int64_t differences[SYSTEM_CLOCKS]; /* of the system's clocks minus ours */
static uint64_t worst_error_ns;

static int64_t slew(uint64_t passed_ns)
{
	return (int64_t)(passed_ns / 1000 * SLEW_MILLIONTHS / 1000);
}

static void widen(struct device_clock *c, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns > c->at_ns ? now_ns - c->at_ns : c->at_ns - now_ns;

	if (passed_ns < UNSLEWED_NS)
		return;
	c->low_ns -= slew(passed_ns);
	c->high_ns += slew(passed_ns);
	if (now_ns > c->at_ns)
		c->at_ns = now_ns;
}

/* More than what is not widened for. */
static bool contradicts(const struct device_clock *c, int64_t low_ns, int64_t high_ns)
{
	return low_ns > c->high_ns + slew(UNSLEWED_NS) || high_ns + slew(UNSLEWED_NS) < c->low_ns;
}

static bool begin_anew(struct device_clock *c, int64_t low_ns, int64_t high_ns, uint64_t at_ns)
{
	bool agrees = !c->known || !contradicts(c, low_ns, high_ns);

	*c = (struct device_clock){.known = true,
		.low_ns = low_ns,
		.high_ns = high_ns,
		.at_ns = at_ns > c->at_ns ? at_ns : c->at_ns,
		.asked_ns = c->asked_ns,
		.cannot_ask = c->cannot_ask};
	return agrees;
}

bool clock_bound(struct device_clock *c, uint64_t theirs_ns, uint64_t before_ns, uint64_t after_ns,
	uint64_t resolution_ns)
{
	int64_t low_ns = (int64_t)(theirs_ns - after_ns - resolution_ns),
		high_ns = (int64_t)(theirs_ns - before_ns + resolution_ns);

	if (theirs_ns > LATEST_NS)
		return false;
	/* What is known is as of at_ns: a bound from before is wider then. */
	if (c->known && after_ns < c->at_ns) {
		low_ns -= slew(c->at_ns - after_ns);
		high_ns += slew(c->at_ns - after_ns);
	} else if (c->known) {
		widen(c, after_ns);
	}
	if (!c->known || low_ns > c->high_ns || high_ns < c->low_ns)
		return begin_anew(c, low_ns, high_ns, after_ns);
	if (low_ns > c->low_ns)
		c->low_ns = low_ns;
	if (high_ns < c->high_ns)
		c->high_ns = high_ns;
	return true;
}

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* A clock of the system's minus ours, by the best of some triples. */
static int64_t difference(clockid_t id)
{
	uint64_t best_ns = UINT64_MAX;
	int64_t found_ns = 0;

	for (int n = 0; n < TRIPLES; n++) {
		uint64_t before_ns = now_ns(), theirs_ns = read_clock(id), after_ns = now_ns();

		if (after_ns - before_ns >= best_ns)
			continue;
		best_ns = after_ns - before_ns;
		found_ns = (int64_t)(theirs_ns - (before_ns + best_ns / 2));
	}
	return found_ns;
}

void clock_measure_systems(void)
{
	static const clockid_t ids[SYSTEM_CLOCKS] = {
		CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_BOOTTIME};

	for (int n = 1; n < SYSTEM_CLOCKS; n++)
		differences[n] = difference(ids[n]);
}

bool clock_offset(const struct device_clock *c, uint64_t now_ns, int64_t *ret_offset_ns,
	uint64_t *ret_error_ns)
{
	struct device_clock wide = *c;
	int64_t middle_ns;

	if (!c->known)
		return false;
	widen(&wide, now_ns);
	middle_ns = wide.low_ns + (wide.high_ns - wide.low_ns) / 2;
	*ret_offset_ns = middle_ns;
	for (int n = 0; n < SYSTEM_CLOCKS; n++) {
		if (differences[n] < wide.low_ns || differences[n] > wide.high_ns)
			continue;
		*ret_offset_ns = differences[n];
		break;
	}
	*ret_error_ns = (uint64_t)(wide.high_ns - middle_ns) +
			(uint64_t)(*ret_offset_ns > middle_ns ? *ret_offset_ns - middle_ns
							      : middle_ns - *ret_offset_ns);
	return true;
}

void clock_note_error(uint64_t error_ns)
{
	if (error_ns > worst_error_ns)
		worst_error_ns = error_ns;
}

void clock_report_errors(void)
{
	static uint64_t reported_ns;
	struct wire_clock record = {
		.type = WIRE_CLOCK, .method = WIRE_CLOCK_CALIBRATED, .error_ns = worst_error_ns};

	if (worst_error_ns > reported_ns && send_slot(&record))
		reported_ns = worst_error_ns;
}
