// SPDX-License-Identifier: MIT
#include "monitor/metrics/exposition.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"

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

/*
 * How many bytes the character at `text` takes in UTF-8, or 0 when it is none: a byte that cannot
 * lead or follow, a longer form than needed, half of a surrogate pair, or past the last (RFC 3629).
 */
static size_t utf8_size(const unsigned char *text)
{
	static const struct {
		unsigned char lead, lead_end, second, second_end;
		size_t size;
	} forms[] = {
		{0x01, 0x7f, 0, 0, 1},
		{0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t n = 2;

		if (text[0] < forms[i].lead || text[0] > forms[i].lead_end)
			continue;
		if (forms[i].size == 1)
			return 1;
		if (text[1] < forms[i].second || text[1] > forms[i].second_end)
			return 0;
		while (n < forms[i].size && text[n] >= 0x80 && text[n] <= 0xbf)
			n++;
		return n == forms[i].size ? n : 0;
	}
	return 0;
}

void exposition_label(struct buf *labels, const char *name, const char *value)
{
	if (!*value)
		return;
	buf_printf(labels, "%s%s=\"", labels->size ? "," : "", name);
	while (*value) {
		size_t size = utf8_size((const unsigned char *)value);

		if (*value == '\\' || *value == '"')
			buf_printf(labels, "\\%c", *value);
		else if (*value == '\n')
			buf_puts(labels, "\\n");
		else if (!size)
			buf_puts(labels, "\xef\xbf\xbd");
		else
			buf_append(labels, value, size);
		value += size ? size : 1;
	}
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
