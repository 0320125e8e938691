/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The driver's own: kernel-open/nvidia/nv-tracepoint.h of NVIDIA's open-gpu-kernel-modules. What its `format` file says
 * (driver 580, Linux 6.18) is in tests/vm/formats.t.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM nvidia

#if !defined(NVIDIA_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define NVIDIA_EVENTS_H
#include <linux/tracepoint.h>
#include "lines.h"
#include "stand_in.h"

STAND_IN(nvidia_dev_xid,
	STRING(dev)
	__field(u32, error_code)
	STRING(msg),
	TEXT(dev); NUMBER(error_code); TEXT(msg);,
	"Xid (PCI:%s): %u, %s", __get_str(dev), __entry->error_code, __get_str(msg));

#endif
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE nvidia_events
#include <trace/define_trace.h>
