/* SPDX-License-Identifier: MIT */
/*
 * Kernels that the programs are for and that run without them: xpuprof is told their names, with
 * the reason. To learn those in machine code takes unpacking it, so that is only done where
 * somebody names kernels, and where all kernels are meant images are counted alone.
 */
#pragma once

#include "preload/nvidia/images.h"

/* Of an image that has machine code only, for GPUs of this capability. */
void unprobed_send_code(const void *image, unsigned int sm);
/* Of one with text that cannot have programs, as `reason` says. Where the text itself was not
 * found, its names are those of its machine code. */
void unprobed_send_unreadable(const struct image *i, unsigned int sm, const char *reason);
/* A kernel with that name. The reason may be NULL. */
void unprobed_send_name(const char *name, enum probe_fate why, const char *reason);
/* The same, if programs are for it. */
void unprobed_send_meant(const char *name, enum probe_fate why);
/* Of one whose text was found, and could not be loaded with programs. */
void unprobed_send(const struct image *i, enum probe_fate why);
