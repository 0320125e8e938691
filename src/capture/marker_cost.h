/* SPDX-License-Identifier: MIT */
/* The costs that capture_measure_markers measures, and whether the kernel has multi links. */
#pragma once

#include "capture/capture.h"

struct marker_costs {
	uint32_t ns[LAUNCH_MARKER_KINDS]; /* of a hit; 0: cannot be attached or was not tried */
	enum launch_marker best;	  /* LAUNCH_MARKER_NONE: no probe works */
	bool multi;			  /* the kernel has multi links (uprobe.h) */
};

struct marker_costs marker_costs_measure(void);
