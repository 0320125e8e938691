// SPDX-License-Identifier: MIT
#include "export/chrome_markers.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "export/chrome_lanes.h"

#define SUBJECT "the rows of markers in the timeline"

/* Ids of rows that cannot be tids, nor those of other rows. */
#define MARKERS_TID_BASE 1200000000u

struct chrome_markers {
	const struct profile_reader *done;
	struct output *output;
	struct event_rows rows;
	struct vec(struct lane) lanes; /* by row */
	bool *any;
	struct buf text;
};

int chrome_markers_new(
	struct chrome_markers **ret, const struct profile_reader *done, struct output *o, bool *any)
{
	struct chrome_markers *m = calloc(1, sizeof(*m));
	int error;

	if (!m)
		return error_memory(SUBJECT);
	m->done = done;
	m->output = o;
	m->any = any;
	error = event_rows_init(&m->rows, done);
	if (error)
		chrome_markers_free(m);
	else
		*ret = m;
	return error;
}

void chrome_markers_free(struct chrome_markers *m)
{
	if (!m)
		return;
	event_rows_release(&m->rows);
	vec_release(&m->lanes);
	buf_release(&m->text);
	free(m);
}

static int put_text(struct chrome_markers *m, const char *before, const char *text, size_t size)
{
	buf_reset(&m->text);
	json_string(&m->text, text, size);
	if (m->text.failed)
		return error_memory(SUBJECT);
	output_puts(m->output, before);
	output_write(m->output, m->text.data, m->text.size);
	return 0;
}

static void put_ids(struct chrome_markers *m, uint32_t row)
{
	const struct profile_process *p = event_row_process(&m->rows, &m->rows.rows.items[row]);

	output_printf(m->output, ",\"pid\":%u,\"tid\":%u", p ? p->pid : 0, MARKERS_TID_BASE + row);
}

static int find_row(struct chrome_markers *m, const struct profile_event *e,
	const struct event_span *span, uint32_t *ret)
{
	int error = event_rows_find(&m->rows, e, span, ret);

	while (!error && m->lanes.count <= *ret)
		if (vec_push(&m->lanes, (struct lane){0}))
			return error_memory(SUBJECT);
	return error;
}

int chrome_markers_put(
	struct chrome_markers *m, const struct profile_event *e, const struct event_span *span)
{
	bool moment = e->marker.kind == MARKER_MOMENT;
	const char *name = profile_string(m->done, e->marker.name, NULL);
	const char *domain = profile_string(m->done, e->marker.domain, NULL);
	uint32_t row = 0;
	int error = find_row(m, e, span, &row);

	if (error)
		return error;
	output_puts(m->output, *m->any ? ",\n" : "\n");
	*m->any = true;
	output_puts(m->output, moment ? "{\"ph\":\"i\",\"s\":\"t\"" : "{\"ph\":\"X\"");
	error = put_text(m, ",\"cat\":\"Marker\",\"name\":", name, strlen(name));
	put_ids(m, row);
	if (moment) {
		output_puts(m->output, ",\"ts\":");
		output_us(m->output, span->start_ns);
	} else {
		lane_put_times(&m->lanes.items[row], m->output, span->start_ns, span->duration_ns);
	}
	output_puts(m->output, ",\"args\":{");
	if (!error && e->marker.domain)
		error = put_text(m, "\"domain\":", domain, strlen(domain));
	output_puts(m->output, "}}");
	return error;
}

int chrome_markers_name(struct chrome_markers *m)
{
	struct buf name = BUF_INIT;
	int error = 0;

	for (uint32_t row = 0; !error && row < m->lanes.count; row++) {
		buf_reset(&name);
		event_row_name(&m->rows, row, &name);
		output_puts(m->output, ",\n{\"ph\":\"M\",\"name\":\"thread_name\"");
		put_ids(m, row);
		error = name.failed
				? error_memory(SUBJECT)
				: put_text(m, ",\"args\":{\"name\":", buf_text(&name), name.size);
		output_puts(m->output, "}}");
	}
	buf_release(&name);
	return error;
}
