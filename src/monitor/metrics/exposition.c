// SPDX-License-Identifier: MIT
#include "monitor/metrics/exposition.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/printable.h"

void exposition_family(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s ", name);
	for (; *help; help++)
		if (*help == '\\')
			buf_puts(out, "\\\\");
		else if (*help == '\n')
			buf_puts(out, "\\n");
		else
			buf_putc(out, *help);
	buf_printf(out, "\n# TYPE %s %s\n", name, type);
}

void exposition_label(struct buf *labels, const char *name, const char *value)
{
	if (!*value)
		return;
	buf_printf(labels, "%s%s=\"", labels->size ? "," : "", name);
	printable_quoted(labels, value, strlen(value));
	buf_putc(labels, '"');
}

void exposition_number(struct buf *out, uint64_t value, enum exposition_unit unit)
{
	uint64_t rest = value % NS_PER_SECOND;
	int digits = 9;

	if (unit != EXPOSITION_NANOSECONDS) {
		buf_printf(out, "%" PRIu64, value);
		return;
	}
	buf_printf(out, "%" PRIu64, (uint64_t)(value / NS_PER_SECOND));
	if (!rest)
		return;
	for (; rest % 10 == 0; rest /= 10)
		digits--;
	buf_printf(out, ".%0*" PRIu64, digits, rest);
}

void exposition_sample(struct buf *out, const char *name, const char *suffix, const char *labels,
	uint64_t value, enum exposition_unit unit)
{
	buf_printf(
		out, "%s%s%s%s%s ", name, suffix, *labels ? "{" : "", labels, *labels ? "}" : "");
	exposition_number(out, value, unit);
	buf_putc(out, '\n');
}
