// SPDX-License-Identifier: MIT
/* One reading of all events, of which those that may be needed are kept. */
#include "page/file_events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/json_writer.h"
#include "base/map.h"
#include "base/order.h"
#include "base/printable.h"
#include "view/names/kernel_name.h"
#include "view/timeline/timeline.h"

#define SUBJECT	  "the page"
#define KEPT_MAX  ((size_t)4 << 20) /* of each: 40 bytes, and 12 while they are sorted */
#define NAMES_MAX 1000
#define WORKS_MAX 500 /* of a call */

struct item {
	uint64_t begin_ns, length_ns;
	uint32_t name, group;
};

struct end {
	uint64_t begin_ns, end_ns;
	uint32_t row, instance, correlation;
	bool is_work;
};

struct name {
	char *text;
	bool is_marker;
	uint64_t count, time_ns;
	struct vec(uint32_t) items; /* indices */
};

struct file_events {
	struct recording_reading *reading;
	const struct file_events_wanted *wanted;
	struct json_writer w;
	struct vec(struct item) items;
	struct vec(struct end) ends;
	struct vec(struct name) names;
	struct interner *texts; /* id - 1: place in `names` */
	struct map name_of;	/* string << 1 | is_marker: that place */
	struct map group_of;	/* process << 32 | device: group */
	struct map of_op;	/* op: name << 32 | group */
	struct map box_ids;	/* of calls and work of which one is a box */
	uint64_t too_many_items, too_many_ends;
};

static void release(struct file_events *f)
{
	vec_foreach (name, &f->names) {
		free(name->text);
		vec_release(&name->items);
	}
	vec_release(&f->names);
	vec_release(&f->items);
	vec_release(&f->ends);
	interner_free(f->texts);
	map_release(&f->name_of);
	map_release(&f->group_of);
	map_release(&f->of_op);
	map_release(&f->box_ids);
}

/* ------------------------------------------------------------------ reading */

/* Strings that read the same are one name. */
static int make_name(struct file_events *f, uint32_t string, bool is_marker, uint32_t *ret)
{
	struct buf readable = BUF_INIT, text = BUF_INIT;
	struct name new = {.is_marker = is_marker};
	int added = 0, error;

	if (is_marker)
		buf_puts(&readable, profile_string(f->reading->reader, string, NULL));
	else
		kernel_readable(f->reading->reader, string, &readable);
	buf_putc(&text, is_marker ? 'm' : 'k');
	printable_put(&text, buf_text(&readable), readable.size);
	error = readable.failed || text.failed ||
		interner_add(f->texts, text.data, text.size, ret, &added);
	if (!error && added) {
		new.text = strdup(buf_text(&text) + 1);
		error = !new.text || vec_push(&f->names, new);
		if (error)
			free(new.text);
	}
	buf_release(&readable);
	buf_release(&text);
	*ret -= !error;
	return error ? error_memory(SUBJECT) : 0;
}

static int name_of(struct file_events *f, uint32_t string, bool is_marker, uint32_t *ret)
{
	uint64_t key = (uint64_t)string << 1 | is_marker;
	const uint64_t *known = map_get(&f->name_of, key);
	int error;

	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	error = make_name(f, string, is_marker, ret);
	return error || !map_put(&f->name_of, key, *ret) ? error : error_memory(SUBJECT);
}

static int group_of(struct file_events *f, const struct profile_op *op, uint32_t *ret)
{
	uint64_t key = (uint64_t)op->process << 32 | op->device;
	const uint64_t *known = map_get(&f->group_of, key);

	*ret = known ? (uint32_t)*known : (uint32_t)f->group_of.count;
	return !known && map_put(&f->group_of, key, *ret) ? error_memory(SUBJECT) : 0;
}

/* There are far fewer operations than launches. */
static int find_launch(
	struct file_events *f, uint32_t id, const struct profile_op *op, struct item *ret)
{
	const uint64_t *known = map_get(&f->of_op, id);
	int error = 0;

	if (known) {
		ret->name = (uint32_t)(*known >> 32);
		ret->group = (uint32_t)*known;
		return 0;
	}
	error = name_of(f, op->name, false, &ret->name);
	error = error ?: group_of(f, op, &ret->group);
	if (!error && map_put(&f->of_op, id, (uint64_t)ret->name << 32 | ret->group))
		error = error_memory(SUBJECT);
	return error;
}

static int add_item(struct file_events *f, struct item item)
{
	f->names.items[item.name].count++;
	f->names.items[item.name].time_ns += item.length_ns;
	if (f->items.count == KEPT_MAX) {
		f->too_many_items++;
		return 0;
	}
	return vec_push(&f->items, item) ? error_memory(SUBJECT) : 0;
}

static uint64_t id_of(const struct end *e)
{
	return (uint64_t)e->instance << 32 | e->correlation;
}

static bool is_box(const struct file_events *f, const struct end *e)
{
	return f->wanted->is_box(f->wanted->arg,
		&(struct timeline_box){.begin_ns = e->begin_ns, .end_ns = e->end_ns});
}

/* What has an id that a call and its work have in common, and is on the time axis. */
static int add_end(struct file_events *f, const struct profile_event *e)
{
	bool is_work = e->kind == EVENT_WORK;
	const struct timeline_item at = timeline_item_of(e);
	struct end end = {
		.begin_ns = at.begin_ns,
		.end_ns = at.end_ns,
		.instance = is_work ? e->work.instance : e->call.instance,
		.correlation = is_work ? e->work.correlation : e->call.correlation,
		.is_work = is_work,
	};
	int on_row = end.correlation ? timeline_rows_of(&f->reading->axis.rows, f->reading->reader,
					       e, &end.row)
				     : 0;

	if (on_row <= 0)
		return on_row;
	if (f->ends.count == KEPT_MAX || !f->wanted->rows[end.row]) {
		f->too_many_ends++;
		return 0;
	}
	if (vec_push(&f->ends, end) || (is_box(f, &end) && map_put(&f->box_ids, id_of(&end), 0)))
		return error_memory(SUBJECT);
	return 0;
}

static int add_launch(struct file_events *f, const struct profile_work *w)
{
	const struct profile_op *op = profile_op(f->reading->reader, w->op);
	struct item item = {w->start_ns, w->duration_ns, 0, 0};
	int error;

	if (!op || op->kind != OP_KERNEL)
		return 0;
	error = find_launch(f, w->op, op, &item);
	return error ?: add_item(f, item);
}

static int add_marker(struct file_events *f, const struct profile_marker *m)
{
	struct item item = {m->start_ns, m->duration_ns, 0, 0};
	int error = m->duration_ns ? name_of(f, m->name, true, &item.name) : 0;

	return error || !m->duration_ns ? error : add_item(f, item);
}

static int add_event(struct file_events *f, const struct profile_event *e)
{
	int error = 0;

	if (e->kind == EVENT_WORK)
		error = add_launch(f, &e->work);
	else if (e->kind == EVENT_MARKER)
		error = add_marker(f, &e->marker);
	if (!error && (e->kind == EVENT_WORK || e->kind == EVENT_CALL))
		error = add_end(f, e);
	return error;
}

static int read_all(struct file_events *f)
{
	struct profile_reader *r;
	struct profile_event e;
	int more = 0, error = profile_reader_open_again(&r, f->reading->reader);

	if (error)
		return error;
	while (!error && (more = profile_reader_next(r, &e)))
		error = more < 0 ? more : add_event(f, &e);
	profile_reader_close(r);
	return error;
}

/* ------------------------------------------------------------------ what repeats */

static int by_time(const void *left, const void *right)
{
	const struct name *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return strcmp(a->text, b->text);
}

static int divide_items(struct file_events *f)
{
	for (size_t n = 0; n < f->items.count; n++)
		if (vec_push(&f->names.items[f->items.items[n].name].items, (uint32_t)n))
			return error_memory(SUBJECT);
	if (f->names.count)
		qsort(f->names.items, f->names.count, sizeof(*f->names.items), by_time);
	return 0;
}

static void write_items(struct file_events *f, const struct name *name)
{
	json_begin(&f->w, "items", '[');
	vec_foreach (index, &name->items) {
		const struct item *item = &f->items.items[*index];

		json_key(&f->w, NULL);
		buf_printf(f->w.out, "%u,%" PRId64 ",%" PRIu64, item->group,
			(int64_t)(item->begin_ns - f->reading->start_ns), item->length_ns);
	}
	json_end(&f->w, ']');
}

/* Those that fit, by how much time they have. */
static void write_repeats(struct file_events *f)
{
	size_t room = f->too_many_items ? 0 : f->wanted->items_max;

	json_begin(&f->w, "repeats", '[');
	for (size_t n = 0; n < f->names.count && n < NAMES_MAX; n++) {
		const struct name *name = &f->names.items[n];

		json_begin(&f->w, NULL, '{');
		json_text(&f->w, "text", name->text);
		json_bool(&f->w, "marker", name->is_marker);
		json_number(&f->w, "count", name->count);
		json_number(&f->w, "time_ns", name->time_ns);
		if (!f->too_many_items && name->items.count <= room) {
			room -= name->items.count;
			write_items(f, name);
		} else {
			json_text(&f->w, "items", NULL);
		}
		json_end(&f->w, '}');
	}
	json_end(&f->w, ']');
}

/* ------------------------------------------------------------------ links */

static int sort_ends(const struct file_events *f, struct order *o)
{
	int error = order_init(o, f->ends.count);

	for (unsigned int round = 0; !error && round < 3; round++) {
		for (size_t i = 0; i < o->count; i++) {
			const struct end *e = &f->ends.items[i];

			o->numbers[i] = round == 0   ? e->is_work
					: round == 1 ? e->correlation
						     : e->instance;
		}
		order_sort(o);
	}
	return error;
}

/* What is no box, nor belongs to one, is selected by nobody. */
static void keep_linked(struct file_events *f)
{
	size_t kept = 0;

	vec_foreach (end, &f->ends)
		if (f->box_ids.count && map_get(&f->box_ids, id_of(end)))
			f->ends.items[kept++] = *end;
	f->ends.count = kept;
}

static void write_end(struct file_events *f, const struct end *e)
{
	json_key(&f->w, NULL);
	buf_printf(f->w.out, "%u,%" PRId64 ",%" PRIu64, e->row,
		(int64_t)(e->begin_ns - f->reading->start_ns), e->end_ns - e->begin_ns);
}

/* Of one id: calls first, the last of which counts. */
static void write_link(struct file_events *f, const uint32_t *items, size_t count)
{
	const struct end *ends = f->ends.items, *call = NULL;
	size_t first = 0;

	for (; first < count && !ends[items[first]].is_work; first++)
		call = &ends[items[first]];
	json_begin(&f->w, NULL, '[');
	json_number(&f->w, NULL, count - first);
	if (call) {
		write_end(f, call);
	} else {
		json_key(&f->w, NULL);
		buf_puts(f->w.out, "-1,0,0");
	}
	for (size_t n = first; n < count && n < first + WORKS_MAX; n++)
		write_end(f, &ends[items[n]]);
	json_end(&f->w, ']');
}

static int write_links(struct file_events *f)
{
	uint64_t room = f->wanted->ends_max, left_out = f->too_many_ends;
	struct order o;
	int error;

	keep_linked(f);
	error = sort_ends(f, &o);

	json_begin(&f->w, "links", '[');
	for (size_t first = 0, end; !error && first < o.count; first = end) {
		const struct end *ends = f->ends.items;
		uint64_t id = id_of(&ends[o.items[first]]);

		for (end = first; end < o.count && id_of(&ends[o.items[end]]) == id;)
			end++;
		if (end - first > room) {
			left_out++;
			continue;
		}
		room -= end - first;
		write_link(f, o.items + first, end - first);
	}
	json_end(&f->w, ']');
	json_number(&f->w, "links_left_out", left_out);
	order_release(&o);
	return error;
}

int file_events_json(
	struct buf *out, struct recording_reading *g, const struct file_events_wanted *wanted)
{
	struct file_events f = {.reading = g, .wanted = wanted, .w = {.out = out}};
	int error = interner_new(&f.texts) ? error_memory(SUBJECT) : read_all(&f);

	error = error ?: divide_items(&f);
	json_begin(&f.w, NULL, '{');
	if (!error) {
		write_repeats(&f);
		error = write_links(&f);
	}
	json_end(&f.w, '}');
	release(&f);
	return error;
}
