// SPDX-License-Identifier: MIT
#include "view/range/markers.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define SUBJECT "the range"

void marker_times_init(struct marker_times *m, const char *text)
{
	const char *mark = strrchr(text, '#');
	char *end;

	*m = (struct marker_times){.text = text, .name_size = strlen(text)};
	if (!mark || !isdigit((unsigned char)mark[1]))
		return;
	m->number = strtoull(mark + 1, &end, 10);
	if (*end || !m->number)
		m->number = 0;
	else
		m->name_size = (size_t)(mark - text);
}

void marker_times_release(struct marker_times *m)
{
	vec_release(&m->found);
}

int marker_times_add(
	struct marker_times *m, const struct profile_reader *r, const struct profile_marker *e)
{
	size_t size;
	const char *name = profile_string(r, e->name, &size);
	struct marker_time t = {.span = {e->start_ns, e->start_ns + e->duration_ns},
		.whole = size == strlen(m->text) && !memcmp(name, m->text, size)};

	if (!t.whole && (size != m->name_size || memcmp(name, m->text, size) != 0))
		return 0;
	if (!e->duration_ns || t.span.to_ns < t.span.from_ns) {
		m->moments++;
		return 0;
	}
	return vec_push(&m->found, t) ? error_memory(SUBJECT) : 0;
}

static int by_begin(const void *left, const void *right)
{
	const struct profile_span *a = &((const struct marker_time *)left)->span,
				  *b = &((const struct marker_time *)right)->span;

	if (a->from_ns != b->from_ns)
		return a->from_ns < b->from_ns ? -1 : 1;
	return a->to_ns < b->to_ns ? -1 : a->to_ns > b->to_ns;
}

/* Markers that are called all of the text, "step #3", come before the third that is called "step
 * ". */
static void choose_name(struct marker_times *m)
{
	bool whole = false;
	size_t kept = 0;

	vec_foreach (t, &m->found)
		whole |= t->whole;
	vec_foreach (t, &m->found)
		if (t->whole == whole)
			m->found.items[kept++] = *t;
	m->found.count = kept;
	if (whole)
		m->number = 0;
}

static int choose_number(struct marker_times *m)
{
	size_t count = m->found.count;

	if (!m->number)
		return 0;
	if (m->number > count)
		return error_set(
			-ENOENT, "--marker %s: there are %zu of that name", m->text, count);
	m->found.items[0] = m->found.items[m->number - 1];
	m->found.count = 1;
	return 0;
}

/* Within `asked`, and one where they overlap or touch. */
static void join(struct marker_times *m, struct profile_span asked)
{
	size_t kept = 0;

	vec_foreach (t, &m->found) {
		struct profile_span s = t->span, *last = &m->found.items[kept ? kept - 1 : 0].span;

		s.from_ns = s.from_ns > asked.from_ns ? s.from_ns : asked.from_ns;
		s.to_ns = s.to_ns < asked.to_ns ? s.to_ns : asked.to_ns;
		if (s.from_ns >= s.to_ns)
			continue;
		if (kept && s.from_ns <= last->to_ns)
			last->to_ns = s.to_ns > last->to_ns ? s.to_ns : last->to_ns;
		else
			m->found.items[kept++].span = s;
	}
	m->found.count = kept;
}

int marker_times_finish(struct marker_times *m, struct profile_span asked)
{
	int error;

	if (!m->found.count)
		return error_set(-ENOENT, "--marker %s: %s", m->text,
			m->moments ? "markers of that name are moments, without a length"
				   : "the recording has no marker of that name ('xpuprof report' "
				     "lists those that it has)");
	choose_name(m);
	qsort(m->found.items, m->found.count, sizeof(*m->found.items), by_begin);
	error = choose_number(m);
	if (error)
		return error;
	join(m, asked);
	return m->found.count
		       ? 0
		       : error_set(-ERANGE, "--marker %s: none of them is in the range", m->text);
}
