// SPDX-License-Identifier: MIT
#include "top/threads.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/io.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"
#include "view/names/label.h"
#include "view/view.h"

/* Of a node: the thread it is of (a node; 0: none), and of a thread: the stack with the most of its
 * time, and all of its time. */
struct place {
	uint32_t thread, best;
	uint64_t best_ns, total_ns;
};

struct dump {
	const struct tree *tree;
	const struct tree_node *nodes;
	struct place *places; /* by node */
	uint32_t pid;
	struct buf *out;
	struct map found; /* tids */
};

static const struct tree_frame *frame_of(const struct dump *d, uint32_t node)
{
	return &tree_frames(d->tree)[d->nodes[node].frame];
}

static bool is_thread_of_process(const struct dump *d, uint32_t node)
{
	const struct tree_frame *process = frame_of(d, d->nodes[node].parent);

	return frame_of(d, node)->kind == TREE_THREAD && process->kind == TREE_PROCESS &&
	       process->number == d->pid;
}

/* One that only waits for a CPU is where it runs, if it was seen to. */
static bool is_for_cpu(const struct dump *d, uint32_t node)
{
	const struct tree_frame *f = frame_of(d, node);

	return f->kind == TREE_WAIT && strstr(f->name, profile_wait_reason_name(WAIT_RUN_QUEUE));
}

/* Parents come before their children. */
static void find_places(struct dump *d)
{
	size_t count = tree_node_count(d->tree);

	for (uint32_t i = 1; i < count; i++) {
		uint64_t self = tree_self(d->tree, i), ns = is_for_cpu(d, i) ? self > 0 : self;
		struct place *thread;

		d->places[i].thread =
			is_thread_of_process(d, i) ? i : d->places[d->nodes[i].parent].thread;
		thread = &d->places[d->places[i].thread];
		thread->total_ns += self;
		if (ns > thread->best_ns) {
			thread->best = i;
			thread->best_ns = ns;
		}
	}
}

static void put_label(struct dump *d, uint32_t node, const char *before)
{
	struct buf label = BUF_INIT;

	tree_label(frame_of(d, node), &label);
	buf_puts(d->out, before);
	text_fit(d->out, buf_text(&label), 0);
	buf_release_for(&label, d->out);
}

static bool is_waiting(const struct dump *d, uint32_t node, uint32_t thread)
{
	for (; node != thread; node = d->nodes[node].parent)
		if (frame_of(d, node)->kind == TREE_WAIT)
			return true;
	return false;
}

static void put_tid(struct dump *d, uint32_t tid)
{
	buf_printf(d->out, "%sthread %u ", d->out->size ? "\n" : "", tid);
	d->out->failed |= map_put(&d->found, tid, 1) != 0;
}

static void put_thread(struct dump *d, uint32_t thread)
{
	const struct tree_frame *f = frame_of(d, thread);
	const struct place *p = &d->places[thread];
	char share[TEXT_CELL], total[TEXT_CELL];

	put_tid(d, f->number);
	text_fit(d->out, f->name, 0);
	buf_printf(d->out, ": %s, %s of %s\n",
		is_waiting(d, p->best, thread) ? "waiting" : "running",
		text_percent(share, tree_self(d->tree, p->best), p->total_ns),
		text_duration(total, p->total_ns));
	for (uint32_t node = p->best; node != thread; node = d->nodes[node].parent) {
		put_label(d, node, "    ");
		buf_putc(d->out, '\n');
	}
}

static int by_tid(const void *left, const void *right, void *dump)
{
	uint32_t a = frame_of(dump, *(const uint32_t *)left)->number,
		 b = frame_of(dump, *(const uint32_t *)right)->number;

	return a < b ? -1 : a > b;
}

static int put_sorted(struct dump *d)
{
	struct vec(uint32_t) threads = {0};
	size_t count = tree_node_count(d->tree);
	int error = 0;

	for (uint32_t i = 1; i < count && !error; i++)
		if (d->places[i].thread == i && d->places[i].best)
			error = vec_push(&threads, i);
	if (threads.count)
		qsort_r(threads.items, threads.count, sizeof(*threads.items), by_tid, d);
	vec_foreach (thread, &threads)
		put_thread(d, *thread);
	vec_release(&threads);
	return error ? error_memory(NULL) : 0;
}

/* That neither ran nor were seen to wait. */
static void put_unseen(struct dump *d)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%u/task", d->pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		struct buf name = BUF_INIT;

		if (!tid || map_get(&d->found, tid))
			continue;
		snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", d->pid, tid);
		(void)io_read_file(path, 256, &name);
		if (name.size)
			name.size--; /* the end of its line */
		buf_putc(&name, '\0');
		put_tid(d, tid);
		text_fit(d->out, buf_text(&name), 0);
		buf_puts(d->out, ": not seen; it sleeps, or hardly ran\n");
		buf_release(&name);
	}
	if (tasks)
		closedir(tasks);
}

static int put_threads(struct dump *d)
{
	int error;

	d->places = calloc(tree_node_count(d->tree), sizeof(*d->places));
	if (!d->places)
		return error_memory(NULL);
	find_places(d);
	error = put_sorted(d);
	free(d->places);
	put_unseen(d);
	if (!error && !d->found.count)
		error = error_set(-ENOENT, "no thread of process %u was seen", d->pid);
	map_release(&d->found);
	return error ?: d->out->failed ? error_memory(NULL) : 0;
}

int threads_text(const char *path, uint32_t pid, struct buf *out)
{
	const struct view_options options = {.view = view_by_name("wall"),
		.by = VIEW_BY_PROCESS | VIEW_BY_THREAD,
		.brief_waits = true};
	struct view_result view = {0};
	int error = view_read(path, &options, &view);

	if (error)
		return error;
	error = put_threads(&(struct dump){
		.tree = view.tree, .nodes = tree_nodes(view.tree), .pid = pid, .out = out});
	view_result_release(&view);
	return error;
}
