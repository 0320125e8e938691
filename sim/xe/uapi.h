/* SPDX-License-Identifier: MIT */
/*
 * What Intel's compute drivers ask of Linux's xe driver (drm/xe_drm.h), beside what xpuprof does.
 */
#pragma once

#include "gpu/intel/xe_abi.h"

enum {
	XE_QUERY_ENGINES = 0,
	XE_QUERY_MEMORY = 1,
	XE_QUERY_CONFIG = 2,
	XE_QUERY_HARDWARE = 4,
	XE_QUERY_TOPOLOGY = 5,
	XE_QUERY_CYCLES = 6,
	XE_QUERY_FIRMWARE = 7,
};

enum { XE_ENGINE_RENDER = 0, XE_ENGINE_COPY = 1, XE_ENGINE_COMPUTE = 4 };

enum { XE_MAP = 0, XE_UNMAP = 1, XE_MAP_PROGRAMS = 2, XE_UNMAP_ALL = 3, XE_PREFETCH = 4 };

enum { XE_FENCE = 2 }; /* the one kind of struct xe_sync here */

enum { XE_WAIT_UNTIL = 1 }; /* the timeout is a time */

enum { XE_ENGINES_MAX = 16, XE_REGIONS_MAX = 5 };

struct xe_instance {
	uint16_t class, number, gt, pad;
};

struct xe_engines {
	uint32_t count, pad;
	struct {
		struct xe_instance instance;
		uint64_t reserved[3];
	} engines[XE_ENGINES_MAX];
};

struct xe_regions {
	uint32_t count, pad;
	struct {
		uint16_t class, number;
		uint32_t page;
		uint64_t total, used, visible, visible_used;
		uint64_t reserved[6];
	} regions[XE_REGIONS_MAX];
};

struct xe_config {
	uint32_t count, pad;
	uint64_t device, flags, alignment, va_bits, priority;
};

struct xe_mask {
	uint16_t gt, type;
	uint32_t size;
	uint8_t bits[8];
};

struct xe_cycles {
	struct xe_instance instance;
	int32_t clock;
	uint32_t width;
	uint64_t cycles, cpu_ns, cpu_delta_ns;
};

struct xe_firmware {
	uint16_t type, pad;
	uint32_t branch, major, minor, patch, pad2;
	uint64_t reserved;
};

struct xe_buffer {
	uint64_t extensions, size;
	uint32_t placement, flags, vm, handle;
	uint16_t caching, pad[3];
	uint64_t reserved[2];
};

struct xe_buffer_offset {
	uint64_t extensions;
	uint32_t handle, flags;
	uint64_t offset;
	uint64_t reserved[2];
};

struct xe_buffer_close {
	uint32_t handle, pad;
};

struct xe_vm {
	uint64_t extensions;
	uint32_t flags, id;
	uint64_t reserved[2];
};

struct xe_by_id {
	uint32_t id, pad;
	uint64_t reserved[2];
};

struct xe_bind_op {
	uint64_t extensions;
	uint32_t handle;
	uint16_t caching, pad;
	uint64_t from; /* an offset in the buffer, or an address in the program */
	uint64_t size, address;
	uint32_t op, flags, prefetch, pad2;
	uint64_t reserved[3];
};

struct xe_sync {
	uint64_t extensions;
	uint32_t type, flags;
	uint64_t address, value;
	uint64_t reserved[2];
};

struct xe_bind {
	uint64_t extensions;
	uint32_t vm, queue, pad, count;
	union {
		struct xe_bind_op one;
		uint64_t many;
	};
	uint32_t pad2, sync_count;
	uint64_t syncs;
	uint64_t reserved[2];
};

struct xe_queue {
	uint64_t extensions;
	uint16_t width, placements;
	uint32_t vm, flags, id;
	uint64_t instances;
	uint64_t reserved[2];
};

struct xe_queue_property {
	uint64_t extensions;
	uint32_t queue, property;
	uint64_t value;
	uint64_t reserved[2];
};

struct xe_exec {
	uint64_t extensions;
	uint32_t queue, sync_count;
	uint64_t syncs, address;
	uint16_t batches, pad[3];
	uint64_t reserved[2];
};

struct xe_wait {
	uint64_t extensions, address;
	uint16_t op, flags;
	uint32_t pad;
	uint64_t value, mask;
	int64_t timeout_ns;
	uint32_t queue, pad2;
	uint64_t reserved[2];
};

#define XE_IOCTL_CLOSE		_IOW('d', 0x09, struct xe_buffer_close)
#define XE_IOCTL_BUFFER		_IOWR('d', 0x41, struct xe_buffer)
#define XE_IOCTL_BUFFER_OFFSET	_IOWR('d', 0x42, struct xe_buffer_offset)
#define XE_IOCTL_VM		_IOWR('d', 0x43, struct xe_vm)
#define XE_IOCTL_VM_DESTROY	_IOW('d', 0x44, struct xe_by_id)
#define XE_IOCTL_BIND		_IOW('d', 0x45, struct xe_bind)
#define XE_IOCTL_QUEUE		_IOWR('d', 0x46, struct xe_queue)
#define XE_IOCTL_QUEUE_DESTROY	_IOW('d', 0x47, struct xe_by_id)
#define XE_IOCTL_QUEUE_PROPERTY _IOWR('d', 0x48, struct xe_queue_property)
#define XE_IOCTL_EXEC		_IOW('d', 0x49, struct xe_exec)
#define XE_IOCTL_WAIT		_IOWR('d', 0x4a, struct xe_wait)
#define XE_IOCTL_DISABLE	_IO('i', 0x1)
