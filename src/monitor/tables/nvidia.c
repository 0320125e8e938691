// SPDX-License-Identifier: MIT
/*
 * nvidia: errors that NVIDIA's driver reports, and what programs ask of it.
 *
 * The driver reports errors by two tracepoints (nv-tracepoint.h of its source), in whatever thread
 * finds them; only the message may say which process one is about. It traces nothing else, so calls
 * into it are probed where the kernel has kprobes: the functions behind its device files in nv.c.
 * Their arguments are addresses in the kernel, of a file or of a mapping: the size of a mapping
 * does not follow from them, so it is not shown.
 *
 * Older drivers are called by way of nv-frontend.c, and nvidia_ioctl is the function behind that.
 */
#include "monitor/tables/table.h"
#include "monitor/tables/xid.h"

enum { OBJECT_OPEN, OBJECT_CLOSE, OBJECT_MMAP, OBJECT_IOCTL, OBJECT_POLL };

enum {
	SERIES_XID,
	SERIES_SXID,
	SERIES_OPENS,
	SERIES_OPEN_TIME,
	SERIES_CLOSES,
	SERIES_CLOSE_TIME,
	SERIES_MMAPS,
	SERIES_MMAP_TIME,
	SERIES_IOCTLS,
	SERIES_IOCTL_TIME,
	SERIES_POLLS,
	SERIES_POLL_TIME,
};

#define MODULE "nvidia"

#define ERROR_FIELDS                                                                               \
	TEXT_NEEDED("device", "dev"), NUMBER_NEEDED("code", "error_code"),                         \
		TEXT_NEEDED("message", "msg")

/* A call is known by its thread until it returns. */
#define CALL_EVENT(event, what, function, kind, series)                                            \
	{                                                                                          \
		.name = event, .says = what,                                                       \
		.sources = {FUNCTION(function, MODULE, THREAD("thread"))},                         \
		.acts = {{ACT_OPEN, kind, .key = {"thread"}}}, .counts = {{series, VALUE_ONE}},    \
		.column = {"{comm}:{pid}"},                                                        \
	}

#define RETURN_EVENT(event, what, function, kind, series, size)                                    \
	{                                                                                          \
		.name = event, .says = what, .quiet = true,                                        \
		.sources = {RETURN(function, MODULE, THREAD("thread"), RESULT("result", size))},   \
		.acts = {{ACT_CLOSE, kind, 1, .key = {"thread"}, .recurs = true}},                 \
		.counts = {{series, VALUE_DURATION, .act = 0}}, .above = 1,                        \
		.column = {"{comm}:{pid}", "", "result={result}[ took={#0:time}]"},                \
	}

static const struct monitor_event events[] = {
	{
		.name = "XID",
		.says = "the driver reports an error of a GPU",
		.sources = {TRACEPOINT("nvidia:nvidia_dev_xid", MODULE, ERROR_FIELDS)},
		.counts = {{SERIES_XID, VALUE_ONE, .label = {"device", "code"}}},
		.label = {"device", "code"},
		.process_text = "message",
		.column = {"{device}", "{code:xid}", "{message}"},
	},
	{
		.name = "SXID",
		.says = "the driver reports an error of an NVSwitch",
		.sources = {TRACEPOINT("nvswitch:nvswitch_dev_sxid", MODULE, ERROR_FIELDS)},
		.counts = {{SERIES_SXID, VALUE_ONE, .label = {"device", "code"}}},
		.label = {"device", "code"},
		.process_text = "message",
		.column = {"{device}", "{code:sxid}", "{message}"},
	},
	CALL_EVENT("OPEN", "a program opens a device", "nvidia_open", OBJECT_OPEN, SERIES_OPENS),
	RETURN_EVENT(
		"OPENED", "it is open, or not", "nvidia_open", OBJECT_OPEN, SERIES_OPEN_TIME, 4),
	CALL_EVENT(
		"CLOSE", "a program closes a device", "nvidia_close", OBJECT_CLOSE, SERIES_CLOSES),
	RETURN_EVENT("CLOSED", "it is closed", "nvidia_close", OBJECT_CLOSE, SERIES_CLOSE_TIME, 4),
	CALL_EVENT("MMAP", "a program maps memory of a device", "nvidia_mmap", OBJECT_MMAP,
		SERIES_MMAPS),
	RETURN_EVENT(
		"MMAPPED", "it is mapped, or not", "nvidia_mmap", OBJECT_MMAP, SERIES_MMAP_TIME, 4),
	{
		.name = "IOCTL",
		.says = "a program asks for something",
		.quiet = true,
		.sources = {FUNCTION("nvidia_unlocked_ioctl", MODULE, THREAD("thread"),
				    ARGUMENT("number", 1, 1), ARGUMENT("command", 1, 4)),
			FUNCTION("nvidia_ioctl", MODULE, THREAD("thread"), ARGUMENT("number", 2, 1),
				ARGUMENT("command", 2, 4))},
		.acts = {{ACT_OPEN, OBJECT_IOCTL, .key = {"thread"}, .label = {"number"}}},
		.counts = {{SERIES_IOCTLS, VALUE_ONE, .label = {"number"}}},
		.label = {NULL, "number"},
		.column = {"{comm}:{pid}", "{number:ioctl}", "cmd={command:x}"},
	},
	{
		.name = "IOCTL_DONE",
		.says = "it has its answer",
		.quiet = true,
		.sources = {RETURN("nvidia_unlocked_ioctl", MODULE, THREAD("thread"),
				    RESULT("result", 8)),
			RETURN("nvidia_ioctl", MODULE, THREAD("thread"), RESULT("result", 4))},
		.acts = {{ACT_CLOSE, OBJECT_IOCTL, 1, .key = {"thread"}, .recurs = true}},
		.counts = {{SERIES_IOCTL_TIME, VALUE_DURATION, .act = 0, .label = {"@0.0"}}},
		.label = {NULL, "@0.0"},
		.above = 1,
		.column = {"{comm}:{pid}", "{other:ioctl}", "result={result}[ took={#0:time}]"},
	},
	{
		.name = "POLL",
		.says = "a program asks whether something happened",
		.quiet = true,
		.sources = {FUNCTION("nvidia_poll", MODULE, THREAD("thread"))},
		.acts = {{ACT_OPEN, OBJECT_POLL, .key = {"thread"}}},
		.counts = {{SERIES_POLLS, VALUE_ONE}},
		.column = {"{comm}:{pid}"},
	},
	RETURN_EVENT(
		"POLLED", "it has its answer", "nvidia_poll", OBJECT_POLL, SERIES_POLL_TIME, 4),
	{0},
};

static const struct monitor_object_row objects[] = {
	[OBJECT_OPEN] = {.name = "open"},
	[OBJECT_CLOSE] = {.name = "close"},
	[OBJECT_MMAP] = {.name = "mmap"},
	[OBJECT_IOCTL] = {.name = "ioctl", .left = "ioctls that did not return"},
	[OBJECT_POLL] = {.name = "poll"},
	{0},
};

#define TIMES	.unit = UNIT_NANOSECONDS, .histogram = true, .by_process = true
#define CALLS	.by_process = true
#define BY_CODE .label = {"device", "code"}
#define BY_CALL .label = {"ioctl"}, .list = {"ioctl"}

// clang-format off
static const struct monitor_series series[] = {
	[SERIES_XID] = {"xid", "Errors of GPUs", CALLS, BY_CODE, .list = {NULL, "xid"},
		.metric = "xid_errors", .help = "Errors of GPUs that the driver reported"},
	[SERIES_SXID] = {"sxid", "Errors of NVSwitches", BY_CODE, .list = {NULL, "sxid"},
		.metric = "sxid_errors", .help = "Errors of NVSwitches that the driver reported"},
	[SERIES_OPENS] = {"opens", "Devices opened", CALLS, .metric = "driver_opens",
		.help = "Times that a device was opened"},
	[SERIES_OPEN_TIME] = {"open_time", "Time to open a device", TIMES, .metric = "driver_open",
		.help = "Time that opening a device took"},
	[SERIES_CLOSES] = {"closes", "Devices closed", CALLS, .metric = "driver_closes",
		.help = "Times that a device was closed"},
	[SERIES_CLOSE_TIME] = {"close_time", "Time to close a device", TIMES, .metric = "driver_close",
		.help = "Time that closing a device took"},
	[SERIES_MMAPS] = {"mmaps", "Mappings made", CALLS, .metric = "driver_mmaps",
		.help = "Times that memory of a device was mapped"},
	[SERIES_MMAP_TIME] = {"mmap_time", "Time to map memory", TIMES, .metric = "driver_mmap",
		.help = "Time that mapping memory of a device took"},
	[SERIES_IOCTLS] = {"ioctls", "ioctls by number", CALLS, BY_CALL, .metric = "driver_ioctls",
		.help = "Requests of programs to the driver"},
	[SERIES_IOCTL_TIME] = {"ioctl_time", "Time of ioctls by number", TIMES, BY_CALL,
		.metric = "driver_ioctl", .help = "Time that requests of programs to the driver took"},
	[SERIES_POLLS] = {"polls", "Polls", CALLS, .metric = "driver_polls",
		.help = "Times that a program asked whether something happened"},
	[SERIES_POLL_TIME] = {"poll_time", "Time of polls", TIMES, .metric = "driver_poll",
		.help = "Time that asking whether something happened took"},
	{0},
};
// clang-format on

/* NV_ESC_* of nv_escape.h and nv-ioctl-numbers.h of the driver's source. */
static const struct monitor_name ioctls[] = {
	{0x27, "RM_ALLOC_MEMORY"},
	{0x28, "RM_ALLOC_OBJECT"},
	{0x29, "RM_FREE"},
	{0x2a, "RM_CONTROL"},
	{0x2b, "RM_ALLOC"},
	{0x32, "RM_CONFIG_GET"},
	{0x33, "RM_CONFIG_SET"},
	{0x34, "RM_DUP_OBJECT"},
	{0x35, "RM_SHARE"},
	{0x37, "RM_CONFIG_GET_EX"},
	{0x38, "RM_CONFIG_SET_EX"},
	{0x39, "RM_I2C_ACCESS"},
	{0x41, "RM_IDLE_CHANNELS"},
	{0x4a, "RM_VID_HEAP_CONTROL"},
	{0x4d, "RM_ACCESS_REGISTRY"},
	{0x4e, "RM_MAP_MEMORY"},
	{0x4f, "RM_UNMAP_MEMORY"},
	{0x52, "RM_GET_EVENT_DATA"},
	{0x54, "RM_ALLOC_CONTEXT_DMA2"},
	{0x56, "RM_ADD_VBLANK_CALLBACK"},
	{0x57, "RM_MAP_MEMORY_DMA"},
	{0x58, "RM_UNMAP_MEMORY_DMA"},
	{0x59, "RM_BIND_CONTEXT_DMA"},
	{0x5c, "RM_EXPORT_OBJECT_TO_FD"},
	{0x5d, "RM_IMPORT_OBJECT_FROM_FD"},
	{0x5e, "RM_UPDATE_DEVICE_MAPPING_INFO"},
	{0x5f, "RM_LOCKLESS_DIAGNOSTIC"},
	{200, "CARD_INFO"},
	{201, "REGISTER_FD"},
	{206, "ALLOC_OS_EVENT"},
	{207, "FREE_OS_EVENT"},
	{209, "STATUS_CODE"},
	{210, "CHECK_VERSION_STR"},
	{211, "IOCTL_XFER_CMD"},
	{212, "ATTACH_GPUS_TO_FD"},
	{213, "QUERY_DEVICE_INTR"},
	{214, "SYS_PARAMS"},
	{217, "EXPORT_TO_DMABUF_FD"},
	{218, "WAIT_OPEN_COMPLETE"},
	{0, NULL},
};

// clang-format off
static const struct monitor_list lists[] = {
	{.name = "xid", .names = xid_names, .numbered = true, .otherwise = XID_UNKNOWN},
	{.name = "sxid", .names = sxid_names, .ranges = sxid_ranges, .numbered = true,
		.otherwise = XID_UNKNOWN},
	{.name = "ioctl", .names = ioctls},
	{0},
};
// clang-format on

const struct monitor monitor_nvidia = {
	.name = "nvidia",
	.summary = "errors of NVIDIA GPUs and NVSwitches, and calls into the driver",
	.ring = "device",
	.column = {"DEVICE/PROCESS", "CODE/CALL", "DETAILS"},
	.width = {20, 42},
	.events = events,
	.objects = objects,
	.series = series,
	.lists = lists,
	.drivers = MODULE,
	.note = "The driver reports nothing but errors; calls into it are counted where the kernel "
		"has kprobes. How large a mapping is, and what is asked by RM_CONTROL and "
		"RM_ALLOC, "
		"is not recorded.",
};
