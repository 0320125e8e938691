/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM xe

#if !defined(XE_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define XE_EVENTS_H
#include <linux/tracepoint.h>
#include "lines.h"
#include "stand_in.h"

struct xe_bo;
struct xe_vm;
struct xe_vma;
struct xe_hw_fence;
struct xe_tlb_inval_fence;
struct xe_gt_tlb_invalidation_fence;

STAND_IN_CLASS(xe_bo,
	STRING(dev)
	__field(size_t, size)
	__field(u32, flags)
	__field(struct xe_vm *, vm),
	TEXT(dev); NUMBER(size); NUMBER(flags); NUMBER(vm);,
	"dev=%s, size=%zu, flags=0x%02x, vm=%p", __get_str(dev), __entry->size, __entry->flags, __entry->vm);
STAND_IN_OF(xe_bo, xe_bo_cpu_fault);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
STAND_IN_OF(xe_bo, xe_bo_create);
#endif

STAND_IN(xe_bo_move,
	__field(struct xe_bo *, bo)
	__field(size_t, size)
	STRING(new_placement_name)
	STRING(old_placement_name)
	STRING(device_id)
	__field(bool, move_lacks_source),
	NUMBER(bo); NUMBER(size); TEXT(new_placement_name); TEXT(old_placement_name); TEXT(device_id);
	NUMBER(move_lacks_source);,
	"move_lacks_source:%s, migrate object %p [size %zu] from %s to %s device_id:%s",
	__entry->move_lacks_source ? "yes" : "no", __entry->bo, __entry->size, __get_str(old_placement_name),
	__get_str(new_placement_name), __get_str(device_id));

STAND_IN_CLASS(xe_exec_queue,
	STRING(dev)
	__field(enum xe_engine_class, class)
	__field(u32, logical_mask)
	__field(u8, gt_id)
	__field(u16, width)
	__field(u16, guc_id)
	__field(u32, guc_state)
	__field(u32, flags),
	TEXT(dev); NUMBER(class); NUMBER(logical_mask); NUMBER(gt_id); NUMBER(width); NUMBER(guc_id);
	NUMBER(guc_state); NUMBER(flags);,
	"dev=%s, %d:0x%x, gt=%d, width=%d, guc_id=%d, guc_state=0x%x, flags=0x%x", __get_str(dev), __entry->class,
	__entry->logical_mask, __entry->gt_id, __entry->width, __entry->guc_id, __entry->guc_state, __entry->flags);
STAND_IN_OF(xe_exec_queue, xe_exec_queue_create);
STAND_IN_OF(xe_exec_queue, xe_exec_queue_submit);
STAND_IN_OF(xe_exec_queue, xe_exec_queue_close);
STAND_IN_OF(xe_exec_queue, xe_exec_queue_destroy);
STAND_IN_OF(xe_exec_queue, xe_exec_queue_reset);
STAND_IN_OF(xe_exec_queue, xe_exec_queue_memory_cat_error);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
STAND_IN_CLASS(xe_sched_job,
	STRING(dev)
	__field(u32, seqno)
	__field(u32, lrc_seqno)
	__field(u8, gt_id)
	__field(u16, guc_id)
	__field(u32, guc_state)
	__field(u32, flags)
	__field(int, error)
	__field(struct dma_fence *, fence)
	__field(u64, batch_addr),
	TEXT(dev); NUMBER(seqno); NUMBER(lrc_seqno); NUMBER(gt_id); NUMBER(guc_id); NUMBER(guc_state);
	NUMBER(flags); NUMBER(error); NUMBER(fence); NUMBER(batch_addr);,
	"dev=%s, fence=%p, seqno=%u, lrc_seqno=%u, gt=%u, guc_id=%d, batch_addr=0x%012llx, guc_state=0x%x, flags=0x%x, error=%d",
	__get_str(dev), __entry->fence, __entry->seqno, __entry->lrc_seqno, __entry->gt_id, __entry->guc_id,
	__entry->batch_addr, __entry->guc_state, __entry->flags, __entry->error);
#else
STAND_IN_CLASS(xe_sched_job,
	STRING(dev)
	__field(u32, seqno)
	__field(u32, lrc_seqno)
	__field(u16, guc_id)
	__field(u32, guc_state)
	__field(u32, flags)
	__field(int, error)
	__field(struct dma_fence *, fence)
	__field(u64, batch_addr),
	TEXT(dev); NUMBER(seqno); NUMBER(lrc_seqno); NUMBER(guc_id); NUMBER(guc_state); NUMBER(flags);
	NUMBER(error); NUMBER(fence); NUMBER(batch_addr);,
	"dev=%s, fence=%p, seqno=%u, lrc_seqno=%u, guc_id=%d, batch_addr=0x%012llx, guc_state=0x%x, flags=0x%x, error=%d",
	__get_str(dev), __entry->fence, __entry->seqno, __entry->lrc_seqno, __entry->guc_id, __entry->batch_addr,
	__entry->guc_state, __entry->flags, __entry->error);
#endif
STAND_IN_OF(xe_sched_job, xe_sched_job_create);
STAND_IN_OF(xe_sched_job, xe_sched_job_exec);
STAND_IN_OF(xe_sched_job, xe_sched_job_run);
STAND_IN_OF(xe_sched_job, xe_sched_job_free);
STAND_IN_OF(xe_sched_job, xe_sched_job_timedout);
STAND_IN_OF(xe_sched_job, xe_sched_job_ban);
STAND_IN_OF(xe_sched_job, xe_sched_job_set_error);

STAND_IN_CLASS(xe_hw_fence,
	STRING(dev)
	__field(u64, ctx)
	__field(u32, seqno)
	__field(struct xe_hw_fence *, fence),
	TEXT(dev); NUMBER(ctx); NUMBER(seqno); NUMBER(fence);,
	"dev=%s, ctx=0x%016llx, fence=%p, seqno=%u", __get_str(dev), __entry->ctx, __entry->fence, __entry->seqno);
STAND_IN_OF(xe_hw_fence, xe_hw_fence_create);
STAND_IN_OF(xe_hw_fence, xe_hw_fence_signal);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
STAND_IN_CLASS(xe_vma,
	STRING(dev)
	__field(struct xe_vma *, vma)
	__field(struct xe_vm *, vm)
	__field(u32, asid)
	__field(u64, start)
	__field(u64, end)
	__field(u64, ptr),
	TEXT(dev); NUMBER(vma); NUMBER(vm); NUMBER(asid); NUMBER(start); NUMBER(end); NUMBER(ptr);,
	"dev=%s, vma=%p, vm=%p, asid=0x%05x, start=0x%012llx, end=0x%012llx, userptr=0x%012llx", __get_str(dev),
	__entry->vma, __entry->vm, __entry->asid, __entry->start, __entry->end, __entry->ptr);

STAND_IN_CLASS(xe_vm,
	STRING(dev)
	__field(struct xe_vm *, vm)
	__field(u32, asid)
	__field(u32, flags),
	TEXT(dev); NUMBER(vm); NUMBER(asid); NUMBER(flags);,
	"dev=%s, vm=%p, asid=0x%05x, vm flags=0x%05x", __get_str(dev), __entry->vm, __entry->asid, __entry->flags);
#else
STAND_IN_CLASS(xe_vma,
	STRING(dev)
	__field(struct xe_vma *, vma)
	__field(u32, asid)
	__field(u64, start)
	__field(u64, end)
	__field(u64, ptr),
	TEXT(dev); NUMBER(vma); NUMBER(asid); NUMBER(start); NUMBER(end); NUMBER(ptr);,
	"dev=%s, vma=%p, asid=0x%05x, start=0x%012llx, end=0x%012llx, userptr=0x%012llx,", __get_str(dev),
	__entry->vma, __entry->asid, __entry->start, __entry->end, __entry->ptr);

STAND_IN_CLASS(xe_vm,
	STRING(dev)
	__field(struct xe_vm *, vm)
	__field(u32, asid),
	TEXT(dev); NUMBER(vm); NUMBER(asid);,
	"dev=%s, vm=%p, asid=0x%05x", __get_str(dev), __entry->vm, __entry->asid);
#endif
STAND_IN_OF(xe_vma, xe_vma_bind);
STAND_IN_OF(xe_vma, xe_vma_unbind);
STAND_IN_OF(xe_vma, xe_vma_evict);
STAND_IN_OF(xe_vma, xe_vma_invalidate);
STAND_IN_OF(xe_vma, xe_vma_pagefault);
STAND_IN_OF(xe_vma, xe_vma_userptr_invalidate);
STAND_IN_OF(xe_vma, xe_vma_pf_bind);
STAND_IN_OF(xe_vma, xe_vma_rebind_worker);
STAND_IN_OF(xe_vma, xe_vma_rebind_exec);
STAND_IN_OF(xe_vm, xe_vm_create);
STAND_IN_OF(xe_vm, xe_vm_free);
STAND_IN_OF(xe_vm, xe_vm_kill);
STAND_IN_OF(xe_vm, xe_vm_ops_fail);
STAND_IN_OF(xe_vm, xe_vm_rebind_worker_enter);
STAND_IN_OF(xe_vm, xe_vm_rebind_worker_exit);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define XE_TLB_FENCE struct xe_tlb_inval_fence *
#else
#define XE_TLB_FENCE struct xe_gt_tlb_invalidation_fence *
#endif
STAND_IN_CLASS(xe_tlb_fence,
	STRING(dev)
	__field(XE_TLB_FENCE, fence)
	__field(int, seqno),
	TEXT(dev); NUMBER(fence); NUMBER(seqno);,
	"dev=%s, fence=%p, seqno=%d", __get_str(dev), __entry->fence, __entry->seqno);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
STAND_IN_OF(xe_tlb_fence, xe_tlb_inval_fence_send);
STAND_IN_OF(xe_tlb_fence, xe_tlb_inval_fence_signal);
STAND_IN_OF(xe_tlb_fence, xe_tlb_inval_fence_timeout);
#else
STAND_IN_OF(xe_tlb_fence, xe_gt_tlb_invalidation_fence_send);
STAND_IN_OF(xe_tlb_fence, xe_gt_tlb_invalidation_fence_signal);
STAND_IN_OF(xe_tlb_fence, xe_gt_tlb_invalidation_fence_timeout);
#endif

#define GUC_MESSAGE_FIELDS \
	STRING(dev) \
	__field(u8, gt_id) \
	__field(u32, action) \
	__field(u32, len) \
	__field(u32, tail) \
	__field(u32, _head)
#define GUC_MESSAGE_VALUES \
	TEXT(dev); NUMBER(gt_id); NUMBER(action); NUMBER(len); NUMBER(tail); NUMBER(_head);

STAND_IN(xe_guc_ctb_h2g, GUC_MESSAGE_FIELDS, GUC_MESSAGE_VALUES,
	"H2G CTB: dev=%s, gt%d: action=0x%x, len=%d, tail=%d, head=%d\n", __get_str(dev), __entry->gt_id,
	__entry->action, __entry->len, __entry->tail, __entry->_head);

STAND_IN(xe_guc_ctb_g2h, GUC_MESSAGE_FIELDS, GUC_MESSAGE_VALUES,
	"G2H CTB: dev=%s, gt%d: action=0x%x, len=%d, tail=%d, head=%d\n", __get_str(dev), __entry->gt_id,
	__entry->action, __entry->len, __entry->tail, __entry->_head);

#define GUC_ROOM_FIELDS \
	STRING(dev) \
	__field(u32, _head) \
	__field(u32, _tail) \
	__field(u32, size) \
	__field(u32, space) \
	__field(u32, len)
#define GUC_ROOM_VALUES \
	TEXT(dev); NUMBER(_head); NUMBER(_tail); NUMBER(size); NUMBER(space); NUMBER(len);

STAND_IN(xe_guc_ct_h2g_flow_control, GUC_ROOM_FIELDS, GUC_ROOM_VALUES,
	"h2g flow control: dev=%s, head=%u, tail=%u, size=%u, space=%u, len=%u", __get_str(dev), __entry->_head,
	__entry->_tail, __entry->size, __entry->space, __entry->len);

STAND_IN(xe_guc_ct_g2h_flow_control, GUC_ROOM_FIELDS, GUC_ROOM_VALUES,
	"g2h flow control: dev=%s, head=%u, tail=%u, size=%u, space=%u, len=%u", __get_str(dev), __entry->_head,
	__entry->_tail, __entry->size, __entry->space, __entry->len);

STAND_IN_CLASS(xe_pm_runtime,
	STRING(dev)
	__field(void *, caller),
	TEXT(dev); NUMBER(caller);,
	"dev=%s caller_function=%pS", __get_str(dev), __entry->caller);
STAND_IN_OF(xe_pm_runtime, xe_pm_runtime_suspend);
STAND_IN_OF(xe_pm_runtime, xe_pm_runtime_resume);

#endif
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE xe_events
#include <trace/define_trace.h>
