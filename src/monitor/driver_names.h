/* SPDX-License-Identifier: MIT */
/*
 * What events of drivers are called in a profile, and the rings they are shown on, by the monitor's
 * tables and the labels of an event. All: 0 or -errno with error_text.
 */
#pragma once

#include "monitor/monitor.h"
#include "profile/writer.h"

struct driver_names {
	const struct monitor *monitor;
	struct profile_writer *writer;
};

/* "gfx_0.0.0", "gfx_0.0.0 0000:03:00.0", "VRAM -> GTT". `s`: whose labels these are; NULL: the
 * event's own. */
int driver_names_ring(const struct driver_names *n, const struct monitor_series *s,
	const char label[MONITOR_LABELS][MONITOR_LABEL_BYTES], uint32_t *ret);
/* Sets the kind and the name of a stretch of a series. */
int driver_names_stretch(const struct driver_names *n, const struct monitor_series *s,
	const char label[MONITOR_LABELS][MONITOR_LABEL_BYTES], struct profile_driver *ret);
/* A moment has the name of its event, `s` as above. */
int driver_names_moment(const struct driver_names *n, const char *event,
	const struct monitor_series *s, const char label[MONITOR_LABELS][MONITOR_LABEL_BYTES],
	uint32_t *ret);
