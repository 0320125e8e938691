/* SPDX-License-Identifier: MIT */
/*
 * From a device's times to CLOCK_MONOTONIC. Which clock a device has, most APIs do not say: drivers
 * use CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME or the device's own counter.
 *
 * Each time that is known to have been taken between two of ours bounds the difference: that at
 * which a command was queued lies inside its call, and devices that can be asked for their time
 * are. All bounds together leave a small interval:
 *
 *	call 1          |----------------------|
 *	call 2                  |---------------------|
 *	call 3      |---------------|
 *	                        |===|  the difference is in here
 *
 * Clocks are slewed, so the interval grows with time, until the next bound. Where one of the
 * system's clocks has its difference in the interval, it is that clock, and its exact difference is
 * used; else the middle. What contradicts the interval is refused, and the interval begins anew.
 *
 * Only the place of a piece of work is converted, by one difference for all its times: durations
 * are the device's own. Our thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct device_clock {
	bool known;
	int64_t low_ns, high_ns; /* of the device's time minus ours */
	uint64_t at_ns;		 /* when it was so */
	uint64_t asked_ns;	 /* the device, last */
	bool cannot_ask;
};

/* A time of the device was taken between two of ours: false, it contradicts what is known. */
bool clock_bound(struct device_clock *c, uint64_t theirs_ns, uint64_t before_ns, uint64_t after_ns,
	uint64_t resolution_ns);
/* Now and then, before differences are asked for: how the system's clocks differ from ours. */
void clock_measure_systems(void);
/* The difference at this time of ours, and how far off it may be: false when it is not known. */
bool clock_offset(const struct device_clock *c, uint64_t now_ns, int64_t *ret_offset_ns,
	uint64_t *ret_error_ns);
/* A piece of work was placed with such an error. */
void clock_note_error(uint64_t error_ns);
/* Sends the bound of all conversions so far, of all APIs, where it has grown. */
void clock_report_errors(void);
