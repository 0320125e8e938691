// SPDX-License-Identifier: MIT
/*
 * The in-kernel half of the CPU side: launch stacks and timer samples here, who belongs to the
 * recording in tracking.h, and waits of threads in wait_programs.h. All of it is one BPF object.
 *
 * A record does not wake the reader: it drains the rings at its own pace, and is woken only when
 * one fills up.
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
#include "bpf/tracking.h"
#include "bpf/buffers.h"
#include "bpf/table_writer.h"
#include "bpf/wait_programs.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* ------------------------------------------------------------------ launches */

/* Asking how full the ring is costs a call: every 16th launch of a thread is enough. */
#define HITS_PER_QUERY 16

/* Where a program was stopped by a probe. */
enum stopped { AT_CALL, AT_RETURN, INSIDE };

static __always_inline uint64_t *lost_count(const struct bpf_launch_event *e)
{
	return e->observed == BPF_CALL_OBSERVED ? &lost.observed
	       : e->observed			? &lost.probed
						: &lost.launches;
}

static __always_inline bool begin_walk(
	struct pt_regs *ctx, struct stack_buffer *b, const enum stopped at)
{
	walker_begin(&b->walker, b->pid);
	if (at == AT_CALL)
		return arch_begin_called(&b->walker.walk, ctx);
	if (at == AT_RETURN) {
		arch_begin_returned(&b->walker.walk, ctx);
		return true;
	}
	arch_begin_interrupted(&b->walker.walk, ctx);
	arch_number_registers(b->walker.start.registers, ctx);
	return true;
}

/* Walks the caller's stack, and sends the event with it. */
static __always_inline void send_call(
	struct pt_regs *ctx, struct stack_buffer *b, uint32_t buffer, const enum stopped at)
{
	struct bpf_launch_event *e = &b->record.launch;
	struct python_buffer *p = NULL;
	uint64_t flags = BPF_RB_NO_WAKEUP;
	uint64_t words;

	if (begin_walk(ctx, b, at))
		p = walk_user_stack(b, buffer);
	else
		no_stack(b, WALK_FAULT);
	if (b->part_lost) {
		count(lost_count(e));
		return;
	}
	words = finish_stack(b, p, 0);
	words = add_raw(b, p, buffer, words, e->time_ns);
	if (wakes_for_code(p, e->time_ns))
		flags = BPF_RB_FORCE_WAKEUP;
	else if (!(b->hits++ % HITS_PER_QUERY))
		flags = wakeup_flags(&launches);
	if (bpf_ringbuf_output(&launches, e, sizeof(*e) + words * sizeof(uint64_t), flags))
		count(lost_count(e));
}

static __always_inline void send_launch(
	struct pt_regs *ctx, struct stack_buffer *b, uint32_t buffer)
{
	struct bpf_launch_event *e = &b->record.launch;

	e->time_ns = bpf_ktime_get_ns();
	e->instance = PT_REGS_PARM1(ctx);
	e->correlation = PT_REGS_PARM2(ctx);
	e->call_kind = PT_REGS_PARM3(ctx);
	e->observed = BPF_CALL_MARKED;
	e->waited_ns = 0;
	send_call(ctx, b, buffer, AT_CALL);
}

static __always_inline void name_thread(
	struct stack_buffer *b, struct task_struct *task, uint32_t pid)
{
	b->pid = pid;
	b->record.launch.pid = pid;
	b->record.launch.tid = reported_id(task, BPF_CORE_READ(task, pid));
}

/*
 * Since Linux 6.13 (bpf_enable_priv_stack in kernel/bpf/verifier.c) a program of a uprobe has its
 * stack in memory that belongs to the CPU. It can be preempted all the same, by a thread whose
 * launch then uses the same memory: seen on 7.2 as a fault in the kernel. A program with a tail
 * call in it keeps the kernel's stack, even if the call is never made.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint32_t));
} no_programs SEC(".maps");

const volatile bool calls_another; /* false */

/* The thread's own buffer, with its name; NULL: it is not recorded, or there is no memory, which is
 * counted. */
static __always_inline struct stack_buffer *own_buffer(struct task_struct *task)
{
	struct stack_buffer *b = bpf_task_storage_get(&thread_buffers, task, NULL, 0);
	uint32_t pid;

	if (b)
		return b;
	pid = recorded_pid(task);
	if (!pid)
		return NULL;
	b = bpf_task_storage_get(&thread_buffers, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (b)
		name_thread(b, task, pid);
	else
		count(&lost.launches);
	return b;
}

/* The launch marker is being called: kernels with task storage. */
SEC("uprobe")
int on_launch(struct pt_regs *ctx)
{
	struct stack_buffer *b = own_buffer(bpf_get_current_task_btf());

	if (calls_another)
		bpf_tail_call(ctx, &no_programs, 0);
	if (b)
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

/* ------------------------------------------------------------------ observed calls */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BPF_OBSERVED_MAX);
	__type(key, uint32_t);
	__type(value, struct bpf_observed);
} observed SEC(".maps");

/* A call that waits, between its begin and its return. */
struct observed_wait {
	uint64_t since_ns; /* 0: none */
	uint64_t sp;
	uint64_t cookie;
	uint64_t window;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct observed_wait);
} observed_waits SEC(".maps");

static __always_inline struct bpf_observed *observed_by(uint64_t cookie)
{
	uint32_t index = cookie >> BPF_COOKIE_INDEX;

	return bpf_map_lookup_elem(&observed, &index);
}

/* One inside of another is a part of that. One of an earlier window, or whose frame is gone, has
 * returned unseen. */
static __always_inline void begin_observed_wait(
	struct pt_regs *ctx, struct bpf_observed *o, uint64_t cookie)
{
	struct observed_wait *w = bpf_task_storage_get(
		&observed_waits, bpf_get_current_task_btf(), NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	bool again = w && w->since_ns && w->window == o->window;

	if (!w) {
		count(&lost.observed);
		return;
	}
	if (again && PT_REGS_SP(ctx) < w->sp)
		return;
	w->since_ns = bpf_ktime_get_ns();
	w->sp = PT_REGS_SP(ctx);
	w->cookie = cookie;
	w->window = o->window;
	if (!again)
		count(&o->begun);
}

static __always_inline void send_observed(struct pt_regs *ctx, const struct bpf_observed *o,
	uint64_t cookie, uint64_t since_ns, bool returned)
{
	struct stack_buffer *b = own_buffer(bpf_get_current_task_btf());
	struct bpf_launch_event *e;

	if (!b)
		return;
	e = &b->record.launch;
	e->time_ns = bpf_ktime_get_ns();
	e->instance = o->instance;
	e->correlation = cookie & BPF_COOKIE_CALL_MASK;
	e->call_kind = 0;
	e->observed = BPF_CALL_OBSERVED;
	e->waited_ns = returned ? e->time_ns - since_ns : 0;
	if (returned)
		send_call(ctx, b, CPU_BUFFERS, AT_RETURN);
	else
		send_call(ctx, b, CPU_BUFFERS, AT_CALL);
}

/* A call of the driver's library begins. */
SEC("uprobe")
int on_observed(struct pt_regs *ctx)
{
	uint64_t begin_ns = bpf_ktime_get_ns(), cookie = bpf_get_attach_cookie(ctx);
	struct bpf_observed *o = observed_by(cookie);

	if (calls_another)
		bpf_tail_call(ctx, &no_programs, 0);
	if (!o)
		return 0;
	count(&o->calls);
	if (o->open && cookie & BPF_COOKIE_WAITS)
		begin_observed_wait(ctx, o, cookie);
	else if (o->open)
		send_observed(ctx, o, cookie, 0, false);
	__sync_fetch_and_add(&o->spent_ns, bpf_ktime_get_ns() - begin_ns);
	return 0;
}

/* One that waits returns: also when it is not open any more, if it was when the call began. */
SEC("uprobe")
int on_observed_return(struct pt_regs *ctx)
{
	uint64_t begin_ns = bpf_ktime_get_ns(), cookie = bpf_get_attach_cookie(ctx), since_ns = 0;
	struct observed_wait *w =
		bpf_task_storage_get(&observed_waits, bpf_get_current_task_btf(), NULL, 0);
	struct bpf_observed *o = observed_by(cookie);

	if (calls_another)
		bpf_tail_call(ctx, &no_programs, 0);
	if (!o)
		return 0;
	count(&o->returns);
	if (w && w->cookie == cookie && w->window == o->window)
		since_ns = w->since_ns;
	if (since_ns) {
		w->since_ns = 0;
		count(&o->ended);
		send_observed(ctx, o, cookie, since_ns, true);
	}
	__sync_fetch_and_add(&o->spent_ns, bpf_ktime_get_ns() - begin_ns);
	return 0;
}

/* ------------------------------------------------------------------ probes of drivers */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BPF_PROBE_SITES);
	__type(key, uint32_t);
	__type(value, struct bpf_probe_site);
} probe_sites SEC(".maps");

/* A number of so many bytes, with or without a sign. */
static __always_inline uint64_t extended(uint64_t value, uint32_t size, bool is_signed)
{
	uint32_t unused = (64 - 8 * size) & 63;

	value <<= unused;
	return is_signed ? (uint64_t)((int64_t)value >> unused) : value >> unused;
}

static __always_inline uint64_t register_of(const uint64_t *registers, uint8_t number)
{
	return number < BPF_REGISTERS ? registers[number & (BPF_REGISTERS - 1)] : 0;
}

/* False: it cannot be read. */
static __always_inline bool read_argument(
	const struct bpf_argument *a, const uint64_t *registers, uint64_t *ret)
{
	uint64_t value = (uint64_t)a->value, at;
	uint32_t size = a->size;

	if (a->kind == BPF_REGISTER) {
		value = register_of(registers, a->base) >> (a->shift & 63);
	} else if (a->kind == BPF_MEMORY) {
		at = value + register_of(registers, a->base) +
		     register_of(registers, a->index) * a->scale;
		value = 0;
		if (size > sizeof(value) || bpf_probe_read_user(&value, size, (const void *)at))
			return false;
	}
	*ret = extended(value, size, a->is_signed);
	return a->kind;
}

/* Sends what the probe says; false: there is no room. */
static __always_inline bool send_facts(
	struct stack_buffer *b, const struct bpf_probe_site *site, uint32_t index)
{
	struct bpf_probe_event *e = (struct bpf_probe_event *)&b->record.launch;
	const uint64_t *registers = b->walker.start.registers;
	uint64_t text = 0;
	long size = 0;

	e->head.time_ns = bpf_ktime_get_ns();
	e->head.instance = index + 1;
	e->head.correlation = 0;
	e->head.call_kind = 0;
	e->head.observed = BPF_CALL_FACTS;
	e->head.waited_ns = 0;
	e->unread = 0;
	for (int i = 0; i < BPF_PROBE_VALUES; i++)
		if (!read_argument(&site->values[i], registers, &e->values[i]))
			e->unread |= 1u << i;
	if (read_argument(&site->text, registers, &text))
		size = bpf_probe_read_user_str(e->text, sizeof(e->text), (const void *)text);
	if (size <= 0) {
		e->unread |= 1u << BPF_PROBE_VALUES;
		e->text[0] = '\0';
		size = 1;
	}
	e->text_size = (uint32_t)size;
	return !bpf_ringbuf_output(&launches, e, sizeof(*e), wakeup_flags(&launches));
}

/* A driver tells what it does. */
SEC("uprobe")
int on_driver_probe(struct pt_regs *ctx)
{
	struct stack_buffer *b = own_buffer(bpf_get_current_task_btf());
	uint32_t index = bpf_get_attach_cookie(ctx);
	const struct bpf_probe_site *site = bpf_map_lookup_elem(&probe_sites, &index);

	if (calls_another)
		bpf_tail_call(ctx, &no_programs, 0);
	if (!b || !site)
		return 0;
	arch_number_registers(b->walker.start.registers, ctx);
	if (!send_facts(b, site, index)) {
		count(&lost.probed);
		return 0;
	}
	if (!site->wants_stack)
		return 0;
	b->record.launch.observed = BPF_CALL_PROBED;
	send_call(ctx, b, CPU_BUFFERS, INSIDE);
	return 0;
}

/* ------------------------------------------------------------------ timer samples */

/* The registers of the program that runs on this CPU; false when the kernel does not have them. */
static __always_inline bool user_registers(
	struct bpf_perf_event_data *ctx, struct pt_regs *ret_regs)
{
	if (arch_user_mode((struct pt_regs *)&ctx->regs)) {
		arch_copy_registers(ret_regs, (const struct pt_regs *)&ctx->regs);
		return true;
	}
	/* Both helpers since 5.15. */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return arch_entry_registers((struct task_struct *)bpf_get_current_task(), ret_regs);
	return !bpf_probe_read_kernel(ret_regs, sizeof(*ret_regs),
		(const void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
}

/* The user side of the current thread, from where it entered the kernel or was interrupted. */
static __always_inline struct python_buffer *walk_sampled_stack(
	struct bpf_perf_event_data *ctx, struct stack_buffer *b)
{
	/* Not on our stack, which is small: where no frame is yet. */
	struct pt_regs *regs = (struct pt_regs *)b->record.words;
	uint32_t end = WALK_UNKNOWN;

	walker_begin(&b->walker, b->pid);
	if (in_exec((struct task_struct *)bpf_get_current_task())) {
		end = WALK_NONE;
	} else if (user_registers(ctx, regs)) {
		if (arch_user_64bit(regs)) {
			arch_begin_interrupted(&b->walker.walk, regs);
			arch_number_registers(b->walker.start.registers, regs);
			return walk_user_stack(b, SAMPLE_BUFFER);
		}
		/* Without a program's registers it is a worker of the kernel within a process. */
		end = arch_user_mode(regs) ? WALK_UNSUPPORTED : WALK_NONE;
	}
	no_stack(b, end);
	return NULL;
}

static __always_inline uint64_t copy_kernel_stack(struct bpf_perf_event_data *ctx, uint64_t *frames)
{
	long size = 0;

	if (!arch_user_mode((struct pt_regs *)&ctx->regs))
		size = bpf_get_stack(ctx, frames, BPF_KERNEL_DEPTH_MAX * sizeof(uint64_t), 0);
	return size > 0 ? (uint64_t)size / sizeof(uint64_t) : 0;
}

static __always_inline void send_sample(
	struct stack_buffer *b, struct python_buffer *p, uint64_t kernel_depth)
{
	struct bpf_sample_event *e = &b->record.sample;
	uint64_t words = finish_stack(b, p, kernel_depth), flags;

	if (b->part_lost) {
		count(&lost.samples);
		return;
	}
	words = add_raw(b, p, SAMPLE_BUFFER, words, e->time_ns);
	flags = wakes_for_code(p, e->time_ns) ? BPF_RB_FORCE_WAKEUP : wakeup_flags(&samples);
	if (bpf_ringbuf_output(&samples, e, sizeof(*e) + words * sizeof(uint64_t), flags))
		count(&lost.samples);
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	uint32_t buffer = SAMPLE_BUFFER, pid = recorded_pid(task);
	struct python_buffer *p = NULL;
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
		p = walk_sampled_stack(ctx, b);
	send_sample(b, p, copy_kernel_stack(ctx, b->record.words + walker_depth(&b->walker)));
	return 0;
}
