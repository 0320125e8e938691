// SPDX-License-Identifier: MIT
#include "monitor/held.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "monitor/ring_filter.h"

struct fetching {
	const struct monitor *monitor;
	uint8_t object;
	uint32_t pid;
	struct ring_filter ring;
	struct held_list *list;
	struct map index; /* of this kind's rows, by process */
};

void held_list_release(struct held_list *l)
{
	vec_release(&l->rows);
}

static int find_row(struct fetching *f, const struct monitor_object *o, struct held **ret)
{
	const uint64_t *at = map_get(&f->index, o->pid);
	struct held new = {.object = f->object, .pid = o->pid, .cgroup = o->cgroup};
	int error;

	if (!at) {
		memcpy(new.comm, o->comm, sizeof(new.comm) - 1);
		error = vec_push(&f->list->rows, new);
		error = error ?: map_put(&f->index, o->pid, f->list->rows.count - 1);
		if (error)
			return error;
		*ret = &f->list->rows.items[f->list->rows.count - 1];
		return 0;
	}
	*ret = &f->list->rows.items[*at];
	return 0;
}

static int visit(
	void *context, const struct monitor_object_key *key, const struct monitor_object *o)
{
	struct fetching *f = context;
	struct held *row;
	int error;

	/* An entry that is kept to be used again has no beginning (bpf/monitor.h). */
	if (!o->stage_ns[0] || (f->pid && o->pid != f->pid) ||
		!ring_filter_passes(&f->ring, o->label[0]))
		return 0;
	error = find_row(f, o, &row);
	if (error)
		return error_set(error, "out of memory");
	row->count++;
	/* From 2^63 on a number is none. */
	if (f->monitor->objects[f->object].by_stack && !(o->value >> 63))
		row->value += o->value;
	return 0;
}

/* Whether such an object is seen to end: else more and more would seem to be there. */
static bool is_known(const struct monitor *m, const struct monitor_object_row *o,
	const struct watch_event_status *events)
{
	int event = o->freed_by ? monitor_event_find(m, o->freed_by) : -1;

	return event < 0 || (events[event].attached && !events[event].vanished);
}

int held_fetch(const struct monitor *m, struct watch *w, const struct watch_event_status *events,
	uint32_t pid, const char *ring, struct held_list *ret)
{
	struct held_list list = HELD_LIST_INIT;
	int error = 0;

	for (uint8_t i = 0; m->objects && m->objects[i].name && !error; i++) {
		struct fetching f = {.monitor = m,
			.object = i,
			.pid = pid,
			.ring = ring_filter_of(m, ring),
			.list = &list};

		if (!m->objects[i].left || !is_known(m, &m->objects[i], events))
			continue;
		error = watch_objects(w, i, visit, &f);
		map_release(&f.index);
	}
	if (error) {
		held_list_release(&list);
		return error;
	}
	*ret = list;
	return 0;
}
