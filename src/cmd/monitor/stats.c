// SPDX-License-Identifier: MIT
/* What was seen, lost and left, asked of the watch. */
#include "cmd/monitor/stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "monitor/ring_filter.h"

int monitor_stats_gather(struct watch *w, struct monitor_stats *s)
{
	int error = 0;

	s->event_count = monitor_event_count(s->monitor);
	for (size_t e = 0; !error && e < s->event_count; e++)
		error = watch_status(w, e, &s->status[e]);
	return error;
}

void monitor_stats_release(struct monitor_stats *s)
{
	vec_foreach (l, &s->left) {
		vec_foreach (r, &l->rows)
			free(r->stack);
		vec_release(&l->rows);
	}
	vec_release(&s->left);
}

const char *monitor_why_not_watched(const struct watch_event_status *status)
{
	if (status->vanished)
		return "its module was unloaded meanwhile";
	if (status->attached)
		return NULL;
	if (status->late)
		return "its module was loaded after the watch began";
	return status->plan && status->plan->reason[0] ? status->plan->reason : "not attached";
}

static void subtract(uint64_t *from, uint64_t what)
{
	*from -= what < *from ? what : *from;
}

void monitor_losses_since(struct monitor_stats *s, const struct watch_event_status *before)
{
	for (size_t e = 0; e < s->event_count; e++) {
		struct watch_event_status *now = &s->status[e];

		subtract(&now->totals.seen, before[e].totals.seen);
		subtract(&now->totals.records, before[e].totals.records);
		subtract(&now->totals.objects, before[e].totals.objects);
		subtract(&now->totals.cells, before[e].totals.cells);
		subtract(&now->totals.strangers, before[e].totals.strangers);
		subtract(&now->totals.unread, before[e].totals.unread);
		subtract(&now->totals.stacks, before[e].totals.stacks);
		subtract(&now->missed, before[e].missed);
	}
}

uint64_t monitor_stats_seen(const struct monitor_stats *s)
{
	uint64_t seen = 0;

	for (size_t e = 0; e < s->event_count; e++)
		seen += s->status[e].totals.seen;
	return seen;
}

bool monitor_row_is_ended(const struct total *row)
{
	return !row->pid && !row->comm[0];
}

bool monitor_busy_is_whole(const struct monitor_stats *s)
{
	for (size_t e = 0; e < s->event_count; e++)
		if (s->status[e].totals.records)
			return false;
	return true;
}

static bool is_label(
	const struct ring_filter *f, const struct monitor *m, bool as_number, const char *label)
{
	struct buf text = BUF_INIT;
	bool same;

	ring_filter_write(f, m, as_number, &text);
	same = !strcmp(buf_text(&text), label);
	buf_release(&text);
	return same;
}

bool monitor_rings_seen(
	const struct monitor *m, const struct totals *t, const char *ring, struct buf *ret_others)
{
	const struct ring_filter f = ring_filter_of(m, ring);
	bool found = false;

	vec_foreach (row, &t->rows) {
		const char *label = row->label[0];

		if (row->series != MONITOR_SERIES_LABELS)
			continue;
		found = found || is_label(&f, m, false, label) ||
			(f.is_number && is_label(&f, m, true, label));
		if (*label)
			buf_printf(ret_others, "%s%s", ret_others->size ? ", " : "", label);
	}
	return found;
}
