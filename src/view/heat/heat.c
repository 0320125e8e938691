// SPDX-License-Identifier: MIT
/* Which event it is (view/fold/keys.h: rest) decides which row each sum has, or none; of the
 * heatmap of a function, where in the program it is as well (code). What the rows have in all is
 * added up first, so that only the largest need cells. */
#include "view/heat/heat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/map.h"
#include "profile/reader.h"
#include "view/heat/function.h"
#include "view/names/stream_name.h"
#include "view/stalls/reasons.h"

#define SUBJECT "the heatmap"
#define NO_ROW	UINT32_MAX

/* What a row is. */
struct line {
	struct gather_key key; /* the first that it came from */
	uint64_t time_ns;
	uint32_t place; /* in the result */
};

struct making {
	struct heat *h;
	const struct slice_sums *sums;
	const struct profile_reader *reader;
	const struct heat_wanted *wanted;
	uint32_t *line_of; /* by rest; behind them, by spread */
	struct heat_function function;
	struct vec(struct line) lines;
	struct map known;     /* thread, reason or stream -> line */
	struct interner *ids; /* of a stream: process, device, context, number; of a reason: name */
	uint64_t start_ns;    /* of the recording */
};

static int short_memory(void)
{
	return error_memory(SUBJECT);
}

static const char *const names[HEAT_KINDS] = {
	[HEAT_CPU] = "threads-cpu",
	[HEAT_WAITS] = "threads-waits",
	[HEAT_ASKED] = "threads-gpu",
	[HEAT_STREAMS] = "streams",
	[HEAT_REASONS] = "reasons",
	[HEAT_STALLS] = "stalls",
	[HEAT_FUNCTION] = "function",
};

const char *heat_name(enum heat_of of)
{
	return of < HEAT_KINDS ? names[of] : "";
}

int heat_parse(const char *text, enum heat_of *ret)
{
	for (size_t n = 0; n < HEAT_KINDS; n++)
		if (!strcmp(names[n], text)) {
			*ret = (enum heat_of)n;
			return 0;
		}
	return error_set(-EINVAL, "there is no heatmap of '%s'", text);
}

void heat_release(struct heat *h)
{
	vec_foreach (row, &h->rows) {
		free(row->name);
		free(row->cells);
	}
	vec_release(&h->rows);
}

/* ------------------------------------------------------------------ lines */

static int stream_of(struct making *m, uint32_t op, uint64_t *ret)
{
	const struct profile_op *o = profile_op(m->reader, op);
	uint32_t id = 0;

	if (o) {
		const uint32_t stream[] = {o->process, o->device, o->context, o->stream};

		if (interner_add(m->ids, stream, sizeof(stream), &id, NULL))
			return short_memory();
	}
	*ret = id;
	return 0;
}

static struct stall_name stall_of(const struct making *m, const struct gather_key *key)
{
	return stall_name_parse(profile_string(m->reader, key->reason, NULL));
}

/* Equal ones of several GPUs may have several strings. */
static int stall_id(struct making *m, const struct gather_key *key, uint64_t *ret)
{
	struct stall_name name = stall_of(m, key);
	uint32_t id = 0;

	if (interner_add(m->ids, name.name, name.name_size, &id, NULL))
		return short_memory();
	*ret = id;
	return 0;
}

static bool is_on(const struct making *m, const struct gather_key *key)
{
	switch (m->wanted->of) {
	case HEAT_CPU:
		return key->event == EVENT_SAMPLE;
	case HEAT_WAITS:
	case HEAT_REASONS:
		return key->event == EVENT_WAIT && key->reason;
	case HEAT_ASKED:
	case HEAT_STREAMS:
		return key->event == EVENT_WORK;
	case HEAT_STALLS: /* what was latency is counted once more, without that mark */
		return key->event == EVENT_STALL && !stall_of(m, key).latency;
	case HEAT_FUNCTION:
		return key->event == EVENT_SAMPLE || key->event == EVENT_WORK;
	case HEAT_KINDS:
		break;
	}
	return false;
}

static int id_of(struct making *m, const struct gather_key *key, uint64_t *ret)
{
	enum heat_of of = m->wanted->of;

	*ret = of == HEAT_REASONS ? key->reason : key->thread;
	if (of == HEAT_STREAMS || (of == HEAT_FUNCTION && key->event == EVENT_WORK))
		return stream_of(m, key->op, ret);
	return of == HEAT_STALLS ? stall_id(m, key, ret) : 0;
}

static int find_line(struct making *m, const struct gather_key *key, uint32_t *ret)
{
	const struct line new = {.key = *key};
	const uint64_t *known;
	uint64_t id = 0;
	int error = id_of(m, key, &id);

	if (error)
		return error;
	id |= (uint64_t)key->event << 32;
	known = map_get(&m->known, id);
	*ret = known ? (uint32_t)*known : (uint32_t)m->lines.count;
	if (known)
		return 0;
	return map_put(&m->known, id, *ret) || vec_push(&m->lines, new) ? short_memory() : 0;
}

static int place_key(struct making *m, size_t n, const struct gather_key *key)
{
	m->line_of[n] = NO_ROW;
	return is_on(m, key) ? find_line(m, key, &m->line_of[n]) : 0;
}

static int place_keys(struct making *m)
{
	const struct slice_sums *s = m->sums;
	size_t count = s->all.keys.rests.items.count;
	int error = 0;

	if (m->wanted->of == HEAT_FUNCTION)
		error = heat_function_find(&m->function, s, m->reader, m->wanted->function);
	m->h->functions = m->function.names;
	for (size_t n = 0; !error && n < count; n++)
		error = place_key(m, n, &s->all.keys.rests.items.items[n]);
	for (size_t n = 0; !error && n < s->spreads.count; n++)
		if (m->wanted->of == HEAT_FUNCTION && !m->function.spreads[n])
			m->line_of[count + n] = NO_ROW;
		else
			error = place_key(m, count + n, &s->spreads.items[n].key);
	return error;
}

static uint32_t line_of_sum(const struct making *m, const struct event_sum *sum)
{
	if (m->wanted->of == HEAT_FUNCTION && !heat_function_has(&m->function, sum->pair))
		return NO_ROW;
	return m->line_of[sum->pair.rest];
}

/* ------------------------------------------------------------------ times */

static uint32_t inner(const struct slice_sums *s)
{
	return s->count - 2;
}

/* What of a spread lies in so many columns from one on. */
static uint64_t spread_part(
	const struct making *m, const struct slice_spread *spread, uint32_t first, uint32_t end)
{
	const struct slice_sums *s = m->sums;
	uint64_t from = 1 + (uint64_t)first * (m->h->step_ns / s->width_ns),
		 to = (uint64_t)end * (m->h->step_ns / s->width_ns);
	const struct profile_span span = {
		s->spans[from].from_ns, s->spans[to < inner(s) ? to : inner(s)].to_ns};
	const struct profile_clip inside = {.spans = &span, .span_count = 1};

	return clip_share(&inside, m->start_ns, spread->end_ns, spread->time_ns);
}

static void add_totals(struct making *m)
{
	const struct slice_sums *s = m->sums;
	size_t keys = s->all.keys.rests.items.count;

	for (uint32_t n = 1; n <= inner(s); n++)
		vec_foreach (sum, &s->items[n].sums) {
			uint32_t line = line_of_sum(m, sum);

			if (line != NO_ROW)
				m->lines.items[line].time_ns += sum->time_ns;
		}
	for (size_t n = 0; n < s->spreads.count; n++)
		if (m->line_of[keys + n] != NO_ROW)
			m->lines.items[m->line_of[keys + n]].time_ns +=
				spread_part(m, &s->spreads.items[n], 0, m->h->columns);
}

/* Of a row of its own: as a flame graph of each column has it. */
static void spread_exactly(
	const struct making *m, const struct slice_spread *spread, uint64_t *cells)
{
	for (uint32_t c = 0; c < m->h->columns; c++)
		cells[c] += spread_part(m, spread, c, c + 1);
}

/* Evenly over the columns before its end: of the row in which there may be very many. `each` has
 * what is in each column up to the one where it stops, and is added up at the end. */
static void spread_evenly(
	const struct making *m, const struct slice_spread *spread, uint64_t *each, uint64_t *cells)
{
	const struct heat *h = m->h;
	uint64_t all = spread_part(m, spread, 0, h->columns), whole, part;
	uint64_t length_ns = spread->end_ns > h->start_ns ? spread->end_ns - h->start_ns : 1;

	whole = length_ns / h->step_ns;
	if (whole >= h->columns)
		whole = h->columns - 1;
	part = (uint64_t)((unsigned __int128)all * h->step_ns / length_ns);
	if (whole && part > all / whole)
		part = all / whole;
	if (whole)
		each[whole - 1] += part;
	cells[whole] += all - whole * part;
}

static void add_slices(struct making *m)
{
	const struct slice_sums *s = m->sums;
	uint32_t together = (uint32_t)(m->h->step_ns / s->width_ns);

	for (uint32_t n = 1; n <= inner(s); n++)
		vec_foreach (sum, &s->items[n].sums) {
			uint32_t line = line_of_sum(m, sum);

			if (line != NO_ROW && m->lines.items[line].time_ns)
				m->h->rows.items[m->lines.items[line].place]
					.cells[(n - 1) / together] += sum->time_ns;
		}
}

static int add_cells(struct making *m)
{
	const struct slice_sums *s = m->sums;
	size_t keys = s->all.keys.rests.items.count;
	uint64_t *each = calloc(m->h->columns, sizeof(*each)), passing = 0;
	struct heat_row *last = m->h->rows.count ? &m->h->rows.items[m->h->rows.count - 1] : NULL;

	if (!each)
		return short_memory();
	add_slices(m);
	for (size_t n = 0; n < s->spreads.count; n++) {
		uint32_t line = m->line_of[keys + n];
		struct heat_row *row;

		if (line == NO_ROW || !m->lines.items[line].time_ns)
			continue;
		row = &m->h->rows.items[m->lines.items[line].place];
		if (row == last && m->h->others)
			spread_evenly(m, &s->spreads.items[n], each, row->cells);
		else
			spread_exactly(m, &s->spreads.items[n], row->cells);
	}
	for (uint32_t c = m->h->columns; c-- && last;)
		last->cells[c] += passing += each[c];
	free(each);
	return 0;
}

/* ------------------------------------------------------------------ rows */

static void name_thread(const struct making *m, uint32_t id, struct buf *b)
{
	const struct profile_thread *t = profile_thread(m->reader, id);

	if (t)
		buf_printf(b, "%s (%u)", profile_thread_name(m->reader, t, NULL), t->tid);
	else
		buf_puts(b, "thread not known");
}

static bool is_stream(const struct making *m, const struct line *line)
{
	return m->wanted->of == HEAT_STREAMS ||
	       (m->wanted->of == HEAT_FUNCTION && line->key.event == EVENT_WORK);
}

static bool is_thread(const struct making *m, const struct line *line)
{
	return !is_stream(m, line) && m->wanted->of != HEAT_REASONS && m->wanted->of != HEAT_STALLS;
}

static void name_stall(const struct making *m, const struct gather_key *key, struct buf *b)
{
	struct stall_name name = stall_of(m, key);

	buf_puts(b, stall_words(&name));
}

static int add_row(struct making *m, const struct device_numbers *numbers, const struct line *line)
{
	struct heat_row row = {.gpu = line && line->key.event == EVENT_WORK};
	const struct profile_thread *t = line ? profile_thread(m->reader, line->key.thread) : NULL;
	struct buf name = BUF_INIT;

	if (line && is_stream(m, line))
		stream_name(m->reader, numbers, line->key.op, &name);
	else if (line && m->wanted->of == HEAT_STALLS)
		name_stall(m, &line->key, &name);
	else if (line && m->wanted->of == HEAT_REASONS)
		buf_puts(&name, profile_wait_reason_name(line->key.reason));
	else if (line)
		name_thread(m, line->key.thread, &name);
	if (line && t && is_thread(m, line))
		row.tid = t->tid;
	row.time_ns = line ? line->time_ns : 0;
	row.name = name.failed ? NULL : strdup(buf_text(&name));
	row.cells = calloc(m->h->columns, sizeof(*row.cells));
	buf_release(&name);
	if (!row.name || !row.cells || vec_push(&m->h->rows, row)) {
		free(row.name);
		free(row.cells);
		return short_memory();
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct line *const *x = a, *const *y = b;

	if ((*x)->time_ns != (*y)->time_ns)
		return (*x)->time_ns < (*y)->time_ns ? 1 : -1;
	return *x < *y ? -1 : *x > *y;
}

/* The largest in rows of their own, the others in one. */
static int make_rows(struct making *m, struct line **order)
{
	struct device_numbers numbers;
	size_t count = 0;
	int error = device_numbers_init(&numbers, m->reader);

	vec_foreach (line, &m->lines)
		if (line->time_ns)
			order[count++] = line;
	qsort(order, count, sizeof(*order), by_time);
	for (size_t n = 0; !error && n < count; n++) {
		bool own = n < m->wanted->rows;

		if (own || n == m->wanted->rows)
			error = add_row(m, &numbers, own ? order[n] : NULL);
		if (error)
			return error;
		order[n]->place = (uint32_t)m->h->rows.count - 1;
		if (own)
			continue;
		m->h->rows.items[order[n]->place].time_ns += order[n]->time_ns;
		m->h->others++;
	}
	return error;
}

static int make(struct making *m)
{
	size_t keys = m->sums->all.keys.rests.items.count + m->sums->spreads.count;
	struct line **order;
	int error;

	m->line_of = malloc((keys + 1) * sizeof(*m->line_of));
	if (!m->line_of)
		return short_memory();
	error = place_keys(m);
	if (error)
		return error;
	add_totals(m);
	order = malloc((m->lines.count + 1) * sizeof(struct line *));
	error = order ? make_rows(m, order) : short_memory();
	error = error ?: add_cells(m);
	free(order);
	return error;
}

bool heat_is_known(const struct slice_sums *s, const struct profile_reader *r)
{
	return !s->overflow && s->count >= 3 && !profile_is_estimated(r);
}

int heat_read(struct heat *h, const struct slice_sums *s, const struct profile_reader *r,
	const struct heat_wanted *w)
{
	struct making m = {.h = h,
		.sums = s,
		.reader = r,
		.wanted = w,
		.start_ns = profile_meta_number(r, META_START_NS, UINT64_MAX)};
	uint32_t together;
	int error;

	if (s->overflow || s->count < 3)
		return error_set(-ERANGE, "there are no sums by time of this recording");
	if (s->stackless && w->of == HEAT_FUNCTION)
		return error_set(
			-ERANGE, "this recording has too many different stacks for that heatmap");
	together = (inner(s) + w->columns - 1) / w->columns;
	h->start_ns = s->start_ns;
	h->step_ns = together * s->width_ns;
	h->columns = (inner(s) + together - 1) / together;
	error = interner_new(&m.ids) ? short_memory() : make(&m);
	free(m.line_of);
	heat_function_release(&m.function);
	vec_release(&m.lines);
	map_release(&m.known);
	interner_free(m.ids);
	return error;
}
