/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM amdgpu

#if !defined(AMDGPU_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define AMDGPU_EVENTS_H
#include <linux/tracepoint.h>
#include "lines.h"
#include "stand_in.h"

struct amdgpu_bo;
struct amdgpu_bo_list;

STAND_IN(amdgpu_bo_create,
	__field(struct amdgpu_bo *, bo)
	__field(u32, pages)
	__field(u32, type)
	__field(u32, prefer)
	__field(u32, allow)
	__field(u32, visible),
	NUMBER(bo); NUMBER(pages); NUMBER(type); NUMBER(prefer); NUMBER(allow); NUMBER(visible);,
	"bo=%p, pages=%u, type=%d, preferred=%d, allowed=%d, visible=%d", __entry->bo, __entry->pages, __entry->type,
	__entry->prefer, __entry->allow, __entry->visible);

STAND_IN(amdgpu_bo_move,
	__field(struct amdgpu_bo *, bo)
	__field(u64, bo_size)
	__field(u32, new_placement)
	__field(u32, old_placement),
	NUMBER(bo); NUMBER(bo_size); NUMBER(new_placement); NUMBER(old_placement);,
	"bo=%p, from=%d, to=%d, size=%Ld", __entry->bo, __entry->old_placement, __entry->new_placement,
	__entry->bo_size);

STAND_IN(amdgpu_bo_list_set,
	__field(struct amdgpu_bo_list *, list)
	__field(struct amdgpu_bo *, bo)
	__field(u64, bo_size),
	NUMBER(list); NUMBER(bo); NUMBER(bo_size);,
	"list=%p, bo=%p, bo_size=%Ld", __entry->list, __entry->bo, __entry->bo_size);

STAND_IN(amdgpu_cs,
	__field(struct amdgpu_bo_list *, bo_list)
	__field(u32, ring)
	__field(u32, dw)
	__field(u32, fences),
	NUMBER(bo_list); NUMBER(ring); NUMBER(dw); NUMBER(fences);,
	"bo_list=%p, ring=%u, dw=%u, fences=%u", __entry->bo_list, __entry->ring, __entry->dw, __entry->fences);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
STAND_IN(amdgpu_cs_ioctl,
	STRING(timeline)
	__field(u64, context)
	__field(u64, seqno)
	__field(struct dma_fence *, fence)
	STRING(ring)
	__field(u32, num_ibs),
	TEXT(timeline); NUMBER(context); NUMBER(seqno); NUMBER(fence); TEXT(ring); NUMBER(num_ibs);,
	"timeline=%s, fence=%llu:%llu, ring_name=%s, num_ibs=%u", __get_str(timeline), __entry->context,
	__entry->seqno, __get_str(ring), __entry->num_ibs);

STAND_IN(amdgpu_sched_run_job,
	STRING(timeline)
	__field(u64, context)
	__field(u64, seqno)
	STRING(ring)
	__field(u32, num_ibs),
	TEXT(timeline); NUMBER(context); NUMBER(seqno); TEXT(ring); NUMBER(num_ibs);,
	"timeline=%s, fence=%llu:%llu, ring_name=%s, num_ibs=%u", __get_str(timeline), __entry->context,
	__entry->seqno, __get_str(ring), __entry->num_ibs);

STAND_IN(amdgpu_ib_pipe_sync,
	STRING(ring)
	__field(struct dma_fence *, fence)
	__field(u64, ctx)
	__field(u64, seqno),
	TEXT(ring); NUMBER(fence); NUMBER(ctx); NUMBER(seqno);,
	"job ring=%s need pipe sync to fence=%llu:%llu", __get_str(ring), __entry->ctx, __entry->seqno);
#else
STAND_IN(amdgpu_cs_ioctl,
	__field(uint64_t, sched_job_id)
	STRING(timeline)
	__field(unsigned int, context)
	__field(unsigned int, seqno)
	__field(struct dma_fence *, fence)
	STRING(ring)
	__field(u32, num_ibs),
	NUMBER(sched_job_id); TEXT(timeline); NUMBER(context); NUMBER(seqno); NUMBER(fence); TEXT(ring);
	NUMBER(num_ibs);,
	"sched_job=%llu, timeline=%s, context=%u, seqno=%u, ring_name=%s, num_ibs=%u", __entry->sched_job_id,
	__get_str(timeline), __entry->context, __entry->seqno, __get_str(ring), __entry->num_ibs);

STAND_IN(amdgpu_sched_run_job,
	__field(uint64_t, sched_job_id)
	STRING(timeline)
	__field(unsigned int, context)
	__field(unsigned int, seqno)
	STRING(ring)
	__field(u32, num_ibs),
	NUMBER(sched_job_id); TEXT(timeline); NUMBER(context); NUMBER(seqno); TEXT(ring); NUMBER(num_ibs);,
	"sched_job=%llu, timeline=%s, context=%u, seqno=%u, ring_name=%s, num_ibs=%u", __entry->sched_job_id,
	__get_str(timeline), __entry->context, __entry->seqno, __get_str(ring), __entry->num_ibs);

STAND_IN(amdgpu_ib_pipe_sync,
	STRING(ring)
	__field(uint64_t, id)
	__field(struct dma_fence *, fence)
	__field(uint64_t, ctx)
	__field(unsigned, seqno),
	TEXT(ring); NUMBER(id); NUMBER(fence); NUMBER(ctx); NUMBER(seqno);,
	"job ring=%s, id=%llu, need pipe sync to fence=%p, context=%llu, seq=%u", __get_str(ring), __entry->id,
	__entry->fence, __entry->ctx, __entry->seqno);
#endif

/* A blank more came between two of its words when the driver's header was tidied. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define VM_FLUSH_VALUES __get_str(ring), __entry->vmid, __entry->vm_hub, __entry->pd_addr
#else
#define VM_FLUSH_VALUES __get_str(ring), __entry->vmid, __entry->vm_hub,__entry->pd_addr
#endif
STAND_IN(amdgpu_vm_flush,
	STRING(ring)
	__field(u32, vmid)
	__field(u32, vm_hub)
	__field(u64, pd_addr),
	TEXT(ring); NUMBER(vmid); NUMBER(vm_hub); NUMBER(pd_addr);,
	"ring=%s, id=%u, hub=%u, pd_addr=%010Lx", VM_FLUSH_VALUES);

STAND_IN(amdgpu_iv,
	__field(unsigned, ih)
	__field(unsigned, client_id)
	__field(unsigned, src_id)
	__field(unsigned, ring_id)
	__field(unsigned, vmid)
	__field(unsigned, vmid_src)
	__field(uint64_t, timestamp)
	__field(unsigned, timestamp_src)
	__field(unsigned, pasid)
	__array(unsigned, src_data, 4),
	NUMBER(ih); NUMBER(client_id); NUMBER(src_id); NUMBER(ring_id); NUMBER(vmid); NUMBER(vmid_src);
	NUMBER(timestamp); NUMBER(timestamp_src); NUMBER(pasid);
	memset(__entry->src_data, 0, sizeof(__entry->src_data));,
	"ih:%u client_id:%u src_id:%u ring:%u vmid:%u timestamp: %llu pasid:%u src_data: %08x %08x %08x %08x",
	__entry->ih, __entry->client_id, __entry->src_id, __entry->ring_id, __entry->vmid, __entry->timestamp,
	__entry->pasid, __entry->src_data[0], __entry->src_data[1], __entry->src_data[2], __entry->src_data[3]);

#define VM_BO_FIELDS \
	__field(struct amdgpu_bo *, bo) \
	__field(long, start) \
	__field(long, last) \
	__field(u64, offset) \
	__field(u64, flags)

STAND_IN(amdgpu_vm_bo_map, VM_BO_FIELDS,
	NUMBER(bo); NUMBER(start); NUMBER(last); NUMBER(offset); NUMBER(flags);,
	"bo=%p, start=%lx, last=%lx, offset=%010llx, flags=%llx", __entry->bo, __entry->start, __entry->last,
	__entry->offset, __entry->flags);

STAND_IN(amdgpu_vm_bo_unmap, VM_BO_FIELDS,
	NUMBER(bo); NUMBER(start); NUMBER(last); NUMBER(offset); NUMBER(flags);,
	"bo=%p, start=%lx, last=%lx, offset=%010llx, flags=%llx", __entry->bo, __entry->start, __entry->last,
	__entry->offset, __entry->flags);

#endif
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE amdgpu_events
#include <trace/define_trace.h>
