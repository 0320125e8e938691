// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/xpuprof_xe: events of xe's, and its function that frees a buffer, without the driver and its hardware. The
 * module is called as the driver is, so that one of them can be there at a time.
 */
#include <linux/module.h>

enum xe_engine_class { XE_NO_CLASS }; /* the events have a field of it */

#define CREATE_TRACE_POINTS
#include "xe_events.h"

struct ttm_buffer_object {
	u64 contents[4];
};

struct xe_bo {
	struct ttm_buffer_object ttm;
	u32 flags;
};

static by_name void xe_ttm_bo_destroy(struct ttm_buffer_object *ttm_bo)
{
	asm volatile("" : : "r"(ttm_bo));
}

static void destroy(const struct line *line)
{
	xe_ttm_bo_destroy(&((struct xe_bo *)line_number(line, "bo"))->ttm);
}

static const struct line_action actions[] = {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	{ "xe_bo_create", trace_xe_bo_create },
#endif
	{ "xe_bo_cpu_fault", trace_xe_bo_cpu_fault },
	{ "xe_bo_move", trace_xe_bo_move },
	{ "xe_ttm_bo_destroy", destroy },
	{ "xe_exec_queue_create", trace_xe_exec_queue_create },
	{ "xe_exec_queue_submit", trace_xe_exec_queue_submit },
	{ "xe_exec_queue_close", trace_xe_exec_queue_close },
	{ "xe_exec_queue_destroy", trace_xe_exec_queue_destroy },
	{ "xe_exec_queue_reset", trace_xe_exec_queue_reset },
	{ "xe_exec_queue_memory_cat_error", trace_xe_exec_queue_memory_cat_error },
	{ "xe_sched_job_create", trace_xe_sched_job_create },
	{ "xe_sched_job_exec", trace_xe_sched_job_exec },
	{ "xe_sched_job_run", trace_xe_sched_job_run },
	{ "xe_sched_job_free", trace_xe_sched_job_free },
	{ "xe_sched_job_timedout", trace_xe_sched_job_timedout },
	{ "xe_sched_job_ban", trace_xe_sched_job_ban },
	{ "xe_sched_job_set_error", trace_xe_sched_job_set_error },
	{ "xe_hw_fence_create", trace_xe_hw_fence_create },
	{ "xe_hw_fence_signal", trace_xe_hw_fence_signal },
	{ "xe_vma_bind", trace_xe_vma_bind },
	{ "xe_vma_unbind", trace_xe_vma_unbind },
	{ "xe_vma_evict", trace_xe_vma_evict },
	{ "xe_vma_invalidate", trace_xe_vma_invalidate },
	{ "xe_vma_pagefault", trace_xe_vma_pagefault },
	{ "xe_vma_userptr_invalidate", trace_xe_vma_userptr_invalidate },
	{ "xe_vma_pf_bind", trace_xe_vma_pf_bind },
	{ "xe_vma_rebind_worker", trace_xe_vma_rebind_worker },
	{ "xe_vma_rebind_exec", trace_xe_vma_rebind_exec },
	{ "xe_vm_create", trace_xe_vm_create },
	{ "xe_vm_free", trace_xe_vm_free },
	{ "xe_vm_kill", trace_xe_vm_kill },
	{ "xe_vm_ops_fail", trace_xe_vm_ops_fail },
	{ "xe_vm_rebind_worker_enter", trace_xe_vm_rebind_worker_enter },
	{ "xe_vm_rebind_worker_exit", trace_xe_vm_rebind_worker_exit },
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	{ "xe_tlb_inval_fence_send", trace_xe_tlb_inval_fence_send },
	{ "xe_tlb_inval_fence_signal", trace_xe_tlb_inval_fence_signal },
	{ "xe_tlb_inval_fence_timeout", trace_xe_tlb_inval_fence_timeout },
#else
	{ "xe_gt_tlb_invalidation_fence_send", trace_xe_gt_tlb_invalidation_fence_send },
	{ "xe_gt_tlb_invalidation_fence_signal", trace_xe_gt_tlb_invalidation_fence_signal },
	{ "xe_gt_tlb_invalidation_fence_timeout", trace_xe_gt_tlb_invalidation_fence_timeout },
#endif
	{ "xe_guc_ctb_h2g", trace_xe_guc_ctb_h2g },
	{ "xe_guc_ctb_g2h", trace_xe_guc_ctb_g2h },
	{ "xe_guc_ct_h2g_flow_control", trace_xe_guc_ct_h2g_flow_control },
	{ "xe_guc_ct_g2h_flow_control", trace_xe_guc_ct_g2h_flow_control },
	{ "xe_pm_runtime_suspend", trace_xe_pm_runtime_suspend },
	{ "xe_pm_runtime_resume", trace_xe_pm_runtime_resume },
	{}
};

LINE_DEVICE_MODULE("xpuprof_xe", actions, "events with the names and formats of xe's");
