// SPDX-License-Identifier: MIT
#include "cmd/kernel_match.h"

#include <string.h>
#include <sys/types.h>

#include "view/names/name.h"
#include "base/text.h"

#define NEAR_NAMES 3
#define NEAR_BYTES 64 /* longer names are compared by their beginnings */

/* "reduce" of "ns::reduce". */
static const char *last_part(const char *plain)
{
	const char *last = plain;

	for (const char *at = plain; (at = strstr(at, "::")); at += 2)
		last = at + 2;
	return last;
}

/* Which rule of the header fits; 0: none. */
static unsigned int rule_of(
	const char *mangled, const char *readable, const char *plain, const char *text)
{
	if (!strcmp(mangled, text) || !strcmp(readable, text))
		return 1;
	if (!strcmp(plain, text) || !strcmp(last_part(plain), text))
		return 2;
	if (strstr(mangled, text) || strstr(readable, text))
		return 3;
	return strcasestr(mangled, text) || strcasestr(readable, text) ? 4 : 0;
}

ssize_t kernel_match(const struct profile_reader *r, const struct kernel_sum *rows, size_t count,
	const char *text, uint32_t *ret)
{
	struct buf readable = BUF_INIT, plain = BUF_INIT;
	unsigned int best = UINT32_MAX;
	ssize_t found = 0;
	bool failed = false;

	for (uint32_t i = 0; *text && i < count; i++) {
		unsigned int rule;

		buf_reset(&readable);
		buf_reset(&plain);
		kernel_readable(r, rows[i].name, &readable);
		name_plain(&plain, buf_text(&readable));
		failed |= readable.failed || plain.failed;
		rule = rule_of(profile_string(r, rows[i].name, NULL), buf_text(&readable),
			buf_text(&plain), text);
		if (!rule || rule > best)
			continue;
		if (rule < best)
			found = 0;
		best = rule;
		ret[found++] = i;
	}
	buf_release(&readable);
	buf_release(&plain);
	return failed ? -1 : found;
}

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Letters to be inserted, removed or replaced to make one of the other. */
static unsigned int distance(const char *a, const char *b)
{
	size_t of_a = strnlen(a, NEAR_BYTES), of_b = strnlen(b, NEAR_BYTES);
	unsigned int row[NEAR_BYTES + 1];

	for (unsigned int j = 0; j <= of_b; j++)
		row[j] = j;
	for (unsigned int i = 1; i <= of_a; i++) {
		unsigned int diagonal = row[0];

		row[0] = i;
		for (unsigned int j = 1; j <= of_b; j++) {
			unsigned int above = row[j];

			row[j] =
				least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[of_b];
}

void kernel_match_near(const struct profile_reader *r, const struct kernel_sum *rows, size_t count,
	const char *text, struct buf *b)
{
	unsigned int limit = (unsigned int)strnlen(text, NEAR_BYTES) / 3 + 1, shown = 0;

	for (unsigned int near = 0; near <= limit; near++) {
		for (size_t i = 0; i < count && shown < NEAR_NAMES; i++) {
			struct buf readable = BUF_INIT, plain = BUF_INIT;

			kernel_readable(r, rows[i].name, &readable);
			name_plain(&plain, buf_text(&readable));
			if (distance(last_part(buf_text(&plain)), last_part(text)) == near) {
				buf_puts(b, shown++ ? ", '" : "'");
				text_fit(b, buf_text(&plain), 60);
				buf_putc(b, '\'');
			}
			b->failed |= readable.failed || plain.failed;
			buf_release(&readable);
			buf_release(&plain);
		}
	}
}
