// SPDX-License-Identifier: MIT
/*
 * Objects that are there at the end are summed up by process, label and stacks. Only the largest
 * sums get their stacks named, which takes time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "cmd/cmd.h"
#include "cmd/monitor/stacks.h"
#include "cmd/monitor/stats.h"
#include "monitor/line.h"
#include "monitor/ring_filter.h"

struct left_key {
	uint32_t pid;
	int32_t kernel_stack, user_stack;
	char label[MONITOR_LABEL_BYTES];
};

struct gathering {
	const struct monitor_stats *stats;
	const struct monitor_object_row *object;
	struct ring_filter ring;
	struct left *left;
	struct interner *keys; /* row 1, 2, ... */
};

static bool is_asked_for(const struct gathering *g, const struct monitor_object *o)
{
	if (g->stats->pid && o->pid != g->stats->pid)
		return false;
	return ring_filter_passes(&g->ring, o->label[0]);
}

/* A stack whose slot in the map was occupied is lost (bpf_get_stackid); any other negative id means
 * that there is none: kernel threads have no user code. */
static int32_t stack_key(int32_t id)
{
	if (id == -EEXIST || id == -ENOMEM)
		return -EEXIST;
	return id >= 0 ? id : -1;
}

static int find_row(struct gathering *g, const struct monitor_object *o, const char *label,
	struct left_row **ret)
{
	struct left_key key = {.pid = o->pid, .kernel_stack = -1, .user_stack = -1};
	struct left_row row = {.pid = o->pid, .tid = o->tid};
	uint32_t id;
	int added, error;

	if (g->object->by_stack) {
		key.kernel_stack = stack_key(o->kernel_stack);
		key.user_stack = stack_key(o->user_stack);
	}
	memcpy(key.label, o->label[0], sizeof(key.label));
	error = interner_add(g->keys, &key, sizeof(key), &id, &added);
	row.kernel_stack = key.kernel_stack;
	row.user_stack = key.user_stack;
	row.first_ns = UINT64_MAX;
	memcpy(row.comm, o->comm, sizeof(row.comm));
	row.comm[sizeof(row.comm) - 1] = '\0';
	snprintf(row.label, sizeof(row.label), "%s", label);
	if (!error && added)
		error = vec_push(&g->left->rows, row);
	if (error)
		return error_set(error, "out of memory");
	*ret = &g->left->rows.items[id - 1];
	return 0;
}

static int add_object(struct gathering *g, const struct monitor_object *o, const char *label)
{
	/* Up to 2^63 - 1 a number is one (bpf/monitor.h). */
	uint64_t value = o->value >> 63 ? 0 : o->value;
	struct left_row *row = NULL;
	int error = find_row(g, o, label, &row);

	if (error)
		return error;
	row->count++;
	row->sum += value;
	if (o->stage_ns[0] < row->first_ns)
		row->first_ns = o->stage_ns[0];
	g->left->count++;
	g->left->sum += value;
	return 0;
}

static int visit_object(
	void *context, const struct monitor_object_key *key, const struct monitor_object *o)
{
	struct gathering *g = context;
	struct buf label = BUF_INIT;
	int error;

	/* An entry that is kept to be used again has no beginning. */
	if (!o->stage_ns[0] || !is_asked_for(g, o))
		return 0;
	line_label(g->stats->monitor, g->object->list, o->label[0], &label);
	error = add_object(g, o, buf_text(&label));
	buf_release(&label);
	return error;
}

static int by_size(const void *left, const void *right)
{
	const struct left_row *a = left, *b = right;
	int order = (a->sum < b->sum) - (a->sum > b->sum);

	order = order ? order : (a->count < b->count) - (a->count > b->count);
	order = order ? order : (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns);
	return order ? order : (a->pid > b->pid) - (a->pid < b->pid);
}

/* Whether the event that frees such objects is seen here; if not, why. */
static bool is_known(
	const struct monitor_stats *s, const struct monitor_object_row *object, struct left *ret)
{
	int event = object->freed_by ? monitor_event_find(s->monitor, object->freed_by) : -1;
	const struct watch_event_status *status = event < 0 ? NULL : &s->status[event];

	const char *why_not = status ? monitor_why_not_watched(status) : NULL;

	if (!why_not)
		return true;
	snprintf(ret->unknown, sizeof(ret->unknown), "%s is not watched: %s", object->freed_by,
		why_not);
	return false;
}

static int name_stacks(struct watch *w, struct left *l)
{
	size_t shown = l->rows.count < LEFT_ROWS_SHOWN ? l->rows.count : LEFT_ROWS_SHOWN;
	struct stack_names *names;
	int error = shown ? stack_names_new(w, "/proc/self/exe", &names) : 0;

	if (error || !shown)
		return error;
	if (stack_names_refusal(names))
		cmd_error("files of programs are read with our own rights, as the processes for "
			  "that cannot begin: %s",
			stack_names_refusal(names));
	for (size_t i = 0; i < shown; i++) {
		struct left_row *r = &l->rows.items[i];
		struct buf text = BUF_INIT;

		r->unnamed = stack_names_write(
			names, r->kernel_stack, r->user_stack, r->pid, r->first_ns, &text);
		if (r->kernel_stack == -EEXIST || r->user_stack == -EEXIST)
			r->not_kept = true;
		r->stack = text.failed || !text.size ? NULL : strdup(text.data);
		buf_release(&text);
	}
	l->unreadable = stack_names_unreadable(names);
	stack_names_free(names);
	return 0;
}

static int gather_kind(struct watch *w, const struct monitor_stats *s, uint8_t kind, struct left *l)
{
	struct gathering g = {.stats = s,
		.object = &s->monitor->objects[kind],
		.ring = ring_filter_of(s->monitor, s->ring),
		.left = l};
	int error;

	if (!is_known(s, g.object, l))
		return 0;
	error = interner_new(&g.keys);
	if (error)
		return error_set(error, "out of memory");
	error = watch_objects(w, kind, visit_object, &g);
	interner_free(g.keys);
	if (error || !l->rows.count)
		return error;
	qsort(l->rows.items, l->rows.count, sizeof(*l->rows.items), by_size);
	return g.object->by_stack ? name_stacks(w, l) : 0;
}

int monitor_stats_left(struct watch *w, struct monitor_stats *s)
{
	const struct monitor_object_row *o = s->monitor->objects;
	int error = 0;

	for (uint8_t kind = 0; !error && o && o[kind].name; kind++) {
		if (!o[kind].left)
			continue;
		if (vec_push(&s->left, (struct left){.object = kind}))
			return error_memory(NULL);
		error = gather_kind(w, s, kind, &s->left.items[s->left.count - 1]);
	}
	return error;
}
