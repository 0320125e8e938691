// SPDX-License-Identifier: MIT
/*
 * The in-kernel half of the CPU side: who belongs to the recording, timer samples, launch stacks.
 *
 * Tracking. `tracked` holds the thread groups that belong to the recording. A child is entered
 * while its parent is still inside fork, before it can run; it is removed when it was reaped, so
 * that the last samples of an exit are still ours. The pid of a task that is being freed may
 * already belong to another (freeing waits for an RCU grace period): each entry therefore names its
 * leader's task_struct, and a stale entry is closed by the fork that reuses the pid.
 *
 * Buffers. Records are built in a buffer and handed to a ring in one call of the size they have.
 * The launch program runs in the context of the launching thread, can be preempted there, and
 * another thread can then run it on the same CPU: its buffer is kept by thread (task storage), so
 * nobody else ever uses it, and the first look-up finds buffer and pid at once. Kernels before 2021
 * (commit a10787e6d58c) have no such storage, but there, and up to commit 8c7dcb84e3b7 of 2022,
 * uprobe programs run with preemption off, and a buffer of the CPU does. The sampler runs in
 * interrupt context, once at a time on each CPU, and has its own.
 *
 * Nobody is woken up for a record: the reader looks at the rings at its own pace, and is called
 * only when one fills up.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/events.h"
#include "bpf/kernel_types.h"
#include "bpf/walker.h"
#include "bpf/arch_x86.h"
#include "bpf/stack.h"
#include "bpf/waits.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set before loading. */
const volatile bool whole_system;
const volatile uint64_t wakeup_bytes; /* wake the reader when a ring holds this much */

#define SAMPLE_RING_BYTES (4 << 20)
#define LAUNCH_RING_BYTES (8 << 20)

struct bpf_losses lost;
uint32_t pid_ns_level; /* of the recorder; 0: the initial namespace */
uint32_t wanted_pid;   /* see track_wanted */
/* Whose signals are noted, as the recorder's namespace counts; 0: nobody's. By number: when the latest was
 * sent to it, but for those that the recorder passes on. */
uint32_t recorder_pid, program_pid;
uint64_t recorder_signals_ns[BPF_SIGNALS], program_signals_ns[BPF_SIGNALS];

struct tracked_process {
	uint64_t leader; /* address of the leader's task_struct; 0: entered by the recorder */
	uint32_t pid;    /* as the recorder's namespace counts */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, uint32_t); /* thread group id in the initial namespace */
	__type(value, struct tracked_process);
} tracked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SAMPLE_RING_BYTES);
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, LAUNCH_RING_BYTES);
} launches SEC(".maps");

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

static __always_inline struct bpf_task_event *task_event(uint32_t kind, uint32_t pid, uint32_t tid,
	uint64_t arguments_size)
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
	e->arguments_size = 0;
	e->reserved = 0;
	return e;
}

static __always_inline void send_exit(uint32_t pid)
{
	struct bpf_task_event *e;

	drop_space(pid);
	/* With anything in between, the compiler checks twice whether there is a record, and the verifier of
	 * Linux 6.1 and older ones takes it for lost where only the second check says that there is none. */
	e = task_event(TASK_EXIT, pid, pid, 0);
	if (e)
		bpf_ringbuf_submit(e, wakeup_flags(&tasks));
}

static __always_inline void send_named(uint32_t kind, uint32_t pid, uint32_t tid, uint32_t parent,
	const char *comm)
{
	struct bpf_task_event *e = task_event(kind, pid, tid, 0);

	if (!e)
		return;
	e->parent = parent;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), comm);
	bpf_ringbuf_submit(e, wakeup_flags(&tasks));
}

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

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	uint32_t tgid = task->tgid, pid = recorded_pid(task);
	uint64_t start, size;
	struct bpf_task_event *e;

	if (!pid)
		return 0;
	note_leader(tgid, task);
	e = task_event(TASK_EXEC, pid, pid, BPF_ARGUMENTS_MAX);
	if (!e)
		return 0;
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

/* Exec renames the task too, but the exec event tells that, together with the new image. In the
 * middle of an exec (begin_new_exec) the new memory has no arguments yet (setup_arg_pages). */
static __always_inline bool in_exec(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	return mm && !mm->arg_start;
}

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

/* What perf tells the recorder of begins here. There are kernels without probes, or (5.10, which has no traced functions in
 * kernel/events/core.c) without this one; see bpf_space.unsteady. */
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

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	uint32_t tgid = task->tgid;
	const struct tracked_process *p;

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

/* There the recorder knows its child by a number that says nothing to `tracked`: this visits every
 * task the recorder can see and enters the one with the wanted number, which it then sets to 0. */
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

/* ------------------------------------------------------------------ launches */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stack_buffer);
} thread_buffers SEC(".maps");

/* Those that belong to a CPU: to its sampler and, without task storage, to its launches. */
enum {
	SAMPLE_BUFFER,
	LAUNCH_BUFFER,
	WAIT_BUFFER,
	CPU_BUFFERS
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CPU_BUFFERS);
	__type(key, uint32_t);
	__type(value, struct stack_buffer);
} cpu_buffers SEC(".maps");

/* The same for the Python side. */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct python_buffer);
} thread_pythons SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CPU_BUFFERS);
	__type(key, uint32_t);
	__type(value, struct python_buffer);
} cpu_pythons SEC(".maps");

/* One step each, verified once; see walker.h. Where there is task storage functions may take pointers. */

__noinline int step_native(struct stack_buffer *b)
{
	return b && native_steps(b);
}

__noinline int step_python(struct python_buffer *p)
{
	return p && python_step(p);
}

__noinline int step_cpu_native(uint32_t buffer)
{
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);

	return b && native_steps(b);
}

__noinline int step_cpu_python(uint32_t buffer)
{
	struct python_buffer *p = bpf_map_lookup_elem(&cpu_pythons, &buffer);

	return p && python_step(p);
}

static __always_inline struct python_buffer *find_python_buffer(uint32_t buffer)
{
	if (buffer == CPU_BUFFERS)
		return bpf_task_storage_get(&thread_pythons, bpf_get_current_task_btf(), NULL,
			BPF_LOCAL_STORAGE_GET_F_CREATE);
	return bpf_map_lookup_elem(&cpu_pythons, &buffer);
}

/* Takes Python's frames; NULL when the process is not known to run Python. */
static __always_inline struct python_buffer *take_python_stack(
	uint32_t pid, uint64_t sp, uint32_t buffer)
{
	const struct walk_python *interpreter = bpf_map_lookup_elem(&pythons, &pid);
	struct python_buffer *p = interpreter ? find_python_buffer(buffer) : NULL;

	if (p && python_begin(p, pid, sp, interpreter))
		for (int i = 0; i < WALK_PYTHON_STEPS_MAX; i++)
			if (!(buffer == CPU_BUFFERS ? step_python(p) : step_cpu_python(buffer)))
				break;
	return p;
}

/* Takes the stack that begins with the walker's registers. `buffer`: which one of the CPU's b is, or CPU_BUFFERS.
 * Returns what take_python_stack returns. */
static __always_inline struct python_buffer *take_user_stack(struct stack_buffer *b, uint32_t buffer)
{
	struct python_buffer *p = take_python_stack(b->pid, b->walker.walk.sp, buffer);

	native_begin(b, p);
	for (int i = 0; i < WALK_FRAMES_MAX; i++)
		if (!(buffer == CPU_BUFFERS ? step_native(b) : step_cpu_native(buffer)))
			break;
	walker_finish(&b->walker);
	return p;
}

/* Asking how full the ring is costs a call: every 16th launch of a thread is enough. */
#define HITS_PER_QUERY 16

static __always_inline void send_launch(struct pt_regs *ctx, struct stack_buffer *b, uint32_t buffer)
{
	struct bpf_launch_event *e = &b->record.launch;
	const struct python_buffer *p = NULL;
	uint64_t flags = BPF_RB_NO_WAKEUP;
	uint64_t size;

	e->time_ns = bpf_ktime_get_ns();
	e->instance = PT_REGS_PARM1(ctx);
	e->correlation = PT_REGS_PARM2(ctx);
	e->call_kind = PT_REGS_PARM3(ctx);
	walker_begin(&b->walker, b->pid);
	if (arch_begin_called(&b->walker.walk, ctx))
		p = take_user_stack(b, buffer);
	else
		no_stack(b, WALK_FAULT);
	size = sizeof(*e) + finish_stack(b, p, &e->stack, 0) * sizeof(uint64_t);
	if (wakes_for_code(p, e->time_ns))
		flags = BPF_RB_FORCE_WAKEUP;
	else if (!(b->hits++ % HITS_PER_QUERY))
		flags = wakeup_flags(&launches);
	if (wants_raw(b, &launches, LAUNCH_RING_BYTES) &&
		send_raw(b, &launches, e, size, offsetof(struct bpf_launch_event, stack), flags))
		return;
	if (bpf_ringbuf_output(&launches, e, size, flags))
		count(&lost.launches);
}

static __always_inline void name_thread(struct stack_buffer *b, struct task_struct *task, uint32_t pid)
{
	b->pid = pid;
	b->record.launch.pid = pid;
	b->record.launch.tid = reported_id(task, BPF_CORE_READ(task, pid));
}

/*
 * Since Linux 6.13 (bpf_enable_priv_stack in kernel/bpf/verifier.c) a program of a uprobe has its stack in memory
 * that belongs to the CPU. It can be preempted all the same, by a thread whose launch then uses the same memory:
 * seen on 7.2 as a fault in the kernel. A program with a tail call in it keeps the kernel's stack, even if the call
 * is never made.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint32_t));
} no_programs SEC(".maps");

const volatile bool calls_another; /* false */

/* The launch marker is being called: kernels with task storage. */
SEC("uprobe")
int on_launch(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_buffer *b = bpf_task_storage_get(&thread_buffers, task, NULL, 0);
	uint32_t pid;

	if (calls_another)
		bpf_tail_call(ctx, &no_programs, 0);
	if (!b) {
		pid = recorded_pid(task);
		if (!pid)
			return 0;
		b = bpf_task_storage_get(
			&thread_buffers, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (!b) {
			count(&lost.launches);
			return 0;
		}
		name_thread(b, task, pid);
	}
	send_launch(ctx, b, CPU_BUFFERS);
	return 0;
}

/* The same for kernels that have no task storage and run uprobe programs with preemption off. */
SEC("uprobe")
int on_launch_without_storage(struct pt_regs *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	uint32_t buffer = LAUNCH_BUFFER, pid = recorded_pid(task);
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);

	if (!pid || !b)
		return 0;
	name_thread(b, task, pid);
	send_launch(ctx, b, LAUNCH_BUFFER);
	return 0;
}

/* ------------------------------------------------------------------ timer samples */

/* The registers of the program that runs on this CPU; false when the kernel cannot tell. */
static __always_inline bool user_registers(struct bpf_perf_event_data *ctx,
	struct pt_regs *ret_regs)
{
	if (arch_user_mode((struct pt_regs *)&ctx->regs)) {
		arch_copy_registers(ret_regs, (const struct pt_regs *)&ctx->regs);
		return true;
	}
	/* Both helpers since 5.15. */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return arch_entry_registers(
			(struct task_struct *)bpf_get_current_task(), ret_regs);
	return !bpf_probe_read_kernel(ret_regs, sizeof(*ret_regs),
		(const void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
}

/* The user side of the current thread, from where it entered the kernel or was interrupted. */
static __always_inline const struct python_buffer *take_sampled_stack(
	struct bpf_perf_event_data *ctx, struct stack_buffer *b)
{
	struct pt_regs regs = {};
	uint32_t end = WALK_UNKNOWN;

	walker_begin(&b->walker, b->pid);
	if (user_registers(ctx, &regs)) {
		if (arch_user_64bit(&regs)) {
			arch_begin_interrupted(&b->walker.walk, &regs);
			arch_number_registers(b->walker.start.registers, &regs);
			return take_user_stack(b, SAMPLE_BUFFER);
		}
		/* Without a program's registers it is a worker of the kernel within a process. */
		end = arch_user_mode(&regs) ? WALK_UNSUPPORTED : WALK_NONE;
	}
	no_stack(b, end);
	return NULL;
}

static __always_inline uint64_t take_kernel_stack(struct bpf_perf_event_data *ctx, uint64_t *frames)
{
	long size = 0;

	if (!arch_user_mode((struct pt_regs *)&ctx->regs))
		size = bpf_get_stack(ctx, frames, BPF_KERNEL_DEPTH_MAX * sizeof(uint64_t), 0);
	return size > 0 ? (uint64_t)size / sizeof(uint64_t) : 0;
}

static __always_inline void send_sample(
	struct stack_buffer *b, const struct python_buffer *p, uint64_t kernel_depth)
{
	struct bpf_sample_event *e = &b->record.sample;
	uint64_t size = sizeof(*e) + finish_stack(b, p, &e->stack, kernel_depth) * sizeof(uint64_t);
	uint64_t flags = wakes_for_code(p, e->time_ns) ? BPF_RB_FORCE_WAKEUP : wakeup_flags(&samples);

	if (wants_raw(b, &samples, SAMPLE_RING_BYTES) &&
		send_raw(b, &samples, e, size, offsetof(struct bpf_sample_event, stack), flags))
		return;
	if (bpf_ringbuf_output(&samples, e, size, flags))
		count(&lost.samples);
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	uint32_t buffer = SAMPLE_BUFFER, pid = recorded_pid(task);
	const struct python_buffer *p = NULL;
	struct stack_buffer *b;

	if (!pid)
		return 0;
	b = bpf_map_lookup_elem(&cpu_buffers, &buffer);
	if (!b)
		return 0;
	b->pid = pid;
	b->record.sample = (struct bpf_sample_event){
		.time_ns = bpf_ktime_get_ns(),
		.period_ns = ctx->sample_period,
		.pid = pid,
		.tid = reported_id(task, BPF_CORE_READ(task, pid)),
		.cpu = bpf_get_smp_processor_id(),
	};
	bpf_get_current_comm(b->record.sample.comm, sizeof(b->record.sample.comm));
	/* A process that ends has given its memory away. */
	if (BPF_CORE_READ(task, flags) & PF_KTHREAD || !BPF_CORE_READ(task, mm))
		no_stack(b, WALK_NONE);
	else
		p = take_sampled_stack(ctx, b);
	send_sample(b, p, take_kernel_stack(ctx, b->record.words + walker_depth(&b->walker)));
	return 0;
}

/* ------------------------------------------------------------------ waits */

#define WAIT_RING_BYTES (8 << 20)
#define DRM_MAJOR	226 /* include/drm/drm_drv.h */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, WAIT_RING_BYTES);
} waits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_waits);
} waiting_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct wait_price);
} wait_prices SEC(".maps");

/* enum bpf_wait_reason, by the number of the system call; the recorder knows these. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BPF_SYSTEM_CALLS);
	__type(key, uint32_t);
	__type(value, uint8_t);
} call_reasons SEC(".maps");

enum { NO_SITE = WAIT_SITES };

static __always_inline bool send_wait_event(const void *e, uint64_t size)
{
	if (!bpf_ringbuf_output(&waits, (void *)e, size, BPF_RB_NO_WAKEUP))
		return true;
	count(&lost.waits);
	return false;
}

/* Tells what a site carries, before it is forgotten. */
static __always_inline void send_others(
	struct thread_waits *t, uint64_t now_ns, struct wait_site *s)
{
	struct bpf_wait_event *e = &t->event.wait;

	if (!s->others)
		return;
	*e = (struct bpf_wait_event){.time_ns = now_ns,
		.kind = BPF_WAIT_END,
		.reason = s->reason,
		.pid = t->pid,
		.tid = t->tid,
		.others = s->others,
		.others_ns = s->others_ns};
	if (send_wait_event(e, sizeof(*e)))
		s->others = s->others_ns = 0;
}

static __always_inline void send_life(struct thread_waits *t, uint64_t time_ns, uint64_t now_ns)
{
	struct bpf_life_event *e = &t->event.life;

	/* Linux 6.1 does not take every loop. */
#pragma unroll
	for (int i = 0; i < WAIT_SITES; i++)
		send_others(t, time_ns, &t->sites[i]);
	*e = (struct bpf_life_event){.time_ns = time_ns,
		.kind = BPF_WAIT_LIFE,
		.reason = t->reason,
		.pid = t->pid,
		.tid = t->tid,
		.since_ns = t->since_ns,
		.until_ns = now_ns,
		.run_ns = t->run_ns + (t->running ? now_ns - t->at_ns : 0),
		.waiting_since_ns = t->running ? 0 : t->at_ns,
		.queued_since_ns = t->running ? 0 : t->woken_ns};
	send_wait_event(e, sizeof(*e));
}

/* A thread of the recording that is not known yet. */
static __always_inline void enter_thread(
	struct task_struct *task, uint32_t pid, bool running, uint32_t reason, uint64_t now_ns)
{
	struct thread_waits *t;

	t = bpf_task_storage_get(&waiting_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		count(&lost.waits);
		return;
	}
	t->since_ns = now_ns;
	t->pid = pid;
	t->tid = reported_id(task, task->pid);
	t->running = running;
	t->reason = reason;
	t->woken_ns = reason == BPF_REASON_RUN_QUEUE ? now_ns : 0;
	t->site = NO_SITE;
	barrier();
	t->at_ns = now_ns;
}

/* NULL: it is none of the recording, or is just being entered. */
static __always_inline struct thread_waits *find_thread(struct task_struct *task)
{
	struct thread_waits *t = bpf_task_storage_get(&waiting_threads, task, NULL, 0);

	return t && t->at_ns ? t : NULL;
}

/* A new thread, also one that the kernel makes within a process (io_uring), of which no fork tells.
 * It is in the run queue until it first runs. */
SEC("tp_btf/task_newtask")
int on_new_thread(uint64_t *ctx)
{
	struct task_struct *parent = bpf_get_current_task_btf(),
			   *child = (struct task_struct *)ctx[0];
	uint32_t pid = recorded_pid(parent);

	if (pid)
		enter_thread(child,
			child->tgid == parent->tgid ? pid : reported_id(child, child->tgid), false,
			BPF_REASON_RUN_QUEUE, bpf_ktime_get_ns());
	return 0;
}

/* In the profile what runs from now on is another process. Also, the thread that lives on may have
 * been another than the leader, whose id it has now. */
SEC("tp_btf/sched_process_exec")
int on_exec_waits(uint64_t *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct thread_waits *t = find_thread(task);
	uint64_t now_ns = bpf_ktime_get_ns();

	if (!t)
		return 0;
	/* It belongs before exec itself, of which another program tells. */
	send_life(t, t->at_ns, now_ns);
	t->since_ns = t->at_ns = now_ns;
	t->run_ns = 0;
	t->tid = reported_id(task, task->pid);
	return 0;
}

/* Of one that the kernel gave the program as such: reading it costs no call. */
static __always_inline uint32_t task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___before_5_14 *)task)->state;
}

/* Whether the file that a control call of the current thread is for belongs to the driver of a GPU. */
static __always_inline bool is_gpu_file(struct task_struct *task, uint64_t number)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **place, *file = NULL;
	char owner[8] = {};
	struct inode *inode;

	if (!table || number >= BPF_CORE_READ(table, max_fds))
		return false;
	place = BPF_CORE_READ(table, fd) + number;
	if (bpf_probe_read_kernel(&file, sizeof(file), place) || !file)
		return false;
	inode = BPF_CORE_READ(file, f_inode);
	if (BPF_CORE_READ(inode, i_rdev) >> 20 == DRM_MAJOR)
		return true;
	bpf_probe_read_kernel(owner, sizeof(owner), BPF_CORE_READ(inode, i_cdev, owner, name));
	return owner[0] == 'n' && owner[1] == 'v' && owner[2] == 'i' && owner[3] == 'd' &&
	       owner[4] == 'i' && owner[5] == 'a';
}

/* ------------------------------------------------------------------ a wait begins */

/* Where a thread entered the kernel; NULL: nowhere, it is a worker of the kernel or has given its
 * memory away. */
static __always_inline const struct pt_regs *find_entry(
	struct task_struct *task, struct arch_entry *ret)
{
	const struct pt_regs *regs;

	if (!task->mm || task->flags & PF_KTHREAD)
		return NULL;
	/* Since 5.15. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	else
		regs = arch_entry_place(task);
	return arch_read_entry(regs, ret) ? regs : NULL;
}

static __always_inline uint32_t reason_of(struct task_struct *task, bool preempted,
	const struct pt_regs *regs, const struct arch_entry *entry)
{
	uint32_t state = task_state(task), call = entry->call;
	const uint8_t *reason;

	if (preempted || !state)
		return BPF_REASON_RUN_QUEUE;
	if (state & TASK_STOPPED_OR_TRACED)
		return BPF_REASON_STOPPED;
	if (!regs)
		return BPF_REASON_OTHER;
	if (entry->call == (uint64_t)-1)
		return BPF_REASON_FAULT;
	/* The numbers of others are not these. */
	if (!arch_entry_64bit(entry))
		return BPF_REASON_OTHER;
	reason = bpf_map_lookup_elem(&call_reasons, &call);
	return reason && *reason ? *reason : BPF_REASON_OTHER;
}

/* NULL: NO_SITE. */
static __always_inline struct wait_site *site_at(struct thread_waits *t, uint64_t index)
{
	/* The bound has to be on the register used, and known before it is used. */
	asm volatile("" : "+r"(index));
	if (index >= WAIT_SITES)
		return NULL;
	asm volatile("" : "+r"(index));
	return &t->sites[index];
}

/* The site that the thread waits at now. */
static __always_inline struct wait_site *visit_site(
	struct thread_waits *t, const struct arch_entry *entry, uint64_t now_ns)
{
	bool anywhere = t->reason ==
			BPF_REASON_RUN_QUEUE; /* a thread may be interrupted at every instruction */
	uint64_t key = site_key(
		anywhere ? 0 : entry->ip, anywhere ? 0 : entry->sp, entry->call, t->reason);
	uint32_t index = site_index(key);
	struct wait_site *s = site_at(t, index);

	if (!s)
		return NULL;
	if (s->key == key) {
		site_visit(s, now_ns);
	} else {
		send_others(t, now_ns, s);
		site_begin(s, key, now_ns);
	}
	s->reason = t->reason == BPF_REASON_DEVICE ? BPF_REASON_OTHER : t->reason;
	t->site = index;
	return s;
}

/* Takes the stack of the current thread. `entry`: its registers. */
static __always_inline const struct python_buffer *take_waiting_stack(
	struct stack_buffer *b, const struct pt_regs *entry)
{
	/* Not on our stack, which is small: where no frame is yet. */
	struct pt_regs *regs = (struct pt_regs *)b->record.words;
	uint32_t end = WALK_NONE;

	walker_begin(&b->walker, b->pid);
	if (entry && !bpf_probe_read_kernel(regs, sizeof(*regs), entry)) {
		if (arch_user_64bit(regs)) {
			arch_begin_interrupted(&b->walker.walk, regs);
			arch_number_registers(b->walker.start.registers, regs);
			return take_user_stack(b, WAIT_BUFFER);
		}
		end = WALK_UNSUPPORTED;
	}
	no_stack(b, end);
	return NULL;
}

/* The recorder has not told of the code, or not made its table yet, as when a program begins, and
 * there is no room for what it could walk later. */
static __always_inline bool is_too_early(const struct stack_buffer *b)
{
	const struct walker *k = &b->walker;

	if (k->walk.end == WALK_PENDING)
		return bpf_ringbuf_query(&waits, BPF_RB_AVAIL_DATA) > WAIT_RING_BYTES / 2;
	return k->outdated || (k->walk.end == WALK_NO_MAPPING && !k->generation);
}

/* Sends the record, with kernel frames: false when there is no room, or a later wait will have a
 * better stack. */
static __always_inline bool send_wait_begin(
	void *ctx, struct stack_buffer *b, const struct python_buffer *p)
{
	struct bpf_wait_begin_event *e = &b->record.wait;
	long bytes = bpf_get_stack(ctx, b->record.words + walker_depth(&b->walker),
		BPF_KERNEL_DEPTH_MAX * sizeof(uint64_t), 0);
	uint64_t kernel_depth = bytes > 0 ? (uint64_t)bytes / sizeof(uint64_t) : 0;
	uint64_t size = sizeof(*e) + finish_stack(b, p, &e->stack, kernel_depth) * sizeof(uint64_t);
	uint64_t flags = wakes_for_code(p, e->time_ns) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;

	if (wants_raw(b, &waits, WAIT_RING_BYTES) &&
		send_raw(b, &waits, e, size, offsetof(struct bpf_wait_begin_event, stack), flags))
		return true;
	return !is_too_early(b) && !bpf_ringbuf_output(&waits, e, size, flags);
}

/* Takes and sends the stack with which the current thread begins to wait; when that does not
 * succeed, the wait is carried by the next one of its site. */
static __always_inline bool walk_wait(void *ctx, struct task_struct *task, struct thread_waits *t,
	const struct pt_regs *entry, uint64_t now_ns)
{
	uint32_t buffer = WAIT_BUFFER;
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);
	const struct python_buffer *p;

	if (!b)
		return false;
	b->pid = t->pid;
	p = take_waiting_stack(b, entry);
	if (t->reason == BPF_REASON_DEVICE)
		t->reason =
			b->walker.start.pc && is_gpu_file(task,
						      arch_call_argument(b->walker.start.registers))
				? BPF_REASON_GPU
				: BPF_REASON_OTHER;
	b->record.wait = (struct bpf_wait_begin_event){.time_ns = now_ns,
		.kind = BPF_WAIT_BEGIN,
		.reason = t->reason,
		.pid = t->pid,
		.tid = t->tid};
	bpf_get_current_comm(b->record.wait.comm, sizeof(b->record.wait.comm));
	return send_wait_begin(ctx, b, p);
}

static __always_inline void leave_cpu(void *ctx, struct task_struct *task, struct thread_waits *t,
	bool preempted, uint64_t now_ns)
{
	struct arch_entry entry = {};
	const struct pt_regs *regs;
	struct wait_price *price;
	struct wait_site *s;
	uint32_t zero = 0;

	t->run_ns += now_ns - t->at_ns;
	t->at_ns = now_ns;
	if (task_state(task) & TASK_DEAD) {
		send_life(t, now_ns, now_ns);
		return;
	}
	regs = find_entry(task, &entry);
	t->reason = reason_of(task, preempted, regs, &entry);
	if (t->reason == BPF_REASON_RUN_QUEUE)
		t->woken_ns = now_ns;
	t->walked = t->running = 0;
	s = visit_site(t, &entry, now_ns);
	price = bpf_map_lookup_elem(&wait_prices, &zero);
	if (!s || !price || !price_is_paid(price, s, now_ns))
		return;
	s->due = 0;
	t->walked = walk_wait(ctx, task, t, regs, now_ns);
	if (t->walked)
		s->reason = t->reason;
}

/* ------------------------------------------------------------------ and ends */

static __always_inline void send_wait_end(
	struct thread_waits *t, uint64_t now_ns, uint64_t queued_ns, struct wait_site *s)
{
	struct bpf_wait_event *e = &t->event.wait;

	*e = (struct bpf_wait_event){.time_ns = now_ns,
		.kind = BPF_WAIT_END,
		.reason = t->reason,
		.pid = t->pid,
		.tid = t->tid,
		.duration_ns = now_ns - t->at_ns,
		.queued_ns = queued_ns,
		.waker_pid = t->waker_pid,
		.waker_tid = t->waker_tid};
	if (s) {
		e->others = s->others;
		e->others_ns = s->others_ns;
	}
	if (send_wait_event(e, sizeof(*e)) && s)
		s->others = s->others_ns = 0;
}

static __always_inline void tell_wait(struct thread_waits *t, uint64_t now_ns)
{
	uint64_t duration_ns = now_ns - t->at_ns;
	uint64_t queued_ns = t->woken_ns ? now_ns - t->woken_ns : 0;
	struct wait_site *s = site_at(t, t->site);

	if (queued_ns > duration_ns)
		queued_ns = duration_ns;
	if (s && !t->walked)
		site_carry(s, duration_ns);
	else
		send_wait_end(t, now_ns, queued_ns, s);
}

static __always_inline void come_to_cpu(struct thread_waits *t, uint64_t now_ns)
{
	tell_wait(t, now_ns);
	t->at_ns = now_ns;
	t->woken_ns = 0;
	t->waker_pid = t->waker_tid = 0;
	t->running = 1;
}

SEC("tp_btf/sched_switch")
int on_switch(uint64_t *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1],
			   *next = (struct task_struct *)ctx[2];
	struct thread_waits *leaving = find_thread(prev);
	struct thread_waits *coming = find_thread(next);
	uint64_t now_ns = bpf_ktime_get_ns();

	if (coming)
		come_to_cpu(coming, now_ns);
	if (leaving)
		leave_cpu(ctx, prev, leaving, ctx[0], now_ns);
	return 0;
}

/* Whether the current thread wakes another that waits for this reason, or only an interrupt that
 * came while it ran, as of a timer. */
static __always_inline bool wakes_itself(struct task_struct *task, uint32_t reason)
{
	const uint8_t *call_reason;
	struct arch_entry entry;
	uint32_t call;

	if (task->flags & PF_EXITING)
		return true;
	if (!find_entry(task, &entry) || !arch_entry_64bit(&entry) || entry.call == (uint64_t)-1)
		return false;
	call = entry.call;
	call_reason = bpf_map_lookup_elem(&call_reasons, &call);
	return reason == BPF_REASON_PROCESS || (call_reason && *call_reason == reason);
}

/*
 * Of all events of a wake-up this is the one that comes in the thread that wakes another, and not
 * where the other will run. It may come while the other is just leaving its CPU (`running`): then
 * that wait, which is short, has no waker, and no time in the run queue.
 */
SEC("tp_btf/sched_waking")
int on_waking(uint64_t *ctx)
{
	struct thread_waits *t = find_thread((struct task_struct *)ctx[0]), *waker;
	struct task_struct *current;

	if (!t || t->running || t->woken_ns)
		return 0;
	t->woken_ns = bpf_ktime_get_ns();
	if (!t->walked || (t->reason != BPF_REASON_LOCK && t->reason != BPF_REASON_PROCESS))
		return 0;
	current = bpf_get_current_task_btf();
	waker = wakes_itself(current, t->reason) ? find_thread(current) : NULL;
	if (waker) {
		t->waker_pid = waker->pid;
		t->waker_tid = waker->tid;
	}
	return 0;
}

/* What each_thread is for: 0: those that are there are entered, 1: all are told to the end. */
uint32_t ending;

/* One that is about to leave its CPU does not run. Where the kernel does not say who has one (7.2), those that could run
 * are taken to; the next switch tells. */
static __always_inline bool is_running(struct task_struct *task)
{
	if (bpf_core_field_exists(task->on_cpu) && !BPF_CORE_READ(task, on_cpu))
		return false;
	return !task_state(task);
}

/* The recorder runs this for all tasks, when it begins and when it has stopped. */
SEC("iter/task")
int each_thread(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_waits *t;
	uint32_t pid;

	if (!task)
		return 0;
	t = find_thread(task);
	if (ending) {
		uint64_t now_ns = bpf_ktime_get_ns();

		if (t)
			send_life(t, now_ns, now_ns);
		return 0;
	}
	pid = t ? 0 : recorded_pid(task);
	if (pid)
		enter_thread(task, pid, is_running(task), BPF_REASON_OTHER, bpf_ktime_get_ns());
	return 0;
}
