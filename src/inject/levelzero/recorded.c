// SPDX-License-Identifier: MIT
/*
 * Recorded lists: what was appended to them, and what came of it each time they were executed.
 *
 * A step is a piece that stays with its list, with its event. Each run signals the events of all
 * steps anew, and so overwrites the times of the run before. When a run is over, the times of all
 * steps are read at once, and each becomes a piece of its own, for our thread:
 *
 *	execute         over: times are read        execute, though the former is not over
 *	   |--------------------|                      |----------?
 *	   run 1, clean                                run 2, clean   |-----------------|
 *	                                                              run 3, not clean
 *
 * A run is *clean* if no event of the list was signalled when it began, as we had reset ours.
 * Then an event that is signalled is of this run, and its times are the run's, also before the
 * run is over. A run that is begun before the former is over is not: its times are known when it
 * is over, and only if earlier ones are over then, as they are on the same queue. Of run 2, what
 * is signalled when run 3 begins has times; the rest is reported without, and counted.
 *
 * A list that is in a call more than once has one run there, which is reported as often, without
 * times: whose an event's are cannot be told.
 *
 * An event of the program's own may belong to several steps: only the last use of it in a list can
 * be known to be read in time.
 */
#include "inject/handles.h"
#include "inject/levelzero/levelzero.h"

#define DOUBTFUL_ON_SEVERAL UINT32_MAX

static struct handles steps_by_event; /* their numbers as pieces; those of the program's events */

static struct piece *step_at(uint32_t n)
{
	return links_at(&pieces, n);
}

/* Under the lock. */
static struct piece *step_of(const void *event)
{
	uintptr_t n = handles_get(&steps_by_event, event);
	struct piece *p = n ? step_at((uint32_t)n) : NULL;

	return p && p->list && p->event == event ? p : NULL;
}

static bool is_no_step(uintptr_t n)
{
	return !n || !step_at((uint32_t)n)->list;
}

/* Under the lock. */
static void note_event(struct piece *p)
{
	struct piece *other = step_of(p->event);

	if (other)
		other->is_shared = true;
	if (other && other->list != p->list)
		p->is_shared = true;
	if (!handles_put(&steps_by_event, p->event, links_number(&pieces, p), is_no_step))
		p->is_shared = true;
}

void recorded_add(struct list *l, struct piece *p)
{
	if (!pieces_lock())
		return;
	p->list = l;
	p->is_shared = p->has_times = false;
	if (p->event != p->own)
		note_event(p);
	links_append(&pieces, &l->steps, p);
	l->step_count++;
	pieces_unlock();
}

static void forget_node(const struct piece *p)
{
	const struct wire_node record = {
		.type = WIRE_NODE, .change = WIRE_NODE_DESTROYED, .node = p->node};

	if (p->node && is_recording() && !ring_put(&library.ring, &record))
		count(WIRE_LOST_NODES, 1);
}

void recorded_clear(struct list *l)
{
	struct piece *p;

	if (l->run.signal)
		run_end(l, signal_has_come(l->run.signal));
	while ((p = links_shift(&pieces, &l->steps))) {
		forget_node(p);
		p->list = NULL;
		if (p->own && p->event == p->own)
			levelzero.zeEventHostReset(p->own);
		pieces_give_back(p);
	}
	l->step_count = l->left_out = 0;
	l->doubtful = 0;
}

/* --- runs: under the lock */

/* The program may wait for the events, wherever that is. */
static void report_event(const struct list *l, const struct piece *p)
{
	struct wire_event_record record = {.type = WIRE_EVENT_RECORD,
		.context = l->run.place.context,
		.stream = l->run.place.stream,
		.event = (uintptr_t)p->event,
		.time_ns = l->run.start_ns};

	if (library.syncs && !ring_put(&library.ring, &record))
		count(WIRE_LOST_EVENT_RECORDS, 1);
}

static bool is_signalled(const struct piece *p)
{
	return levelzero.zeEventQueryStatus(p->event) != LEVELZERO_NOT_READY;
}

/* The step's event is about to be signalled again. */
static void prepare_step(const struct list *l, struct piece *p)
{
	p->has_times = false;
	if (p->event == p->own) {
		if (l->run.clean)
			levelzero.zeEventHostReset(p->own);
		p->is_fresh = l->run.clean;
	} else {
		ends_settle_locked(p->event);
		report_event(l, p);
		p->is_fresh = l->run.clean && !is_signalled(p);
	}
}

/* A run on this queue, 0: which is not known, is not over, and nobody waits for it any more. */
static void doubt(struct list *l, uint32_t stream)
{
	bool is_only = stream && (!l->doubtful || l->doubtful == stream);

	l->doubtful = is_only ? stream : DOUBTFUL_ON_SEVERAL;
}

void run_begin(
	struct list *l, struct signal *s, const struct place *place, const struct open_call *open)
{
	if (l->left_out)
		count(WIRE_LOST_WORK, l->left_out);
	if (l->run.signal == s) {
		l->run.again++;
		return;
	}
	if (l->run.signal)
		run_end(l, signal_has_come(l->run.signal));
	l->run = (struct run){.signal = s,
		.place = *place,
		.correlation = open->correlation,
		.start_ns = open->start_ns,
		.returned_ns = open->start_ns,
		.clean = !l->doubtful,
		.alone = !l->doubtful || (s->fence && l->doubtful == place->stream)};
	for (uint32_t n = l->steps.first; n; n = step_at(n)->next)
		prepare_step(l, step_at(n));
	signal_enter(s, l);
}

/* Whether its event tells of this run. */
static bool tells(const struct list *l, const struct piece *p, bool is_over)
{
	return !p->is_shared && !l->run.again &&
	       ((is_over && l->run.alone) || (p->is_fresh && is_signalled(p)));
}

static void report_step(const struct list *l, struct piece *step, bool is_over)
{
	struct piece *p;

	if (!step->has_times && tells(l, step, is_over))
		ends_read_times(step);
	p = pieces_take_blank();
	if (!p) {
		count(WIRE_LOST_WORK, 1);
		return;
	}
	*p = (struct piece){.place = l->run.place,
		.open = {.correlation = l->run.correlation, .start_ns = l->run.start_ns},
		.work = step->work,
		.returned_ns = l->run.returned_ns,
		.node = step->node,
		.has_times = step->has_times,
		.start = step->start,
		.end = step->end};
	ends_add(p);
}

static void report_steps(const struct list *l, bool is_over)
{
	for (uint32_t n = l->steps.first; n; n = step_at(n)->next) {
		if (step_at(n)->work.kind)
			report_step(l, step_at(n), is_over);
		step_at(n)->has_times = false;
	}
}

void run_end(struct list *l, bool is_over)
{
	for (uint32_t n = 0; n <= l->run.again; n++)
		report_steps(l, is_over);
	run_drop(l);
	if (!is_over)
		doubt(l, l->run.place.stream);
	else if (l->run.alone)
		l->doubtful = 0;
}

void run_drop(struct list *l)
{
	signal_leave(l->run.signal, l);
	l->run.signal = NULL;
}

void run_unseen(struct list *l, const struct place *place, const struct wire_call *call)
{
	if (l->run.signal)
		run_end(l, signal_has_come(l->run.signal));
	doubt(l, place->stream);
	if (!call)
		return;
	l->run = (struct run){.place = place->context ? *place : l->place,
		.correlation = call->correlation,
		.start_ns = call->start_ns,
		.returned_ns = call->end_ns};
	for (uint32_t n = l->steps.first; n; n = step_at(n)->next)
		step_at(n)->has_times = step_at(n)->is_fresh = false;
	report_steps(l, false);
	if (l->left_out)
		count(WIRE_LOST_WORK, l->left_out);
}

void recorded_settle(const void *event)
{
	struct piece *p = step_of(event);
	struct list *l = p ? p->list : NULL;

	if (!l || !l->run.signal || l->run.again || p->has_times || p->is_shared ||
		!is_signalled(p))
		return;
	if (p->is_fresh || (l->run.alone && signal_has_come(l->run.signal)))
		ends_read_times(p);
}

int recorded_init(void)
{
	return handles_init(&steps_by_event);
}

void recorded_release(void)
{
	handles_release(&steps_by_event);
}
