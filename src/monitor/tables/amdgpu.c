// SPDX-License-Identifier: MIT
/*
 * amdgpu: buffers, submissions, interrupts and address spaces of AMD's driver.
 *
 * A submission is known by context and number of its job's "finished" fence, which all kernels
 * trace (amdgpu_trace.h), before Linux 6.17 the lowest 32 bits of them. From 6.17 on gpu_scheduler
 * reports the same pair when a job is done, so that the time until then is known too. The field
 * `fence` of amdgpu_cs_ioctl is never filled in, and `sched_job_id` of older kernels counts for
 * each ring.
 *
 * Nothing traces the end of a buffer. amdgpu_bo_release_notify is called when its last user is
 * gone, through a pointer, and so always as a function of its own; its argument is the part of
 * the amdgpu_bo that TTM knows.
 */
#include "monitor/tables/table.h"

enum { OBJECT_BUFFER, OBJECT_SUBMISSION, OBJECT_JOB };

enum {
	SERIES_CREATED,
	SERIES_FREED,
	SERIES_MOVED,
	SERIES_SUBMITTED,
	SERIES_LATENCY,
	SERIES_COMPLETION,
	SERIES_RUN_TIME,
	SERIES_DONE,
	SERIES_PIPE_SYNCS,
	SERIES_INTERRUPTS,
	SERIES_FLUSHES,
	SERIES_MAPPED,
	SERIES_UNMAPPED,
};

enum { STAGE_SUBMITTED, STAGE_RUNNING, STAGE_DONE };

#define MODULE "amdgpu"
#define NEW    "Linux 6.17"

#define OLD_SUBMISSION_FIELDS                                                                      \
	NUMBER_NEEDED("id", "sched_job_id"), NUMBER_NEEDED("context", "context"),                  \
		NUMBER_NEEDED("seqno", "seqno"), TEXT_NEEDED("ring", "ring"),                      \
		NUMBER("ibs", "num_ibs")

#define SUBMISSION_FIELDS                                                                          \
	NUMBER_NEEDED("context", "context"), NUMBER_NEEDED("seqno", "seqno"),                      \
		NUMBER("job", "context"), NUMBER("job2", "seqno"), TEXT_NEEDED("ring", "ring"),    \
		NUMBER("ibs", "num_ibs")

/* In pages of 4 KiB, whatever the CPU's are (AMDGPU_GPU_PAGE_SIZE). */
#define MAPPING_FIELDS                                                                             \
	NUMBER("bo", "bo"), PAGES("start", "start"), PAGES("last", "last"),                        \
		NUMBER("offset", "offset"), NUMBER("flags", "flags")

// clang-format off
#define BUFFER_ARGUMENT                                                                            \
	{"bo", .kind = FIELD_NUMBER, .needed = true, .bytes = 8, .within = "amdgpu_bo.tbo"}
// clang-format on

#define SUBMISSION_ID "[{id}][{job}:{job2}]"

// clang-format off
static const struct monitor_event events[] = {
	{
		.name = "BO_CREATE",
		.says = "a buffer is made",
		.sources = {TRACEPOINT("amdgpu:amdgpu_bo_create", MODULE, NUMBER_NEEDED("bo", "bo"),
			PAGES("size", "pages"), NUMBER("placement", "type"),
			NUMBER("preferred", "prefer"), NUMBER("allowed", "allow"),
			NUMBER("flags", "visible"))},
		.acts = {{ACT_OPEN, OBJECT_BUFFER, .key = {"bo"}, .value = "size", .stacks = true,
			.label = {"placement"}}},
		.counts = {{SERIES_CREATED, VALUE_FIELD, "size", .label = {"placement"}}},
		.label = {"placement"},
		.column = {"{bo:x}", "{size:size}",
			"type={placement:placement} preferred={preferred:x} allowed={allowed:x}"},
	},
	{
		.name = "BO_FREE",
		.says = "the last user of a buffer is gone",
		.sources = {FUNCTION("amdgpu_bo_release_notify", MODULE, BUFFER_ARGUMENT),
			FUNCTION("amdgpu_bo_destroy", MODULE, BUFFER_ARGUMENT)},
		.acts = {{ACT_CLOSE, OBJECT_BUFFER, 1, .key = {"bo"}, .optional = true}},
		.counts = {{SERIES_FREED, VALUE_KEPT, .act = 0, .label = {"@0.0"}}},
		.label = {"@0.0"},
		.process_act = 1,
		.column = {"{bo:x}", "[{#0:size}]"},
	},
	{
		.name = "BO_MOVE",
		.says = "a buffer goes from one kind of memory to another",
		.sources = {TRACEPOINT("amdgpu:amdgpu_bo_move", MODULE, NUMBER_NEEDED("bo", "bo"),
			NUMBER_NEEDED("size", "bo_size"), NUMBER_NEEDED("to", "new_placement"),
			NUMBER_NEEDED("from", "old_placement"))},
		.counts = {{SERIES_MOVED, VALUE_FIELD, "size", .label = {"from", "to"}}},
		.label = {"from", "to"},
		.column = {"{bo:x}", "{size:size}", "{from:placement} -> {to:placement}"},
	},
	{
		.name = "CS_IOCTL",
		.says = "a process submits commands",
		.sources = {TRACEPOINT("amdgpu:amdgpu_cs_ioctl", MODULE, OLD_SUBMISSION_FIELDS),
			TRACEPOINT_SINCE(
				NEW, "amdgpu:amdgpu_cs_ioctl", MODULE, SUBMISSION_FIELDS)},
		.acts = {{ACT_OPEN, OBJECT_SUBMISSION, .key = {"context", "seqno"},
				 .label = {"ring"}},
			{ACT_OPEN, OBJECT_JOB, .key = {"job", "job2"}, .label = {"ring"}}},
		.counts = {{SERIES_SUBMITTED, VALUE_ONE, .label = {"ring"}}},
		.label = {"ring"},
		.column = {SUBMISSION_ID, "{ring}", "ibs={ibs}"},
	},
	{
		.name = "SCHED_RUN",
		.says = "a submission is given to the hardware",
		.sources = {TRACEPOINT("amdgpu:amdgpu_sched_run_job", MODULE,
				    OLD_SUBMISSION_FIELDS),
			TRACEPOINT_SINCE(
				NEW, "amdgpu:amdgpu_sched_run_job", MODULE, SUBMISSION_FIELDS)},
		.acts = {{ACT_CLOSE, OBJECT_SUBMISSION, 1, .key = {"context", "seqno"},
				 .optional = true},
			{ACT_MARK, OBJECT_JOB, STAGE_RUNNING, .key = {"job", "job2"},
				.optional = true}},
		.counts = {{SERIES_LATENCY, VALUE_DURATION, .act = 0, .label = {"ring"}}},
		.label = {"ring"},
		.process_act = 1,
		.above = 1,
		.column = {SUBMISSION_ID, "{ring}", "ibs={ibs}[ latency={#0:time}]"},
	},
	{
		.name = "CS_PROCESS",
		.says = "a job is done, of any driver that uses the kernel's scheduler",
		.sources = {TRACEPOINT_SINCE(NEW, "gpu_scheduler:drm_sched_job_done", "gpu_sched",
				    NUMBER_NEEDED("job", "fence_context"),
				    NUMBER_NEEDED("job2", "fence_seqno")),
			TRACEPOINT("gpu_scheduler:drm_sched_process_job", "gpu_sched",
				NUMBER_NEEDED("fence", "fence"))},
		.acts = {{ACT_CLOSE, OBJECT_JOB, STAGE_DONE, .key = {"job", "job2"},
			.optional = true}},
		.counts = {{SERIES_COMPLETION, VALUE_DURATION, .act = 0, .from = STAGE_SUBMITTED,
				   .label = {"@0.0"}},
			{SERIES_RUN_TIME, VALUE_DURATION, .act = 0, .from = STAGE_RUNNING,
				.label = {"@0.0"}},
			{SERIES_DONE, VALUE_ONE}},
		.label = {"@0.0"},
		.process_act = 1,
		.above = 1,
		.column = {"[{fence:x}][{job}:{job2}]", "{ring}",
			"[total={#0:time}][ run={#1:time}]"},
	},
	{
		.name = "PIPE_SYNC",
		.says = "commands have to wait for earlier ones of the ring",
		.quiet = true,
		.sources = {TRACEPOINT("amdgpu:amdgpu_ib_pipe_sync", MODULE,
			TEXT_NEEDED("ring", "ring"), NUMBER("context", "ctx"),
			NUMBER("seqno", "seqno"))},
		.counts = {{SERIES_PIPE_SYNCS, VALUE_ONE, .label = {"ring"}}},
		.label = {"ring"},
		.column = {"", "{ring}", "ctx={context} seq={seqno}"},
	},
	{
		.name = "INTERRUPT",
		.says = "the GPU interrupts",
		.sources = {TRACEPOINT("amdgpu:amdgpu_iv", MODULE,
			NUMBER_NEEDED("unit", "client_id"), NUMBER_NEEDED("source", "src_id"),
			NUMBER("ih", "ih"), NUMBER("ring_id", "ring_id"), NUMBER("vmid", "vmid"),
			NUMBER("pasid", "pasid"))},
		.counts = {{SERIES_INTERRUPTS, VALUE_ONE, .label = {"unit", "source"}}},
		.label = {"unit", "source"},
		.column = {"client={unit}", "src={source}",
			"ih={ih} ring={ring_id} vmid={vmid} pasid={pasid}"},
	},
	{
		.name = "VM_FLUSH",
		.says = "the translations of an address space are flushed",
		.sources = {TRACEPOINT("amdgpu:amdgpu_vm_flush", MODULE,
			TEXT_NEEDED("ring", "ring"), NUMBER("vmid", "vmid"),
			NUMBER("hub", "vm_hub"), NUMBER("address", "pd_addr"))},
		.counts = {{SERIES_FLUSHES, VALUE_ONE, .label = {"ring"}}},
		.label = {"ring"},
		.column = {"vmid={vmid}", "{ring}", "hub={hub} pd={address:x}"},
	},
	{
		.name = "VM_BO_MAP",
		.says = "a buffer gets an address for the GPU",
		.sources = {TRACEPOINT("amdgpu:amdgpu_vm_bo_map", MODULE, MAPPING_FIELDS)},
		.counts = {{SERIES_MAPPED, VALUE_RANGE, "last", .first = "start"}},
		.column = {"{bo:x}", "[{#0:size}]", "start={start:x} flags={flags:x}"},
	},
	{
		.name = "VM_BO_UNMAP",
		.says = "a buffer loses an address for the GPU",
		.sources = {TRACEPOINT("amdgpu:amdgpu_vm_bo_unmap", MODULE, MAPPING_FIELDS)},
		.counts = {{SERIES_UNMAPPED, VALUE_RANGE, "last", .first = "start"}},
		.column = {"{bo:x}", "[{#0:size}]", "start={start:x} flags={flags:x}"},
	},
	{0},
};
// clang-format on

// clang-format off
static const struct monitor_object_row objects[] = {
	[OBJECT_BUFFER] = {.name = "buffer", .left = "buffers that were not freed",
		.by_stack = true, .freed_by = "BO_FREE", .list = "placement"},
	[OBJECT_SUBMISSION] = {.name = "submission", .left = "submissions that did not run"},
	[OBJECT_JOB] = {.name = "job", .left = "jobs that did not end"},
	{0},
};
// clang-format on

#define BYTES	 .unit = UNIT_BYTES, .by_process = true
#define TIMES	 .unit = UNIT_NANOSECONDS, .histogram = true, .by_process = true
#define BY_RING	 .label = {"ring"}
#define BY_PLACE .label = {"placement"}, .list = {"placement"}

static const struct monitor_series series[] = {
	[SERIES_CREATED] = {"buffers_created", "Buffers made by placement", BYTES, BY_PLACE,
		.metric = "buffers_created", .help = "Size of buffers that were made"},
	[SERIES_FREED] = {"buffers_freed", "Buffers freed, of those made meanwhile", BYTES,
		BY_PLACE, .metric = "buffers_freed",
		.help = "Size of buffers that were freed, of those made since the watch began"},
	[SERIES_MOVED] = {"buffers_moved", "Buffers moved between kinds of memory", BYTES,
		.label = {"from", "to"}, .list = {"placement", "placement"},
		.metric = "buffers_moved",
		.help = "Size of buffers that went from one kind of memory to another"},
	[SERIES_SUBMITTED] = {"submissions", "Submissions by ring", BY_RING, .by_process = true,
		.metric = "submissions", .help = "Submissions of commands"},
	[SERIES_LATENCY] = {"submit_latency", "Submission latency", TIMES, BY_RING,
		.metric = "submit_latency",
		.help = "Time between a submission and its being given to the hardware"},
	[SERIES_COMPLETION] = {"completion_time", "Time from submission to done", TIMES, BY_RING,
		.metric = "completion", .help = "Time between a submission and its being done"},
	[SERIES_RUN_TIME] = {"run_time", "Run time", TIMES, BY_RING, .busy = true,
		.metric = "submission_run",
		.help = "Time between a submission being given to the hardware and being done"},
	[SERIES_DONE] = {"jobs_done", "Jobs done, of all drivers", .metric = "jobs_done",
		.help = "Jobs of the kernel's scheduler that were done"},
	[SERIES_PIPE_SYNCS] = {"pipe_syncs", "Waits for earlier commands of the ring", BY_RING,
		.metric = "pipe_syncs",
		.help = "Times that commands had to wait for earlier ones of their ring"},
	[SERIES_INTERRUPTS] = {"interrupts", "Interrupts by source", .label = {"client", "source"},
		.metric = "interrupts",
		.help = "Interrupts by the client and source number that the GPU gives them"},
	[SERIES_FLUSHES] = {"vm_flushes", "Flushes of address translations by ring", BY_RING,
		.metric = "vm_flushes", .help = "Flushes of an address space's translations"},
	[SERIES_MAPPED] = {"bytes_mapped", "Bytes mapped for the GPU", BYTES, .metric = "mapped",
		.help = "Size of address ranges that buffers were mapped at"},
	[SERIES_UNMAPPED] = {"bytes_unmapped", "Bytes unmapped", BYTES, .metric = "unmapped",
		.help = "Size of address ranges that were unmapped"},
	{0},
};

/* TTM_PL_* of ttm_placement.h and AMDGPU_PL_* of amdgpu_ttm.h, Linux 5.10 to 7.2. */
static const struct monitor_name placements[] = {
	{0, "CPU"},
	{1, "GTT"},
	{2, "VRAM"},
	{3, "GDS"},
	{4, "GWS"},
	{5, "OA"},
	{6, "PREEMPT"},
	{7, "DOORBELL"},
	{8, "MMIO_REMAP"},
	{UINT32_MAX, "none"}, /* before the first placement, and after the last */
	{0, NULL},
};

static const struct monitor_list lists[] = {
	{.name = "placement", .names = placements},
	{0},
};

const struct monitor monitor_amdgpu = {
	.name = "amdgpu",
	.summary = "buffers, submissions, interrupts and address spaces of AMD GPUs",
	.ring = "ring",
	.column = {"ID/OBJECT", "RING/SIZE", "DETAILS"},
	.width = {20, 14},
	.events = events,
	.objects = objects,
	.series = series,
	.lists = lists,
	.drivers = MODULE,
	.note = "Bytes moved are those of buffers whose place changed; between CPU and GTT nothing "
		"need be copied. Before Linux 6.17 the end of a submission does not show in "
		"these events; `monitor drm` shows it.",
};
