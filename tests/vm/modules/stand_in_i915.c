// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/xpuprof_i915: events of i915's, without the driver and its hardware. The module is called as the driver is, so
 * that one of them can be there at a time.
 */
#include <linux/module.h>
#define CREATE_TRACE_POINTS
#include "i915_events.h"

/* Parameters are the driver's own; `i915` is whatever a test wants it to be. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
static by_name unsigned long i915_gem_shrink(void *ww, const struct line *i915, unsigned long target,
					     unsigned long *scanned, unsigned int shrink)
#else
static by_name unsigned long i915_gem_shrink(const struct line *i915, unsigned long target, unsigned long *scanned,
					     unsigned int shrink)
#endif
{
	trace_i915_gem_shrink(i915);
	return line_number(i915, "freed");
}

static void shrink(const struct line *line)
{
	unsigned long scanned = 0;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
	i915_gem_shrink(NULL, line, line_number(line, "target"), &scanned, line_number(line, "flags"));
#else
	i915_gem_shrink(line, line_number(line, "target"), &scanned, line_number(line, "flags"));
#endif
}

static const struct line_action actions[] = {
	{ "i915_gem_object_create", trace_i915_gem_object_create },
	{ "i915_gem_object_destroy", trace_i915_gem_object_destroy },
	{ "i915_gem_object_clflush", trace_i915_gem_object_clflush },
	{ "i915_vma_bind", trace_i915_vma_bind },
	{ "i915_vma_unbind", trace_i915_vma_unbind },
	{ "i915_gem_shrink", shrink },
	{ "i915_gem_evict", trace_i915_gem_evict },
	{ "i915_gem_evict_node", trace_i915_gem_evict_node },
	{ "i915_gem_evict_vm", trace_i915_gem_evict_vm },
	{ "i915_gem_object_pwrite", trace_i915_gem_object_pwrite },
	{ "i915_gem_object_pread", trace_i915_gem_object_pread },
	{ "i915_gem_object_fault", trace_i915_gem_object_fault },
	{ "i915_reg_rw", trace_i915_reg_rw },
	{ "i915_request_queue", trace_i915_request_queue },
	{ "i915_request_add", trace_i915_request_add },
	{ "i915_request_retire", trace_i915_request_retire },
	{ "i915_request_wait_begin", trace_i915_request_wait_begin },
	{ "i915_request_wait_end", trace_i915_request_wait_end },
	{ "i915_context_create", trace_i915_context_create },
	{ "i915_context_free", trace_i915_context_free },
	{}
};

LINE_DEVICE_MODULE("xpuprof_i915", actions, "events with the names and formats of i915's");
