/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM drm

#if !defined(DRM_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define DRM_EVENTS_H
#include <linux/ktime.h>
#include <linux/tracepoint.h>
#include "lines.h"
#include "stand_in.h"

struct drm_file;

STAND_IN(drm_vblank_event,
	__field(int, crtc)
	__field(unsigned int, seq)
	__field(ktime_t, time)
	__field(bool, high_prec),
	NUMBER(crtc); NUMBER(seq); NUMBER(time); NUMBER(high_prec);,
	"crtc=%d, seq=%u, time=%lld, high-prec=%s", __entry->crtc, __entry->seq, __entry->time,
	__entry->high_prec ? "true" : "false");

STAND_IN(drm_vblank_event_queued,
	__field(struct drm_file *, file)
	__field(int, crtc)
	__field(unsigned int, seq),
	NUMBER(file); NUMBER(crtc); NUMBER(seq);,
	"file=%p, crtc=%d, seq=%u", __entry->file, __entry->crtc, __entry->seq);

STAND_IN(drm_vblank_event_delivered,
	__field(struct drm_file *, file)
	__field(int, crtc)
	__field(unsigned int, seq),
	NUMBER(file); NUMBER(crtc); NUMBER(seq);,
	"file=%p, crtc=%d, seq=%u", __entry->file, __entry->crtc, __entry->seq);

#endif
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE drm_events
#include <trace/define_trace.h>
