// SPDX-License-Identifier: MIT
/* The tables: processes, what GPUs did, and the stacks that most of the time is on. */
#include <stdlib.h>

#include "base/demangle.h"
#include "base/text.h"
#include "top/screen_internal.h"
#include "view/names/label.h"
#include "view/names/name.h"

static void put_rate(struct buf *line, int width, const struct moment *m, uint64_t count)
{
	double seconds = (double)(m->to_ns - m->from_ns) / 1e9;
	char cell[TEXT_CELL];

	buf_printf(line, "%*s", width,
		count ? text_count(cell, (uint64_t)((double)count / seconds + 0.5)) : "");
}

/* ------------------------------------------------------------------ processes */

static size_t process_count(const struct moment *m)
{
	return m->processes.count;
}

/* What GPUs lacked most before this process' work. */
static const char *lack_of(const struct moment *m, uint32_t process)
{
	unsigned int best = GAP_CAUSES;

	if (!m->report->gaps)
		return "";
	vec_foreach (p, &m->report->gaps->processes) {
		if (p->process != process)
			continue;
		for (unsigned int i = 0; i < GAP_CAUSES; i++)
			if (p->causes_ns[i] &&
				(best == GAP_CAUSES || p->causes_ns[i] > p->causes_ns[best]))
				best = i;
	}
	return best < GAP_CAUSES ? gap_cause_text(best) : "";
}

static void process_row(const struct moment *m, size_t n, struct buf *line)
{
	const struct profile_reader *r = m->report->reader;
	const struct summary_task *t = &m->processes.items[n];
	const struct profile_process *p = profile_process(r, t->id);
	const char *command;

	canvas_sampled_share(line, m, t->cpu_ns, t->figures);
	canvas_share(line, m, t->gpu_ns);
	put_rate(line, 12, m, t->launches);
	buf_printf(line, "  %-27s", lack_of(m, t->id));
	if (!p) {
		buf_puts(line, "  not known");
		return;
	}
	command = profile_string(r, p->cmdline, NULL);
	buf_printf(line, "  %u %s", p->pid, *command ? command : profile_string(r, p->comm, NULL));
}

/* ------------------------------------------------------------------ what GPUs did */

static size_t work_count(const struct moment *m)
{
	return m->works.count;
}

static void put_work(const struct moment *m, const struct moment_work *w, struct buf *line)
{
	struct buf name = BUF_INIT;

	if (w->kind == OP_COPY) {
		buf_printf(line, "[copy %s]", profile_copy_name(w->what));
	} else if (w->kind == OP_SET) {
		buf_printf(line, "[memset of %s memory]", profile_memory_name(w->what));
	} else {
		demangle(profile_string(m->report->reader, w->what, NULL), &name);
		name_fit(line, buf_text(&name), 0);
	}
	buf_release_for(&name, line);
}

static void work_row(const struct moment *m, size_t n, struct buf *line)
{
	const struct moment_work *w = &m->works.items[n];
	char mean[TEXT_CELL];

	canvas_share(line, m, w->total_ns);
	put_rate(line, 10, m, w->count);
	buf_printf(line, "%10s  ", w->count ? text_duration(mean, w->total_ns / w->count) : "");
	put_work(m, w, line);
}

/* ------------------------------------------------------------------ stacks */

static size_t stack_count(const struct moment *m)
{
	return m->stacks.count;
}

static const struct tree_frame *frame_of(const struct moment *m, uint32_t node)
{
	return &tree_frames(m->view.tree)[tree_nodes(m->view.tree)[node].frame];
}

static void put_label(const struct moment *m, uint32_t node, struct buf *line)
{
	enum tree_kind kind = frame_of(m, node)->kind;
	struct buf label = BUF_INIT;
	size_t before = line->size;

	tree_label(frame_of(m, node), &label);
	if (kind == TREE_CXX || kind == TREE_GPU_KERNEL)
		label_brief(buf_text(&label), label.size, 1, line);
	if (line->size == before)
		buf_append(line, label.data, label.size);
	buf_release_for(&label, line);
}

static uint32_t process_of(const struct moment *m, uint32_t node)
{
	const struct tree_node *nodes = tree_nodes(m->view.tree);

	while (nodes[node].parent != TREE_ROOT_NODE)
		node = nodes[node].parent;
	return node;
}

/* The process, and its innermost functions first: these matter where a line is too short. */
static void stack_row(const struct moment *m, size_t n, struct buf *line)
{
	const struct tree_node *nodes = tree_nodes(m->view.tree);
	const struct moment_stack *s = &m->stacks.items[n];
	uint32_t process = process_of(m, s->node);
	const char *before = ": ";

	canvas_share(line, m, s->gpu ? 0 : s->ns);
	canvas_share(line, m, s->gpu ? s->ns : 0);
	buf_puts(line, "  ");
	put_label(m, process, line);
	for (uint32_t node = s->node; node != process; node = nodes[node].parent) {
		buf_puts(line, before);
		put_label(m, node, line);
		before = " < ";
	}
}

// clang-format off
const struct screen_table screen_tables[SCREEN_TABLES] = {
	{"     CPU     GPU  launches/s  GPU mostly lacked            process", process_count, process_row},
	{"     GPU   count/s      mean  GPU work", work_count, work_row},
	{"     CPU     GPU  process: stack, innermost function first", stack_count, stack_row},
};
// clang-format on

/* ------------------------------------------------------------------ order */

static int falling(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static uint64_t task_key(const struct summary_task *t, enum screen_sort sort)
{
	switch (sort) {
	case SCREEN_BY_CPU:
		return t->cpu_ns;
	case SCREEN_BY_GPU:
		return t->gpu_ns;
	case SCREEN_BY_COUNT:
		return t->launches;
	default:
		return t->cpu_ns + t->gpu_ns;
	}
}

static int compare_tasks(const void *left, const void *right, void *sort)
{
	const struct summary_task *a = left, *b = right;
	enum screen_sort by = *(const enum screen_sort *)sort;

	return falling(task_key(a, by), task_key(b, by))
		       ?: falling(a->cpu_ns + a->gpu_ns, b->cpu_ns + b->gpu_ns)
		       ?: a->id > b->id ? 1 : -1;
}

static int compare_works(const void *left, const void *right, void *sort)
{
	const struct moment_work *a = left, *b = right;
	int order = 0;

	if (*(const enum screen_sort *)sort == SCREEN_BY_COUNT)
		order = falling(a->count, b->count);
	return order ?: falling(a->total_ns, b->total_ns) ?: a->what > b->what ? 1 : -1;
}

static int compare_stacks(const void *left, const void *right, void *sort)
{
	const struct moment_stack *a = left, *b = right;
	enum screen_sort by = *(const enum screen_sort *)sort;
	int order = 0;

	if (by == SCREEN_BY_CPU || by == SCREEN_BY_GPU)
		order = a->gpu == b->gpu ? 0 : a->gpu == (by == SCREEN_BY_GPU) ? -1 : 1;
	return order ?: falling(a->ns, b->ns) ?: a->node > b->node ? 1 : -1;
}

void screen_tables_sort(struct moment *m, enum screen_sort sort)
{
	if (m->processes.count)
		qsort_r(m->processes.items, m->processes.count, sizeof(*m->processes.items),
			compare_tasks, &sort);
	if (m->works.count)
		qsort_r(m->works.items, m->works.count, sizeof(*m->works.items), compare_works,
			&sort);
	if (m->stacks.count)
		qsort_r(m->stacks.items, m->stacks.count, sizeof(*m->stacks.items), compare_stacks,
			&sort);
}
