// SPDX-License-Identifier: MIT
#include "export/chrome_lanes.h"

/* Microseconds beyond which a double has no tenths of a nanosecond: one more nanosecond between
 * events for each so many. */
#define FINE_US_BITS 41

struct lane *lanes_find(struct lanes *lanes, uint64_t start_ns, uint32_t *tids)
{
	unsigned int i = 0;

	while (i < lanes->count && lanes->lane[i].end_ns > start_ns)
		i++;
	if (i == LANES_MAX)
		i = LANES_MAX - 1;
	if (i == lanes->count)
		lanes->lane[lanes->count++].tid = ++*tids;
	return &lanes->lane[i];
}

static void put_apart(struct output *o, uint64_t start_ns, uint64_t duration_ns)
{
	uint64_t more_ns = start_ns / 1000 >> FINE_US_BITS;

	output_us(o, start_ns + more_ns);
	output_puts(o, "4,\"dur\":");
	if (duration_ns > more_ns) {
		output_us(o, duration_ns - more_ns - 1);
		output_putc(o, '6');
	} else {
		output_us(o, 0);
	}
}

void lane_put_times(struct lane *lane, struct output *o, uint64_t start_ns, uint64_t duration_ns)
{
	output_puts(o, ",\"ts\":");
	if (lane->end_ns && lane->end_ns == start_ns) {
		put_apart(o, start_ns, duration_ns);
	} else {
		output_us(o, start_ns);
		output_puts(o, ",\"dur\":");
		output_us(o, duration_ns);
	}
	lane->end_ns = start_ns + duration_ns;
}
