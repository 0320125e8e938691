// SPDX-License-Identifier: MIT
#include "capture/cpu_accounts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/vec.h"

#define PROCESS_THREADS_MAX 65536
#define THREADS_MAX	    262144
#define FEW_THREADS	    4
/* A thread is cut by one part in so many at most: the rest was no end of threads. */
#define LEAST_PARTS 8

struct ended_thread {
	uint32_t thread;
	uint64_t run_ns, end_ns;
};

struct process_account {
	uint64_t threads_ns;	   /* what the ended threads ran, by themselves */
	uint64_t process_ended_ns; /* and by the process */
	bool ended;
	uint64_t waiting_ns; /* of the former: what the threads that wait here ran */
	struct vec(struct ended_thread) waiting;
};

static int write_thread(struct profile_writer *w, uint32_t thread, uint64_t run_ns, uint64_t end_ns)
{
	const struct profile_account account = {.run_ns = run_ns, .end_ns = end_ns};

	return profile_add_account(w, thread, &account);
}

/* How much of what waits is the end of threads. */
static uint64_t excess_of(const struct process_account *p)
{
	bool any = p->process_ended_ns && p->threads_ns > p->process_ended_ns;
	uint64_t excess_ns = any ? p->threads_ns - p->process_ended_ns : 0;
	uint64_t most_ns = p->waiting_ns / LEAST_PARTS;

	return excess_ns < most_ns ? excess_ns : most_ns;
}

/* Each thread has as much of the excess as it has of the time. */
static int write_waiting(struct process_account *p, struct profile_writer *w)
{
	uint64_t excess_ns = excess_of(p), left_ns = p->waiting_ns;
	int error = 0;

	vec_foreach (t, &p->waiting) {
		uint64_t cut_ns =
			left_ns ? (uint64_t)((unsigned __int128)excess_ns * t->run_ns / left_ns)
				: 0;

		left_ns -= t->run_ns;
		excess_ns -= cut_ns;
		error = error ?: write_thread(w, t->thread, t->run_ns - cut_ns, t->end_ns);
	}
	vec_release(&p->waiting);
	p->waiting_ns = 0;
	p->threads_ns = p->process_ended_ns;
	return error;
}

static void free_process(struct process_account *p)
{
	vec_release(&p->waiting);
	free(p);
}

/* NULL: there is no memory for it. */
static struct process_account *get_process(struct cpu_accounts *a, uint64_t process)
{
	const uint64_t *known = map_get(&a->processes, process);
	struct process_account *p = known ? (void *)(uintptr_t)*known : calloc(1, sizeof(*p));

	if (known || !p)
		return p;
	if (!map_put(&a->processes, process, (uintptr_t)p))
		return p;
	free_process(p);
	return NULL;
}

static int add_waiting(
	struct process_account *p, struct profile_writer *w, const struct thread_account *t)
{
	const struct ended_thread ended = {t->thread, t->run_ns, t->end_ns};
	int error = 0;

	if (p->waiting.count >= PROCESS_THREADS_MAX)
		error = write_waiting(p, w);
	if (!error && vec_push(&p->waiting, ended))
		error = error_memory("CPU times");
	p->waiting_ns += t->run_ns;
	return error;
}

static int add_ended(
	struct cpu_accounts *a, struct profile_writer *w, const struct thread_account *t)
{
	struct process_account *p = get_process(a, t->process);
	int error = 0;

	if (!p)
		return error_memory("CPU times");
	if (p->process_ended_ns < t->process_ended_ns)
		p->process_ended_ns = t->process_ended_ns;
	p->threads_ns += t->ended_ns;
	if (!error && t->thread)
		error = add_waiting(p, w, t);
	p->ended |= t->last;
	a->waiting++;
	/* With one missing there is less, but for the ends of many others. */
	if (error || !p->ended || p->threads_ns < p->process_ended_ns ||
		p->waiting.count > FEW_THREADS)
		return error;
	map_remove(&a->processes, t->process, NULL);
	error = write_waiting(p, w);
	free_process(p);
	return error;
}

/* Writes what waits of processes that have ended. */
static int write_ended(struct cpu_accounts *a, struct profile_writer *w)
{
	int error = 0;

	a->waiting = 0;
	for (size_t i = 0; !error && i <= a->processes.mask; i++) {
		struct process_account *p = (void *)(uintptr_t)a->processes.slots[i].value;

		if (a->processes.slots[i].used && p->ended)
			error = write_waiting(p, w);
	}
	return error;
}

int cpu_accounts_add(
	struct cpu_accounts *a, struct profile_writer *w, const struct thread_account *t)
{
	if (t->ended_ns)
		return add_ended(a, w, t) ?: a->waiting > THREADS_MAX ? write_ended(a, w) : 0;
	return t->thread ? write_thread(w, t->thread, t->run_ns, t->end_ns) : 0;
}

static int end_all(struct cpu_accounts *a, struct profile_writer *w)
{
	int error = 0;

	for (size_t i = 0; a->processes.slots && i <= a->processes.mask; i++) {
		struct process_account *p = (void *)(uintptr_t)a->processes.slots[i].value;

		if (!a->processes.slots[i].used)
			continue;
		if (w)
			error = error ?: write_waiting(p, w);
		free_process(p);
	}
	map_release(&a->processes);
	*a = (struct cpu_accounts){0};
	return error;
}

int cpu_accounts_finish(struct cpu_accounts *a, struct profile_writer *w)
{
	return end_all(a, w);
}

void cpu_accounts_release(struct cpu_accounts *a)
{
	(void)end_all(a, NULL);
}
