// SPDX-License-Identifier: MIT
#include "view/range/time.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/error.h"

#define SECOND ((uint64_t)1000000000)
#define DAY_S  86400
#define SHOWN  100 /* characters of a wrong text */

static int wrong(const char *text)
{
	return error_set(-EINVAL,
		"takes a time such as 12.5s, 200ms, +1s (after --from) or 14:03:20, not '%.*s'",
		SHOWN, text);
}

static int too_late(const char *text)
{
	return error_set(-EINVAL, "takes a time within 500 years, not '%.*s'", SHOWN, text);
}

/* Digits, and maybe a fraction of which nine count; how many of them make one is `unit_ns`. */
static const char *parse_number(const char *p, uint64_t *ret_whole, uint64_t *ret_billionths)
{
	uint64_t whole = 0, billionths = 0, one = SECOND / 10;
	const char *begin = p;

	for (; isdigit((unsigned char)*p); p++)
		if (__builtin_mul_overflow(whole, 10u, &whole) ||
			__builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
			return NULL;
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++, one /= 10)
			billionths += one * (uint64_t)(*p - '0');
	*ret_whole = whole;
	*ret_billionths = billionths;
	return isdigit((unsigned char)*begin) ? p : NULL;
}

static uint64_t unit_of(const char *name)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"", SECOND}, {"s", SECOND}, {"ms", 1000000}, {"us", 1000}, {"ns", 1},
		{"min", 60 * SECOND}, {"h", 3600 * SECOND}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].name, name))
			return units[i].ns;
	return 0;
}

static int parse_length(const char *text, const char *p, uint64_t *ret)
{
	uint64_t whole, billionths, unit_ns, ns;
	const char *end = parse_number(p, &whole, &billionths);

	unit_ns = end ? unit_of(end) : 0;
	if (!unit_ns)
		return wrong(text);
	if (__builtin_mul_overflow(whole, unit_ns, &ns) || ns > INT64_MAX)
		return too_late(text);
	*ret = ns + (uint64_t)((unsigned __int128)billionths * unit_ns / SECOND);
	return 0;
}

/* "2026-03-01T" or "2026-03-01 ". */
static const char *parse_date(const char *text, struct range_time *t)
{
	struct tm date = {0};
	const char *end = strptime(text, "%Y-%m-%d", &date);

	if (!end || (*end != 'T' && *end != ' '))
		return text;
	t->has_date = true;
	t->year = date.tm_year;
	t->month = date.tm_mon;
	t->day = date.tm_mday;
	return end + 1;
}

static int parse_clock(const char *text, struct range_time *t)
{
	struct tm clock = {0};
	const char *end = strptime(parse_date(text, t), "%H:%M", &clock);
	uint64_t second = 0;

	if (end && *end == ':') {
		end = parse_number(end + 1, &second, &t->ns);
		if (second > 59)
			return wrong(text);
	}
	if (!end || *end)
		return wrong(text);
	t->hour = clock.tm_hour;
	t->minute = clock.tm_min;
	t->second = (int)second;
	return 0;
}

int range_time_parse(const char *text, struct range_time *ret)
{
	struct range_time t = {.kind = RANGE_FROM_START};
	int error;

	if (strchr(text, ':'))
		t.kind = RANGE_CLOCK;
	else if (*text == '+')
		t.kind = RANGE_FROM_BEGIN;
	error = t.kind == RANGE_CLOCK ? parse_clock(text, &t)
				      : parse_length(text, text + (*text == '+'), &t.ns);
	if (!error)
		*ret = t;
	return error;
}

/* In seconds of CLOCK_REALTIME. */
static time_t clock_seconds(const struct range_time *t, time_t begin)
{
	struct tm day;
	time_t seconds;

	localtime_r(&begin, &day);
	if (t->has_date) {
		day.tm_year = t->year;
		day.tm_mon = t->month;
		day.tm_mday = t->day;
	}
	day.tm_hour = t->hour;
	day.tm_min = t->minute;
	day.tm_sec = t->second;
	day.tm_isdst = -1;
	seconds = mktime(&day);
	if (!t->has_date && seconds < begin - DAY_S / 2) {
		day.tm_mday++;
		day.tm_isdst = -1;
		seconds = mktime(&day);
	}
	return seconds;
}

int range_time_ns(const struct range_time *t, const struct range_clock *c, uint64_t *ret)
{
	uint64_t real_ns;
	time_t seconds;

	if (t->kind != RANGE_CLOCK) {
		if (__builtin_add_overflow(
			    t->kind == RANGE_FROM_BEGIN ? c->from_ns : c->start_ns, t->ns, ret))
			*ret = UINT64_MAX;
		return 0;
	}
	if (!c->realtime_ns)
		return error_set(-EINVAL, "takes no time of day here: the recording does not say "
					  "when it was made");
	seconds = clock_seconds(t, (time_t)((c->start_ns + c->realtime_ns) / SECOND));
	if (seconds < 0)
		return error_set(-EINVAL, "takes a time of day that there is");
	real_ns = (uint64_t)seconds * SECOND + t->ns;
	*ret = real_ns > c->realtime_ns ? real_ns - c->realtime_ns : 0;
	return 0;
}
