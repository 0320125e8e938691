// SPDX-License-Identifier: MIT
/* Waits are summed by thread: only after the last event it is clear which threads are the
 * profiler's own. */
#include "view/waits/off_cpu.h"

#include <errno.h>

#include "base/error.h"
#include "view/fold/event_nodes.h"
#include "view/fold/missing.h"
#include "view/fold/slice_sums.h"

struct off_cpu {
	struct view_options options;
	struct gather sums;
	struct gather apportioned; /* of these, by thread */
	uint64_t read_ns;	   /* all waits there are */
	uint64_t total_ns;	   /* all that are shown */
	uint64_t apportioned_ns;   /* of it */
	uint64_t stackless_ns;	   /* of it */
};

static int add(struct gather *sums, const struct gather_key *key, uint64_t time_ns)
{
	return time_ns ? gather_add(sums, key, time_ns) : 0;
}

/* How long the others of a wait were in the run queue was not recorded: all of their time goes to
 * the reason. */
static int gather_wait(struct off_cpu *v, const struct profile_event *e)
{
	const struct profile_wait *w = &e->wait;
	struct gather_key key = event_key(e, &v->options);
	const struct gather_key thread = {.thread = w->thread};
	uint64_t time_ns;
	int error = 0;

	if (__builtin_add_overflow(w->duration_ns, w->others_ns, &time_ns) ||
		__builtin_add_overflow(v->read_ns, time_ns, &v->read_ns))
		return error_set(-EOVERFLOW, "the sum of all waits does not fit 64 bits");
	if (w->stack)
		error = add(
			&v->apportioned, &thread, w->others_ns + (w->assumed ? w->duration_ns : 0));
	error = error ?: add(&v->sums, &key, time_ns - w->queued_ns);
	key.reason = WAIT_RUN_QUEUE;
	return error ?: add(&v->sums, &key, w->queued_ns);
}

/* Of a slice: as slice_part_each hands them out. */
static int gather_sum(void *off_cpu, const struct gather_sum *sum)
{
	struct off_cpu *v = off_cpu;
	const struct gather_key thread = {.thread = sum->key.thread};
	struct gather_key key = event_key_for(&sum->key, &v->options);

	if (sum->key.event != EVENT_WAIT)
		return 0;
	return sum->key.reason ? add(&v->sums, &key, sum->time_ns)
			       : add(&v->apportioned, &thread, sum->time_ns);
}

/* The next sum of a thread of the program's. */
static const struct gather_sum *next_sum(
	const struct gather *sums, const struct profile_reader *r, size_t *n)
{
	const struct gather_sum *sum;

	do
		sum = gather_next(sums, n);
	while (sum && profile_is_profiler(r, sum->key.thread));
	return sum;
}

static int build_tree(struct off_cpu *v, const struct profile_reader *r, struct tree *tree)
{
	const struct gather_sum *sum;
	struct event_nodes nodes;
	size_t n = 0;
	int error = event_nodes_init(&nodes, r, &v->options, tree);

	error = error ?: gather_sort(&v->sums);
	while (!error && (sum = next_sum(&v->sums, r, &n))) {
		uint32_t node = 0;

		v->total_ns += sum->time_ns;
		v->stackless_ns += sum->key.stack ? 0 : sum->time_ns;
		error = event_nodes_add(&nodes, &sum->key, &node);
		error = error ?: tree_add_time(tree, node, sum->time_ns);
	}
	for (n = 0; (sum = next_sum(&v->apportioned, r, &n));)
		v->apportioned_ns += sum->time_ns;
	event_nodes_release(&nodes);
	return error;
}

static int describe(
	const struct off_cpu *v, const struct profile_reader *r, struct view_result *ret)
{
	const struct missing none = {0};
	int error = view_share(ret, "apportioned", v->apportioned_ns, v->total_ns);

	error = error ?: view_share(ret, "without stack", v->stackless_ns, v->total_ns);
	if (!error && !profile_meta(r, META_OFF_CPU) && !v->total_ns) {
		ret->lacking = "waits of threads";
		ret->help = "'xpuprof record --off-cpu' records them";
		error = view_remark(
			ret, "waits of threads were not recorded: see xpuprof record --off-cpu");
	}
	return error ?: missing_remarks(&none, r, ret);
}

int off_cpu_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret)
{
	struct off_cpu v = {.options = *o};
	struct profile_event event;
	struct slice_part part;
	int more, error = 0;

	v.options.by = view_by_task(o);
	view_one_time(ret, "waiting");
	slice_part_begin(&part, o->sums, r);
	part.events = (uint64_t)1 << EVENT_WAIT;
	while (!error && (more = profile_reader_next(r, &event)))
		if (more < 0)
			error = more;
		else if (event.kind == EVENT_WAIT)
			error = gather_wait(&v, &event);
	error = error ?: slice_part_each(&part, gather_sum, &v);
	error = error ?: build_tree(&v, r, ret->tree);
	error = error ?: describe(&v, r, ret);
	error = error ?: view_many_threads(ret, o);
	gather_release(&v.sums);
	gather_release(&v.apportioned);
	return error;
}
