// SPDX-License-Identifier: MIT
/*
 * A record has all of an event but the labels that its objects had when they began, and the process
 * and thread of the profile. Labels and job numbers are kept by object. Processes are looked up
 * when an event is written: one may have begun after the recorder last learned of any.
 *
 * A duration over several stages of an object becomes no stretch where its parts do: it would only
 * repeat them.
 */
#include "monitor/driver_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "monitor/driver_names.h"

#define SUBJECT "driver events"

/* Of an object that has begun. */
struct object {
	uint64_t job;
	uint64_t owned_ns; /* when its process was the one that ran */
	char label[MONITOR_LABELS][MONITOR_LABEL_BYTES];
	bool known;
};

struct noted {
	struct profile_driver event; /* without thread and foreign */
	uint32_t pid;		     /* 0: nobody's */
	uint32_t tid;
	uint64_t owned_ns; /* when it was that process: jobs may outlive it */
	char comm[MONITOR_COMM_BYTES];
};

struct driver_events {
	struct driver_events_options options;
	struct driver_names names;
	struct profile_writer *writer;
	struct tasks *tasks;
	uint32_t source;
	bool has_stretch[MONITOR_EVENTS]; /* by event: its moment is left out */
	bool has_parts[MONITOR_EVENTS][MONITOR_COUNTS];
	/* By kind and stage: the stretch that begins with it; NULL: none. */
	const struct monitor_count_plan *stretch_from[MONITOR_OBJECTS][MONITOR_STAGES];
	struct vec(struct noted) noted;
	struct vec(struct object) objects;
	struct vec(uint32_t) unused; /* free indices of `objects` */
	struct map index;	     /* hash of an object's key -> its index in `objects` */
	struct map foreign;	     /* pid -> process id */
	uint64_t jobs;		     /* numbers given so far */
	uint64_t from_ns;
};

/* A record with all that belongs to it. */
struct reading {
	const struct monitor_plan *plan;
	const struct monitor_record *r;
	struct object objects[MONITOR_ACTS]; /* as they were before it */
	uint64_t job;
};

/* --- the tables ----------------------------------------------------------------------------- */

static const struct monitor_act_plan *act_of(
	const struct monitor_plan *p, const struct monitor_count_plan *c)
{
	return c->index < MONITOR_ACTS ? &p->act[c->index] : NULL;
}

/* That something ended or went on, and not only how long ago it began. */
static bool is_stretch(const struct monitor_plan *p, const struct monitor_count_plan *c)
{
	const struct monitor_act_plan *a = c->value == VALUE_DURATION ? act_of(p, c) : NULL;

	return a && (a->kind == ACT_MARK || a->kind == ACT_CLOSE || a->kind == ACT_REOPEN);
}

/* The stage that a stretch ends with. */
static unsigned int end_of(const struct monitor_act_plan *a)
{
	return a->kind == ACT_REOPEN ? MONITOR_STAGES : a->stage;
}

/* Whether `other` begins inside a stretch, of the same object. */
static bool is_part(const struct monitor_plan *other_plan, const struct monitor_count_plan *other,
	const struct monitor_plan *p, const struct monitor_count_plan *c)
{
	return is_stretch(other_plan, other) &&
	       act_of(other_plan, other)->object == act_of(p, c)->object && other->from > c->from &&
	       other->from < end_of(act_of(p, c));
}

/* Whether another event is a part of a stretch. */
static bool has_parts(const struct driver_events_options *o, const struct monitor_plan *p,
	const struct monitor_count_plan *c)
{
	for (size_t event = 0; event < MONITOR_EVENTS; event++) {
		const struct monitor_plan *other = o->plans[event] ? &o->plans[event]->plan : NULL;

		for (size_t n = 0; other && n < MONITOR_COUNTS; n++)
			if (is_part(other, &other->count[n], p, c))
				return true;
	}
	return false;
}

static void look_at_count(struct driver_events *d, size_t event, size_t count)
{
	const struct monitor_plan *p = &d->options.plans[event]->plan;
	const struct monitor_count_plan *c = &p->count[count];
	uint8_t object;

	if (!is_stretch(p, c))
		return;
	object = act_of(p, c)->object;
	d->has_parts[event][count] = has_parts(&d->options, p, c);
	if (!d->has_parts[event][count] && object < MONITOR_OBJECTS && c->from < MONITOR_STAGES)
		d->stretch_from[object][c->from] = c;
}

static bool begins(const struct monitor_act_plan *a)
{
	return a->kind == ACT_OPEN || a->kind == ACT_REOPEN;
}

static void look_at_plans(struct driver_events *d)
{
	for (size_t event = 0; event < MONITOR_EVENTS; event++)
		for (size_t n = 0; d->options.plans[event] && n < MONITOR_COUNTS; n++)
			look_at_count(d, event, n);
	for (size_t event = 0; event < MONITOR_EVENTS; event++) {
		const struct monitor_event_plan *plan = d->options.plans[event];

		for (size_t n = 0; plan && n < MONITOR_ACTS; n++)
			if (begins(&plan->plan.act[n]) &&
				plan->plan.act[n].object < MONITOR_OBJECTS &&
				d->stretch_from[plan->plan.act[n].object][0])
				d->has_stretch[event] = true;
	}
}

int driver_events_new(const struct driver_events_options *options, struct profile_writer *w,
	struct tasks *t, struct driver_events **ret)
{
	struct driver_events *d = calloc(1, sizeof(*d));
	const char *name = options->monitor->name;
	int error;

	if (!d)
		return error_memory(SUBJECT);
	d->options = *options;
	d->writer = w;
	d->names = (struct driver_names){options->monitor, w};
	d->tasks = t;
	look_at_plans(d);
	error = profile_add_string(w, name, strlen(name), &d->source);
	if (error)
		driver_events_free(d);
	else
		*ret = d;
	return error;
}

void driver_events_free(struct driver_events *d)
{
	if (!d)
		return;
	vec_release(&d->noted);
	vec_release(&d->objects);
	vec_release(&d->unused);
	map_release(&d->index);
	map_release(&d->foreign);
	free(d);
}

/* --- labels --------------------------------------------------------------------------------- */

static void copy_field(const struct reading *in, size_t field, char ret[MONITOR_LABEL_BYTES])
{
	size_t string = field < MONITOR_FIELDS ? in->plan->field[field].string : MONITOR_NONE;

	if (field >= MONITOR_FIELDS || in->plan->field[field].read == READ_NOTHING)
		return;
	if (string < MONITOR_STRINGS) {
		memcpy(ret, in->r->string[string], MONITOR_LABEL_BYTES - 1);
	} else {
		memcpy(ret, &in->r->field[field], sizeof(in->r->field[field]));
		ret[MONITOR_LABEL_BYTES - 1] = MONITOR_LABEL_NUMBER;
	}
}

static bool same_label(const struct monitor_label_plan *a, const struct monitor_label_plan *b)
{
	if (a->from != b->from || a->index != b->index)
		return false;
	return a->from != LABEL_ACT || (a->which == b->which && a->other == b->other);
}

/* A label, which a record has when it is one of the event's own. */
static void find_label(
	const struct reading *in, const struct monitor_label_plan *l, char ret[MONITOR_LABEL_BYTES])
{
	const struct object *o = NULL;

	memset(ret, 0, MONITOR_LABEL_BYTES);
	for (size_t n = 0; l->from != LABEL_EMPTY && n < MONITOR_LABELS; n++)
		if (same_label(l, &in->plan->label[n])) {
			memcpy(ret, in->r->label[n], MONITOR_LABEL_BYTES);
			return;
		}
	if (l->from == LABEL_FIELD)
		copy_field(in, l->index, ret);
	if (l->from != LABEL_ACT || l->which >= MONITOR_LABELS)
		return;
	if (l->index < MONITOR_ACTS && in->objects[l->index].known)
		o = &in->objects[l->index];
	else if (l->other < MONITOR_ACTS)
		o = &in->objects[l->other];
	if (o)
		memcpy(ret, o->label[l->which], MONITOR_LABEL_BYTES);
}

static void find_labels(const struct reading *in,
	const struct monitor_label_plan plan[MONITOR_LABELS],
	char ret[MONITOR_LABELS][MONITOR_LABEL_BYTES])
{
	for (size_t n = 0; n < MONITOR_LABELS; n++)
		find_label(in, &plan[n], ret[n]);
}

/* --- objects -------------------------------------------------------------------------------- */

static uint64_t hash_of_object(uint64_t kind, const uint64_t word[MONITOR_KEY_WORDS])
{
	uint64_t hash = hash_u64(kind + 1);

	for (size_t n = 0; n < MONITOR_KEY_WORDS; n++)
		hash = hash_combine(hash, word[n]);
	return hash;
}

static uint64_t hash_of_key(const struct reading *in, const struct monitor_act_plan *a)
{
	uint64_t word[MONITOR_KEY_WORDS] = {0};

	for (size_t n = 0; n < MONITOR_KEY_WORDS; n++) {
		uint8_t field = a->key[n], string;
		const char *text;

		if (field >= MONITOR_FIELDS)
			continue;
		string = in->plan->field[field].string;
		text = string < MONITOR_STRINGS ? in->r->string[string] : NULL;
		word[n] = text ? hash_bytes(text, strnlen(text, MONITOR_STRING_BYTES))
			       : in->r->field[field];
	}
	return hash_of_object(a->object, word);
}

static struct object find_object(const struct driver_events *d, uint64_t hash)
{
	const uint64_t *at = map_get(&d->index, hash);

	return at ? d->objects.items[*at] : (struct object){0};
}

/* The objects that existed before, and the job that this is about. */
static void find_objects(const struct driver_events *d, struct reading *in)
{
	for (size_t n = 0; n < MONITOR_ACTS; n++) {
		const struct monitor_act_plan *a = &in->plan->act[n];

		if (a->kind == ACT_NOTHING || a->kind == ACT_OPEN || a->kind == ACT_ADVANCE)
			continue;
		in->objects[n] = find_object(d, hash_of_key(in, a));
		if (!in->job)
			in->job = in->objects[n].job;
	}
}

/* Ends were lost, as the kernel keeps fewer objects: all are forgotten, and counted. */
static int begin_anew(struct driver_events *d)
{
	uint64_t lost = d->index.count;

	map_release(&d->index);
	d->objects.count = d->unused.count = 0;
	return profile_count_loss(d->writer, LOSS_DRIVER_OBJECTS, lost);
}

static int keep_object(struct driver_events *d, uint64_t hash, const struct object *o)
{
	const uint64_t *known = map_get(&d->index, hash);
	uint32_t at;
	int error;

	if (known) {
		d->objects.items[*known] = *o;
		return 0;
	}
	error = d->index.count >= DRIVER_OBJECTS_MAX ? begin_anew(d) : 0;
	if (error)
		return error;
	if (d->unused.count) {
		at = d->unused.items[--d->unused.count];
		d->objects.items[at] = *o;
	} else {
		at = (uint32_t)d->objects.count;
		if (vec_push(&d->objects, *o))
			return error_memory(SUBJECT);
	}
	return map_put(&d->index, hash, at) ? error_memory(SUBJECT) : 0;
}

/* When the process that an event is of was the one that ran: then the object that says so began. */
static uint64_t owned_ns(const struct reading *in)
{
	uint8_t act = in->plan->process_act;
	uint64_t longest_ns = 0;

	if (act >= MONITOR_ACTS)
		return in->r->time_ns;
	if (in->objects[act].known)
		return in->objects[act].owned_ns;
	for (size_t n = 0; n < MONITOR_COUNTS; n++) {
		const struct monitor_count_plan *c = &in->plan->count[n];
		uint64_t value = in->r->count[n];

		if (c->value == VALUE_DURATION && c->index == act && value <= in->r->time_ns &&
			value > longest_ns)
			longest_ns = value;
	}
	return in->r->time_ns - longest_ns;
}

static int begin_object(struct driver_events *d, const struct reading *in,
	const struct monitor_act_plan *a, uint64_t job)
{
	struct object o = {.job = job, .owned_ns = owned_ns(in), .known = true};

	find_labels(in, a->label, o.label);
	return keep_object(d, hash_of_key(in, a), &o);
}

/* All that begin with one record are of one job, and of the one that the record is about. */
static int change_objects(struct driver_events *d, struct reading *in)
{
	uint64_t job = in->job, at;
	int error = 0;

	for (size_t n = 0; !error && n < MONITOR_ACTS; n++) {
		const struct monitor_act_plan *a = &in->plan->act[n];

		if (begins(a)) {
			job = job ? job : ++d->jobs;
			error = begin_object(d, in, a, job);
		} else if (a->kind == ACT_CLOSE && map_remove(&d->index, hash_of_key(in, a), &at)) {
			error = vec_push(&d->unused, (uint32_t)at) ? error_memory(SUBJECT) : 0;
		}
	}
	in->job = job;
	return error;
}

/* --- taking --------------------------------------------------------------------------------- */

/*
 * Whose an event is: that of the object named for it. Where that began before us nothing was found,
 * and the kernel gives the present process instead, mostly one of its own workers, whom it does not
 * concern.
 */
static bool is_somebodys(const struct reading *in)
{
	uint8_t act = in->plan->process_act;

	if (act >= MONITOR_ACTS || in->objects[act].known)
		return true;
	for (size_t n = 0; n < MONITOR_COUNTS; n++)
		if (in->plan->count[n].value == VALUE_DURATION && in->plan->count[n].index == act &&
			in->r->count[n] != MONITOR_NO_VALUE)
			return true;
	return false;
}

static uint64_t bytes_of(const struct monitor *m, const struct reading *in)
{
	for (size_t n = 0; n < MONITOR_COUNTS; n++) {
		const struct monitor_count_plan *c = &in->plan->count[n];

		if (c->value != VALUE_NOTHING && m->series[c->series].unit == UNIT_BYTES &&
			in->r->count[n] != MONITOR_NO_VALUE)
			return in->r->count[n];
	}
	return 0;
}

static int push(struct driver_events *d, const struct noted *t)
{
	return vec_push(&d->noted, *t) ? error_memory(SUBJECT) : 0;
}

/* The first series with the event's own labels: it names them. */
static const struct monitor_series *series_of_labels(
	const struct monitor *m, const struct monitor_plan *p)
{
	for (size_t n = 0; n < MONITOR_COUNTS; n++)
		if (p->count[n].value != VALUE_NOTHING &&
			same_label(&p->count[n].label[0], &p->label[0]) &&
			same_label(&p->count[n].label[1], &p->label[1]))
			return &m->series[p->count[n].series];
	return NULL;
}

/* A moment without process, ring and bytes, whose object was not found. */
static bool is_empty_moment(const struct monitor_plan *p, const struct noted *t)
{
	bool about = false;

	for (size_t n = 0; n < MONITOR_COUNTS; n++)
		about |= is_stretch(p, &p->count[n]);
	return about && !t->pid && !t->event.ring && !t->event.bytes;
}

static int add_moment(
	struct driver_events *d, const struct reading *in, const char *name, struct noted *t)
{
	const struct monitor_series *s = series_of_labels(d->options.monitor, in->plan);
	int error = driver_names_ring(&d->names, s, in->r->label, &t->event.ring);

	if (error || is_empty_moment(in->plan, t))
		return error;
	t->event.kind = DRIVER_MOMENT;
	error = driver_names_moment(&d->names, name, s, in->r->label, &t->event.name);
	return error ?: push(d, t);
}

static int add_stretch(struct driver_events *d, const struct monitor_count_plan *c,
	const struct reading *in, uint64_t duration_ns, struct noted t)
{
	const struct monitor_series *s = &d->options.monitor->series[c->series];
	char label[MONITOR_LABELS][MONITOR_LABEL_BYTES];
	int error;

	find_labels(in, c->label, label);
	error = driver_names_ring(&d->names, s, label, &t.event.ring);
	error = error ?: driver_names_stretch(&d->names, s, label, &t.event);
	t.event.start_ns = in->r->time_ns - duration_ns;
	t.event.duration_ns = duration_ns;
	return error ?: push(d, &t);
}

static bool is_known(const struct reading *in, size_t count)
{
	return is_stretch(in->plan, &in->plan->count[count]) &&
	       in->r->count[count] <= in->r->time_ns;
}

/* Whether a stretch's parts are events: of this record, or of others. Where this record should have
 * a part and does not, only the whole is written. */
static bool is_sum(
	const struct driver_events *d, const struct reading *in, const struct monitor_count_plan *c)
{
	const struct monitor_plan *p = in->plan;
	size_t count = (size_t)(c - p->count);
	bool here = false;

	for (size_t n = 0; n < MONITOR_COUNTS; n++) {
		if (!is_part(p, &p->count[n], p, c))
			continue;
		if (is_known(in, n))
			return true;
		here = true;
	}
	return !here && d->has_parts[in->r->event][count];
}

static int add_stretches(
	struct driver_events *d, const struct reading *in, const struct noted *t, bool *ret_any)
{
	bool any = false;
	int error = 0;

	for (size_t n = 0; !error && n < MONITOR_COUNTS; n++) {
		const struct monitor_count_plan *c = &in->plan->count[n];

		if (!is_known(in, n))
			continue;
		any = true;
		if (!is_sum(d, in, c))
			error = add_stretch(d, c, in, in->r->count[n], *t);
	}
	*ret_any = any;
	return error;
}

static int add_event(struct driver_events *d, const struct reading *in)
{
	const struct monitor *m = d->options.monitor;
	const struct monitor_record *r = in->r;
	struct noted t = {.event = {.source = d->source, .start_ns = r->time_ns, .job = in->job}};
	bool any = false;
	int error;

	if (is_somebodys(in)) {
		t.pid = r->pid;
		t.tid = r->tid;
		t.owned_ns = owned_ns(in);
		memcpy(t.comm, r->comm, sizeof(t.comm));
	}
	t.event.bytes = bytes_of(m, in);
	error = add_stretches(d, in, &t, &any);
	if (error || any || d->has_stretch[r->event] || m->events[r->event].quiet)
		return error;
	return add_moment(d, in, m->events[r->event].name, &t);
}

int driver_events_add(struct driver_events *d, const struct monitor_record *r)
{
	const struct monitor_event_plan *plan =
		r->event < MONITOR_EVENTS ? d->options.plans[r->event] : NULL;
	struct reading in = {.r = r};
	int error;

	if (!plan)
		return 0;
	in.plan = &plan->plan;
	find_objects(d, &in);
	error = change_objects(d, &in);
	if (error || r->time_ns < d->from_ns)
		return error;
	return add_event(d, &in);
}

void driver_events_begin(struct driver_events *d, uint64_t from_ns)
{
	d->from_ns = from_ns;
}

/* --- what is left --------------------------------------------------------------------------- */

bool driver_events_wants_left(const struct driver_events *d, uint8_t object_kind)
{
	for (size_t stage = 0; stage < MONITOR_STAGES; stage++)
		if (object_kind < MONITOR_OBJECTS && d->stretch_from[object_kind][stage])
			return true;
	return false;
}

/* The stretch that the latest stage it has come to began. */
int driver_events_add_left(struct driver_events *d, const struct monitor_object_key *key,
	const struct monitor_object *o, uint64_t end_ns)
{
	struct noted t = {
		.pid = o->pid, .tid = o->tid, .event = {.source = d->source, .unfinished = true}};
	const struct monitor_count_plan *c = NULL;
	const struct monitor_series *s;
	size_t stage = MONITOR_STAGES;
	int error;

	while (!c && key->kind < MONITOR_OBJECTS && stage-- > 0)
		if (o->stage_ns[stage] && o->stage_ns[stage] <= end_ns)
			c = d->stretch_from[key->kind][stage];
	if (!c)
		return 0;
	memcpy(t.comm, o->comm, sizeof(t.comm));
	t.owned_ns = o->stage_ns[0];
	t.event.start_ns = o->stage_ns[stage];
	t.event.duration_ns = end_ns - o->stage_ns[stage];
	t.event.job = find_object(d, hash_of_object(key->kind, key->word)).job;
	s = &d->options.monitor->series[c->series];
	error = driver_names_ring(&d->names, s, o->label, &t.event.ring);
	error = error ?: driver_names_stretch(&d->names, s, o->label, &t.event);
	return error ?: push(d, &t);
}

/* --- writing -------------------------------------------------------------------------------- */

static int add_comm(struct driver_events *d, const struct noted *t, uint32_t *ret)
{
	return profile_add_string(d->writer, t->comm, strnlen(t->comm, sizeof(t->comm)), ret);
}

/* A process of which we know nothing else has the name of its thread. */
static int foreign_thread(struct driver_events *d, const struct noted *t, uint32_t *ret)
{
	const uint64_t *known = map_get(&d->foreign, t->pid);
	struct profile_process process = {.pid = t->pid};
	struct profile_thread thread = {.tid = t->tid};
	int error = add_comm(d, t, &thread.name);

	if (error)
		return error;
	if (known) {
		thread.process = (uint32_t)*known;
		return profile_add_thread(d->writer, &thread, ret);
	}
	process.comm = thread.name;
	error = profile_add_process(d->writer, &process, &thread.process);
	if (error)
		return error;
	if (map_put(&d->foreign, t->pid, thread.process))
		return error_memory(SUBJECT);
	return profile_add_thread(d->writer, &thread, ret);
}

static int find_thread(struct driver_events *d, struct noted *t)
{
	char comm[MONITOR_COMM_BYTES + 1] = "";
	int error;

	if (!t->pid)
		return 0;
	memcpy(comm, t->comm, sizeof(t->comm));
	error = tasks_thread_at(d->tasks, t->pid, t->tid, t->owned_ns, comm, &t->event.thread);
	if (error != -ENOENT)
		return error;
	if (d->options.whole_system)
		return tasks_thread(d->tasks, t->pid, t->tid, comm, &t->event.thread);
	t->event.foreign = true;
	return foreign_thread(d, t, &t->event.thread);
}

int driver_events_write(struct driver_events *d)
{
	int error = 0;

	vec_foreach (t, &d->noted) {
		error = find_thread(d, t);
		error = error ?: profile_write_driver(d->writer, &t->event);
		if (error)
			break;
	}
	d->noted.count = 0;
	return error;
}
