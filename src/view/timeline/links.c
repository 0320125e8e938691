// SPDX-License-Identifier: MIT
/* Two readings of what may be near: for the id of the box, and for all that has this id. */
#include "view/timeline/links.h"

#include "base/error.h"
#include "view/timeline/timeline.h"

void links_release(struct links *l)
{
	vec_release(&l->works);
}

/* Whether it is a call or a work; then its ids. */
static bool ids_of(const struct profile_event *e, uint32_t *instance, uint32_t *correlation,
	uint64_t *launch_ns)
{
	if (e->kind == EVENT_CALL) {
		*instance = e->call.instance;
		*correlation = e->call.correlation;
		*launch_ns = e->call.start_ns;
	} else if (e->kind == EVENT_WORK) {
		*instance = e->work.instance;
		*correlation = e->work.correlation;
		*launch_ns = e->work.launch_ns;
	} else {
		return false;
	}
	return *correlation != 0;
}

/* 1, 0 for what is on no row, or -ENOMEM. */
static int end_of(struct timeline_rows *rows, const struct profile_reader *r,
	const struct profile_event *e, struct link_end *ret)
{
	const struct timeline_item item = timeline_item_of(e);

	ret->begin_ns = item.begin_ns;
	ret->end_ns = item.end_ns;
	return timeline_rows_of(rows, r, e, &ret->row);
}

int links_find(struct links *l, struct timeline_rows *rows, struct profile_reader *r,
	const struct links_wanted *w)
{
	struct profile_event e;
	int more = 0;

	while (!l->found && (more = profile_reader_next(r, &e)) > 0) {
		uint32_t instance, correlation;
		struct link_end end;
		uint64_t launch_ns;
		int on_row;

		if (!ids_of(&e, &instance, &correlation, &launch_ns))
			continue;
		on_row = end_of(rows, r, &e, &end);
		if (on_row < 0)
			return on_row;
		if (!on_row || end.row != w->box.row || end.begin_ns != w->box.begin_ns ||
			end.end_ns != w->box.end_ns)
			continue;
		l->found = true;
		l->instance = instance;
		l->correlation = correlation;
		l->launch_ns = launch_ns;
	}
	return more < 0 ? more : 0;
}

static int add_work(struct links *l, const struct link_end *end, size_t most)
{
	if (l->work_count++ >= most)
		return 0;
	return vec_push(&l->works, *end) ? error_memory("the time axis") : 0;
}

int links_read(struct links *l, struct timeline_rows *rows, struct profile_reader *r,
	const struct links_wanted *w)
{
	struct profile_event e;
	int more = 0, error = 0;

	while (!error && (more = profile_reader_next(r, &e)) > 0) {
		uint32_t instance, correlation;
		struct link_end end;
		uint64_t launch_ns;
		int on_row;

		if (!ids_of(&e, &instance, &correlation, &launch_ns) || instance != l->instance ||
			correlation != l->correlation)
			continue;
		on_row = end_of(rows, r, &e, &end);
		if (on_row < 0)
			return on_row;
		if (e.kind == EVENT_WORK)
			error = add_work(l, &end, w->most);
		else if (on_row) {
			l->has_call = true;
			l->call = end;
		}
	}
	return more < 0 ? more : error;
}
