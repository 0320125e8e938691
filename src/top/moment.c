// SPDX-License-Identifier: MIT
#include "top/moment.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "view/view.h"

int moment_bounds(const char *path, uint64_t *ret_start_ns, uint64_t *ret_end_ns)
{
	struct profile_reader *r;
	struct profile_event e;
	int error = profile_reader_open(&r, path);

	if (error)
		return error;
	while ((error = profile_reader_next(r, &e)) > 0)
		;
	*ret_start_ns = profile_meta_number(r, META_START_NS, 0);
	*ret_end_ns = profile_meta_number(r, META_END_NS, 0);
	profile_reader_close(r);
	return error;
}

static int add_work(
	struct moment *m, enum profile_op_kind kind, uint32_t what, const struct summary_time *t)
{
	vec_foreach (w, &m->works)
		if (kind != OP_KERNEL && w->kind == kind && w->what == what) {
			w->count += t->count;
			w->total_ns += t->total_ns;
			return 0;
		}
	return vec_push(&m->works, (struct moment_work){kind, what, t->count, t->total_ns});
}

static int gather_tasks(struct moment *m)
{
	const struct summary *s = m->report->summary;
	int error = 0;

	vec_foreach (t, &s->processes)
		error = error ?: vec_push(&m->processes, *t);
	vec_foreach (k, &s->kernels)
		error = error ?: add_work(m, OP_KERNEL, k->name, &k->time);
	vec_foreach (c, &s->copies)
		error = error ?: add_work(m, OP_COPY, c->kind, &c->time);
	vec_foreach (t, &s->sets)
		error = error ?: add_work(m, OP_SET, t->target, &t->time);
	return error ? error_memory(NULL) : 0;
}

static int gather_stacks(struct moment *m)
{
	const struct tree_node *nodes = tree_nodes(m->view.tree);
	size_t count = tree_node_count(m->view.tree);
	int error = 0;

	for (uint32_t i = 1; i < count && !error; i++)
		if (tree_self(m->view.tree, i))
			error = vec_push(&m->stacks,
				(struct moment_stack){i, tree_self(m->view.tree, i), nodes[i].gpu});
	return error ? error_memory(NULL) : 0;
}

static int read_parts(struct moment *m, const char *path, const struct range_wanted *range)
{
	const struct report_wanted wanted = {.range = *range};
	const struct view_options options = {.by = VIEW_BY_PROCESS, .range = *range};
	int error = report_open(&m->report, path, &wanted);

	error = error ?: view_read(path, &options, &m->view);
	error = error ?: gather_tasks(m);
	return error ?: gather_stacks(m);
}

int moment_read(
	struct moment *m, const char *path, uint64_t start_ns, uint64_t from_ns, uint64_t to_ns)
{
	char from[32], to[32];
	const struct range_wanted range = {.from = from, .to = to};
	int error;

	*m = (struct moment){.from_ns = from_ns, .to_ns = to_ns};
	snprintf(from, sizeof(from), "%lluns", (unsigned long long)(from_ns - start_ns));
	snprintf(to, sizeof(to), "%lluns", (unsigned long long)(to_ns - start_ns));
	error = read_parts(m, path, &range);
	if (error != -ERANGE)
		return error;
	/* Nothing happened so late. */
	moment_release(m);
	return 0;
}

void moment_release(struct moment *m)
{
	vec_release(&m->processes);
	vec_release(&m->works);
	vec_release(&m->stacks);
	view_result_release(&m->view);
	report_close(m->report);
	m->report = NULL;
}
