// SPDX-License-Identifier: MIT
/*
 * vblank: displays, and the events that programs wait for to draw in time with them.
 *
 * What the kernel's three events say, by drivers/gpu/drm/drm_vblank.c (the same from 5.10 to
 * 7.2):
 *
 *	drm_vblank_event	    the kernel handles a vblank. `seq` counts vblanks also while nobody
 *				    asked for interrupts, so a number that is left out need not have
 *				    been missed by anybody. `time` is the time that the vblank is given,
 *				    which for drivers with a high precision is when scanning out begins
 *				    again: it may be still to come.
 *	drm_vblank_event_queued	    a program asks for an event at vblank `seq` (DRM_IOCTL_WAIT_VBLANK).
 *	drm_vblank_event_delivered  it is sent, and so are the events of page flips, which nobody
 *				    queued. `seq` is the vblank that it is sent at: later than the one
 *				    asked for when that was over already.
 *
 * Events that were waited for are delivered just before the drm_vblank_event of their vblank,
 * those of page flips before or after, as the driver does it.
 */
#include "monitor/tables/table.h"

enum { OBJECT_DISPLAY, OBJECT_REQUEST };

enum {
	SERIES_VBLANKS,
	SERIES_PERIOD,
	SERIES_SKIPPED,
	SERIES_BACK,
	SERIES_HANDLING,
	SERIES_QUEUED,
	SERIES_DELIVERED,
	SERIES_DELIVERY,
	SERIES_AFTER,
};

#define MODULE "drm"

static const struct monitor_event events[] = {
	{
		.name = "VBLANK",
		.says = "the kernel handles a vblank",
		.sources = {TRACEPOINT("drm:drm_vblank_event", MODULE,
			NUMBER_NEEDED("crtc", "crtc"), NUMBER_NEEDED("seq", "seq"),
			NUMBER("time", "time"), NUMBER("precise", "high_prec"))},
		.acts = {{ACT_ADVANCE, OBJECT_DISPLAY, .key = {"crtc"}, .value = "seq",
			.label = {"crtc"}}},
		.counts = {{SERIES_VBLANKS, VALUE_ONE, .label = {"crtc"}},
			{SERIES_PERIOD, VALUE_PERIOD, .act = 0, .label = {"crtc"}},
			{SERIES_SKIPPED, VALUE_MISSED, .act = 0, .label = {"crtc"}},
			{SERIES_BACK, VALUE_BACK, .act = 0, .label = {"crtc"}},
			{SERIES_HANDLING, VALUE_AGE, "time", .label = {"crtc"}}},
		.label = {"crtc"},
		.above = 5,
		.column = {"{crtc}", "{seq}",
			"high-prec={precise:yes true false}[ skipped={#2}][ delay={#4:time}]"},
	},
	{
		.name = "QUEUED",
		.says = "a program asks for an event at a vblank",
		.sources = {TRACEPOINT("drm:drm_vblank_event_queued", MODULE,
			NUMBER_NEEDED("file", "file"), NUMBER_NEEDED("crtc", "crtc"),
			NUMBER_NEEDED("seq", "seq"))},
		.acts = {{ACT_OPEN, OBJECT_REQUEST, .key = {"file", "seq"}, .value = "crtc"}},
		.counts = {{SERIES_QUEUED, VALUE_ONE, .label = {"crtc"}}},
		.label = {"crtc"},
		.column = {"{crtc}", "{seq}", "file={file:x}"},
	},
	{
		.name = "DELIVERED",
		.says = "an event is sent: asked for, or of a page flip",
		.sources = {TRACEPOINT("drm:drm_vblank_event_delivered", MODULE,
			NUMBER_NEEDED("file", "file"), NUMBER_NEEDED("crtc", "crtc"),
			NUMBER_NEEDED("seq", "seq"))},
		.acts = {{ACT_CLOSE, OBJECT_REQUEST, 1, .key = {"file", "seq"}, .value = "crtc",
				 .only_value = true, .optional = true},
			{ACT_LOOK, OBJECT_DISPLAY, .key = {"crtc"}, .value = "seq",
				.only_value = true}},
		.counts = {{SERIES_DELIVERY, VALUE_DURATION, .act = 0, .label = {"crtc"}},
			{SERIES_AFTER, VALUE_DURATION, .act = 1, .label = {"crtc"}},
			{SERIES_DELIVERED, VALUE_ONE, .label = {"crtc"}}},
		.label = {"crtc"},
		.process_act = 1,
		.above = 1,
		.column = {"{crtc}", "{seq}", "file={file:x}[ latency={#0:time}]"},
	},
	{0},
};

static const struct monitor_object_row objects[] = {
	[OBJECT_DISPLAY] = {.name = "display"},
	[OBJECT_REQUEST] = {.name = "request",
		.left = "events asked for that were not delivered at their vblank"},
	{0},
};

#define BY_CRTC .label = {"CRTC"}
#define TIMES	.unit = UNIT_NANOSECONDS, .histogram = true

// clang-format off
static const struct monitor_series series[] = {
	[SERIES_VBLANKS] = {"vblanks", "Vblanks by CRTC", BY_CRTC, .metric = "vblanks",
		.help = "Vblanks that the kernel handled"},
	[SERIES_PERIOD] = {"refresh_period", "Time from vblank to vblank", TIMES, BY_CRTC,
		.metric = "vblank_period",
		.help = "Time between vblanks, divided by how many there were", .rate = true},
	[SERIES_SKIPPED] = {"vblanks_skipped", "Vblanks without an event", BY_CRTC,
		.metric = "vblanks_skipped",
		.help = "Vblanks that were counted but not handled: missed, or nobody waited"},
	[SERIES_BACK] = {"vblanks_back", "Vblanks whose number was not above the last", BY_CRTC,
		.metric = "vblanks_back",
		.help = "Vblanks whose number was not above the last: displays of several GPUs"},
	[SERIES_HANDLING] = {"handling_delay", "Delay from a vblank to its handling", TIMES,
		BY_CRTC, .metric = "vblank_delay",
		.help = "Time from the time stamp of a vblank until the kernel handled it"},
	[SERIES_QUEUED] = {"events_queued", "Events asked for by CRTC", BY_CRTC,
		.by_process = true, .metric = "vblank_events_queued",
		.help = "Vblank events that programs asked for"},
	[SERIES_DELIVERED] = {"events_delivered", "Events delivered by CRTC", BY_CRTC,
		.metric = "vblank_events_delivered",
		.help = "Events of vblanks and page flips that were sent to programs"},
	[SERIES_DELIVERY] = {"delivery_latency", "Time from asking for an event to its delivery",
		TIMES, BY_CRTC, .by_process = true, .metric = "vblank_delivery",
		.help = "Time between a program asking for a vblank event and it being sent"},
	[SERIES_AFTER] = {"delivery_after_vblank", "Time from a vblank's handling to later events",
		TIMES, BY_CRTC, .metric = "vblank_delivery_after",
		.help = "Time between a vblank being handled and an event of it that came later"},
	{0},
};
// clang-format on

const struct monitor monitor_vblank = {
	.name = "vblank",
	.summary = "vblanks of displays, and events of them and of page flips",
	.ring = "CRTC",
	.column = {"CRTC", "SEQUENCE", "DETAILS"},
	.width = {6, 12},
	.events = events,
	.objects = objects,
	.series = series,
	.drivers = "amdgpu|i915|xe|nouveau|radeon|nvidia_drm|vkms",
	.note = "The events do not say which GPU a CRTC is of: with displays on two GPUs, CRTC 0 "
		"of "
		"both is counted as one, and numbers that are not above the last show it. A vblank "
		"without an event was missed, or nobody waited and its interrupt was off.",
};
