// SPDX-License-Identifier: MIT
/*
 * i915: memory, requests and faults of Intel's GPUs before xe. It has a scheduler of its own, so
 * `monitor drm` does not know its jobs.
 *
 * A request is known by context and number of its fence (i915_trace.h). It is queued by its
 * process (i915_gem_execbuffer.c), and retired some time after it ended, when somebody looks.
 * When it is given to an engine, and back, is only traced by kernels built with
 * CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS; on engines that the GuC firmware schedules,
 * i915_request_in is when it is given to the firmware, and from Linux 6.1 on there is no
 * i915_request_out.
 *
 * The tracepoint i915_gem_shrink is in the function of that name, which returns how many pages it
 * got, or an error. A target of all ones means everything.
 */
#include "monitor/tables/table.h"

enum {
	OBJECT_BUFFER,
	OBJECT_SHRINK,
	OBJECT_REQUEST,
	OBJECT_PENDING,
	OBJECT_WAIT,
	OBJECT_CONTEXT,
};

/* Of a request. */
enum { STAGE_QUEUED, STAGE_RUNNING, STAGE_OUT, STAGE_RETIRED };

enum {
	SERIES_CREATED,
	SERIES_DESTROYED,
	SERIES_BOUND,
	SERIES_UNBOUND,
	SERIES_SHRINKS,
	SERIES_ASKED,
	SERIES_RECLAIMED,
	SERIES_RECLAIMED_OF,
	SERIES_SHRINK_TIME,
	SERIES_EVICTED_FOR,
	SERIES_EVICTED_NODES,
	SERIES_EVICTED_SPACES,
	SERIES_WRITTEN,
	SERIES_READ,
	SERIES_FAULTS,
	SERIES_QUEUED,
	SERIES_ADDED,
	SERIES_QUEUE_DELAY,
	SERIES_RUN_TIME,
	SERIES_RETIRE_TIME,
	SERIES_WAIT_TIME,
	SERIES_CONTEXTS,
};

#define MODULE	  "i915"
#define LOW_LEVEL "CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS"

#define REQUEST_FIELDS                                                                             \
	NUMBER_NEEDED("ctx", "ctx"), NUMBER_NEEDED("seqno", "seqno"),                              \
		NUMBER_NEEDED("class", "class"), NUMBER_NEEDED("instance", "instance")

// clang-format off
#define LOW_LEVEL_EVENT(event, ...)                                                                \
	{.kind = SOURCE_TRACEPOINT,                                                                \
		.name = event,                                                                     \
		.module = MODULE,                                                                  \
		.config = LOW_LEVEL,                                                               \
		.fields = {REQUEST_FIELDS, ##__VA_ARGS__}}
// clang-format on

#define REQUEST_ID "{ctx}:{seqno}"
#define ENGINE	   "{class:engine}{instance}"
#define ON_ENGINE  .label = {"class", "instance"}

// clang-format off
static const struct monitor_event events[] = {
	{
		.name = "GEM_CREATE",
		.says = "a buffer is made",
		.sources = {TRACEPOINT("i915:i915_gem_object_create", MODULE,
			NUMBER_NEEDED("obj", "obj"), NUMBER_NEEDED("size", "size"))},
		.acts = {{ACT_OPEN, OBJECT_BUFFER, .key = {"obj"}, .value = "size",
			.stacks = true}},
		.counts = {{SERIES_CREATED, VALUE_FIELD, "size"}},
		.column = {"{obj:x}", "{size:size}"},
	},
	{
		.name = "GEM_DESTROY",
		.says = "a buffer is freed",
		.sources = {TRACEPOINT("i915:i915_gem_object_destroy", MODULE,
			NUMBER_NEEDED("obj", "obj"))},
		/* Buffers of other devices and of a process's own memory come without a GEM_CREATE. */
		.acts = {{ACT_CLOSE, OBJECT_BUFFER, 1, .key = {"obj"}, .optional = true}},
		.counts = {{SERIES_DESTROYED, VALUE_KEPT, .act = 0}},
		.process_act = 1,
		.column = {"{obj:x}", "[{#0:size}]"},
	},
	{
		.name = "VMA_BIND",
		.says = "a buffer gets an address for the GPU",
		.sources = {TRACEPOINT("i915:i915_vma_bind", MODULE, NUMBER("obj", "obj"),
			NUMBER("vm", "vm"), NUMBER("offset", "offset"),
			NUMBER_NEEDED("size", "size"), NUMBER("flags", "flags"))},
		.counts = {{SERIES_BOUND, VALUE_FIELD, "size"}},
		.column = {"{obj:x}", "{size:size}", "offset={offset:x} flags={flags:x}"},
	},
	{
		.name = "VMA_UNBIND",
		.says = "a buffer loses an address for the GPU",
		.sources = {TRACEPOINT("i915:i915_vma_unbind", MODULE, NUMBER("obj", "obj"),
			NUMBER("vm", "vm"), NUMBER("offset", "offset"),
			NUMBER_NEEDED("size", "size"))},
		.counts = {{SERIES_UNBOUND, VALUE_FIELD, "size"}},
		.column = {"{obj:x}", "{size:size}", "offset={offset:x}"},
	},
	{
		.name = "SHRINK",
		.says = "memory is to be given back",
		.sources = {TRACEPOINT("i915:i915_gem_shrink", MODULE, THREAD("thread"),
			PAGES("target", "target"), NUMBER("pages", "target"),
			NUMBER("flags", "flags"), NUMBER("dev", "dev"))},
		.acts = {{ACT_OPEN, OBJECT_SHRINK, .key = {"thread"}, .value = "target"}},
		.counts = {{SERIES_ASKED, VALUE_FIELD, "target"},
			{SERIES_SHRINKS, VALUE_ONE, .label = {"flags"}}},
		.column = {"dev={dev}", "[{#0:size}]", "pages={pages:pages} flags={flags:x}"},
	},
	{
		.name = "SHRUNK",
		.says = "how much memory was given back",
		.sources = {RETURN("i915_gem_shrink", MODULE, THREAD("thread"),
			{"freed", .kind = FIELD_NUMBER, .bytes = 8, .is_signed = true,
				.shift = 12})},
		.acts = {{ACT_CLOSE, OBJECT_SHRINK, 1, .key = {"thread"}, .recurs = true}},
		.counts = {{SERIES_RECLAIMED, VALUE_FIELD, "freed"},
			{SERIES_RECLAIMED_OF, VALUE_PAIRED, "freed", .act = 0},
			{SERIES_SHRINK_TIME, VALUE_DURATION, .act = 0}},
		.above = 3,
		.column = {"", "[{#0:size}]", "[took={#2:time}]"},
	},
	{
		.name = "EVICT",
		.says = "buffers have to make room in an address space",
		.sources = {TRACEPOINT("i915:i915_gem_evict", MODULE, NUMBER("vm", "vm"),
			NUMBER_NEEDED("size", "size"), NUMBER("align", "align"),
			NUMBER("flags", "flags"))},
		.counts = {{SERIES_EVICTED_FOR, VALUE_FIELD, "size"}},
		.column = {"vm={vm:x}", "{size:size}", "align={align:x} flags={flags:x}"},
	},
	{
		.name = "EVICT_NODE",
		.says = "buffers have to make room at an address",
		.sources = {TRACEPOINT("i915:i915_gem_evict_node", MODULE, NUMBER("vm", "vm"),
			NUMBER("start", "start"), NUMBER_NEEDED("size", "size"),
			NUMBER("flags", "flags"))},
		.counts = {{SERIES_EVICTED_NODES, VALUE_FIELD, "size"}},
		.column = {"vm={vm:x}", "{size:size}", "start={start:x} flags={flags:x}"},
	},
	{
		.name = "EVICT_VM",
		.says = "an address space is emptied",
		.sources = {TRACEPOINT("i915:i915_gem_evict_vm", MODULE, NUMBER("vm", "vm"))},
		.counts = {{SERIES_EVICTED_SPACES, VALUE_ONE}},
		.column = {"vm={vm:x}"},
	},
	{
		.name = "PWRITE",
		.says = "a process writes into a buffer by a system call",
		.sources = {TRACEPOINT("i915:i915_gem_object_pwrite", MODULE, NUMBER("obj", "obj"),
			NUMBER("offset", "offset"), NUMBER_NEEDED("length", "len"))},
		.counts = {{SERIES_WRITTEN, VALUE_FIELD, "length"}},
		.column = {"{obj:x}", "{offset:x}", "len={length:size}"},
	},
	{
		.name = "PREAD",
		.says = "a process reads from a buffer by a system call",
		.sources = {TRACEPOINT("i915:i915_gem_object_pread", MODULE, NUMBER("obj", "obj"),
			NUMBER("offset", "offset"), NUMBER_NEEDED("length", "len"))},
		.counts = {{SERIES_READ, VALUE_FIELD, "length"}},
		.column = {"{obj:x}", "{offset:x}", "len={length:size}"},
	},
	{
		.name = "FAULT",
		.says = "a process touches a mapped buffer that is not there",
		.sources = {TRACEPOINT("i915:i915_gem_object_fault", MODULE, NUMBER("obj", "obj"),
			NUMBER("index", "index"), NUMBER_NEEDED("gtt", "gtt"),
			NUMBER_NEEDED("write", "write"))},
		.counts = {{SERIES_FAULTS, VALUE_ONE, .label = {"gtt", "write"}}},
		.column = {"{obj:x}", "page={index}", "{gtt:map} {write:access}"},
	},
	{
		.name = "QUEUE",
		.says = "a process queues a request",
		.sources = {TRACEPOINT("i915:i915_request_queue", MODULE, REQUEST_FIELDS,
			NUMBER("flags", "flags"))},
		.acts = {{ACT_OPEN, OBJECT_REQUEST, .key = {"ctx", "seqno"}, ON_ENGINE},
			{ACT_OPEN, OBJECT_PENDING, .key = {"ctx", "seqno"}}},
		.counts = {{SERIES_QUEUED, VALUE_ONE, ON_ENGINE}},
		ON_ENGINE,
		.column = {REQUEST_ID, ENGINE, "flags={flags:x}"},
	},
	{
		.name = "ADD",
		.says = "a request, also of the kernel's own, goes to its engine's queue",
		.quiet = true,
		.sources = {TRACEPOINT("i915:i915_request_add", MODULE, REQUEST_FIELDS)},
		.counts = {{SERIES_ADDED, VALUE_ONE, ON_ENGINE}},
		ON_ENGINE,
		.column = {REQUEST_ID, ENGINE},
	},
	{
		.name = "SUBMIT",
		.says = "all that a request depends on is done",
		.quiet = true,
		.sources = {LOW_LEVEL_EVENT("i915:i915_request_submit")},
		.acts = {{ACT_LOOK, OBJECT_REQUEST, .key = {"ctx", "seqno"}}},
		ON_ENGINE,
		.process_act = 1,
		.column = {REQUEST_ID, ENGINE},
	},
	{
		.name = "IN",
		.says = "a request is given to an engine, or to the GuC",
		.sources = {LOW_LEVEL_EVENT("i915:i915_request_in", NUMBER("port", "port"),
			NUMBER("priority", "prio"))},
		.acts = {{ACT_MARK, OBJECT_REQUEST, STAGE_RUNNING, .key = {"ctx", "seqno"},
				 .optional = true},
			{ACT_CLOSE, OBJECT_PENDING, 1, .key = {"ctx", "seqno"}, .optional = true}},
		.counts = {{SERIES_QUEUE_DELAY, VALUE_DURATION, .act = 1, ON_ENGINE}},
		ON_ENGINE,
		.process_act = 1,
		.above = 1,
		.column = {REQUEST_ID, ENGINE, "port={port} prio={priority}[ delay={#0:time}]"},
	},
	{
		.name = "OUT",
		.says = "an engine gives a request back, done or not",
		.sources = {LOW_LEVEL_EVENT("i915:i915_request_out", NUMBER("done", "completed"))},
		.acts = {{ACT_MARK, OBJECT_REQUEST, STAGE_OUT, .key = {"ctx", "seqno"},
			.optional = true}},
		.counts = {{SERIES_RUN_TIME, VALUE_DURATION, .act = 0, .from = STAGE_RUNNING,
			ON_ENGINE}},
		ON_ENGINE,
		.process_act = 1,
		.above = 1,
		.column = {REQUEST_ID, ENGINE, "{done:yes done preempted}[ run={#0:time}]"},
	},
	{
		.name = "RETIRE",
		.says = "a request is known to be done",
		.sources = {TRACEPOINT("i915:i915_request_retire", MODULE, REQUEST_FIELDS)},
		.acts = {{ACT_CLOSE, OBJECT_REQUEST, STAGE_RETIRED, .key = {"ctx", "seqno"},
				 .optional = true},
			{ACT_CLOSE, OBJECT_PENDING, 1, .key = {"ctx", "seqno"}, .optional = true}},
		.counts = {{SERIES_RETIRE_TIME, VALUE_DURATION, .act = 0, .from = STAGE_QUEUED,
			ON_ENGINE}},
		ON_ENGINE,
		.process_act = 1,
		.above = 1,
		.column = {REQUEST_ID, ENGINE, "[since_queue={#0:time}]"},
	},
	{
		.name = "WAIT",
		.says = "a thread begins to wait for a request",
		.quiet = true,
		.sources = {TRACEPOINT("i915:i915_request_wait_begin", MODULE, THREAD("thread"),
			REQUEST_FIELDS)},
		.acts = {{ACT_OPEN, OBJECT_WAIT, .key = {"thread"}}},
		ON_ENGINE,
		.column = {REQUEST_ID, ENGINE},
	},
	{
		.name = "WAITED",
		.says = "a thread has waited for a request",
		.quiet = true,
		.sources = {TRACEPOINT("i915:i915_request_wait_end", MODULE, THREAD("thread"),
			REQUEST_FIELDS)},
		.acts = {{ACT_CLOSE, OBJECT_WAIT, 1, .key = {"thread"}, .recurs = true}},
		.counts = {{SERIES_WAIT_TIME, VALUE_DURATION, .act = 0, ON_ENGINE}},
		ON_ENGINE,
		.above = 1,
		.column = {REQUEST_ID, ENGINE, "[waited={#0:time}]"},
	},
	{
		.name = "CTX_CREATE",
		.says = "a context is made",
		.quiet = true,
		.sources = {TRACEPOINT("i915:i915_context_create", MODULE,
			NUMBER_NEEDED("context", "ctx"), NUMBER("vm", "vm"))},
		.acts = {{ACT_OPEN, OBJECT_CONTEXT, .key = {"context"}}},
		.counts = {{SERIES_CONTEXTS, VALUE_ONE}},
		.column = {"{context:x}", "", "vm={vm:x}"},
	},
	{
		.name = "CTX_FREE",
		.says = "a context is freed",
		.quiet = true,
		.sources = {TRACEPOINT("i915:i915_context_free", MODULE,
			NUMBER_NEEDED("context", "ctx"), NUMBER("vm", "vm"))},
		.acts = {{ACT_CLOSE, OBJECT_CONTEXT, 1, .key = {"context"}}},
		.process_act = 1,
		.column = {"{context:x}", "", "vm={vm:x}"},
	},
	{0},
};
// clang-format on

// clang-format off
static const struct monitor_object_row objects[] = {
	[OBJECT_BUFFER] = {.name = "buffer", .left = "buffers that were not freed",
		.by_stack = true, .freed_by = "GEM_DESTROY"},
	[OBJECT_SHRINK] = {.name = "reclaim"},
	[OBJECT_REQUEST] = {.name = "request", .left = "requests that were not retired",
		.list = "engine"},
	[OBJECT_PENDING] = {.name = "queued request"},
	[OBJECT_WAIT] = {.name = "wait"},
	[OBJECT_CONTEXT] = {.name = "context", .left = "contexts that were not freed",
		.freed_by = "CTX_FREE"},
	{0},
};
// clang-format on

#define BYTES	  .unit = UNIT_BYTES, .by_process = true
#define TIMES	  .unit = UNIT_NANOSECONDS, .histogram = true, .by_process = true
#define BY_ENGINE .label = {"engine", "instance"}, .list = {"engine"}

// clang-format off
static const struct monitor_series series[] = {
	[SERIES_CREATED] = {"buffers_created", "Buffers made", BYTES, .histogram = true,
		.metric = "buffers_created", .help = "Size of buffers that were made"},
	[SERIES_DESTROYED] = {"buffers_freed", "Buffers freed, of those made meanwhile", BYTES,
		.metric = "buffers_freed",
		.help = "Size of buffers that were freed, of those made since the watch began"},
	[SERIES_BOUND] = {"bytes_bound", "Bytes bound to addresses for the GPU", BYTES,
		.metric = "bound", .help = "Size of buffers that were bound to an address"},
	[SERIES_UNBOUND] = {"bytes_unbound", "Bytes unbound", BYTES, .metric = "unbound",
		.help = "Size of buffers that lost their address"},
	[SERIES_SHRINKS] = {"shrinks", "Calls to give memory back by flags", .label = {"flags"},
		.by_process = true, .metric = "shrinks",
		.help = "Times that the driver was asked to give memory back"},
	[SERIES_ASKED] = {"reclaim_asked", "Memory asked back", BYTES, .metric = "reclaim_asked",
		.help = "Memory that the driver was asked back, without calls for everything"},
	[SERIES_RECLAIMED] = {"reclaim_done", "Memory given back", BYTES,
		.metric = "reclaim_done", .help = "Memory that the driver gave back"},
	[SERIES_RECLAIMED_OF] = {"reclaim_done_of_asked", "Memory given back of what was asked",
		BYTES, .share_of = 1 + SERIES_ASKED, .share_title = "of what was asked back",
		.metric = "reclaim_done_of_asked",
		.help = "Memory given back, without calls that asked for everything"},
	[SERIES_SHRINK_TIME] = {"reclaim_time", "Time to give memory back", TIMES,
		.metric = "reclaim", .help = "Time that giving memory back took"},
	[SERIES_EVICTED_FOR] = {"evicted_for", "Room made in address spaces", BYTES,
		.metric = "evicted_for", .help = "Size of the room that others were evicted for"},
	[SERIES_EVICTED_NODES] = {"evicted_at", "Room made at given addresses", BYTES,
		.metric = "evicted_at",
		.help = "Size of the ranges of addresses that others were evicted from"},
	[SERIES_EVICTED_SPACES] = {"evicted_spaces", "Address spaces emptied",
		.by_process = true, .metric = "evicted_spaces",
		.help = "Address spaces that were emptied"},
	[SERIES_WRITTEN] = {"pwrite", "Bytes written by pwrite", BYTES, .histogram = true,
		.metric = "pwrite", .help = "Bytes that processes wrote by system calls"},
	[SERIES_READ] = {"pread", "Bytes read by pread", BYTES, .histogram = true,
		.metric = "pread", .help = "Bytes that processes read by system calls"},
	[SERIES_FAULTS] = {"faults", "Faults by mapping and access", .by_process = true,
		.label = {"map", "access"}, .list = {"map", "access"}, .metric = "faults",
		.help = "Faults of processes on mapped buffers"},
	[SERIES_QUEUED] = {"requests_queued", "Requests queued by engine", BY_ENGINE,
		.by_process = true, .metric = "requests_queued",
		.help = "Requests that processes queued"},
	[SERIES_ADDED] = {"requests_added", "Requests of processes and the kernel by engine",
		BY_ENGINE, .metric = "requests_added",
		.help = "Requests of processes and of the kernel's own"},
	[SERIES_QUEUE_DELAY] = {"queue_delay", "Delay between queue and engine", TIMES, BY_ENGINE,
		.metric = "request_queue_delay",
		.help = "Time between a request being queued and first being given to an engine"},
	[SERIES_RUN_TIME] = {"run_time", "Time on the engine", TIMES, BY_ENGINE, .busy = true,
		.metric = "request_run", .help = "Time that a request was with an engine"},
	[SERIES_RETIRE_TIME] = {"retire_time", "Time from queue to retirement", TIMES, BY_ENGINE,
		.metric = "request_retire",
		.help = "Time between a request being queued and being known to be done"},
	[SERIES_WAIT_TIME] = {"wait_time", "Threads waiting for requests", TIMES, BY_ENGINE,
		.metric = "request_wait", .help = "Time that threads waited for a request"},
	[SERIES_CONTEXTS] = {"contexts", "Contexts made", .by_process = true,
		.metric = "contexts", .help = "Contexts that were made"},
	{0},
};
// clang-format on

/* I915_ENGINE_CLASS_* of include/uapi/drm/i915_drm.h; I915_NO_UABI_CLASS of intel_engine_user.c. */
static const struct monitor_name engines[] = {
	{0, "render"},
	{1, "copy"},
	{2, "video"},
	{3, "enhance"},
	{4, "compute"},
	{UINT16_MAX, "other"},
	{0, NULL},
};

static const struct monitor_name maps[] = {{0, "CPU"}, {1, "GTT"}, {0, NULL}};
static const struct monitor_name accesses[] = {{0, "READ"}, {1, "WRITE"}, {0, NULL}};
static const struct monitor_name everything[] = {{UINT64_MAX, "all"}, {0, NULL}};

static const struct monitor_list lists[] = {
	{.name = "engine", .names = engines},
	{.name = "map", .names = maps},
	{.name = "access", .names = accesses},
	{.name = "pages", .names = everything},
	{0},
};

const struct monitor monitor_i915 = {
	.name = "i915",
	.summary = "memory, requests and faults of Intel GPUs",
	.ring = "engine class",
	.ring_list = "engine",
	.column = {"OBJECT", "SIZE/OFFSET", "DETAILS"},
	.width = {20, 14},
	.events = events,
	.objects = objects,
	.series = series,
	.lists = lists,
	.drivers = MODULE,
	.note = "How long a request ran is only traced by kernels built with " LOW_LEVEL
		"; retirement comes some time after the end.",
};
