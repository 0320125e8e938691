/* SPDX-License-Identifier: MIT */
/*
 * Waits of threads, from two events each: the stack comes when a wait begins, the length when it
 * ends (bpf/events.h).
 *
 * Waits shorter than a minimum are summed up by thread and reason, and written without a stack when
 * the thread ends. So are waits without an event that cannot be added to a wait with a stack. A
 * stack may come later than the end of its wait, and be of a later moment than its beginning. Once
 * a thread is known to be the profiler's own (THREAD_PROFILER), its waits and life are not written.
 * One thread.
 */
#pragma once

#include "bpf/events.h"
#include "profile/tasks.h"

struct waits;

/* A wait that has begun. */
struct wait_begin {
	uint64_t start_ns;
	uint32_t thread; /* profile ids */
	uint32_t stack;
	/* enum profile_loss: why the stack does not reach its root; 0: it does */
	uint32_t incomplete;
	/* identifies the stack, which comes later (waits_stack); 0: it is this one */
	uint64_t ticket;
	uint64_t stack_ns; /* the stack is of this time (waits_stack_of); 0: of the beginning */
	enum profile_wait_reason reason;
	uint64_t site; /* bpf_wait_begin_event.site; 0: it has none */
};

/* Functions return 0 or -errno with error_text. */
int waits_new(struct waits **ret, struct profile_writer *w, struct tasks *tasks, uint64_t min_ns);
void waits_free(struct waits *s);
int waits_begin(struct waits *s, uint32_t pid, uint32_t tid, const struct wait_begin *begin);
/* The stack for a ticket, which is not used again. */
int waits_stack(struct waits *s, uint32_t pid, uint32_t tid, uint64_t ticket, uint32_t stack,
	uint32_t incomplete);
/* Says that the stack for a ticket will be of this moment: a wait that is over by then has none.
 * *ret_wanted: there is one that goes on, or ended later. */
int waits_stack_of(struct waits *s, uint32_t pid, uint32_t tid, uint64_t ticket, uint64_t time_ns,
	bool *ret_wanted);
int waits_end(struct waits *s, const struct bpf_wait_event *e);
int waits_life(struct waits *s, const struct bpf_life_event *e);
/* No more events come, only stacks: writes the sums of threads whose end was not reported, and
 * counts these threads. */
int waits_finish(struct waits *s);
