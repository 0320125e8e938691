/* SPDX-License-Identifier: MIT */
/*
 * What --ring asks for: the first label of events and objects. It is a text, and where it is a
 * number, or the name of one in the monitor's ring_list, that number too; labels that are texts are
 * compared with the one, numbers with the other. The program in the kernel does the same
 * (has_label, bpf/monitor_records.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "monitor/monitor.h"

struct ring_filter {
	bool all;			/* nothing is asked for: everything passes */
	char text[MONITOR_LABEL_BYTES]; /* cut as labels are, with zeros behind it */
	bool is_number;
	uint64_t number;
};

/* `ring`: NULL or "": nothing. */
struct ring_filter ring_filter_of(const struct monitor *m, const char *ring);
/* What a label that passes looks like in totals: a number by its name. */
void ring_filter_write(
	const struct ring_filter *f, const struct monitor *m, bool as_number, struct buf *out);
bool ring_filter_passes(const struct ring_filter *f, const char label[MONITOR_LABEL_BYTES]);
