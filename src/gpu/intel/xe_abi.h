/* SPDX-License-Identifier: MIT */
/*
 * What we use of the interface of Linux's xe driver (drm/xe_drm.h, 6.15 and later), which few
 * systems have headers of. A test compares it with the real header where that is installed.
 */
#pragma once

#include <linux/ioctl.h>
#include <stdint.h>

enum {
	XE_QUERY_GTS = 3,
	XE_QUERY_EU_STALL = 10,
	XE_GT_MAIN = 0,
	XE_OBSERVE_EU_STALLS = 1, /* a type of observation */
	XE_OBSERVE_OPEN = 0,	  /* what is to be done */
	XE_SET_PROPERTY = 0,	  /* an extension */
	XE_STALL_GT = 1,	  /* properties */
	XE_STALL_RATE = 2,
	XE_STALL_WAIT_FOR = 3,
};

struct xe_query {
	uint64_t extensions;
	uint32_t query;
	uint32_t size; /* 0: the kernel says how much there is */
	uint64_t data;
	uint64_t reserved[2];
};

struct xe_gt {
	uint16_t type, tile, id, pad[3];
	uint32_t reference_clock;
	uint64_t near, far;
	uint16_t major, minor, revision, pad2;
	uint64_t reserved[7];
};

struct xe_gts {
	uint32_t count, pad;
	struct xe_gt gts[];
};

struct xe_eu_stall {
	uint64_t extensions, capabilities;
	uint64_t record_bytes;
	uint64_t buffer_bytes;
	uint64_t reserved[5];
	uint64_t rate_count;
	uint64_t rates[]; /* cycles between samples */
};

struct xe_property {
	uint64_t next; /* address of another one */
	uint32_t name, pad;
	uint32_t property, pad2;
	uint64_t value;
	uint64_t reserved[2];
};

struct xe_observation {
	uint64_t extensions, type, what, properties;
};

/* struct drm_version */
struct xe_version {
	int32_t major, minor, patch;
	uint64_t name_size;
	char *name;
	uint64_t date_size;
	char *date;
	uint64_t text_size;
	char *text;
};

#define XE_IOCTL_VERSION     _IOWR('d', 0x00, struct xe_version)
#define XE_IOCTL_QUERY	     _IOWR('d', 0x40, struct xe_query)
#define XE_IOCTL_OBSERVATION _IOW('d', 0x4b, struct xe_observation)
#define XE_IOCTL_ENABLE	     _IO('i', 0x0)
