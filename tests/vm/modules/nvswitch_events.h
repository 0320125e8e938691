/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The driver's own: kernel-open/nvidia/nvswitch_event.h of NVIDIA's open-gpu-kernel-modules. What its `format` file says
 * (driver 580, Linux 6.18) is in tests/vm/formats.t.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM nvswitch

#if !defined(NVSWITCH_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define NVSWITCH_EVENTS_H
#include <linux/tracepoint.h>
#include "lines.h"
#include "stand_in.h"

STAND_IN(nvswitch_dev_sxid,
	STRING(dev)
	__field(u32, error_code)
	STRING(msg),
	TEXT(dev); NUMBER(error_code); TEXT(msg);,
	"SXid (PCI:%s): %u, %s", __get_str(dev), __entry->error_code, __get_str(msg));

#endif
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE nvswitch_events
#include <trace/define_trace.h>
