/* SPDX-License-Identifier: MIT */
/*
 * How long threads ran, by the scheduler's own account: `se.sum_exec_runtime`, which getrusage()
 * adds up, too.
 *
 * The account of a thread that runs was last brought up to date at a tick or a switch. So it is
 * final when the thread is freed, and only then: what sched_process_exit sees lacks the rest of the
 * exit, and on Linux 6.16 and later the freeing of all memory as well. Until the thread is freed
 * `accounts` keeps what it is called, which the kernel has forgotten by then.
 *
 * The kernel adds the account of a thread to that of its process when it removes the thread from
 * the process (__exit_signal), which is some microseconds before the thread last runs. Nobody can
 * see that moment. So the sum of the process is sent along, and the recorder does not report more
 * (capture/cpu_accounts.h).
 *
 * Where a thread runs on (exec, and the begin and end of a recording) what is missing is added: its
 * CPU's run queue has the time of the last update, by a clock that is set off against ours.
 *
 * Included once, by tracking.h, whose programs do the rest.
 */
#pragma once

#include "bpf/kernel_types.h"

/* Threads that ran before they were recorded, that called exec, and that have ended and are not
 * freed. By the address of the task_struct. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* BPF_ACCOUNTS_MAX where there are samples */
	__type(key, uint64_t);
	__type(value, struct bpf_account);
} accounts SEC(".maps");

uint64_t accounts_since_ns;  /* 0: the recording has not begun */
uint32_t accounts_ended;     /* it has ended: threads that end from now on count no more */
uint64_t rq_clock_offset_ns; /* our clock less that of run queues; 0: not known */

/* The run queue of the thread's CPU, also of one that is of another class of scheduling; NULL: the
 * kernel has no groups of threads, and no such link. */
static __always_inline struct rq *run_queue(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->se.cfs_rq) ||
		!bpf_core_field_exists(((struct cfs_rq *)NULL)->rq))
		return NULL;
	return BPF_CORE_READ(task, se.cfs_rq, rq);
}

/* How long a thread that has a CPU ran since its account was brought up to date at `since`, a time
 * of its run queue; 0 for others. */
static __always_inline uint64_t running_since(struct task_struct *task, uint64_t since)
{
	struct rq *rq = rq_clock_offset_ns ? run_queue(task) : NULL;
	uint64_t clock, clock_task, now;

	if (!rq || BPF_CORE_READ(rq, curr) != task)
		return 0;
	clock = BPF_CORE_READ(rq, clock);
	clock_task = BPF_CORE_READ(rq, clock_task);
	now = bpf_ktime_get_ns() - rq_clock_offset_ns;
	clock_task += (int64_t)(now - clock) > 0 ? now - clock : 0;
	return (int64_t)(clock_task - since) > 0 ? clock_task - since : 0;
}

/* How long the thread ran, up to now. It may be brought up to date meanwhile, on another CPU. */
static __always_inline uint64_t cpu_time(struct task_struct *task)
{
	uint64_t sum = 0, more = 0;

#pragma unroll
	for (int i = 0; i < 3; i++) {
		sum = BPF_CORE_READ(task, se.sum_exec_runtime);
		more = running_since(task, BPF_CORE_READ(task, se.exec_start));
		if (BPF_CORE_READ(task, se.sum_exec_runtime) == sum)
			break;
	}
	return sum + more;
}

static __always_inline struct bpf_account *account_of(struct task_struct *task)
{
	uint64_t key = (uint64_t)task;

	return bpf_map_lookup_elem(&accounts, &key);
}

static __always_inline bool set_account(struct task_struct *task, const struct bpf_account *account)
{
	uint64_t key = (uint64_t)task;

	return !bpf_map_update_elem(&accounts, &key, account, BPF_ANY);
}

static __always_inline void drop_account(struct task_struct *task)
{
	uint64_t key = (uint64_t)task;

	bpf_map_delete_elem(&accounts, &key);
}

/* What a thread had run when it came into the recording; false: it was there before, and nobody
 * looked. */
static __always_inline bool ran_before(
	struct task_struct *task, const struct bpf_account *a, uint64_t *ret_ns)
{
	*ret_ns = a ? a->before_ns : 0;
	return accounts_since_ns && (a || BPF_CORE_READ(task, start_time) >= accounts_since_ns);
}

/* What its threads that have ended ran, by the process's own account. */
static __always_inline uint64_t process_ended_ns(struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, sum_sched_runtime);
}

/* Whether all other threads of its process are freed. */
static __always_inline bool is_last(struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, sigcnt.refs.counter) == 1;
}
