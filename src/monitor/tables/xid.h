/* SPDX-License-Identifier: MIT */
/*
 * The numbers of errors that NVIDIA's drivers report, and what they mean: Xid of GPUs, SXid of
 * NVSwitches.
 */
#pragma once

#include "monitor/monitor.h"

#define XID_UNKNOWN "unknown to xpuprof"

/* For lists of a table. */
extern const struct monitor_name xid_names[], sxid_names[];
extern const struct monitor_range sxid_ranges[];
