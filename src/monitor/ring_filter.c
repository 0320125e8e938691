// SPDX-License-Identifier: MIT
/* Numbers are decimal, or hexadecimal with 0x; names are compared without regard to case. */
#include "monitor/ring_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "monitor/line.h"

static bool read_number(const char *text, uint64_t *ret)
{
	bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;
	uint64_t number;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	number = strtoull(text, &end, hexadecimal ? 16 : 10);
	if (errno || *end)
		return false;
	*ret = number;
	return true;
}

static bool number_by_name(const struct monitor *m, const char *name, uint64_t *ret)
{
	const struct monitor_list *l = m->ring_list ? monitor_list_find(m, m->ring_list) : NULL;

	for (const struct monitor_name *n = l ? l->names : NULL; n && n->name; n++)
		if (!strcasecmp(n->name, name)) {
			*ret = n->value;
			return true;
		}
	return false;
}

struct ring_filter ring_filter_of(const struct monitor *m, const char *ring)
{
	struct ring_filter f = {.all = !ring || !*ring};

	if (f.all)
		return f;
	snprintf(f.text, sizeof(f.text), "%s", ring);
	f.is_number = read_number(ring, &f.number) || number_by_name(m, ring, &f.number);
	return f;
}

bool ring_filter_passes(const struct ring_filter *f, const char label[MONITOR_LABEL_BYTES])
{
	uint64_t number;

	if (f->all)
		return true;
	if (line_label_number(label, &number))
		return f->is_number && number == f->number;
	return !strncmp(label, f->text, MONITOR_LABEL_BYTES);
}

void ring_filter_write(
	const struct ring_filter *f, const struct monitor *m, bool as_number, struct buf *out)
{
	char label[MONITOR_LABEL_BYTES] = {0};

	if (!as_number) {
		line_label(m, NULL, f->text, out);
		return;
	}
	memcpy(label, &f->number, sizeof(f->number));
	label[MONITOR_LABEL_BYTES - 1] = MONITOR_LABEL_NUMBER;
	line_label(m, m->ring_list, label, out);
}
