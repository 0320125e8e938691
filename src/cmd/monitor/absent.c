// SPDX-License-Identifier: MIT
/* Reasons in the order of the first event that each is of. */
#include "cmd/monitor/absent.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define LINE_COLUMNS 79

_Static_assert(MONITOR_EVENTS <= 64, "a bit for each event");

/* Names of events in lines that any terminal has room for. */
static void put_names(const struct monitor *m, uint64_t events, struct buf *out)
{
	size_t column = 0;

	for (size_t e = 0; m->events[e].name; e++) {
		size_t length = strlen(m->events[e].name) + 1;

		if (!(events >> e & 1))
			continue;
		if (!column || column + length > LINE_COLUMNS) {
			buf_printf(out, "%s%6s", column ? "\n" : "", "");
			column = 6;
		}
		buf_printf(out, " %s", m->events[e].name);
		column += length;
	}
	buf_putc(out, '\n');
}

void monitor_absent_text(const struct monitor *m, const char *const reasons[MONITOR_EVENTS],
	const char *before, struct buf *out)
{
	size_t count = monitor_event_count(m);
	uint64_t listed = 0;

	for (size_t e = 0; e < count; e++) {
		uint64_t alike = 0;

		if (!reasons[e] || listed >> e & 1)
			continue;
		for (size_t n = e; n < count; n++)
			if (reasons[n] && !strcmp(reasons[n], reasons[e]))
				alike |= (uint64_t)1 << n;
		listed |= alike;
		buf_puts(out, before);
		text_fit(out, reasons[e], 0);
		buf_puts(out, ":\n");
		put_names(m, alike, out);
	}
}
