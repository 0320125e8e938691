// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/xpuprof_amdgpu: events of amdgpu's, and its function that gives a buffer back, without the driver and its hardware.
 * The module is called as the driver is, so that one of them can be there at a time.
 */
#include <linux/module.h>
#define CREATE_TRACE_POINTS
#include "amdgpu_events.h"

struct ttm_buffer_object {
	u64 contents[4];
};

/* The place of `tbo` differs from kernel to kernel. */
struct amdgpu_bo {
	u64 others[7];
	struct ttm_buffer_object tbo;
};

/* What is called when a buffer goes. */
static by_name void amdgpu_bo_release_notify(struct ttm_buffer_object *bo)
{
	asm volatile("" : : "r"(bo));
}

static void release_notify(const struct line *line)
{
	amdgpu_bo_release_notify(&((struct amdgpu_bo *)line_number(line, "bo"))->tbo);
}

static const struct line_action actions[] = {
	{ "amdgpu_bo_create", trace_amdgpu_bo_create },
	{ "amdgpu_bo_move", trace_amdgpu_bo_move },
	{ "amdgpu_bo_list_set", trace_amdgpu_bo_list_set },
	{ "amdgpu_cs", trace_amdgpu_cs },
	{ "amdgpu_cs_ioctl", trace_amdgpu_cs_ioctl },
	{ "amdgpu_sched_run_job", trace_amdgpu_sched_run_job },
	{ "amdgpu_ib_pipe_sync", trace_amdgpu_ib_pipe_sync },
	{ "amdgpu_vm_flush", trace_amdgpu_vm_flush },
	{ "amdgpu_iv", trace_amdgpu_iv },
	{ "amdgpu_vm_bo_map", trace_amdgpu_vm_bo_map },
	{ "amdgpu_vm_bo_unmap", trace_amdgpu_vm_bo_unmap },
	{ "amdgpu_bo_release_notify", release_notify },
	{}
};

LINE_DEVICE_MODULE("xpuprof_amdgpu", actions, "events with the names and formats of amdgpu's");
