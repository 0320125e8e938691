/* SPDX-License-Identifier: MIT */
/* Which monitors suit a machine: those of the drivers that are loaded, and of the GPUs that are in
 * it. */
#pragma once

#include "base/buf.h"
#include "monitor/kernel/kernel.h"
#include "monitor/monitor.h"

/*
 * Whether a monitor is one for this machine. `ret_why` (emptied first; may be NULL) gets the reason
 * for either, one clause: "i915 drives 0000:00:02.0", "module i915 is loaded", "0000:00:02.0 is
 * Intel's, but has no driver", "none of its drivers is loaded".
 */
bool monitor_suits(const struct monitor *m, const struct monitor_kernel *k, struct buf *ret_why);
