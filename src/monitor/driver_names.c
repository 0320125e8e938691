// SPDX-License-Identifier: MIT
/*
 * What a stretch is called comes from its series: the few that all monitors share have kinds of
 * their own, others have the name of the series.
 */
#include "monitor/driver_names.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "monitor/line.h"

static const struct {
	const char *series;
	enum profile_driver_kind kind;
	const char *name;
} kinds[] = {
	{"queue_delay", DRIVER_QUEUED, "queued"},
	{"submit_latency", DRIVER_QUEUED, "queued"},
	{"run_time", DRIVER_RUN, "run"},
	{"wait_time", DRIVER_WAIT, "wait"},
};

/* What becomes of a second label, by its name in the series; by default it is a part of the ring's
 * name. */
static const struct second_label {
	const char *label;
	const char *before; /* stands between it and the first, or the name */
	bool of_name;	    /* of the event, not of the ring */
} second_labels[] = {
	{"waits_for", " for ", true},
	{"code", " ", true},
	{"to", " -> ", false},
	{NULL, " ", false},
};

static int add_text(const struct driver_names *n, struct buf *text, uint32_t *ret)
{
	int error = 0;

	*ret = 0;
	if (text->failed)
		error = error_memory("driver events");
	else if (text->size)
		error = profile_add_string(n->writer, text->data, text->size, ret);
	buf_release(text);
	return error;
}

/* A number that is not named by a list says what it is the number of: "CRTC 0". */
static void put_label(const struct driver_names *n, const struct monitor_series *s, size_t which,
	const char label[MONITOR_LABEL_BYTES], struct buf *out)
{
	const struct monitor *m = n->monitor;
	const char *list = s ? s->list[which] : NULL, *what = s ? s->label[which] : m->ring;
	uint64_t number;

	if (line_label_number(label, &number) && what &&
		!(list && monitor_list_name(m, list, number)))
		buf_printf(out, "%s ", what);
	line_label(m, list, label, out);
}

static bool is_empty(const char label[MONITOR_LABEL_BYTES])
{
	uint64_t number;

	return !*label && !line_label_number(label, &number);
}

static const struct second_label *second_label_of(const struct monitor_series *s)
{
	const struct second_label *l = second_labels;

	while (l->label && strcmp(l->label, s->label[1]))
		l++;
	return l;
}

/* Appends the second label, where it is of the name, or of the ring. */
static void put_second(const struct driver_names *n, const struct monitor_series *s, bool of_name,
	const char label[MONITOR_LABEL_BYTES], struct buf *out)
{
	const struct second_label *l = s && s->label[1] ? second_label_of(s) : NULL;

	if (!l || l->of_name != of_name || is_empty(label))
		return;
	if (out->size)
		buf_puts(out, l->before);
	put_label(n, s, 1, label, out);
}

/* "gfx_0.0.0", "gfx_0.0.0 0000:03:00.0", "VRAM -> GTT". */
int driver_names_ring(const struct driver_names *n, const struct monitor_series *s,
	const char label[MONITOR_LABELS][MONITOR_LABEL_BYTES], uint32_t *ret)
{
	struct buf text = BUF_INIT;

	put_label(n, s, 0, label[0], &text);
	put_second(n, s, false, label[1], &text);
	return add_text(n, &text, ret);
}

int driver_names_stretch(const struct driver_names *n, const struct monitor_series *s,
	const char label[MONITOR_LABELS][MONITOR_LABEL_BYTES], struct profile_driver *ret)
{
	struct buf text = BUF_INIT;

	ret->kind = s->busy ? DRIVER_RUN : DRIVER_OTHER;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(s->name, kinds[i].series)) {
			ret->kind = kinds[i].kind;
			buf_puts(&text, kinds[i].name);
		}
	if (!text.size)
		for (const char *c = s->name; *c; c++)
			buf_putc(&text, *c == '_' ? ' ' : *c);
	put_second(n, s, true, label[1], &text);
	return add_text(n, &text, &ret->name);
}

int driver_names_moment(const struct driver_names *n, const char *event,
	const struct monitor_series *s, const char label[MONITOR_LABELS][MONITOR_LABEL_BYTES],
	uint32_t *ret)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, event);
	put_second(n, s, true, label[1], &text);
	return add_text(n, &text, ret);
}
