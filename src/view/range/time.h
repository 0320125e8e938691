/* SPDX-License-Identifier: MIT */
/*
 * Times as people write them:
 *
 *	12.5s  250ms  10us  7ns  3min  1.5h	from the start of the recording; a number alone is in seconds
 *	+200ms					after the begin of the range
 *	14:03:20.5  2026-03-01T14:03:20.5	on the clock of where this program runs, on the day when the
 *						recording began, or the next where it was before that
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum range_time_kind {
	RANGE_FROM_START = 1,
	RANGE_FROM_BEGIN,
	RANGE_CLOCK,
};

struct range_time {
	enum range_time_kind kind;
	bool has_date; /* RANGE_CLOCK */
	int year, month, day, hour, minute, second;
	uint64_t ns; /* all of it; RANGE_CLOCK: the part below a second */
};

/* 0, or -EINVAL with error_text that goes on behind the name of an option. */
int range_time_parse(const char *text, struct range_time *ret);

/* What times are counted from. */
struct range_clock {
	uint64_t start_ns;    /* of the recording */
	uint64_t realtime_ns; /* to be added for CLOCK_REALTIME; 0: not known */
	uint64_t from_ns;     /* the begin of the range */
};

/* On the clock of the events: 0, or -EINVAL with error_text, as above. */
int range_time_ns(const struct range_time *t, const struct range_clock *c, uint64_t *ret);
