/* SPDX-License-Identifier: MIT */
/*
 * The programs that follow how threads run and wait (record --off-cpu): at switches, wake-ups, new
 * threads and exec. What they keep of a thread, and which waits get a stack, is in waits.h.
 *
 * Included once, by capture.bpf.c: the programs here are its.
 */
#pragma once

#include "base/bare/hash_step.h"
#include "bpf/buffers.h"
#include "bpf/tracking.h"
#include "bpf/waits.h"

#define DRM_MAJOR 226 /* include/drm/drm_drv.h */

/*
 * By a hash of the thread: how many threads are followed, and for how many of them a wake-up is of
 * interest. Events of other threads, and most wake-ups in a storm, cost no more than this look-up.
 */
#define THREAD_GROUPS 4096

static struct thread_group {
	uint32_t followed;
	uint32_t awaited;
} thread_groups[THREAD_GROUPS];

/* What is kept of one thread in each group. Of others it is in waiting_threads, where it takes
 * longer to find. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THREAD_GROUPS);
	__type(key, uint32_t);
	__type(value, struct thread_waits);
} group_threads SEC(".maps");

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
		.others_ns = s->others_ns,
		.site = s->key};
	if (send_wait_event(e, sizeof(*e)))
		s->others = s->others_ns = 0;
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

static __always_inline void send_life(struct thread_waits *t, uint64_t time_ns, uint64_t now_ns)
{
	struct bpf_life_event *e = &t->event.life;
	const struct wait_site *s;

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
	s = t->running ? NULL : site_at(t, t->site);
	if (s)
		e->site = s->key;
	send_wait_event(e, sizeof(*e));
}

/* A task, by its address, since exec may give it another id. The verifier takes the difference of
 * two for a number. */
static __always_inline uint64_t task_number(struct task_struct *task)
{
	uint64_t number = (uint64_t)task - (uint64_t)thread_groups;

	asm volatile("" : "+r"(number));
	return number;
}

static __always_inline uint32_t group_index(uint64_t number)
{
	_Static_assert(THREAD_GROUPS == 1 << (64 - 52), "the hash gives an index");
	return number * HASH_FACTOR >> 52;
}

static __always_inline struct thread_group *thread_group(struct task_struct *task)
{
	return &thread_groups[group_index(task_number(task))];
}

/* Whether the wake-up that ends the wait is noted. */
static __always_inline void await(struct task_struct *task, struct thread_waits *t, bool awaited)
{
	if (t->awaited == awaited)
		return;
	__sync_fetch_and_add(&thread_group(task)->awaited, awaited ? 1 : -1);
	t->awaited = awaited;
}

/* The group's slot, if this thread has it. */
static __always_inline struct thread_waits *find_group_thread(uint64_t number)
{
	uint32_t index = group_index(number);
	struct thread_waits *t = bpf_map_lookup_elem(&group_threads, &index);

	return t && t->task == number ? t : NULL;
}

/* Room for what is kept of a thread. The group's slot goes to a thread that finds itself alone in
 * the group. No two can: each is counted before it looks, and until it has left. */
static __always_inline struct thread_waits *make_room(struct task_struct *task)
{
	uint64_t number = task_number(task);
	uint32_t index = group_index(number);
	struct thread_group *group = &thread_groups[index];
	struct thread_waits *t;

	__sync_fetch_and_add(&group->followed, 1);
	if (*(volatile uint32_t *)&group->followed == 1) {
		t = bpf_map_lookup_elem(&group_threads, &index);
		if (t)
			*t = (struct thread_waits){.task = number};
	} else {
		t = bpf_task_storage_get(
			&waiting_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	}
	if (!t)
		__sync_fetch_and_add(&group->followed, -1);
	return t;
}

/* A thread of the recording that is not known yet. NULL: there is no room. */
static __always_inline struct thread_waits *enter_thread(
	struct task_struct *task, uint32_t pid, bool running, uint32_t reason, uint64_t now_ns)
{
	struct thread_waits *t = make_room(task);

	if (!t) {
		count(&lost.waits);
		return NULL;
	}
	t->since_ns = now_ns;
	t->pid = pid;
	t->tid = reported_id(task, task->pid);
	t->running = running;
	t->reason = reason;
	t->woken_ns = reason == BPF_REASON_RUN_QUEUE ? now_ns : 0;
	t->site = NO_SITE;
	await(task, t, !running);
	barrier();
	t->at_ns = now_ns;
	return t;
}

/* It ends. A slow wake-up on another CPU may still note its time here, in what is by then the next
 * thread's slot; that thread forgets it when it leaves its CPU. */
static __always_inline void leave_thread(struct task_struct *task, struct thread_waits *t)
{
	t->at_ns = 0;
	t->task = 0;
	barrier();
	__sync_fetch_and_add(&thread_group(task)->followed, -1);
}

/* NULL: it is none of the recording, or is just being entered. */
static __always_inline struct thread_waits *find_thread(struct task_struct *task)
{
	struct thread_waits *t;

	if (!thread_group(task)->followed)
		return NULL;
	t = find_group_thread(task_number(task));
	if (!t)
		t = bpf_task_storage_get(&waiting_threads, task, NULL, 0);
	return t && t->at_ns ? t : NULL;
}

/* A new thread, also one that the kernel makes within a process (io_uring), for which there is
 * no fork event. It is in the run queue until it first runs. */
SEC("tp_btf/task_newtask")
int on_new_thread(uint64_t *ctx)
{
	struct task_struct *parent = bpf_get_current_task_btf(),
			   *child = (struct task_struct *)ctx[0];
	uint32_t pid = recorded_pid(parent);
	struct thread_waits *earlier = find_group_thread(task_number(child));

	/* Of one that ended just while it was entered: the new one has its address now. */
	if (earlier) {
		await(child, earlier, false);
		leave_thread(child, earlier);
	}
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
	/* It has to precede the exec event, which another program sends. */
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

/* Whether the file that a control call of the current thread is for belongs to the driver of a
 * GPU. */
static __always_inline bool is_gpu_file(struct task_struct *task, uint64_t number)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **slot, *file = NULL;
	char owner[8] = {};
	struct inode *inode;

	if (!table || number >= BPF_CORE_READ(table, max_fds))
		return false;
	slot = BPF_CORE_READ(table, fd) + number;
	if (bpf_probe_read_kernel(&file, sizeof(file), slot) || !file)
		return false;
	inode = BPF_CORE_READ(file, f_inode);
	if (BPF_CORE_READ(inode, i_rdev) >> 20 == DRM_MAJOR)
		return true;
	bpf_probe_read_kernel(owner, sizeof(owner), BPF_CORE_READ(inode, i_cdev, owner, name));
	return owner[0] == 'n' && owner[1] == 'v' && owner[2] == 'i' && owner[3] == 'd' &&
	       owner[4] == 'i' && owner[5] == 'a';
}

/* ------------------------------------------------------------------ a wait begins */

/* Where a thread, whose `t` is (NULL: nothing is kept of it yet), entered the kernel; NULL:
 * nowhere, it is a worker of the kernel or has given its memory away. */
static __always_inline const struct pt_regs *find_entry(
	struct task_struct *task, struct thread_waits *t, struct arch_entry *ret)
{
	const struct pt_regs *regs;

	if (!task->mm || task->flags & PF_KTHREAD)
		return NULL;
	/* Since 6.4. They stay where they are, and asking again would be a call. */
	if (bpf_core_type_exists(struct bpf_iter_num___since_6_4)) {
		uint64_t at = t ? t->entry : 0;

		if (!at)
			at = (uint64_t)bpf_task_pt_regs(task);
		if (t)
			t->entry = at;
		regs = bpf_rdonly_cast((const void *)at, bpf_core_type_id_kernel(struct pt_regs));
		return arch_copy_entry(regs, ret) ? regs : NULL;
	}
	/* Since 5.15. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		regs = (const struct pt_regs *)bpf_task_pt_regs(task);
		if (t)
			t->entry = (uint64_t)regs;
		return arch_copy_entry(regs, ret) ? regs : NULL;
	}
	regs = arch_entry_address(task);
	if (t)
		t->entry = (uint64_t)regs;
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

/* The site that the thread waits at now. */
static __always_inline struct wait_site *visit_site(
	struct thread_waits *t, const struct arch_entry *entry, uint64_t now_ns)
{
	bool anywhere = t->reason ==
			BPF_REASON_RUN_QUEUE; /* a thread may be interrupted at every instruction */
	uint64_t key = site_key(
		anywhere ? 0 : entry->ip, anywhere ? 0 : entry->sp, entry->call, t->reason);
	uint32_t index = site_index(key), other = site_other_index(key);
	struct wait_site *s = site_at(t, index), *o = site_at(t, other);

	if (!s || !o)
		return NULL;
	if (site_is_other(s, o, key)) {
		s = o;
		index = other;
	}
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

/* Walks the stack of the current thread. `entry`: its registers; NULL: it has none. */
static __always_inline void walk_waiting_stack(struct stack_buffer *b, const struct pt_regs *entry)
{
	/* Not on our stack, which is small: where no frame is yet. */
	struct pt_regs *regs = (struct pt_regs *)b->record.words;
	uint32_t end = WALK_NONE;

	walker_begin(&b->walker, b->pid);
	if (entry && !bpf_probe_read_kernel(regs, sizeof(*regs), entry)) {
		if (arch_user_64bit(regs)) {
			arch_begin_interrupted(&b->walker.walk, regs);
			arch_number_registers(b->walker.start.registers, regs);
			walk_user_stack(b, WAIT_BUFFER);
			return;
		}
		end = WALK_UNSUPPORTED;
	}
	no_stack(b, end);
}

/* The recorder has not published the mapping, or the table is not ready, as when a program begins,
 * and there is no room for what the recorder could walk later. */
static __always_inline bool is_too_early(const struct stack_buffer *b, uint64_t now_ns)
{
	const struct walker *k = &b->walker;

	if (k->walk.end == WALK_PENDING)
		return bpf_ringbuf_query(&waits, BPF_RB_AVAIL_DATA) > WAIT_RING_BYTES / 2;
	return k->outdated ||
	       (k->walk.end == WALK_NO_MAPPING && (!k->generation || is_news(b, now_ns)));
}

/* Walks the stack with which the current thread begins to wait. `has_entry`: it entered the kernel
 * from a program. False: there is no memory. A function of its own, as is the next: walker.h. */
__noinline long walk_wait(
	struct thread_waits *t, uint32_t has_entry, uint64_t site, uint64_t now_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t buffer = WAIT_BUFFER;
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);

	if (!t || !b)
		return false;
	b->pid = t->pid;
	b->record.wait = (struct bpf_wait_begin_event){.time_ns = now_ns,
		.kind = BPF_WAIT_BEGIN,
		.pid = t->pid,
		.tid = t->tid,
		.site = site};
	walk_waiting_stack(
		b, has_entry && !in_exec(task) ? (const struct pt_regs *)t->entry : NULL);
	bpf_get_current_comm(b->record.wait.comm, sizeof(b->record.wait.comm));
	return true;
}

/* Sends it, with so many frames of the kernel: false when there is no room, or a later wait will
 * have a better stack. */
__noinline long send_wait(uint64_t kernel_depth)
{
	uint32_t buffer = WAIT_BUFFER;
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);
	struct bpf_wait_begin_event *e;
	struct python_buffer *p;
	uint64_t words, flags;

	if (!b || b->part_lost)
		return false;
	p = python_of_cpu(b, WAIT_BUFFER);
	e = &b->record.wait;
	words = finish_stack(b, p, kernel_depth);
	flags = wakes_for_code(p, e->time_ns) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	words = add_raw(b, p, WAIT_BUFFER, words, e->time_ns);
	if (!b->raw_sent && is_too_early(b, e->time_ns))
		return false;
	return !bpf_ringbuf_output(&waits, e, sizeof(*e) + words * sizeof(uint64_t), flags);
}

/* Sends the stack with which the current thread begins to wait. If that fails, the next wait of
 * the site carries this one. */
static __always_inline bool send_wait_begin(void *ctx, struct task_struct *task,
	struct thread_waits *t, bool has_entry, uint64_t site, uint64_t now_ns)
{
	uint32_t buffer = WAIT_BUFFER;
	struct stack_buffer *b = bpf_map_lookup_elem(&cpu_buffers, &buffer);
	long bytes;

	if (!b || !walk_wait(t, has_entry, site, now_ns))
		return false;
	if (t->reason == BPF_REASON_DEVICE)
		t->reason =
			b->walker.start.pc && is_gpu_file(task,
						      arch_call_argument(b->walker.start.registers))
				? BPF_REASON_GPU
				: BPF_REASON_OTHER;
	b->record.wait.reason = t->reason;
	bytes = bpf_get_stack(ctx, b->record.words + walker_depth(&b->walker),
		BPF_KERNEL_DEPTH_MAX * sizeof(uint64_t), 0);
	return send_wait(bytes > 0 ? (uint64_t)bytes / sizeof(uint64_t) : 0);
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
		leave_thread(task, t);
		return;
	}
	regs = find_entry(task, t, &entry);
	t->reason = reason_of(task, preempted, regs, &entry);
	t->woken_ns = t->reason == BPF_REASON_RUN_QUEUE ? now_ns : 0;
	t->walked = t->running = 0;
	s = visit_site(t, &entry, now_ns);
	price = bpf_map_lookup_elem(&wait_prices, &zero);
	if (!s || !price || !price_is_paid(price, s, now_ns))
		return;
	s->due = 0;
	await(task, t, true);
	t->walked = send_wait_begin(ctx, task, t, regs, s->key, now_ns);
	if (t->walked)
		s->reason = t->reason;
	else
		await(task, t, false);
	price_pay(price, now_ns, bpf_ktime_get_ns() - now_ns);
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
		e->site = s->key;
		e->others = s->others;
		e->others_ns = s->others_ns;
	}
	if (send_wait_event(e, sizeof(*e)) && s)
		s->others = s->others_ns = 0;
}

static __always_inline void end_wait(struct thread_waits *t, uint64_t now_ns)
{
	uint64_t duration_ns = now_ns - t->at_ns;
	uint64_t queued_ns = t->woken_ns ? now_ns - t->woken_ns : 0;
	struct wait_site *s = site_at(t, t->site);
	struct wait_price *price;
	uint32_t zero = 0;

	if (queued_ns > duration_ns)
		queued_ns = duration_ns;
	if (s && !t->walked) {
		price = bpf_map_lookup_elem(&wait_prices, &zero);
		s->due |= duration_ns > LONG_NS;
		if (!price || !price_sends(price, duration_ns, now_ns)) {
			site_carry(s, duration_ns);
			return;
		}
	}
	send_wait_end(t, now_ns, queued_ns, s);
}

static __always_inline void come_to_cpu(
	struct task_struct *task, struct thread_waits *t, uint64_t now_ns)
{
	end_wait(t, now_ns);
	await(task, t, false);
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
	struct thread_waits *t;
	uint64_t now_ns;

	if (!thread_group(prev)->followed && !thread_group(next)->followed)
		return 0;
	now_ns = bpf_ktime_get_ns();
	t = find_thread(next);
	if (t)
		come_to_cpu(next, t, now_ns);
	t = find_thread(prev);
	if (t)
		leave_cpu(ctx, prev, t, ctx[0], now_ns);
	return 0;
}

/* Whether the current thread wakes another that waits for this reason, or only an interrupt that
 * came while it ran, as of a timer. */
static __always_inline bool wakes_itself(
	struct task_struct *task, struct thread_waits *t, uint32_t reason)
{
	const uint8_t *call_reason;
	struct arch_entry entry;
	uint32_t call;

	if (task->flags & PF_EXITING)
		return true;
	if (!find_entry(task, t, &entry) || !arch_entry_64bit(&entry) || entry.call == (uint64_t)-1)
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
	struct task_struct *task = (struct task_struct *)ctx[0], *current;
	struct thread_waits *t, *waker;

	if (!thread_group(task)->awaited)
		return 0;
	t = find_thread(task);
	if (!t || !t->awaited || t->running || t->woken_ns)
		return 0;
	t->woken_ns = bpf_ktime_get_ns();
	if (!t->walked || (t->reason != BPF_REASON_LOCK && t->reason != BPF_REASON_PROCESS))
		return 0;
	current = bpf_get_current_task_btf();
	waker = find_thread(current);
	if (waker && wakes_itself(current, waker, t->reason)) {
		t->waker_pid = waker->pid;
		t->waker_tid = waker->tid;
	}
	return 0;
}

/* What each_thread does: 0: it enters all threads, 1: it sends what is left of each. */
uint32_t ending;

/* One that is about to leave its CPU does not run. Where the kernel does not show who has a CPU
 * (7.2), runnable threads count as running; the next switch corrects that. */
static __always_inline bool is_running(struct task_struct *task)
{
	if (bpf_core_field_exists(task->on_cpu) && !BPF_CORE_READ(task, on_cpu))
		return false;
	return !task_state(task);
}

/* What is sent of one that sleeps, and its registers. There is one at a time: nobody but the
 * recorder runs the iterator. */
static struct bpf_asleep_event asleep;
static struct pt_regs asleep_registers;

/* How many frames of the kernel it has. Before 5.15 the helper takes a stack that may be freed
 * meanwhile (up to commit 06ab134ce8ec). */
static __always_inline uint64_t copy_kernel_stack_of(struct task_struct *task)
{
	long bytes = 0;

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		bytes = bpf_get_task_stack(task, asleep.kernel, sizeof(asleep.kernel), 0);
	return bytes > 0 ? (uint64_t)bytes / sizeof(uint64_t) : 0;
}

/* Where it entered the kernel; NULL: nowhere. */
static __always_inline void begin_asleep(
	struct bpf_asleep_event *e, struct task_struct *task, const struct pt_regs *entry)
{
	e->walk_end = WALK_NONE;
	e->start.pc = 0;
	if (!entry || in_exec(task) ||
		bpf_probe_read_kernel(&asleep_registers, sizeof(asleep_registers), entry))
		return;
	e->walk_end = WALK_UNSUPPORTED;
	if (!arch_user_64bit(&asleep_registers))
		return;
	arch_begin_later(&e->start, &asleep_registers);
	e->thread_pointer = arch_thread_pointer(task);
	e->stack_end = end_of_stack(task, e->start.sp);
}

/*
 * Sends where a thread sleeps that slept before the recording. Its memory is that of another
 * process, so the recorder reads it. If it wakes up meanwhile, the end of this wait tells.
 */
static __always_inline bool send_asleep(
	struct task_struct *task, const struct thread_waits *t, const struct pt_regs *entry)
{
	struct bpf_asleep_event *e = &asleep;
	uint64_t depth = copy_kernel_stack_of(task);

	e->time_ns = t->at_ns;
	e->kind = BPF_WAIT_ASLEEP;
	e->reason = t->reason;
	e->pid = t->pid;
	e->tid = t->tid;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), task->comm);
	begin_asleep(e, task, entry);
	asm volatile("" : "+r"(depth));
	if (depth > BPF_KERNEL_DEPTH_MAX)
		depth = BPF_KERNEL_DEPTH_MAX;
	e->kernel_depth = depth;
	/* Without it the wait has no stack, and is not lost. */
	return !bpf_ringbuf_output(&waits, e,
		__builtin_offsetof(struct bpf_asleep_event, kernel) + depth * sizeof(uint64_t),
		BPF_RB_NO_WAKEUP);
}

/* A thread that is there when the recording begins, and does not run. Which driver a control call
 * goes to is not looked up: its file is another process's. */
static __always_inline void enter_waiting(struct task_struct *task, uint32_t pid)
{
	struct arch_entry entry = {};
	const struct pt_regs *regs = find_entry(task, NULL, &entry);
	uint32_t reason = reason_of(task, false, regs, &entry);
	struct thread_waits *t;

	t = enter_thread(task, pid, false, reason == BPF_REASON_DEVICE ? BPF_REASON_OTHER : reason,
		bpf_ktime_get_ns());
	if (t && reason != BPF_REASON_RUN_QUEUE)
		t->walked = send_asleep(task, t, regs);
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
	if (pid && is_running(task))
		enter_thread(task, pid, true, BPF_REASON_OTHER, bpf_ktime_get_ns());
	else if (pid)
		enter_waiting(task, pid);
	return 0;
}
