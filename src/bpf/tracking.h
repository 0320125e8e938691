/* SPDX-License-Identifier: MIT */
/*
 * Who belongs to the recording, and what happens to processes.
 *
 * `tracked` holds the thread groups that belong to it. A child is entered while its parent is still
 * inside fork, before it can run; it is removed when it was reaped, so that the last samples of an
 * exit are still ours. The pid of a task that is being freed may already belong to another (freeing
 * waits for an RCU grace period): each entry therefore names its leader's task_struct, and a stale
 * entry is closed by the fork that reuses the pid.
 *
 * Included once, by capture.bpf.c: the programs here are its.
 */
#pragma once

#include <linux/errno.h>
#include "base/bare/hash_step.h"
#include "bpf/accounts.h"
#include "bpf/spaces.h"

/* Set before loading. */
const volatile bool whole_system;
const volatile uint64_t wakeup_bytes; /* wake the reader when a ring holds this much */

struct bpf_losses lost;
uint32_t pid_ns_level; /* of the recorder; 0: the initial namespace */
uint32_t wanted_pid;   /* see track_wanted */
/* Whose signals are noted, as the recorder's namespace counts; 0: nobody's. By number: when the
 * latest was sent to it, but for those that the recorder passes on. */
uint32_t recorder_pid, program_pid;
uint64_t recorder_signals_ns[BPF_SIGNALS], program_signals_ns[BPF_SIGNALS];

struct tracked_process {
	uint64_t leader; /* address of the leader's task_struct; 0: entered by the recorder */
	uint32_t pid;	 /* as the recorder's namespace counts */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, uint32_t); /* thread group id in the initial namespace */
	__type(value, struct tracked_process);
} tracked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} tasks SEC(".maps");

/* The ring's wake-up rule: only a ring that fills up is worth a wake-up. */
static __always_inline uint64_t wakeup_flags(void *ring)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= wakeup_bytes ? BPF_RB_FORCE_WAKEUP
									  : BPF_RB_NO_WAKEUP;
}

static __always_inline void count(uint64_t *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* The id of a task as the recorder counts; `global` is its id in the initial namespace. */
static __always_inline uint32_t reported_id(struct task_struct *task, uint32_t global)
{
	const char *number;
	struct pid *pid;
	int nr = 0;

	if (!pid_ns_level)
		return global;
	pid = BPF_CORE_READ(task, thread_pid);
	if (!pid || BPF_CORE_READ(pid, level) < pid_ns_level)
		return 0;
	/* The element's size is the kernel's, not that of our short declaration. */
	number = (const char *)&pid->numbers[0] + pid_ns_level * bpf_core_type_size(struct upid);
	bpf_probe_read_kernel(&nr, sizeof(nr), &((const struct upid *)number)->nr);
	return nr;
}

/* ------------------------------------------------------------------ who belongs to it */

/* The pid to report for a task's process, or 0 when it does not belong to the recording. */
static __always_inline uint32_t recorded_pid(struct task_struct *task)
{
	const struct tracked_process *p;
	uint32_t tgid = BPF_CORE_READ(task, tgid);

	if (whole_system)
		return reported_id(BPF_CORE_READ(task, group_leader), tgid);
	p = bpf_map_lookup_elem(&tracked, &tgid);
	return p ? p->pid : 0;
}

static __always_inline struct bpf_task_event *task_event(
	uint32_t kind, uint32_t pid, uint32_t tid, uint64_t arguments_size)
{
	struct bpf_task_event *e = bpf_ringbuf_reserve(&tasks, sizeof(*e) + arguments_size, 0);

	if (!e) {
		count(&lost.tasks);
		return NULL;
	}
	e->time_ns = bpf_ktime_get_ns();
	e->kind = kind;
	e->pid = pid;
	e->tid = tid;
	e->parent = 0;
	e->run_ns = 0;
	e->arguments_size = 0;
	e->reserved = 0;
	return e;
}

static __always_inline void send_exit(uint32_t pid)
{
	struct bpf_task_event *e;

	drop_space(pid);
	/* With anything in between, the compiler checks twice whether there is a record, and the
	 * verifier of Linux 6.1 and older ones considers it leaked where only the second check
	 * finds that there is none. */
	e = task_event(TASK_EXIT, pid, pid, 0);
	if (e)
		bpf_ringbuf_submit(e, wakeup_flags(&tasks));
}

static __always_inline void send_named(
	uint32_t kind, uint32_t pid, uint32_t tid, uint32_t parent, const char *comm)
{
	struct bpf_task_event *e = task_event(kind, pid, tid, 0);

	if (!e)
		return;
	e->parent = parent;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), comm);
	bpf_ringbuf_submit(e, wakeup_flags(&tasks));
}

/* ------------------------------------------------------------------ CPU time */

/* `ended_ns`, `process_ended_ns`: see struct bpf_account_event. */
static __always_inline void send_account(const struct bpf_account *a, uint64_t run_ns,
	uint64_t ended_ns, uint64_t process_ended_ns, bool last)
{
	struct bpf_account_event *e = bpf_ringbuf_reserve(&tasks, sizeof(*e), 0);

	if (!e) {
		count(&lost.accounts);
		return;
	}
	*e = (struct bpf_account_event){
		.task = {.time_ns = a->exit_ns,
			.kind = TASK_ACCOUNT,
			.pid = a->pid,
			.tid = a->tid,
			.run_ns = run_ns > a->before_ns ? run_ns - a->before_ns : 0},
		.process = a->process,
		.process_ended_ns = process_ended_ns,
		.ended_ns = ended_ns,
		.last = last};
	__builtin_memcpy(e->task.comm, a->comm, sizeof(e->task.comm));
	bpf_ringbuf_submit(e, wakeup_flags(&tasks));
}

/* It does not run any more: the account is final. In the end the recorder asks for what is left. */
static __always_inline void end_account(struct task_struct *task)
{
	const struct bpf_account *a = accounts_ended ? NULL : account_of(task);
	uint64_t run_ns = task->se.sum_exec_runtime;

	if (!a)
		return;
	if (a->exit_ns)
		send_account(a, run_ns, run_ns, process_ended_ns(task), is_last(task));
	drop_account(task);
}

/* A task that begins here, or ends, has the address of one whose freeing was not seen (a few in a
 * thousand are not, on 6.18). That one is reported as it was when it ended. */
static __always_inline void end_earlier(struct task_struct *task)
{
	const struct bpf_account *a = account_of(task);

	if (!a || accounts_ended)
		return;
	if (a->exit_ns)
		send_account(a, a->run_ns, a->run_ns, 0, false);
	drop_account(task);
}

static __always_inline void describe_account(
	struct task_struct *task, uint32_t pid, struct bpf_account *ret)
{
	ret->exit_ns = bpf_ktime_get_ns();
	ret->run_ns = cpu_time(task);
	ret->born_ns = BPF_CORE_READ(task, start_time);
	ret->process = (uint64_t)BPF_CORE_READ(task, signal) +
		       BPF_CORE_READ(task, group_leader, start_time) * HASH_FACTOR;
	ret->pid = pid;
	ret->tid = reported_id(task, BPF_CORE_READ(task, pid));
	bpf_probe_read_kernel_str(ret->comm, sizeof(ret->comm), task->comm);
}

/* ------------------------------------------------------------------ changes */

/* An entry left from an earlier owner of this pid: that one is gone now. */
static __always_inline void forget_earlier(uint32_t tgid)
{
	const struct tracked_process *p = bpf_map_lookup_elem(&tracked, &tgid);

	if (!p)
		return;
	send_exit(p->pid);
	bpf_map_delete_elem(&tracked, &tgid);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	uint32_t tgid = child->tgid;
	struct tracked_process p = {.leader = (uint64_t)child};
	uint32_t parent_pid = recorded_pid(parent);

	if (parent_pid)
		end_earlier(child);
	if (tgid == (uint32_t)parent->tgid) {
		if (parent_pid)
			send_named(TASK_THREAD, parent_pid, reported_id(child, child->pid), 0,
				child->comm);
		return 0;
	}
	forget_earlier(tgid);
	if (!parent_pid)
		return 0;
	p.pid = reported_id(child, tgid);
	copy_space(parent_pid, p.pid);
	if (bpf_map_update_elem(&tracked, &tgid, &p, BPF_ANY))
		count(&lost.tasks);
	send_named(TASK_FORK, p.pid, p.pid, parent_pid, child->comm);
	return 0;
}

/* Exec ends all other threads, and the one that lives on may be another than the leader so far. */
static __always_inline void note_leader(uint32_t tgid, struct task_struct *task)
{
	struct tracked_process *p = bpf_map_lookup_elem(&tracked, &tgid);

	if (p)
		p->leader = (uint64_t)task;
}

/* What it ran so far was another program. Without room for that it is reported with the new one. */
static __always_inline uint64_t begin_program(struct task_struct *task)
{
	struct bpf_account *known = account_of(task), account = {};
	uint64_t before_ns;
	bool counts = ran_before(task, known, &before_ns);

	account.before_ns = cpu_time(task);
	if (!accounts_since_ns)
		return 0;
	if (known)
		known->before_ns = account.before_ns;
	else if (!set_account(task, &account))
		return 0;
	return counts ? account.before_ns - before_ns : 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	uint32_t tgid = task->tgid, pid = recorded_pid(task);
	uint64_t start, size, run_ns;
	struct bpf_task_event *e;

	if (!pid)
		return 0;
	note_leader(tgid, task);
	run_ns = begin_program(task);
	e = task_event(TASK_EXEC, pid, pid, BPF_ARGUMENTS_MAX);
	if (!e)
		return 0;
	e->run_ns = run_ns;
	start = task->mm->arg_start;
	size = task->mm->arg_end - start;
	if (size > BPF_ARGUMENTS_MAX)
		size = BPF_ARGUMENTS_MAX;
	if (!bpf_probe_read_user(e + 1, size, (const void *)start))
		e->arguments_size = size;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), task->comm);
	bpf_ringbuf_submit(e, wakeup_flags(&tasks));
	return 0;
}

/* In the middle of an exec (begin_new_exec) the new memory has no arguments yet (setup_arg_pages).
 * What the registers are about is gone. */
static __always_inline bool in_exec(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	return mm && !BPF_CORE_READ(mm, arg_start);
}

/* Exec renames the task too, but the exec event has the new name, together with the new image. */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	uint32_t pid = recorded_pid(task);

	if (!pid)
		return 0;
	if (in_exec(task))
		drop_space(pid); /* the old image is gone, and of the new one nothing is mapped */
	else
		send_named(TASK_RENAME, pid, reported_id(task, task->pid), 0, comm);
	return 0;
}

/* What perf reports begins here. There are kernels without probes, or (5.10, which has no traced
 * functions in kernel/events/core.c) without this one; see bpf_space.unsteady. */
SEC("kprobe/perf_event_mmap")
int on_map(struct pt_regs *ctx)
{
	struct vm_area_struct *vma = (struct vm_area_struct *)PT_REGS_PARM1(ctx);
	uint64_t now_ns = bpf_ktime_get_ns();
	uint32_t pid;

	if (!bpf_core_field_exists(vma->vm_flags) || !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return 0;
	pid = recorded_pid((struct task_struct *)bpf_get_current_task());
	if (pid)
		bpf_map_update_elem(&mapped, &pid, &now_ns, BPF_ANY);
	return 0;
}

/* ------------------------------------------------------------------ ends, and CPU time */

/* The last that the kernel shows of the thread's ids. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	uint32_t pid = accounts_ended ? 0 : recorded_pid(task);
	const struct bpf_account *known = pid ? account_of(task) : NULL;
	struct bpf_account account = {};

	if (!pid || !ran_before(task, known, &account.before_ns))
		return 0;
	describe_account(task, pid, &account);
	if (!set_account(task, &account))
		send_account(&account, account.run_ns, 0, 0, false);
	return 0;
}

/* One that runs on, or has ended and is still in its process. */
static __always_inline void report_account(struct task_struct *task, uint32_t pid)
{
	struct bpf_account *known = account_of(task), account = {};

	if (known && known->exit_ns) {
		send_account(known, cpu_time(task), 0, 0, false);
		known->exit_ns = 0;
	} else if (ran_before(task, known, &account.before_ns)) {
		describe_account(task, pid, &account);
		send_account(&account, account.run_ns, 0, 0, false);
	}
}

static __always_inline void begin_account(struct task_struct *task, uint32_t pid)
{
	struct bpf_account account = {};
	uint64_t ended_ns = process_ended_ns(task);

	describe_account(task, pid, &account);
	account.before_ns = account.run_ns;
	account.exit_ns = account.tid = 0;
	if (task->pid == task->tgid && ended_ns)
		send_account(&account, 0, ended_ns, ended_ns, false);
	if (!set_account(task, &account))
		count(&lost.accounts);
}

/* The recorder runs this for all tasks, when it begins and when it ends. */
SEC("iter/task")
int each_account(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	uint32_t pid = task ? recorded_pid(task) : 0;

	if (pid && accounts_ended)
		report_account(task, pid);
	else if (pid && BPF_CORE_READ(task, start_time) < accounts_since_ns)
		begin_account(task, pid);
	return 0;
}

/* The recorder runs this in the end for each task of `accounts`, of which it has only the address.
 * The kernel may free it meanwhile. */
SEC("raw_tp")
int report_unfreed(uint64_t *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	const struct bpf_account *a = account_of(task);
	uint64_t run_ns = BPF_CORE_READ(task, se.sum_exec_runtime);

	if (!a || !a->exit_ns)
		return 0;
	if (BPF_CORE_READ(task, start_time) == a->born_ns)
		send_account(a, run_ns, run_ns, process_ended_ns(task), false);
	else
		send_account(a, a->run_ns, a->run_ns, 0, false);
	return 0;
}

/* The recorder runs this just after it had its own account brought up to date. */
SEC("raw_tp")
int note_rq_clock(void *ctx)
{
	struct rq *rq = run_queue((struct task_struct *)bpf_get_current_task());

	if (rq)
		rq_clock_offset_ns = bpf_ktime_get_ns() - BPF_CORE_READ(rq, clock);
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	uint32_t tgid = task->tgid;
	const struct tracked_process *p;

	end_account(task);
	if (task->pid != task->tgid)
		return 0;
	p = bpf_map_lookup_elem(&tracked, &tgid);
	if (!p) {
		/* One that was there before us; its id in another namespace is no longer known. */
		if (whole_system && !pid_ns_level)
			send_exit(tgid);
		return 0;
	}
	if (p->leader && p->leader != (uint64_t)task)
		return 0;
	send_exit(p->pid);
	bpf_map_delete_elem(&tracked, &tgid);
	return 0;
}

/* ------------------------------------------------------------------ signals to the program */

static __always_inline uint32_t process_id(struct task_struct *task)
{
	return reported_id(BPF_CORE_READ(task, group_leader), BPF_CORE_READ(task, tgid));
}

static __always_inline void note_signal(uint64_t *signals_ns, uint64_t index)
{
	/* The bound has to be on the register used, not on a copy of it. */
	asm volatile("" : "+r"(index));
	if (index < BPF_SIGNALS)
		signals_ns[index] = bpf_ktime_get_ns();
}

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int number, struct kernel_siginfo *info, struct task_struct *task)
{
	uint32_t pid;

	if (!program_pid)
		return 0;
	pid = process_id(task);
	if (pid == recorder_pid)
		note_signal(recorder_signals_ns, number);
	else if (pid == program_pid &&
		 process_id((struct task_struct *)bpf_get_current_task()) != recorder_pid)
		note_signal(program_signals_ns, number);
	return 0;
}

/* ------------------------------------------------------------------ within a pid namespace */

/* The recorder runs this once, as itself, when it is not in the initial namespace. */
SEC("raw_tp")
int find_pid_ns_level(void *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	pid_ns_level = BPF_CORE_READ(task, thread_pid, level);
	return 0;
}

/* There the recorder knows its child by a number of its own namespace, which `tracked` cannot use.
 * This visits every task that the recorder can see, enters the one with the wanted number, and sets
 * that to 0. */
SEC("iter/task")
int track_wanted(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct tracked_process p = {};
	uint32_t tgid;

	if (!task || task->pid != task->tgid || reported_id(task, 0) != wanted_pid)
		return 0;
	tgid = task->tgid;
	p.pid = wanted_pid;
	/* One that is followed already stays as it is. */
	if (bpf_map_lookup_elem(&tracked, &tgid) ||
		!bpf_map_update_elem(&tracked, &tgid, &p, BPF_NOEXIST))
		wanted_pid = 0;
	return 0;
}
