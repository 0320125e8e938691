// SPDX-License-Identifier: MIT
/*
 * xe: jobs, memory, address spaces and firmware of Intel's newer GPUs.
 *
 * xe uses the kernel's scheduler with a scheduler for each execution queue, whose name has
 * engine and queue: `monitor drm` shows its jobs under those. Events of xe itself name a queue by
 * the number that the GuC firmware knows it by, which is given again when a queue is gone. Each
 * GT has numbers of its own; events of jobs have the GT in Linux 7.2, but not yet in 6.12.
 *
 * A job is known by its fence: from xe_sched_job_exec, when its process hands it over, until it
 * is freed (xe_sched_job.c, xe_guc_submit.c). Where it runs on one engine only, that is the fence
 * of the hardware, which xe_hw_fence_signal reports.
 */
#include "monitor/tables/table.h"

enum { OBJECT_JOB, OBJECT_QUEUE, OBJECT_VM, OBJECT_REBIND, OBJECT_INVALIDATION, OBJECT_SUSPEND };

/* Of a job. */
enum { STAGE_QUEUED, STAGE_RUNNING, STAGE_DONE, STAGE_FREED };

enum {
	SERIES_JOBS,
	SERIES_QUEUE_DELAY,
	SERIES_RUN_TIME,
	SERIES_TOTAL_TIME,
	SERIES_FREE_TIME,
	SERIES_TROUBLE,
	SERIES_QUEUES,
	SERIES_RESETS,
	SERIES_CREATED,
	SERIES_MOVED,
	SERIES_CPU_FAULTS,
	SERIES_BOUND,
	SERIES_UNBOUND,
	SERIES_GPU_FAULTS,
	SERIES_FAULT_BINDS,
	SERIES_EVICTED,
	SERIES_INVALIDATED,
	SERIES_USERPTR,
	SERIES_REBINDS,
	SERIES_REBIND_TIME,
	SERIES_BIND_FAILURES,
	SERIES_VMS,
	SERIES_TLB_TIME,
	SERIES_TLB_TIMEOUTS,
	SERIES_TO_GUC,
	SERIES_FROM_GUC,
	SERIES_GUC_FULL,
	SERIES_SUSPENDED,
};

#define MODULE "xe"

#define JOB_FIELDS                                                                                 \
	NUMBER_NEEDED("fence", "fence"), NUMBER_NEEDED("queue", "guc_id"), NUMBER("gt", "gt_id"),  \
		NUMBER("seqno", "seqno"), NUMBER("error", "error"), TEXT("device", "dev"),         \
		NUMBER("batch", "batch_addr")

#define QUEUE_FIELDS                                                                               \
	NUMBER_NEEDED("queue", "guc_id"), NUMBER("gt", "gt_id"), NUMBER("class", "class"),         \
		NUMBER("mask", "logical_mask"), NUMBER("width", "width"),                          \
		NUMBER("state", "guc_state"), TEXT("device", "dev")

/* The end of a range is its last byte (xe_trace_bo.h). */
#define VMA_FIELDS                                                                                 \
	NUMBER("vma", "vma"), NUMBER("vm", "vm"), NUMBER("asid", "asid"),                          \
		NUMBER_NEEDED("start", "start"), NUMBER_NEEDED("end", "end"),                      \
		NUMBER("user", "ptr"), TEXT("device", "dev")

#define VM_FIELDS NUMBER_NEEDED("vm", "vm"), NUMBER("asid", "asid"), TEXT("device", "dev")

#define BO_FIELDS                                                                                  \
	NUMBER_NEEDED("size", "size"), NUMBER("flags", "flags"), NUMBER("vm", "vm"),               \
		TEXT("device", "dev")

#define TLB_FIELDS NUMBER_NEEDED("fence", "fence"), NUMBER("seqno", "seqno"), TEXT("device", "dev")

#define MESSAGE_FIELDS                                                                             \
	NUMBER_NEEDED("action", "action"), NUMBER("gt", "gt_id"), NUMBER("length", "len"),         \
		TEXT("device", "dev")

#define FLOW_FIELDS                                                                                \
	NUMBER("size", "size"), NUMBER("space", "space"), NUMBER("length", "len"),                 \
		TEXT("device", "dev")

#define ON_QUEUE      .label = {"queue", "gt"}
#define BY_JOB(since) VALUE_DURATION, .act = 0, .from = since, .label = {"@0.0", "@0.1"}
#define RANGE	      VALUE_RANGE, "end", .first = "start"
#define PLACE	      "[gt={gt} ]dev={device}"

/* Events of an address range. They have the VM in Linux 7.2, but not yet in 6.12. */
#define VMA_EVENT(event_name, what, event, series)                                                 \
	{                                                                                          \
		.name = event_name, .says = what,                                                  \
		.sources = {TRACEPOINT("xe:" event, MODULE, VMA_FIELDS)},                          \
		.acts = {{ACT_LOOK, OBJECT_VM, .key = {"vm"}}},                                    \
		.counts = {{series, RANGE, .label = {"device"}}}, .label = {"device"},             \
		.process_act = 1,                                                                  \
		.column = {"asid={asid}", "{#0:size}", "start={start:x}[ userptr={user:x}]"},      \
	}

/* Events of a queue that are rare, and mean trouble. */
#define QUEUE_TROUBLE(event_name, what, event)                                                     \
	{                                                                                          \
		.name = event_name, .says = what,                                                  \
		.sources = {TRACEPOINT("xe:" event, MODULE, QUEUE_FIELDS)},                        \
		.acts = {{ACT_LOOK, OBJECT_QUEUE, .key = {"queue", "gt"}}},                        \
		.counts = {{SERIES_RESETS, VALUE_ONE, ON_QUEUE}}, ON_QUEUE, .process_act = 1,      \
		.column = {"queue={queue}", "{class:engine}",                                      \
			PLACE " mask={mask:x} state={state:x}"},                                   \
	}

// clang-format off
static const struct monitor_event events[] = {
	{
		.name = "EXEC",
		.says = "a process hands over a job",
		.sources = {TRACEPOINT("xe:xe_sched_job_exec", MODULE, JOB_FIELDS)},
		.acts = {{ACT_OPEN, OBJECT_JOB, .key = {"fence"}, ON_QUEUE}},
		.counts = {{SERIES_JOBS, VALUE_ONE, ON_QUEUE}},
		ON_QUEUE,
		.column = {"{fence:x}", "queue={queue}", PLACE " seqno={seqno}"},
	},
	{
		.name = "RUN",
		.says = "a job is given to the hardware",
		.sources = {TRACEPOINT("xe:xe_sched_job_run", MODULE, JOB_FIELDS)},
		.acts = {{ACT_MARK, OBJECT_JOB, STAGE_RUNNING, .key = {"fence"}}},
		.counts = {{SERIES_QUEUE_DELAY, BY_JOB(STAGE_QUEUED)}},
		ON_QUEUE,
		.process_act = 1,
		.above = 1,
		.column = {"{fence:x}", "queue={queue}", PLACE " seqno={seqno}[ delay={#0:time}]"},
	},
	{
		.name = "DONE",
		.says = "the hardware is done with a job",
		.sources = {TRACEPOINT("xe:xe_hw_fence_signal", MODULE,
			NUMBER_NEEDED("fence", "fence"), NUMBER("context", "ctx"),
			NUMBER("seqno", "seqno"), TEXT("device", "dev"))},
		/* Fences are also of the kernel's own work, and parts of jobs on several engines. */
		.acts = {{ACT_MARK, OBJECT_JOB, STAGE_DONE, .key = {"fence"}, .optional = true}},
		.counts = {{SERIES_RUN_TIME, BY_JOB(STAGE_RUNNING)},
			{SERIES_TOTAL_TIME, BY_JOB(STAGE_QUEUED)}},
		.label = {"@0.0", "@0.1"},
		.process_act = 1,
		.above = 1,
		.column = {"{fence:x}", "[queue={ring}]",
			"dev={device} seqno={seqno}[ run={#0:time}][ total={#1:time}]"},
	},
	{
		.name = "FREE",
		.says = "a job is freed, done or not",
		.quiet = true,
		.sources = {TRACEPOINT("xe:xe_sched_job_free", MODULE, JOB_FIELDS)},
		.acts = {{ACT_CLOSE, OBJECT_JOB, STAGE_FREED, .key = {"fence"}}},
		.counts = {{SERIES_FREE_TIME, BY_JOB(STAGE_QUEUED)}},
		ON_QUEUE,
		.process_act = 1,
		.above = 1,
		.column = {"{fence:x}", "queue={queue}", PLACE " seqno={seqno}"},
	},
	{
		.name = "TIMEDOUT",
		.says = "a job takes too long",
		.sources = {TRACEPOINT("xe:xe_sched_job_timedout", MODULE, JOB_FIELDS)},
		.acts = {{ACT_LOOK, OBJECT_JOB, .key = {"fence"}}},
		.counts = {{SERIES_TROUBLE, VALUE_ONE, ON_QUEUE}},
		ON_QUEUE,
		.process_act = 1,
		.column = {"{fence:x}", "queue={queue}", PLACE " seqno={seqno} batch={batch:x}"},
	},
	{
		.name = "BAN",
		.says = "a job is not to run any more",
		.sources = {TRACEPOINT("xe:xe_sched_job_ban", MODULE, JOB_FIELDS)},
		.acts = {{ACT_LOOK, OBJECT_JOB, .key = {"fence"}}},
		.counts = {{SERIES_TROUBLE, VALUE_ONE, ON_QUEUE}},
		ON_QUEUE,
		.process_act = 1,
		.column = {"{fence:x}", "queue={queue}", PLACE " seqno={seqno} batch={batch:x}"},
	},
	{
		.name = "ERROR",
		.says = "a job ends with an error",
		.sources = {TRACEPOINT("xe:xe_sched_job_set_error", MODULE, JOB_FIELDS)},
		.acts = {{ACT_LOOK, OBJECT_JOB, .key = {"fence"}}},
		.counts = {{SERIES_TROUBLE, VALUE_ONE, ON_QUEUE}},
		ON_QUEUE,
		.process_act = 1,
		.column = {"{fence:x}", "queue={queue}", PLACE " seqno={seqno} error={error}"},
	},
	{
		.name = "QUEUE_CREATE",
		.says = "an execution queue is made",
		.sources = {TRACEPOINT("xe:xe_exec_queue_create", MODULE, QUEUE_FIELDS)},
		.acts = {{ACT_OPEN, OBJECT_QUEUE, .key = {"queue", "gt"}, ON_QUEUE}},
		.counts = {{SERIES_QUEUES, VALUE_ONE, .label = {"class", "gt"}}},
		ON_QUEUE,
		.column = {"queue={queue}", "{class:engine}", PLACE " mask={mask:x} width={width}"},
	},
	{
		.name = "QUEUE_DESTROY",
		.says = "an execution queue is taken down",
		.quiet = true,
		.sources = {TRACEPOINT("xe:xe_exec_queue_destroy", MODULE, QUEUE_FIELDS)},
		.acts = {{ACT_CLOSE, OBJECT_QUEUE, 1, .key = {"queue", "gt"}, .optional = true}},
		ON_QUEUE,
		.process_act = 1,
		.column = {"queue={queue}", "{class:engine}", PLACE},
	},
	QUEUE_TROUBLE("QUEUE_RESET", "the firmware resets a queue that hangs",
		"xe_exec_queue_reset"),
	QUEUE_TROUBLE("MEMORY_ERROR", "a queue touches memory that it must not",
		"xe_exec_queue_memory_cat_error"),
	QUEUE_TROUBLE("GROUP_ERROR", "the firmware finds a group of queues broken",
		"xe_exec_queue_cgp_context_error"),
	{
		.name = "BO_CREATE",
		.says = "a buffer is made",
		.sources = {TRACEPOINT("xe:xe_bo_create", MODULE, BO_FIELDS)},
		.counts = {{SERIES_CREATED, VALUE_FIELD, "size", .label = {"device"}}},
		.label = {"device"},
		.column = {"vm={vm:x}", "{size:size}", "dev={device} flags={flags:x}"},
	},
	{
		.name = "BO_MOVE",
		.says = "a buffer goes from one kind of memory to another",
		.sources = {TRACEPOINT("xe:xe_bo_move", MODULE, NUMBER("bo", "bo"),
			NUMBER_NEEDED("size", "size"), TEXT_NEEDED("from", "old_placement_name"),
			TEXT_NEEDED("to", "new_placement_name"), TEXT("device", "device_id"),
			NUMBER("empty", "move_lacks_source"))},
		.counts = {{SERIES_MOVED, VALUE_FIELD, "size", .label = {"from", "to"}}},
		.label = {"from", "to"},
		.column = {"{bo:x}", "{size:size}",
			"{from} -> {to} dev={device} {empty:yes nothing-to-copy copied}"},
	},
	{
		.name = "CPU_FAULT",
		.says = "a process touches a mapped buffer that is not there",
		.sources = {TRACEPOINT("xe:xe_bo_cpu_fault", MODULE, BO_FIELDS)},
		.counts = {{SERIES_CPU_FAULTS, VALUE_FIELD, "size", .label = {"device"}}},
		.label = {"device"},
		.column = {"vm={vm:x}", "{size:size}", "dev={device} flags={flags:x}"},
	},
	VMA_EVENT("VMA_BIND", "a range gets an address for the GPU", "xe_vma_bind", SERIES_BOUND),
	VMA_EVENT("VMA_UNBIND", "a range loses its address for the GPU", "xe_vma_unbind",
		SERIES_UNBOUND),
	VMA_EVENT("GPU_FAULT", "the GPU touches an address that has no memory",
		"xe_vma_pagefault", SERIES_GPU_FAULTS),
	VMA_EVENT("FAULT_BIND", "a fault of the GPU is served", "xe_vma_pf_bind",
		SERIES_FAULT_BINDS),
	VMA_EVENT("VMA_EVICT", "a range has to leave the GPU's memory", "xe_vma_evict",
		SERIES_EVICTED),
	VMA_EVENT("VMA_INVALIDATE", "a range's addresses are made invalid", "xe_vma_invalidate",
		SERIES_INVALIDATED),
	VMA_EVENT("USERPTR", "a process's own memory, which the GPU uses, changes",
		"xe_vma_userptr_invalidate", SERIES_USERPTR),
	VMA_EVENT("REBIND", "a range is bound again", "xe_vma_rebind_worker", SERIES_REBINDS),
	VMA_EVENT("REBIND_EXEC", "a range is bound again for a job", "xe_vma_rebind_exec",
		SERIES_REBINDS),
	{
		.name = "VM_CREATE",
		.says = "an address space is made",
		.quiet = true,
		.sources = {TRACEPOINT("xe:xe_vm_create", MODULE, VM_FIELDS)},
		.acts = {{ACT_OPEN, OBJECT_VM, .key = {"vm"}, .label = {"device"}}},
		.counts = {{SERIES_VMS, VALUE_ONE, .label = {"device"}}},
		.label = {"device"},
		.column = {"vm={vm:x}", "", "dev={device}"},
	},
	{
		.name = "VM_FREE",
		.says = "an address space is freed",
		.quiet = true,
		.sources = {TRACEPOINT("xe:xe_vm_free", MODULE, VM_FIELDS)},
		.acts = {{ACT_CLOSE, OBJECT_VM, 1, .key = {"vm"}}},
		.label = {"device"},
		.process_act = 1,
		.column = {"vm={vm:x}", "", "dev={device}"},
	},
	{
		.name = "VM_KILL",
		.says = "an address space is not to be used any more",
		.sources = {TRACEPOINT("xe:xe_vm_kill", MODULE, VM_FIELDS)},
		.acts = {{ACT_LOOK, OBJECT_VM, .key = {"vm"}}},
		.label = {"device"},
		.process_act = 1,
		.column = {"vm={vm:x}", "", "dev={device}"},
	},
	{
		.name = "VM_FAIL",
		.says = "a change of an address space fails",
		.sources = {TRACEPOINT("xe:xe_vm_ops_fail", MODULE, VM_FIELDS)},
		.acts = {{ACT_LOOK, OBJECT_VM, .key = {"vm"}}},
		.counts = {{SERIES_BIND_FAILURES, VALUE_ONE, .label = {"device"}}},
		.label = {"device"},
		.process_act = 1,
		.column = {"vm={vm:x}", "", "dev={device}"},
	},
	{
		.name = "REBIND_ENTER",
		.says = "an address space begins to be bound again",
		.quiet = true,
		.sources = {TRACEPOINT("xe:xe_vm_rebind_worker_enter", MODULE, VM_FIELDS)},
		.acts = {{ACT_LOOK, OBJECT_VM, .key = {"vm"}},
			{ACT_OPEN, OBJECT_REBIND, .key = {"vm"}}},
		.label = {"device"},
		.process_act = 1,
		.column = {"vm={vm:x}", "", "dev={device}"},
	},
	{
		.name = "REBIND_EXIT",
		.says = "an address space is bound again",
		.quiet = true,
		.sources = {TRACEPOINT("xe:xe_vm_rebind_worker_exit", MODULE, VM_FIELDS)},
		.acts = {{ACT_LOOK, OBJECT_VM, .key = {"vm"}},
			{ACT_CLOSE, OBJECT_REBIND, 1, .key = {"vm"}}},
		.counts = {{SERIES_REBIND_TIME, VALUE_DURATION, .act = 1, .label = {"device"}}},
		.label = {"device"},
		.process_act = 1,
		.above = 1,
		.column = {"vm={vm:x}", "", "dev={device}[ took={#0:time}]"},
	},
	{
		.name = "TLB_SEND",
		.says = "the firmware is asked to forget address translations",
		.quiet = true,
		.sources = {TRACEPOINT("xe:xe_tlb_inval_fence_send", MODULE, TLB_FIELDS),
			TRACEPOINT("xe:xe_gt_tlb_invalidation_fence_send", MODULE, TLB_FIELDS)},
		.acts = {{ACT_OPEN, OBJECT_INVALIDATION, .key = {"fence"}}},
		.label = {"device"},
		.column = {"{fence:x}", "", "dev={device} seqno={seqno}"},
	},
	{
		.name = "TLB_DONE",
		.says = "the firmware forgot them",
		.quiet = true,
		.sources = {TRACEPOINT("xe:xe_tlb_inval_fence_signal", MODULE, TLB_FIELDS),
			TRACEPOINT("xe:xe_gt_tlb_invalidation_fence_signal", MODULE, TLB_FIELDS)},
		.acts = {{ACT_CLOSE, OBJECT_INVALIDATION, 1, .key = {"fence"}, .optional = true}},
		.counts = {{SERIES_TLB_TIME, VALUE_DURATION, .act = 0, .label = {"device"}}},
		.label = {"device"},
		.above = 1,
		.column = {"{fence:x}", "", "dev={device} seqno={seqno}[ took={#0:time}]"},
	},
	{
		.name = "TLB_TIMEOUT",
		.says = "the firmware does not answer that it forgot them",
		.sources = {TRACEPOINT("xe:xe_tlb_inval_fence_timeout", MODULE, TLB_FIELDS),
			TRACEPOINT("xe:xe_gt_tlb_invalidation_fence_timeout", MODULE, TLB_FIELDS)},
		.counts = {{SERIES_TLB_TIMEOUTS, VALUE_ONE, .label = {"device"}}},
		.label = {"device"},
		.column = {"{fence:x}", "", "dev={device} seqno={seqno}"},
	},
	{
		.name = "TO_GUC",
		.says = "a message to the firmware",
		.quiet = true,
		.sources = {TRACEPOINT("xe:xe_guc_ctb_h2g", MODULE, MESSAGE_FIELDS)},
		.counts = {{SERIES_TO_GUC, VALUE_ONE, .label = {"action", "gt"}}},
		.label = {"device"},
		.column = {"action={action:x}", "", PLACE " len={length}"},
	},
	{
		.name = "FROM_GUC",
		.says = "a message from the firmware",
		.quiet = true,
		.sources = {TRACEPOINT("xe:xe_guc_ctb_g2h", MODULE, MESSAGE_FIELDS)},
		.counts = {{SERIES_FROM_GUC, VALUE_ONE, .label = {"action", "gt"}}},
		.label = {"device"},
		.column = {"action={action:x}", "", PLACE " len={length}"},
	},
	{
		.name = "TO_GUC_FULL",
		.says = "there is no room for a message to the firmware",
		.sources = {TRACEPOINT("xe:xe_guc_ct_h2g_flow_control", MODULE, FLOW_FIELDS)},
		.counts = {{SERIES_GUC_FULL, VALUE_ONE, .label = {"device"}}},
		.label = {"device"},
		.column = {"", "", "dev={device} size={size} space={space} len={length}"},
	},
	{
		.name = "FROM_GUC_FULL",
		.says = "there is no room for an answer of the firmware",
		.sources = {TRACEPOINT("xe:xe_guc_ct_g2h_flow_control", MODULE, FLOW_FIELDS)},
		.counts = {{SERIES_GUC_FULL, VALUE_ONE, .label = {"device"}}},
		.label = {"device"},
		.column = {"", "", "dev={device} size={size} space={space} len={length}"},
	},
	{
		.name = "SUSPEND",
		.says = "an idle GPU is put to sleep",
		.sources = {TRACEPOINT("xe:xe_pm_runtime_suspend", MODULE,
			TEXT_NEEDED("device", "dev"))},
		.acts = {{ACT_OPEN, OBJECT_SUSPEND, .key = {"device"}}},
		.label = {"device"},
		.column = {"", "", "dev={device}"},
	},
	{
		.name = "RESUME",
		.says = "a sleeping GPU is woken",
		.sources = {TRACEPOINT("xe:xe_pm_runtime_resume", MODULE,
			TEXT_NEEDED("device", "dev"))},
		.acts = {{ACT_CLOSE, OBJECT_SUSPEND, 1, .key = {"device"}, .optional = true}},
		.counts = {{SERIES_SUSPENDED, VALUE_DURATION, .act = 0, .label = {"device"}}},
		.label = {"device"},
		.above = 1,
		.column = {"", "", "dev={device}[ slept={#0:time}]"},
	},
	{0},
};
// clang-format on

// clang-format off
static const struct monitor_object_row objects[] = {
	[OBJECT_JOB] = {.name = "job", .left = "jobs that were not freed"},
	[OBJECT_QUEUE] = {.name = "queue", .left = "execution queues that were not taken down",
		.freed_by = "QUEUE_DESTROY"},
	[OBJECT_VM] = {.name = "address space", .left = "address spaces that were not freed",
		.freed_by = "VM_FREE"},
	[OBJECT_REBIND] = {.name = "rebind"},
	[OBJECT_INVALIDATION] = {.name = "invalidation"},
	[OBJECT_SUSPEND] = {.name = "sleep"},
	{0},
};
// clang-format on

#define TIMES	  .unit = UNIT_NANOSECONDS, .histogram = true
#define BYTES	  .unit = UNIT_BYTES, .by_process = true
#define BY_QUEUE  .by_process = true, .label = {"queue", "gt"}
#define BY_DEVICE .label = {"device"}

// clang-format off
static const struct monitor_series series[] = {
	[SERIES_JOBS] = {"jobs", "Jobs by queue", BY_QUEUE, .metric = "jobs_queued",
		.help = "Jobs that processes handed over"},
	[SERIES_QUEUE_DELAY] = {"queue_delay", "Delay between queue and run", TIMES, BY_QUEUE,
		.metric = "job_queue_delay",
		.help = "Time between a job being handed over and being given to the hardware"},
	[SERIES_RUN_TIME] = {"run_time", "Run time", TIMES, BY_QUEUE, .busy = true,
		.metric = "job_run",
		.help = "Time between a job being given to the hardware and being done"},
	[SERIES_TOTAL_TIME] = {"total_time", "Time from queue to done", TIMES, BY_QUEUE,
		.metric = "job_total", .help = "Time between a job being handed over and done"},
	[SERIES_FREE_TIME] = {"free_time", "Time from queue to free", TIMES, BY_QUEUE,
		.metric = "job_free", .help = "Time between a job being handed over and freed"},
	[SERIES_TROUBLE] = {"job_errors", "Jobs that took too long, were banned or failed",
		BY_QUEUE, .metric = "job_errors",
		.help = "Jobs that took too long, were banned, or ended with an error"},
	[SERIES_QUEUES] = {"queues", "Execution queues made by engine", .by_process = true,
		.label = {"engine", "gt"}, .list = {"engine"}, .metric = "queues",
		.help = "Execution queues that were made"},
	[SERIES_RESETS] = {"queue_errors", "Queues reset, or with errors",
		BY_QUEUE, .metric = "queue_errors",
		.help = "Execution queues that were reset, broke memory protection or were broken"},
	[SERIES_CREATED] = {"buffers_created", "Buffers made", BYTES, BY_DEVICE,
		.histogram = true, .metric = "buffers_created",
		.help = "Size of buffers that were made"},
	[SERIES_MOVED] = {"buffers_moved", "Buffers moved between kinds of memory", BYTES,
		.label = {"from", "to"}, .metric = "buffers_moved",
		.help = "Size of buffers that went from one kind of memory to another"},
	[SERIES_CPU_FAULTS] = {"cpu_faults", "Size of buffers that processes faulted on", BYTES,
		BY_DEVICE, .metric = "cpu_faults",
		.help = "Size of buffers that processes faulted on"},
	[SERIES_BOUND] = {"bytes_bound", "Bytes bound to addresses for the GPU", BYTES,
		BY_DEVICE, .metric = "bound", .help = "Size of ranges bound to addresses"},
	[SERIES_UNBOUND] = {"bytes_unbound", "Bytes unbound", BYTES, BY_DEVICE,
		.metric = "unbound", .help = "Size of ranges that lost their addresses"},
	[SERIES_GPU_FAULTS] = {"gpu_faults", "Size of ranges that the GPU faulted on", BYTES,
		BY_DEVICE, .metric = "gpu_faults", .help = "Size of ranges the GPU faulted on"},
	[SERIES_FAULT_BINDS] = {"fault_binds", "Size of ranges bound for faults", BYTES,
		BY_DEVICE, .metric = "fault_binds",
		.help = "Size of ranges that were bound because the GPU faulted"},
	[SERIES_EVICTED] = {"evicted", "Bytes evicted", BYTES, BY_DEVICE, .metric = "evicted",
		.help = "Size of ranges that had to leave the GPU's memory"},
	[SERIES_INVALIDATED] = {"invalidated", "Bytes invalidated", BYTES, BY_DEVICE,
		.metric = "invalidated", .help = "Size of ranges that were made invalid"},
	[SERIES_USERPTR] = {"userptr_invalidated", "Processes' own memory invalidated", BYTES,
		BY_DEVICE, .metric = "userptr_invalidated",
		.help = "Size of ranges of processes' own memory that changed"},
	[SERIES_REBINDS] = {"rebound", "Bytes bound again", BYTES, BY_DEVICE,
		.metric = "rebound", .help = "Size of ranges that were bound again"},
	[SERIES_REBIND_TIME] = {"rebind_time", "Time to bind an address space again", TIMES,
		BY_DEVICE, .by_process = true, .metric = "rebind",
		.help = "Time that binding an address space again took"},
	[SERIES_BIND_FAILURES] = {"bind_failures", "Changes of address spaces that failed",
		BY_DEVICE, .by_process = true, .metric = "bind_failures",
		.help = "Changes of address spaces that failed"},
	[SERIES_VMS] = {"address_spaces", "Address spaces made", BY_DEVICE, .by_process = true,
		.metric = "address_spaces", .help = "Address spaces that were made"},
	[SERIES_TLB_TIME] = {"tlb_invalidation", "Time to make the GPU forget translations",
		TIMES, BY_DEVICE, .metric = "tlb_invalidation",
		.help = "Time between asking the firmware to forget translations and its answer"},
	[SERIES_TLB_TIMEOUTS] = {"tlb_timeouts", "Answers about translations that did not come",
		BY_DEVICE, .metric = "tlb_timeouts",
		.help = "Times that the firmware did not answer that it forgot translations"},
	[SERIES_TO_GUC] = {"guc_requests", "Messages to the firmware by action",
		.label = {"action", "gt"}, .metric = "guc_requests",
		.help = "Messages to the GuC firmware"},
	[SERIES_FROM_GUC] = {"guc_events", "Messages from the firmware by action",
		.label = {"action", "gt"}, .metric = "guc_events",
		.help = "Messages from the GuC firmware"},
	[SERIES_GUC_FULL] = {"guc_full", "Times without room for messages", BY_DEVICE,
		.metric = "guc_full",
		.help = "Times that there was no room for messages to or from the firmware"},
	[SERIES_SUSPENDED] = {"suspended", "Time asleep", TIMES, BY_DEVICE, .metric = "suspended",
		.help = "Time that an idle GPU was put to sleep"},
	{0},
};
// clang-format on

/* enum xe_engine_class of xe_hw_engine_types.h, Linux 6.12 and 7.2. */
static const struct monitor_name engines[] = {
	{0, "render"},
	{1, "decode"},
	{2, "enhance"},
	{3, "copy"},
	{4, "other"},
	{5, "compute"},
	{0, NULL},
};

static const struct monitor_list lists[] = {
	{.name = "engine", .names = engines},
	{0},
};

const struct monitor monitor_xe = {
	.name = "xe",
	.summary = "jobs, memory, address spaces and firmware of newer Intel GPUs",
	.ring = "queue",
	.column = {"OBJECT", "QUEUE/SIZE", "DETAILS"},
	.width = {20, 14},
	.events = events,
	.objects = objects,
	.series = series,
	.lists = lists,
	.drivers = MODULE,
	.note = "A queue is known by the firmware's number for it, which is given again; `monitor "
		"drm` has their names. No event names the buffer that is freed. A job on several "
		"engines has no run time here.",
};
