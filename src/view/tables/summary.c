// SPDX-License-Identifier: MIT
/*
 * Events are added up by the ids that they have (gathering.h). After the last one, when names are
 * final, these sums become rows.
 */
#include "view/tables/summary.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "view/names/device.h"
#include "view/tables/estimated_rows.h"
#include "view/tables/gathering.h"
#include "view/tables/row_for.h"
#include "view/tables/work_rows.h"

static int put_devices(struct gathering *g)
{
	struct device_numbers numbers;
	int error = device_numbers_init(&numbers, g->r);

	for (uint32_t id = 0; !error && id < g->devices.count; id++) {
		struct device_sum *d = (struct device_sum *)g->devices.items + id;

		if (!d->device.works && !d->device.work_ns)
			continue;
		d->device.device = id;
		d->device.number = device_number(&numbers, g->r, id);
		error = busy_total(&d->busy, &d->device.busy_ns, &d->device.uncertain_ns);
		error = error ?: vec_push(&g->s->devices, d->device);
	}
	return error;
}

static struct summary_task *process_row(struct gathering *g, struct map *index, uint32_t process)
{
	ssize_t at = row_for(index, process, &g->s->processes);

	if (at < 0)
		return NULL;
	g->s->processes.items[at].id = process;
	return &g->s->processes.items[at];
}

/* CPU time and launches of a process are its threads'; GPU work names its process. */
static int put_tasks(struct gathering *g)
{
	struct map index = MAP_INIT;
	struct summary_task *p;
	int error = 0;

	for (uint32_t id = 0; !error && id < g->threads.count; id++) {
		struct thread_sum *t = (struct thread_sum *)g->threads.items + id;
		const struct profile_thread *thread = profile_thread(g->r, id);

		t->task.launches = profile_rounded(t->launches);
		if (!(t->task.samples || t->task.cpu_ns || t->task.launches || t->task.works ||
			    t->task.gpu_ns))
			continue;
		t->task.id = id;
		t->task.sampled = t->task.samples && !profile_account(g->r, id);
		t->task.figures = t->task.sampled ? t->task.samples : UINT64_MAX;
		g->s->sampled_time |= t->task.sampled;
		error = vec_push(&g->s->threads, t->task);
		if (error || !(t->task.samples || t->task.cpu_ns || t->task.launches))
			continue;
		p = process_row(g, &index, thread ? thread->process : 0);
		if (!p) {
			error = -ENOMEM;
			break;
		}
		p->samples += t->task.samples;
		p->cpu_ns += t->task.cpu_ns;
		p->sampled |= t->task.sampled;
		p->figures = p->sampled ? p->samples : UINT64_MAX;
		p->launches += t->task.launches;
	}
	for (uint32_t id = 1; !error && id < g->ops.count; id++) {
		const struct op_sum *sum = gathering_op(g, id);
		const struct profile_op *op =
			summary_was_there(&sum->time) ? profile_op(g->r, id) : NULL;

		if (!op)
			continue;
		p = process_row(g, &index, op->process);
		if (!p)
			error = -ENOMEM;
		else {
			p->works += sum->time.count;
			p->gpu_ns += sum->time.total_ns;
		}
	}
	map_release(&index);
	return error;
}

/*
 * How many pids are in no row. A process that executes a program is another of the profile's, but
 * not for people: it is in the rows if any of its images is.
 */
static int count_processes_without(struct gathering *g)
{
	struct map seen = MAP_INIT;
	const struct profile_process *p;
	int error = 0;

	vec_foreach (row, &g->s->processes)
		if (!error && (p = profile_process(g->r, row->id)))
			error = map_put(&seen, p->pid, 0);
	for (uint32_t id = 1; !error && (p = profile_process(g->r, id)); id++) {
		if (map_get(&seen, p->pid))
			continue;
		g->s->processes_without++;
		error = map_put(&seen, p->pid, 0);
	}
	map_release(&seen);
	return error;
}

/* So too of threads. */
static int count_threads_without(struct gathering *g)
{
	struct map seen = MAP_INIT;
	const struct profile_thread *t;
	int error = 0;

	vec_foreach (row, &g->s->threads)
		if (!error && (t = profile_thread(g->r, row->id)))
			error = map_put(&seen, t->tid, 0);
	for (uint32_t id = 1; !error && (t = profile_thread(g->r, id)); id++) {
		if (profile_is_profiler(g->r, id) || map_get(&seen, t->tid))
			continue;
		g->s->threads_without++;
		error = map_put(&seen, t->tid, 0);
	}
	map_release(&seen);
	return error;
}

static int order(uint64_t a, uint64_t b, uint64_t a_id, uint64_t b_id)
{
	if (a != b)
		return a > b ? -1 : 1;
	return a_id < b_id ? -1 : a_id > b_id;
}

static int by_kernel_time(const void *left, const void *right)
{
	const struct summary_kernel *a = left, *b = right;

	return order(a->time.total_ns, b->time.total_ns, a->name, b->name);
}

static int by_copy_time(const void *left, const void *right)
{
	const struct summary_copy *a = left, *b = right;

	return order(a->time.total_ns, b->time.total_ns,
		(uint64_t)a->kind << 16 | (uint64_t)a->source << 8 | a->target,
		(uint64_t)b->kind << 16 | (uint64_t)b->source << 8 | b->target);
}

static int by_set_time(const void *left, const void *right)
{
	const struct summary_set *a = left, *b = right;

	return order(a->time.total_ns, b->time.total_ns, a->target, b->target);
}

static int by_call_time(const void *left, const void *right)
{
	const struct summary_call *a = left, *b = right;

	if (a->time.total_ns == b->time.total_ns)
		return order(a->time.count, b->time.count, a->api, b->api);
	return order(a->time.total_ns, b->time.total_ns, a->api, b->api);
}

static int by_device_number(const void *left, const void *right)
{
	const struct summary_device *a = left, *b = right;

	return order(b->number, a->number, a->device, b->device);
}

/* By GPU time, then CPU time: the two are not added up. */
static int by_task_time(const void *left, const void *right)
{
	const struct summary_task *a = left, *b = right;

	if (a->gpu_ns != b->gpu_ns)
		return a->gpu_ns > b->gpu_ns ? -1 : 1;
	return order(a->cpu_ns, b->cpu_ns, a->id, b->id);
}

#define sort(rows, compare)                                                                        \
	do {                                                                                       \
		if ((rows)->count)                                                                 \
			qsort((rows)->items, (rows)->count, sizeof(*(rows)->items), compare);      \
	} while (0)

static int by_reason_count(const void *left, const void *right)
{
	const struct summary_reason *a = left, *b = right;

	return order(a->count, b->count, a->note, b->note);
}

static void sort_tables(struct summary *s)
{
	for (int use = 0; use < STACK_USES; use++)
		sort(&stack_uses_of(s, (enum stack_use)use)->reasons, by_reason_count);
	sort(&s->kernels, by_kernel_time);
	sort(&s->copies, by_copy_time);
	sort(&s->sets, by_set_time);
	sort(&s->call_times, by_call_time);
	sort(&s->devices, by_device_number);
	sort(&s->processes, by_task_time);
	sort(&s->threads, by_task_time);
}

static int put_tables(struct gathering *g)
{
	int error = internals_init(&g->s->internals, g->r);

	error = error ?: stack_uses_judge(&g->uses, g->s);
	error = error ?: work_rows_put(g);
	error = error ?: put_devices(g);
	error = error ?: put_tasks(g);
	error = error ?: count_processes_without(g);
	error = error ?: count_threads_without(g);
	error = error ?: driver_sums_finish(&g->s->drivers);
	marker_sums_finish(&g->s->markers);
	metric_sums_finish(&g->s->metrics);
	error = error ?: wait_sums_finish(&g->s->waits, &g->s->internals);
	if (error)
		return error_errno(error, "cannot sum up the profile");
	g->s->start_ns = profile_meta_number(g->r, META_START_NS, g->first_ns);
	g->s->end_ns = profile_meta_number(g->r, META_END_NS, g->last_ns);
	if (g->s->end_ns < g->s->start_ns)
		g->s->end_ns = g->s->start_ns;
	g->s->in_bursts = profile_is_in_bursts(g->r);
	g->s->estimated = profile_is_estimated(g->r);
	if (g->s->estimated)
		estimated_rows_put(g);
	sort_tables(g->s);
	return 0;
}

int summary_read(struct summary *s, struct profile_reader *r)
{
	struct gathering g = {.s = s, .r = r};
	int error;

	g.estimates.bursts = profile_bursts(r);
	s->in_bursts = profile_is_in_bursts(r);
	s->estimated = profile_is_estimated(r);
	error = gathering_read(&g);
	error = error ?: put_tables(&g);
	gathering_release(&g);
	return error;
}

void summary_release(struct summary *s)
{
	for (int use = 0; use < STACK_USES; use++)
		vec_release(&stack_uses_of(s, (enum stack_use)use)->reasons);
	internals_release(&s->internals);
	vec_release(&s->kernels);
	vec_release(&s->copies);
	vec_release(&s->sets);
	vec_release(&s->call_times);
	vec_release(&s->devices);
	vec_release(&s->processes);
	vec_release(&s->threads);
	driver_sums_release(&s->drivers);
	marker_sums_release(&s->markers);
	metric_sums_release(&s->metrics);
	wait_sums_release(&s->waits);
	stack_sums_release(&s->sampled);
	chunk_times_release(&s->chunks);
}
