// SPDX-License-Identifier: MIT
/* Work is added in the order of time, whatever device it ran on, as struct busy needs it. */
#include "view/gaps/processes.h"

#include <errno.h>
#include <string.h>

#include "base/busy.h"
#include "base/error.h"
#include "view/gaps/works.h"

/* What is added up of a process. */
struct sums {
	struct busy all, kernels;
	uint64_t first_ns[GAP_PARTS_COUNT], last_ns[GAP_PARTS_COUNT];
	/* of the gaps before its work: together they may not fit 64 bits */
	double all_ns, once_ns, causes_ns[GAP_CAUSES];
};

struct adding {
	struct gaps *gaps;
	const struct profile_reader *reader;
	struct vec(struct sums) sums; /* as gaps->processes */
	struct map index;	      /* of these: by process */
	/* the last one: work mostly follows other work of its process */
	uint32_t process;
	size_t last;   /* its index */
	uint64_t user; /* the last of gaps->users */
};

static uint64_t length(uint64_t from_ns, uint64_t until_ns)
{
	return until_ns > from_ns ? until_ns - from_ns : 0;
}

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int add_process(struct adding *a, uint32_t process)
{
	struct sums none = {0};

	memset(none.first_ns, 0xff, sizeof(none.first_ns));
	if (map_put(&a->index, process, a->sums.count) || vec_push(&a->sums, none))
		return -ENOMEM;
	return vec_push(&a->gaps->processes, (struct gap_process){.process = process});
}

/* NULL: there is no memory for them. */
static struct sums *sums_of(struct adding *a, uint32_t process)
{
	const uint64_t *found;

	if (a->sums.count && process == a->process)
		return &a->sums.items[a->last];
	found = map_get(&a->index, process);
	if (!found && add_process(a, process))
		return NULL;
	a->process = process;
	a->last = found ? *found : a->sums.count - 1;
	return &a->sums.items[a->last];
}

/* What of the work is shown. */
static int add_busy(struct adding *a, struct busy *busy, const struct gap_work *w)
{
	const struct profile_event e = {.kind = EVENT_CALL,
		.call = {.start_ns = w->start_ns, .duration_ns = w->end_ns - w->start_ns}};
	struct profile_event piece;
	size_t span = 0;
	int error = 0;

	if (!a->gaps->clip)
		return busy_add(busy, w->start_ns, w->end_ns);
	while (!error && clip_next_piece(a->gaps->clip, &e, &span, &piece))
		error = busy_add(
			busy, piece.call.start_ns, piece.call.start_ns + piece.call.duration_ns);
	return error;
}

static int add_user(struct adding *a, uint32_t device, uint32_t process)
{
	uint64_t user = (uint64_t)device << 32 | process;

	if (user == a->user)
		return 0;
	a->user = user;
	return map_put(&a->gaps->users, user, 1);
}

static int add_work(struct adding *a, const struct gap_work *w)
{
	int part = gap_part(&a->gaps->events.parts, w->start_ns), error;
	struct sums *s;

	if (!clip_has_device(a->gaps->clip, w->device))
		return 0;
	s = sums_of(a, w->process);
	if (!s || add_user(a, w->device, w->process))
		return -ENOMEM;
	s->first_ns[part] = w->start_ns < s->first_ns[part] ? w->start_ns : s->first_ns[part];
	s->last_ns[part] = w->end_ns > s->last_ns[part] ? w->end_ns : s->last_ns[part];
	error = add_busy(a, &s->all, w);
	if (!error && profile_op(a->reader, w->op)->kind == OP_KERNEL)
		error = add_busy(a, &s->kernels, w);
	return error;
}

static int add_works(struct adding *a)
{
	struct gap_works works;
	size_t work, device;
	int error = gap_works_init(&works, &a->gaps->events);

	while (!error && gap_works_next(&works, &work, &device))
		error = add_work(a, &works.works[work]);
	gap_works_release(&works);
	return error;
}

static void add_gaps(struct adding *a)
{
	vec_foreach (gap, &a->gaps->gaps) {
		struct sums *s = sums_of(a, a->gaps->events.works.items[gap->next].process);
		double ns = (double)clip_inside(a->gaps->clip, gap->start_ns, gap->end_ns);

		*(gap->once ? &s->once_ns : &s->causes_ns[gap->cause]) += ns;
		s->all_ns += ns;
	}
}

static uint64_t share_of(uint64_t whole_ns, double part, double all)
{
	double ns = (double)whole_ns * (part / all) + 0.5;

	return ns < (double)whole_ns ? (uint64_t)ns : whole_ns;
}

/* The process' idle time, in the proportions of the gaps before its work. */
static void share_out(struct gap_process *p, const struct sums *s)
{
	uint64_t idle_ns = length(p->kernels_ns + p->transfers_ns, p->span_ns);

	if (!s->all_ns)
		return;
	p->once_ns = share_of(idle_ns, s->once_ns, s->all_ns);
	for (unsigned int i = 0; i < GAP_CAUSES; i++)
		p->causes_ns[i] = share_of(idle_ns, s->causes_ns[i], s->all_ns);
}

static int finish(const struct profile_clip *clip, struct gap_process *p, struct sums *s)
{
	uint64_t all_ns, uncertain_ns;
	int error = busy_total(&s->all, &all_ns, &uncertain_ns);

	error = error ?: busy_total(&s->kernels, &p->kernels_ns, &uncertain_ns);
	if (error)
		return error;
	for (size_t i = 0; i < GAP_PARTS_COUNT; i++)
		p->span_ns += clip_inside(clip, s->first_ns[i], s->last_ns[i]);
	p->transfers_ns = length(p->kernels_ns, all_ns);
	share_out(p, s);
	return 0;
}

static int by_span(const void *left, const void *right)
{
	const struct gap_process *a = left, *b = right;

	return a->span_ns != b->span_ns ? order(b->span_ns, a->span_ns)
					: order(a->process, b->process);
}

int gap_processes_add(struct gaps *g, const struct profile_reader *r)
{
	struct adding a = {.gaps = g, .reader = r, .index = MAP_INIT, .user = UINT64_MAX};
	int error = add_works(&a);

	if (!error)
		add_gaps(&a);
	for (size_t i = 0; !error && i < a.sums.count; i++)
		error = finish(g->clip, &g->processes.items[i], &a.sums.items[i]);
	if (g->processes.count)
		qsort(g->processes.items, g->processes.count, sizeof(*g->processes.items), by_span);
	vec_foreach (s, &a.sums) {
		busy_release(&s->all);
		busy_release(&s->kernels);
	}
	vec_release(&a.sums);
	map_release(&a.index);
	return error ? error_set(error, "not enough memory for the gaps of GPUs") : 0;
}
