// SPDX-License-Identifier: MIT
/*
 * While the profile is read, works become launches, and stalls are kept as they are. After the last
 * event all works and windows were read: each stall is divided among its launches (owners.h) and
 * added to their rows (rows.h). Then the rows are sorted, and each launch divides its time among
 * its own.
 */
#include "view/stalls/stalls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/search.h"
#include "view/fold/event_nodes.h"
#include "view/stalls/owners.h"
#include "view/stalls/rows.h"
#include "view/stalls/seen.h"

#define SUBJECT "the instruction samples"

struct stalls_reading {
	const struct view_options *options;
	struct stall_owners owners;
	struct stall_rows rows;
	struct map launch_ids;		/* hash -> newest launch + 1 */
	struct vec(uint32_t) same_hash; /* by launch: next launch + 1 of the same hash */
	struct stall_seen_list seen;
	struct map reason_ids; /* vendor's name (string) -> reason << 1 | latency */
};

static int too_much(void)
{
	return error_set(
		-EOVERFLOW, "the instruction samples or the times of kernels do not fit 64 bits");
}

uint64_t stalls_part(struct stalls_division *d, uint64_t share)
{
	uint64_t given, part;

	d->shares += share;
	given = (uint64_t)((unsigned __int128)d->total * d->shares / d->sum);
	part = given - d->given;
	d->given = given;
	return part;
}

int stalls_init(struct stalls *s, const struct profile_reader *r, const struct view_options *o,
	const struct profile_clip *clip)
{
	*s = (struct stalls){.reader = r, .seen_max = STALLS_SEEN_MAX};
	s->reading = calloc(1, sizeof(*s->reading));
	if (!s->reading)
		return error_memory(SUBJECT);
	if (edges_init(&s->edges, clip))
		return -ENOMEM;
	s->reading->options = o;
	stall_owners_init(&s->reading->owners, r, o->by & VIEW_BY_STREAM);
	return 0;
}

static void reading_free(struct stalls_reading *g)
{
	if (!g)
		return;
	stall_owners_release(&g->owners);
	stall_rows_release(&g->rows);
	map_release(&g->launch_ids);
	vec_release(&g->same_hash);
	stall_seen_release(&g->seen);
	map_release(&g->reason_ids);
	free(g);
}

void stalls_release(struct stalls *s)
{
	reading_free(s->reading);
	vec_foreach (reason, &s->reasons)
		free(reason->name);
	vec_release(&s->reasons);
	vec_release(&s->launches);
	vec_release(&s->rows);
	vec_release(&s->ownerless);
	vec_release(&s->firsts);
	edges_release(&s->edges);
	*s = (struct stalls){0};
}

static int add_launch(struct stalls *s, const struct gather_key *key, uint64_t hash, uint32_t next,
	const struct stall_op *op)
{
	struct stalls_reading *g = s->reading;
	struct stalls_launch launch = {
		.key = *key, .kernel = g->owners.kernels.items[op->kernel].name};

	if (s->launches.count >= UINT32_MAX - 1 || vec_push(&s->launches, launch) ||
		vec_push(&g->same_hash, next) || map_put(&g->launch_ids, hash, s->launches.count))
		return error_memory(SUBJECT);
	return stall_owners_add_launch(&g->owners, op->kernel);
}

static int find_launch(
	struct stalls *s, const struct gather_key *key, const struct stall_op *op, uint32_t *ret)
{
	struct stalls_reading *g = s->reading;
	uint64_t hash = gather_hash(key);
	const uint64_t *newest = map_get(&g->launch_ids, hash);
	uint32_t first = newest ? (uint32_t)*newest : 0;

	for (uint32_t at = first; at; at = g->same_hash.items[at - 1])
		if (!memcmp(&s->launches.items[at - 1].key, key, sizeof(*key))) {
			*ret = at - 1;
			return 0;
		}
	*ret = (uint32_t)s->launches.count;
	return add_launch(s, key, hash, first, op);
}

/* What of a work is in the part that is shown. */
static int add_inside(struct stalls *s, struct stalls_launch *l, const struct profile_event *e)
{
	const struct profile_work *w = &e->work;
	uint64_t end_ns = w->duration_ns < UINT64_MAX - w->start_ns ? w->start_ns + w->duration_ns
								    : UINT64_MAX;

	if (!s->edges.clip || !clip_selects(s->edges.clip, s->reader, e))
		return 0;
	l->works_inside += clip_has_time(s->edges.clip, w->start_ns);
	return edges_add_time(
		&s->edges, (uint64_t)(l - s->launches.items), w->start_ns, end_ns, w->weight);
}

static int add_work(struct stalls *s, const struct profile_event *e)
{
	struct stalls_reading *g = s->reading;
	const struct profile_op *op = profile_op(s->reader, e->work.op);
	struct gather_key key = event_key(e, g->options);
	uint64_t time_ns = profile_work_ns(&e->work);
	const struct stall_op *stall_op = NULL;
	uint32_t launch = 0;
	int error;

	if (!op || op->kind != OP_KERNEL)
		return 0;
	error = stall_owners_op(&g->owners, e->work.op, op, &stall_op);
	if (error)
		return error;
	key.op = stall_op->first;
	error = find_launch(s, &key, stall_op, &launch);
	if (error)
		return error;
	s->latest = launch;
	s->launches.items[launch].works++;
	s->launches.items[launch].time_ns += time_ns;
	/* Half, because no weight is 0: work that took no time weighs 1. */
	if (__builtin_add_overflow(s->counts.kernel_ns, time_ns, &s->counts.kernel_ns) ||
		s->counts.kernel_ns > UINT64_MAX / 2)
		return too_much();
	error = add_inside(s, &s->launches.items[launch], e);
	return error ?: stall_owners_add_work(&g->owners, launch, &e->work);
}

static int add_stall(struct stalls *s, const struct profile_stall *stall)
{
	struct stalls_reading *g = s->reading;

	if (!g->seen.most)
		g->seen.most = s->seen_max;
	return stall_seen_add(&g->seen, &g->owners.windows, stall);
}

int stalls_event(struct stalls *s, const struct profile_event *e)
{
	switch (e->kind) {
	case EVENT_WORK:
		return add_work(s, e);
	case EVENT_STALL:
		return add_stall(s, &e->stall);
	default:
		return 0;
	}
}

static int add_reason(struct stalls *s, struct interner *names, uint32_t string)
{
	struct stall_name n = stall_name_parse(profile_string(s->reader, string, NULL));
	struct stalls_reason reason = {.vendor = n};
	uint32_t id;
	int added;

	if (interner_add(names, n.name, n.name_size, &id, &added))
		return error_memory(SUBJECT);
	if (!added)
		return 0;
	reason.vendor.latency = false;
	reason.name = strndup(n.name, n.name_size);
	if (reason.name && !vec_push(&s->reasons, reason))
		return 0;
	free(reason.name);
	return error_memory(SUBJECT);
}

static int compare_reasons(const void *a, const void *b)
{
	const struct stalls_reason *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* All reasons there are, in the order of their names. */
static int learn_reasons(struct stalls *s)
{
	struct stalls_reading *g = s->reading;
	struct interner *names = NULL;
	int error = interner_new(&names);

	vec_foreach (seen, &g->seen) {
		if (error)
			break;
		if (map_get(&g->reason_ids, seen->reason))
			continue;
		error = add_reason(s, names, seen->reason);
		if (!error && map_put(&g->reason_ids, seen->reason, 0))
			error = error_memory(SUBJECT);
	}
	if (s->reasons.count)
		qsort(s->reasons.items, s->reasons.count, sizeof(*s->reasons.items),
			compare_reasons);
	interner_free(names);
	map_release(&g->reason_ids);
	return error;
}

/* Its index in the list << 1 | whether these are latency samples. */
static uint64_t search_reason(const struct stalls *s, uint32_t string)
{
	struct stall_name n = stall_name_parse(profile_string(s->reader, string, NULL));
	/* A longer name with the same beginning comes later. */
	size_t index = search_first(i, 0, s->reasons.count,
		strncmp(s->reasons.items[i].name, n.name, n.name_size) >= 0);

	return (uint64_t)index << 1 | n.latency;
}

static int number_reason(struct stalls *s, uint32_t string, uint32_t *ret_reason, bool *ret_latency)
{
	struct stalls_reading *g = s->reading;
	const uint64_t *found = map_get(&g->reason_ids, string);
	uint64_t number = found ? *found : search_reason(s, string);

	if (!found && map_put(&g->reason_ids, string, number))
		return error_memory(SUBJECT);
	*ret_reason = (uint32_t)(number >> 1);
	*ret_latency = number & 1;
	return 0;
}

/* Among the launches that may have had them. */
static int share_out(
	struct stalls *s, struct stalls_row row, const struct stall_seen *seen, bool latency)
{
	const struct stall_owners *o = &s->reading->owners;
	struct stalls_division d = {.total = seen->samples * STALLS_SAMPLE, .sum = o->weight};
	int error = 0;

	for (size_t i = 0; !error && i < o->owners.count; i++) {
		uint64_t part = stalls_part(&d, o->owners.items[i].weight);

		row.launch = o->owners.items[i].launch;
		row.samples = latency ? 0 : part;
		row.latency = latency ? part : 0;
		if (part)
			error = stall_rows_add(&s->reading->rows, s, &row);
		if (!error && row.samples && s->each)
			error = s->each(s->each_arg, &row, seen->window);
	}
	return error;
}

static int count_samples(struct stalls *s, uint32_t reason, uint64_t samples, bool latency)
{
	const struct stall_owners *o = &s->reading->owners;
	struct stalls_counts *c = &s->counts;
	uint64_t *sum = latency ? &c->latency : &c->samples;

	if (__builtin_add_overflow(*sum, samples, sum) || *sum > UINT64_MAX / STALLS_SAMPLE)
		return too_much();
	if (latency)
		return 0;
	if (stall_is_issuing(&s->reasons.items[reason].vendor))
		c->issuing += samples;
	if (!o->owners.count)
		c->without_kernel += samples;
	if (o->owners.count > 1)
		c->apportioned += samples;
	if (o->owners.count && o->elsewhere)
		c->elsewhere += samples;
	return 0;
}

static int keep_ownerless(struct stalls *s, const struct stall_seen *seen)
{
	struct stalls_ownerless o = {seen->window, seen->instruction, seen->reason, seen->samples};

	return vec_push(&s->ownerless, o) ? error_memory(SUBJECT) : 0;
}

static int hand_out(struct stalls *s, const struct stall_seen *seen)
{
	struct stall_owners *o = &s->reading->owners;
	uint32_t window = stall_windows_joined(&o->windows, seen->window);
	const struct profile_instruction *i = profile_instruction(s->reader, seen->instruction);
	struct stalls_row row = {.instruction = seen->instruction};
	bool latency = false;
	int error = number_reason(s, seen->reason, &row.reason, &latency);

	error = error ?: stall_owners_choose(o, window, i ? i->function : 0, seen->correlation);
	error = error ?: count_samples(s, row.reason, seen->samples, latency);
	if (!error && s->edges.clip && !o->owners.count)
		error = keep_ownerless(s, seen);
	return error ?: share_out(s, row, seen, latency);
}

static void add_up_rows(struct stalls *s)
{
	for (size_t i = 0; i < s->rows.count; i++) {
		struct stalls_launch *l = &s->launches.items[s->rows.items[i].launch];

		if (!l->row_count++)
			l->first_row = i;
		l->samples += s->rows.items[i].samples;
	}
}

static void divide_time(struct stalls *s)
{
	vec_foreach (l, &s->launches) {
		struct stalls_division d = {.total = l->time_ns, .sum = l->samples};

		if (!l->samples) {
			s->counts.unsampled_ns += l->time_ns;
			l->row_count = 0;
		}
		for (size_t i = l->first_row; i < l->first_row + l->row_count; i++)
			s->rows.items[i].time_ns = stalls_part(&d, s->rows.items[i].samples);
	}
}

int stalls_divide_edges(
	const struct stalls *s, const struct stalls_launch *l, uint64_t *parts, size_t count)
{
	return s->edges.clip
		       ? edges_divide(&s->edges, (uint64_t)(l - s->launches.items), parts, count)
		       : 0;
}

uint64_t stalls_share(const struct stalls *s, const struct stalls_launch *l, uint64_t amount)
{
	return s->edges.clip ? edges_share(&s->edges, (uint64_t)(l - s->launches.items), l->time_ns,
				       amount)
			     : amount;
}

uint64_t stalls_inside(const struct stalls *s, const struct stalls_launch *l)
{
	return s->edges.clip ? edges_inside(&s->edges, (uint64_t)(l - s->launches.items))
			     : l->time_ns;
}

static void count_windows(struct stalls *s)
{
	uint32_t count = profile_counts(s->reader).windows;
	struct stalls_counts *c = &s->counts;

	for (uint32_t id = 1; id <= count; id++) {
		c->windows++;
		c->without_code += profile_window(s->reader, id)->without_code;
	}
}

static int keep_firsts(struct stalls *s)
{
	int error = 0;

	vec_foreach (op, &s->reading->owners.ops)
		if (!error && vec_push(&s->firsts, op->filled ? op->first : 0))
			error = error_memory(SUBJECT);
	return error;
}

int stalls_finish(struct stalls *s)
{
	struct stalls_reading *g = s->reading;
	int error = stall_owners_finish(&g->owners);

	error = error ?: learn_reasons(s);
	vec_foreach (seen, &g->seen)
		error = error ?: hand_out(s, seen);
	error = error ?: stall_rows_sort(s->reader, s->rows.items, s->rows.count);
	if (!error && s->keeps_firsts)
		error = keep_firsts(s);
	if (error)
		return error;
	add_up_rows(s);
	divide_time(s);
	count_windows(s);
	s->counts.windows_joined = 1ull << g->owners.windows.level;
	reading_free(g);
	s->reading = NULL;
	return 0;
}
