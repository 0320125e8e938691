/* SPDX-License-Identifier: MIT */
/*
 * Frames as folded text (docs/formats.md): "name_[k]" for the OS kernel, "[GPU_Kernel]name" for GPU
 * work, "[GPU0_Kernel]name" if its device is shown, "name_[G]" and "name_[g]" for GPU source and
 * code, "comm-pid" for processes.
 */
#pragma once

#include "base/buf.h"
#include "view/tree/tree.h"

/* Frames of devices are not written themselves: they become part of the GPU frames above them. */
#define FOLDED_NO_DEVICE UINT32_MAX

/* The root frame of a tree in which a GPU was simulated. */
#define FOLDED_SIMULATED "[simulated GPU]"

void folded_frame(struct buf *b, const struct tree_frame *f, uint32_t device);
