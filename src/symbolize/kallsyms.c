// SPDX-License-Identifier: MIT
/*
 * The list has a few hundred thousand lines and is not entirely sorted; the addresses are few. So
 * each line is compared with the first address at or above it. A last pass copies the best match of
 * each address to those above it that found nothing nearer. Nothing is stored per line.
 */
#include "symbolize/kallsyms.h"

#include <stdbool.h>
#include <string.h>

#include "base/search.h"

/* Functions of the kernel are smaller than this; an address further behind a symbol lies in a gap
 * (a module that was unloaded, compiled BPF programs that are not listed). */
#define FUNCTION_MAX_BYTES ((uint64_t)256 << 10)

struct line {
	uint64_t address;
	char type;
	const char *name;
	size_t name_length;
};

static bool is_function(char type)
{
	return type == 'T' || type == 't' || type == 'W' || type == 'w';
}

static const char *parse_hex(const char *p, const char *end, uint64_t *ret)
{
	uint64_t value = 0;
	const char *start = p;

	for (; p < end && p - start < 16; p++) {
		unsigned int digit;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned int)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			digit = (unsigned int)(*p - 'a') + 10;
		else
			break;
		value = value << 4 | digit;
	}
	*ret = value;
	return p == start ? NULL : p;
}

/* "ffffffff81000000 T _stext" or "ffffffffc0201000 t ext4_sync_fs\t[ext4]". */
static bool parse_line(const char *p, const char *end, struct line *ret)
{
	p = parse_hex(p, end, &ret->address);
	if (!p || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return false;
	ret->type = p[1];
	ret->name = p + 3;
	for (p = ret->name; p < end && *p != '\t' && *p != ' ';)
		p++;
	ret->name_length = (size_t)(p - ret->name);
	return ret->address && ret->name_length;
}

static size_t first_at_or_above(
	const struct kallsyms_match *matches, size_t count, uint64_t address)
{
	return search_first(i, 0, count, matches[i].address >= address);
}

/* Of several symbols at one address: functions before data, global before local, then fewer leading
 * underscores. */
static int preference(char type, const char *name, size_t length)
{
	int score = is_function(type) ? 100 : 0;

	if (type == 'T' || type == 'W')
		score += 50;
	for (size_t i = 0; i < length && i < 40 && name[i] == '_'; i++)
		score--;
	return score;
}

static void offer(struct kallsyms_match *m, const struct line *l)
{
	if (l->address < m->start)
		return;
	if (l->address == m->start && preference(l->type, l->name, l->name_length) <=
					      preference(m->type, m->name, m->name_length))
		return;
	m->start = l->address;
	m->type = l->type;
	m->name = l->name;
	m->name_length = l->name_length;
}

static void hand_on(struct kallsyms_match *matches, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		uint64_t address = matches[i].address;

		if (matches[i - 1].start > matches[i].start) {
			matches[i] = matches[i - 1];
			matches[i].address = address;
		}
	}
}

void kallsyms_match(const char *text, size_t size, struct kallsyms_match *matches, size_t count)
{
	const char *end = text + size, *p = text;

	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *line_end = newline ? newline : end;
		struct line line;

		if (parse_line(p, line_end, &line)) {
			size_t i = first_at_or_above(matches, count, line.address);

			if (i < count)
				offer(&matches[i], &line);
		}
		p = line_end + 1;
	}
	hand_on(matches, count);
	for (size_t i = 0; i < count; i++)
		if (!is_function(matches[i].type) ||
			matches[i].address - matches[i].start >= FUNCTION_MAX_BYTES)
			matches[i].name = NULL;
}
