// SPDX-License-Identifier: MIT
/* What the enums of the data model are called: one table each. */
#include "profile/model.h"

#define NAME_OF(table, value)                                                                      \
	((value) < sizeof(table) / sizeof((table)[0]) && (table)[value] ? (table)[value]           \
									: "unknown")

static const char *const copy_names[COPY_KINDS] = {
	[COPY_UNKNOWN] = "unknown",
	[COPY_HTOD] = "HtoD",
	[COPY_DTOH] = "DtoH",
	[COPY_HTOA] = "HtoA",
	[COPY_ATOH] = "AtoH",
	[COPY_ATOA] = "AtoA",
	[COPY_ATOD] = "AtoD",
	[COPY_DTOA] = "DtoA",
	[COPY_DTOD] = "DtoD",
	[COPY_HTOH] = "HtoH",
	[COPY_PTOP] = "PtoP",
};

static const char *const memory_names[MEMORY_KINDS] = {
	[MEMORY_UNKNOWN] = "unknown",
	[MEMORY_PAGEABLE] = "pageable",
	[MEMORY_PINNED] = "pinned",
	[MEMORY_DEVICE] = "device",
	[MEMORY_ARRAY] = "array",
	[MEMORY_MANAGED] = "managed",
	[MEMORY_DEVICE_STATIC] = "device static",
	[MEMORY_MANAGED_STATIC] = "managed static",
};

static const char *const call_kind_names[CALL_KINDS] = {
	[CALL_LAUNCH] = "launch",
	[CALL_COPY] = "copy",
	[CALL_SET] = "set",
	[CALL_GRAPH] = "graph launch",
	[CALL_SYNC] = "wait",
	[CALL_NODE] = "graph node",
};

static const char *const join_texts[JOIN_REASONS] = {
	[JOIN_OK] = "joined",
	[JOIN_NO_CPU_SIDE] = "CPU stacks were not recorded",
	[JOIN_STACK_LOST] = "the launching call's stack was lost",
	[JOIN_NO_LAUNCH] = "no launching call was seen",
	[JOIN_LATE] = "it came long after the launching call",
};

static const char *const pending_texts[PENDING_REASONS] = {
	[PENDING_FAILED] = "failed",
	[PENDING_CAPTURED] = "captured into a graph",
	[PENDING_EMPTY] = "empty",
	[PENDING_UNFINISHED] = "not finished",
	[PENDING_NO_EXIT] = "call did not return",
	[PENDING_FORGOTTEN] = "waited too long",
	[PENDING_LOST] = "lost when CUPTI ended",
};

static const char *const driver_kind_names[] = {
	[DRIVER_MOMENT] = "moment",
	[DRIVER_QUEUED] = "queued",
	[DRIVER_RUN] = "run",
	[DRIVER_WAIT] = "wait",
	[DRIVER_OTHER] = "other",
};

static const char *const marker_kind_names[MARKER_KINDS] = {
	[MARKER_RANGE] = "range",
	[MARKER_MOMENT] = "moment",
};

static const char *const wait_reason_names[WAIT_REASONS] = {
	[WAIT_OTHER] = "other",
	[WAIT_RUN_QUEUE] = "run queue",
	[WAIT_LOCK] = "lock",
	[WAIT_SLEEP] = "sleep",
	[WAIT_IO] = "I/O",
	[WAIT_EVENTS] = "events",
	[WAIT_PROCESS] = "process",
	[WAIT_FAULT] = "page fault",
	[WAIT_GPU] = "GPU",
	[WAIT_STOPPED] = "stopped",
};

const char *profile_copy_name(unsigned int kind)
{
	return NAME_OF(copy_names, kind);
}

const char *profile_memory_name(unsigned int kind)
{
	return NAME_OF(memory_names, kind);
}

const char *profile_call_kind_name(unsigned int kind)
{
	return NAME_OF(call_kind_names, kind);
}

const char *profile_driver_kind_name(unsigned int kind)
{
	return NAME_OF(driver_kind_names, kind);
}

const char *profile_marker_kind_name(unsigned int kind)
{
	return NAME_OF(marker_kind_names, kind);
}

const char *profile_wait_reason_name(unsigned int reason)
{
	return NAME_OF(wait_reason_names, reason);
}

const char *profile_sample_note(unsigned int kind)
{
	static const char *const notes[SAMPLE_KINDS] = {
		[SAMPLE_SEEN] = "no stack",
		[SAMPLE_ABSENT] = "no sample",
		[SAMPLE_KERNEL] = "kernel, not sampled",
	};

	return NAME_OF(notes, kind);
}

const char *profile_join_text(unsigned int join)
{
	return NAME_OF(join_texts, join);
}

const char *profile_pending_text(unsigned int reason)
{
	return NAME_OF(pending_texts, reason);
}
