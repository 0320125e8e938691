/* SPDX-License-Identifier: MIT */
/*
 * The launch marker: a function that does nothing, for the recorder to put a uprobe on. Its three
 * arguments are all the probe needs.
 *
 * What a uprobe costs depends on the instruction under it and on the kernel: 6.18 turns a probe on
 * a 5-byte nop into a call, 7.2 one on a 10-byte nop, older kernels are cheapest on a 1-byte nop
 * and single-step long ones. So there are three entry points, alike but for their first
 * instruction. The recorder measures which is the cheapest on this machine, and names it to the
 * library at connection.
 *
 * A child forked from a process that has fired a probed marker must never call it: 6.18 does not
 * copy the mapping that its call instruction leads to, and the child crashes (measured). The
 * library's copy in a forked child is dead and never does.
 */
#pragma once

#include <stdint.h>

enum launch_marker {
	LAUNCH_MARKER_NONE = 0,
	LAUNCH_MARKER_NOP1,
	LAUNCH_MARKER_NOP5,
	LAUNCH_MARKER_NOP10,
	LAUNCH_MARKER_KINDS
};

/* instance and correlation as in profile/gpu_events.h; kind: enum profile_call_kind. */
void xpuprof_launch_marker_nop1(uint64_t instance, uint64_t correlation, uint64_t kind);
void xpuprof_launch_marker_nop5(uint64_t instance, uint64_t correlation, uint64_t kind);
void xpuprof_launch_marker_nop10(uint64_t instance, uint64_t correlation, uint64_t kind);
