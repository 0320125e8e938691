// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/xpuprof_drm: events of drm's (vertical blanks), without a screen. The module is called as the real one is, so
 * that one of them can be there at a time.
 */
#include <linux/module.h>
#define CREATE_TRACE_POINTS
#include "drm_events.h"

static const struct line_action actions[] = {
	{ "drm_vblank_event", trace_drm_vblank_event },
	{ "drm_vblank_event_queued", trace_drm_vblank_event_queued },
	{ "drm_vblank_event_delivered", trace_drm_vblank_event_delivered },
	{}
};

LINE_DEVICE_MODULE("xpuprof_drm", actions, "events with the names and formats of drm's");
