/* SPDX-License-Identifier: MIT */
/*
 * The render nodes of Linux's xe driver, and streams of stall samples of their GTs (xe_abi.h).
 *
 * The kernel lets one stream of a GT be open at a time, to whoever has CAP_PERFMON, or to all where
 * dev.xe.observation_paranoid is 0. A stream is read without waiting. What the kernel gives is
 * checked: sizes that do not fit are refused.
 *
 * Functions return 0 or -errno with error_text, unless noted otherwise. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gpu/intel/stall_records.h"

#define INTEL_NODES	   64 /* /dev/dri/renderD128 and so on */
#define INTEL_NODE_GTS_MAX 16
#define INTEL_VENDOR	   0x8086

struct intel_gt {
	uint16_t id, tile;
	uint16_t major, minor; /* of its architecture */
};

struct intel_node {
	int fd;
	unsigned int number; /* counted from 0: of renderD128 */
	/* place on the PCI bus: domain << 16 | bus << 8 | device << 3 | function; not known: 0 */
	uint64_t pci;
	bool simulated;				 /* as its driver says */
	struct intel_gt gts[INTEL_NODE_GTS_MAX]; /* the main ones */
	uint32_t gt_count;
};

/* -ENODEV: it is none of xe's, or not there. ret->pci is set even where it cannot be opened. */
int intel_node_open(unsigned int number, struct intel_node *ret);
void intel_node_close(struct intel_node *n);

/* The UUID of the node's device, as Intel's Level Zero driver makes it, as far as that is known
 * here. */
void intel_node_uuid(const struct intel_node *n, uint8_t ret[16]);

/* A stream: `fd` to be read and polled. */
struct intel_stream {
	int fd;
	const struct stall_layout *layout;
	uint64_t period_cycles;
};

/* A sample about every so many cycles, as near as the device can. -EACCES: the rights are missing;
 * -EBUSY: another program has the stream; -EOPNOTSUPP: the kernel or device cannot, or its records
 * are not known. */
int intel_stream_open(const struct intel_node *n, const struct intel_gt *gt, uint64_t period_cycles,
	struct intel_stream *ret);
