/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM i915

#if !defined(I915_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define I915_EVENTS_H
#include <linux/tracepoint.h>
#include "lines.h"
#include "stand_in.h"

struct drm_i915_gem_object;
struct i915_address_space;
struct i915_gem_context;

STAND_IN(i915_gem_object_create,
	__field(struct drm_i915_gem_object *, obj)
	__field(u64, size),
	NUMBER(obj); NUMBER(size);,
	"obj=%p, size=0x%llx", __entry->obj, __entry->size);

STAND_IN_CLASS(i915_gem_object,
	__field(struct drm_i915_gem_object *, obj),
	NUMBER(obj);,
	"obj=%p", __entry->obj);
STAND_IN_OF(i915_gem_object, i915_gem_object_destroy);
STAND_IN_OF(i915_gem_object, i915_gem_object_clflush);

STAND_IN(i915_vma_bind,
	__field(struct drm_i915_gem_object *, obj)
	__field(struct i915_address_space *, vm)
	__field(u64, offset)
	__field(u64, size)
	__field(unsigned, flags),
	NUMBER(obj); NUMBER(vm); NUMBER(offset); NUMBER(size); NUMBER(flags);,
	"obj=%p, offset=0x%016llx size=0x%llx%s vm=%p", __entry->obj, __entry->offset, __entry->size,
	__entry->flags & BIT_ULL(3) ? ", mappable" : "", __entry->vm);

STAND_IN(i915_vma_unbind,
	__field(struct drm_i915_gem_object *, obj)
	__field(struct i915_address_space *, vm)
	__field(u64, offset)
	__field(u64, size),
	NUMBER(obj); NUMBER(vm); NUMBER(offset); NUMBER(size);,
	"obj=%p, offset=0x%016llx size=0x%llx vm=%p", __entry->obj, __entry->offset, __entry->size, __entry->vm);

STAND_IN(i915_gem_shrink,
	__field(int, dev)
	__field(unsigned long, target)
	__field(unsigned, flags),
	NUMBER(dev); NUMBER(target); NUMBER(flags);,
	"dev=%d, target=%lu, flags=%x", __entry->dev, __entry->target, __entry->flags);

STAND_IN(i915_gem_evict,
	__field(u32, dev)
	__field(struct i915_address_space *, vm)
	__field(u64, size)
	__field(u64, align)
	__field(unsigned int, flags),
	NUMBER(dev); NUMBER(vm); NUMBER(size); NUMBER(align); NUMBER(flags);,
	"dev=%d, vm=%p, size=0x%llx, align=0x%llx %s", __entry->dev, __entry->vm, __entry->size, __entry->align,
	__entry->flags & BIT_ULL(3) ? ", mappable" : "");

STAND_IN(i915_gem_evict_node,
	__field(u32, dev)
	__field(struct i915_address_space *, vm)
	__field(u64, start)
	__field(u64, size)
	__field(unsigned long, color)
	__field(unsigned int, flags),
	NUMBER(dev); NUMBER(vm); NUMBER(start); NUMBER(size); NUMBER(color); NUMBER(flags);,
	"dev=%d, vm=%p, start=0x%llx size=0x%llx, color=0x%lx, flags=%x", __entry->dev, __entry->vm, __entry->start,
	__entry->size, __entry->color, __entry->flags);

STAND_IN(i915_gem_evict_vm,
	__field(u32, dev)
	__field(struct i915_address_space *, vm),
	NUMBER(dev); NUMBER(vm);,
	"dev=%d, vm=%p", __entry->dev, __entry->vm);

STAND_IN(i915_gem_object_pwrite,
	__field(struct drm_i915_gem_object *, obj)
	__field(u64, offset)
	__field(u64, len),
	NUMBER(obj); NUMBER(offset); NUMBER(len);,
	"obj=%p, offset=0x%llx, len=0x%llx", __entry->obj, __entry->offset, __entry->len);

STAND_IN(i915_gem_object_pread,
	__field(struct drm_i915_gem_object *, obj)
	__field(u64, offset)
	__field(u64, len),
	NUMBER(obj); NUMBER(offset); NUMBER(len);,
	"obj=%p, offset=0x%llx, len=0x%llx", __entry->obj, __entry->offset, __entry->len);

STAND_IN(i915_gem_object_fault,
	__field(struct drm_i915_gem_object *, obj)
	__field(u64, index)
	__field(bool, gtt)
	__field(bool, write),
	NUMBER(obj); NUMBER(index); NUMBER(gtt); NUMBER(write);,
	"obj=%p, %s index=%llu %s", __entry->obj, __entry->gtt ? "GTT" : "CPU", __entry->index,
	__entry->write ? ", writable" : "");

STAND_IN(i915_reg_rw,
	__field(u64, val)
	__field(u32, reg)
	__field(u16, write)
	__field(u16, len),
	NUMBER(val); NUMBER(reg); NUMBER(write); NUMBER(len);,
	"%s reg=0x%x, len=%d, val=(0x%x, 0x%x)", __entry->write ? "write" : "read", __entry->reg, __entry->len,
	(u32)(__entry->val & 0xffffffff), (u32)(__entry->val >> 32));

STAND_IN(i915_request_queue,
	__field(u32, dev)
	__field(u64, ctx)
	__field(u16, class)
	__field(u16, instance)
	__field(u32, seqno)
	__field(u32, flags),
	NUMBER(dev); NUMBER(ctx); NUMBER(class); NUMBER(instance); NUMBER(seqno); NUMBER(flags);,
	"dev=%u, engine=%u:%u, ctx=%llu, seqno=%u, flags=0x%x", __entry->dev, __entry->class, __entry->instance,
	__entry->ctx, __entry->seqno, __entry->flags);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
STAND_IN_CLASS(i915_request,
	__field(u32, dev)
	__field(u64, ctx)
	__field(u16, class)
	__field(u16, instance)
	__field(u32, seqno)
	__field(u32, tail),
	NUMBER(dev); NUMBER(ctx); NUMBER(class); NUMBER(instance); NUMBER(seqno); NUMBER(tail);,
	"dev=%u, engine=%u:%u, ctx=%llu, seqno=%u, tail=%u", __entry->dev, __entry->class, __entry->instance,
	__entry->ctx, __entry->seqno, __entry->tail);
#else
STAND_IN_CLASS(i915_request,
	__field(u32, dev)
	__field(u64, ctx)
	__field(u16, class)
	__field(u16, instance)
	__field(u32, seqno),
	NUMBER(dev); NUMBER(ctx); NUMBER(class); NUMBER(instance); NUMBER(seqno);,
	"dev=%u, engine=%u:%u, ctx=%llu, seqno=%u", __entry->dev, __entry->class, __entry->instance, __entry->ctx,
	__entry->seqno);
#endif
STAND_IN_OF(i915_request, i915_request_add);
STAND_IN_OF(i915_request, i915_request_retire);
STAND_IN_OF(i915_request, i915_request_wait_end);

STAND_IN(i915_request_wait_begin,
	__field(u32, dev)
	__field(u64, ctx)
	__field(u16, class)
	__field(u16, instance)
	__field(u32, seqno)
	__field(unsigned int, flags),
	NUMBER(dev); NUMBER(ctx); NUMBER(class); NUMBER(instance); NUMBER(seqno); NUMBER(flags);,
	"dev=%u, engine=%u:%u, ctx=%llu, seqno=%u, flags=0x%x", __entry->dev, __entry->class, __entry->instance,
	__entry->ctx, __entry->seqno, __entry->flags);

STAND_IN_CLASS(i915_context,
	__field(u32, dev)
	__field(struct i915_gem_context *, ctx)
	__field(struct i915_address_space *, vm),
	NUMBER(dev); NUMBER(ctx); NUMBER(vm);,
	"dev=%u, ctx=%p, ctx_vm=%p", __entry->dev, __entry->ctx, __entry->vm);
STAND_IN_OF(i915_context, i915_context_create);
STAND_IN_OF(i915_context, i915_context_free);

#endif
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE i915_events
#include <trace/define_trace.h>
