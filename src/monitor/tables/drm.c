// SPDX-License-Identifier: MIT
/*
 * drm: the scheduler of jobs that most drivers share (amdgpu, xe, nouveau, panfrost, v3d, ...),
 * and threads that wait for fences.
 *
 * A job is queued by its process, runs when the scheduler hands it to the hardware, and is done
 * when the hardware's fence is signalled; the last two come from kernel workers. A job that
 * depends on a fence waits before it runs.
 *
 * Before Linux 6.17 a job is known by the address of its "finished" fence, and where it waits by
 * its ring and a number that each ring counts for itself (gpu_scheduler_trace.h of 6.12). So
 * there it is kept twice: as a job, and as a ticket until it runs. From 6.17 on it is known by
 * context and number of that fence, which no two jobs of a machine share; the event also has
 * device and client.
 *
 * A dependency on a job of the same scheduler is waited for only until that job runs. Then 6.17
 * and later name its "scheduled" fence, whose context is one below that of the finished one
 * (drm_sched_fence_init in sched_fence.c). Older kernels report a dependency before they check
 * whether it has to be waited for, so they report more (drm_sched_entity_pop_job in
 * sched_entity.c).
 */
#include "monitor/tables/table.h"

enum { OBJECT_JOB, OBJECT_TICKET, OBJECT_WAIT, OBJECT_FENCE_WAIT };

/* Of a job. */
enum { STAGE_QUEUED, STAGE_RUNNING, STAGE_DONE };

enum {
	SERIES_QUEUED,
	SERIES_RUN,
	SERIES_QUEUE_DELAY,
	SERIES_RUN_TIME,
	SERIES_TOTAL_TIME,
	SERIES_DEPENDENCIES,
	SERIES_WAITS,
	SERIES_WAIT_TIME,
	SERIES_FENCE_WAIT,
};

#define MODULE "gpu_sched"
#define NEW    "Linux 6.17"

/* Of the events that name a ring: since Linux 6.17, and before. */
#define JOB_FIELDS                                                                                 \
	NUMBER_NEEDED("job", "fence_context"), NUMBER_NEEDED("job2", "fence_seqno"),               \
		TEXT_NEEDED("ring", "name"), TEXT("device", "dev"), NUMBER("client", "client_id"), \
		NUMBER("queued", "job_count"), NUMBER("hw", "hw_job_count")

#define OLD_JOB_FIELDS                                                                             \
	NUMBER_NEEDED("job", "fence"), NUMBER_NEEDED("id", "id"), TEXT_NEEDED("ring", "name"),     \
		NUMBER("queued", "job_count"), NUMBER("hw", "hw_job_count")

/* A job, and the fence that it depends on. `finished`: where that is a scheduled one. */
#define DEPENDENCY_FIELDS                                                                          \
	NUMBER_NEEDED("job", "fence_context"), NUMBER_NEEDED("job2", "fence_seqno"),               \
		NUMBER("waiter", "fence_context"), NUMBER("waiter2", "fence_seqno"),               \
		NUMBER_NEEDED("fence", "ctx"), NUMBER_NEEDED("fence2", "seqno"),                   \
		{"finished", "ctx", FIELD_NUMBER, .add = 1}, NUMBER("context", "ctx"),             \
		NUMBER("seqno", "seqno")

#define FENCE_FIELDS                                                                               \
	THREAD("thread"), TEXT_NEEDED("driver", "driver"), TEXT_NEEDED("timeline", "timeline"),    \
		NUMBER("context", "context"), NUMBER("seqno", "seqno")

/* A job's number where there is one, else its fence. */
#define JOB_ID "[{id}][{job}:{job2}]"

// clang-format off
static const struct monitor_event events[] = {
	{
		.name = "QUEUE",
		.says = "a process hands a job to a ring",
		.sources = {TRACEPOINT_SINCE(
				    NEW, "gpu_scheduler:drm_sched_job_queue", MODULE, JOB_FIELDS),
			TRACEPOINT("gpu_scheduler:drm_sched_job", MODULE, OLD_JOB_FIELDS)},
		.acts = {{ACT_OPEN, OBJECT_JOB, .key = {"job", "job2"}, .label = {"ring", "device"}},
			{ACT_OPEN, OBJECT_TICKET, .key = {"id", "ring"}}},
		.counts = {{SERIES_QUEUED, VALUE_ONE, .label = {"ring", "device"}}},
		.label = {"ring", "device"},
		.column = {JOB_ID, "{ring}", "{queued}", "hw={hw}[ client={client}]"},
	},
	{
		.name = "RUN",
		.says = "the scheduler gives a job to the hardware",
		.sources = {TRACEPOINT_SINCE(NEW, "gpu_scheduler:drm_sched_job_run", MODULE,
				    JOB_FIELDS, NUMBER("waiter", "fence_context"),
				    NUMBER("waiter2", "fence_seqno")),
			TRACEPOINT("gpu_scheduler:drm_run_job", MODULE, OLD_JOB_FIELDS,
				NUMBER("waiter", "id"), TEXT("waiter2", "name"))},
		.acts = {{ACT_MARK, OBJECT_JOB, STAGE_RUNNING, .key = {"job", "job2"}},
			{ACT_CLOSE, OBJECT_WAIT, 1, .key = {"waiter", "waiter2"}, .optional = true},
			{ACT_CLOSE, OBJECT_TICKET, 1, .key = {"id", "ring"}, .optional = true}},
		.counts = {{SERIES_QUEUE_DELAY, VALUE_DURATION, .act = 0, .from = STAGE_QUEUED,
				   .label = {"ring", "device"}},
			{SERIES_RUN, VALUE_ONE, .label = {"ring", "device"}},
			{SERIES_WAIT_TIME, VALUE_DURATION, .act = 1, .label = {"@1.0", "@1.1"}}},
		.label = {"ring", "device"},
		.process_act = 1,
		.above = 1,
		.column = {JOB_ID, "{ring}", "{queued}", "hw={hw}[ delay={#0:time}]"},
	},
	{
		.name = "COMPLETE",
		.says = "the hardware is done with a job",
		.sources = {TRACEPOINT_SINCE(NEW, "gpu_scheduler:drm_sched_job_done", MODULE,
				    NUMBER_NEEDED("job", "fence_context"),
				    NUMBER_NEEDED("job2", "fence_seqno")),
			TRACEPOINT("gpu_scheduler:drm_sched_process_job", MODULE,
				NUMBER_NEEDED("job", "fence"), NUMBER("fence", "fence"))},
		.acts = {{ACT_CLOSE, OBJECT_JOB, STAGE_DONE, .key = {"job", "job2"}}},
		.counts = {{SERIES_RUN_TIME, VALUE_DURATION, .act = 0, .from = STAGE_RUNNING,
				   .label = {"@0.0", "@0.1"}},
			{SERIES_TOTAL_TIME, VALUE_DURATION, .act = 0, .from = STAGE_QUEUED,
				.label = {"@0.0", "@0.1"}}},
		.label = {"@0.0", "@0.1"},
		.process_act = 1,
		.above = 1,
		.column = {"[{fence:x}][{job}:{job2}]", "{ring}", "",
			"[run={#0:time}][ total={#1:time}]"},
	},
	{
		.name = "WAIT_DEP",
		.says = "a job cannot run before another job, or a fence, is done",
		.sources = {TRACEPOINT_SINCE(NEW, "gpu_scheduler:drm_sched_job_unschedulable",
				    MODULE, DEPENDENCY_FIELDS),
			TRACEPOINT("gpu_scheduler:drm_sched_job_wait_dep", MODULE,
				NUMBER_NEEDED("id", "id"), TEXT_NEEDED("ring", "name"),
				NUMBER("waiter", "id"), TEXT("waiter2", "name"),
				NUMBER_NEEDED("fence", "fence"), NUMBER("context", "ctx"),
				NUMBER("seqno", "seqno"))},
		.acts = {{ACT_LOOK, OBJECT_JOB, .key = {"job", "job2"}},
			{ACT_LOOK, OBJECT_TICKET, .key = {"id", "ring"}},
			{ACT_LOOK, OBJECT_JOB, .key = {"fence", "fence2"}},
			{ACT_LOOK, OBJECT_JOB, .key = {"finished", "fence2"}},
			{ACT_REOPEN, OBJECT_WAIT, .key = {"waiter", "waiter2"},
				.label = {"ring|@0.0", "@2.0|@3.0"}}},
		.counts = {{SERIES_WAIT_TIME, VALUE_DURATION, .act = 4, .label = {"@4.0", "@4.1"}},
			{SERIES_WAITS, VALUE_ONE, .label = {"ring|@0.0", "@2.0|@3.0"}}},
		.label = {"ring|@0.0", "@2.0|@3.0"},
		.process_act = 1,
		.column = {JOB_ID, "{ring}", "", "ctx={context} seq={seqno}[ waits_for={other}]"},
	},
	{
		.name = "DEPENDS",
		.says = "what a queued job depends on, whether that is done or not",
		.quiet = true,
		.sources = {TRACEPOINT_SINCE(
			NEW, "gpu_scheduler:drm_sched_job_add_dep", MODULE, DEPENDENCY_FIELDS)},
		.acts = {{ACT_LOOK, OBJECT_JOB, .key = {"job", "job2"}},
			{ACT_LOOK, OBJECT_JOB, .key = {"fence", "fence2"}},
			{ACT_LOOK, OBJECT_JOB, .key = {"finished", "fence2"}}},
		.counts = {{SERIES_DEPENDENCIES, VALUE_ONE, .label = {"@0.0", "@1.0|@2.0"}}},
		.label = {"@0.0", "@1.0|@2.0"},
		.process_act = 1,
		.column = {"{job}:{job2}", "{ring}", "", "ctx={context} seq={seqno}[ waits_for={other}]"},
	},
	{
		.name = "FENCE_WAIT",
		.says = "a thread begins to wait for a fence",
		.quiet = true,
		.sources = {TRACEPOINT("dma_fence:dma_fence_wait_start", NULL, FENCE_FIELDS)},
		.acts = {{ACT_OPEN, OBJECT_FENCE_WAIT, .key = {"thread"},
			.label = {"driver", "timeline"}}},
		.label = {"timeline", "driver"},
		.column = {"{context}:{seqno}", "{timeline}", "", "driver={driver}"},
	},
	{
		.name = "FENCE_WAITED",
		.says = "a thread has waited for a fence",
		.quiet = true,
		.sources = {TRACEPOINT("dma_fence:dma_fence_wait_end", NULL, FENCE_FIELDS)},
		.acts = {{ACT_CLOSE, OBJECT_FENCE_WAIT, 1, .key = {"thread"}, .recurs = true}},
		.counts = {{SERIES_FENCE_WAIT, VALUE_DURATION, .act = 0, .label = {"@0.0", "@0.1"}}},
		.label = {"@0.1", "@0.0"},
		.above = 1,
		.column = {"{context}:{seqno}", "{ring}", "", "driver={other}[ waited={#0:time}]"},
	},
	{0},
};
// clang-format on

static const struct monitor_object_row objects[] = {
	[OBJECT_JOB] = {.name = "job", .left = "jobs that did not end"},
	[OBJECT_TICKET] = {.name = "ticket"},
	[OBJECT_WAIT] = {.name = "wait"},
	[OBJECT_FENCE_WAIT] = {.name = "wait for a fence"},
	{0},
};

#define BY_RING .by_process = true, .label = {"ring", "device"}
#define TIMES	.unit = UNIT_NANOSECONDS, .histogram = true

static const struct monitor_series series[] = {
	[SERIES_QUEUED] = {"jobs_queued", "Jobs queued by ring", BY_RING, .metric = "jobs_queued",
		.help = "Jobs that were handed to a ring"},
	[SERIES_RUN] = {"jobs_run", "Jobs run by ring", BY_RING, .metric = "jobs_run",
		.help = "Jobs that were given to the hardware"},
	[SERIES_QUEUE_DELAY] = {"queue_delay", "Delay between queue and run", TIMES, BY_RING,
		.metric = "job_queue_delay",
		.help = "Time between a job being queued and being given to the hardware"},
	[SERIES_RUN_TIME] = {"run_time", "Run time", TIMES, .busy = true, BY_RING,
		.metric = "job_run",
		.help = "Time between a job being given to the hardware and being done"},
	[SERIES_TOTAL_TIME] = {"total_time", "Time from queue to done", TIMES, BY_RING,
		.metric = "job_total", .help = "Time between a job being queued and being done"},
	[SERIES_DEPENDENCIES] = {"dependencies", "Dependencies of queued jobs",
		.label = {"ring", "waits_for"}, .metric = "job_dependencies",
		.help = "Fences that queued jobs depend on, whether done or not"},
	[SERIES_WAITS] = {"waits", "Waits by ring, and for which", .label = {"ring", "waits_for"},
		.metric = "job_waits", .help = "Times that a job could not run before a fence"},
	[SERIES_WAIT_TIME] = {"wait_time", "Time from a wait to the next wait or the run", TIMES,
		.by_process = true, .label = {"ring", "waits_for"}, .metric = "job_wait",
		.help = "Time between a job's wait for a fence and its next wait or its run"},
	[SERIES_FENCE_WAIT] = {"fence_wait", "Threads waiting for fences", TIMES,
		.by_process = true, .label = {"driver", "timeline"}, .metric = "fence_wait",
		.help = "Time that threads waited in the kernel for a fence"},
	{0},
};

const struct monitor monitor_drm = {
	.name = "drm",
	.summary = "jobs of every driver that uses the kernel's GPU scheduler",
	.ring = "ring",
	.column = {"JOB_ID", "RING", "QUEUED", "DETAILS"},
	.width = {16, 12, 8},
	.events = events,
	.objects = objects,
	.series = series,
	.drivers = MODULE,
	.note = "A ring is known by its name and its device. Before Linux 6.17 events do not name "
		"the "
		"device, so that busy time is that of all rings of a name; and a wait is counted "
		"for each fence that a job depends on, also for one that is done already.",
};
