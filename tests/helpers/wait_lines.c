// SPDX-License-Identifier: MIT
/*
 *	wait_lines FILE
 *
 * The waits of threads in a recording, a line each, fields separated by tabs; times in ns:
 *
 *	wait  pid  tid  thread  reason  start  duration  queued  others  others' time  waker's tid  stack, root;...;leaf
 *	life  pid  tid  thread  start  duration  run
 *	own   pid  tid  thread	a thread of the profiler's
 *	lost  name  count
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/vec.h"
#include "profile/reader.h"

#define DEPTH_MAX 600

struct events {
	struct profile_reader *r;
	struct vec(struct profile_event) events;
};

static void check(int error)
{
	if (error >= 0)
		return;
	fprintf(stderr, "wait_lines: %s\n", error_text());
	exit(1);
}

static void gather(struct events *e)
{
	struct profile_event event;
	int more;

	while ((more = profile_reader_next(e->r, &event)) > 0)
		if (event.kind == EVENT_WAIT || event.kind == EVENT_LIFE)
			check(vec_push(&e->events, event));
	check(more);
}

static const char *text(const struct events *e, uint32_t id)
{
	return profile_string(e->r, id, NULL);
}

static void print_thread(const struct events *e, const char *kind, uint32_t id)
{
	const struct profile_thread *thread = profile_thread(e->r, id);
	const struct profile_process *process =
		thread ? profile_process(e->r, thread->process) : NULL;

	printf("%s\t%u\t%u\t%s", kind, process ? process->pid : 0, thread ? thread->tid : 0,
		thread ? text(e, thread->name) : "");
}

static void print_stack(const struct events *e, uint32_t id)
{
	const struct profile_stack_node *node;
	uint32_t locations[DEPTH_MAX];
	size_t depth = 0;

	for (; (node = profile_stack_node(e->r, id)) && depth < DEPTH_MAX; id = node->parent)
		locations[depth++] = node->location;
	while (depth--) {
		const struct profile_location *l = profile_location(e->r, locations[depth]);

		printf("%s%s", l && l->name ? text(e, l->name) : "?", depth ? ";" : "");
	}
}

static void print_wait(const struct events *e, const struct profile_wait *w)
{
	const struct profile_thread *waker = profile_thread(e->r, w->waker);

	print_thread(e, "wait", w->thread);
	printf("\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%u\t",
		profile_wait_reason_name(w->reason), w->start_ns, w->duration_ns, w->queued_ns,
		w->others, w->others_ns, waker ? waker->tid : 0);
	print_stack(e, w->stack);
	printf("\n");
}

static void print_losses(const struct events *e)
{
	for (unsigned int n = 1; n < LOSS_KINDS; n++)
		if (profile_loss_count(e->r, (enum profile_loss)n))
			printf("lost\t%s\t%" PRIu64 "\n", profile_loss_key(n),
				profile_loss_count(e->r, (enum profile_loss)n));
}

int main(int argc, char **argv)
{
	struct events e = {0};

	if (argc != 2) {
		fprintf(stderr, "usage: wait_lines FILE\n");
		return 2;
	}
	check(profile_reader_open(&e.r, argv[1]));
	gather(&e);
	vec_foreach (event, &e.events) {
		if (event->kind == EVENT_WAIT) {
			print_wait(&e, &event->wait);
			continue;
		}
		print_thread(&e, "life", event->life.thread);
		printf("\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", event->life.start_ns,
			event->life.duration_ns, event->life.run_ns);
	}
	for (uint32_t id = 1; id <= profile_counts(e.r).threads; id++)
		if (profile_is_profiler(e.r, id)) {
			print_thread(&e, "own", id);
			printf("\n");
		}
	print_losses(&e);
	vec_release(&e.events);
	profile_reader_close(e.r);
	return 0;
}
