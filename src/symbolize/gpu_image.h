/* SPDX-License-Identifier: MIT */
/*
 * An image of GPU code, as whoever describes it sees it: the image is parsed in the sandbox's
 * reader, which is asked for functions and for the source of instructions, or here
 * (name_files.h). Code is part of the image itself.
 *
 * An image that could not be read (it ended a process, or held it up) is not asked about again.
 *
 * One thread. What the image is in and the name_files outlive it.
 */
#pragma once

#include "gpucode/format.h"
#include "symbolize/name_files.h"

struct gpu_image;

/* By the name of its module, as gpucode_open: 0 or -errno. */
int gpu_image_open(struct gpu_image **ret, struct name_files *files, const char *module,
	const void *data, size_t size);
void gpu_image_close(struct gpu_image *i);
/* Nothing is asked for a while: what a process of ours has of it is released. */
void gpu_image_rest(struct gpu_image *i);
const struct gpucode_format *gpu_image_format(const struct gpu_image *i);
bool gpu_image_failed(const struct gpu_image *i);

struct gpu_image_function {
	const char *name; /* NULL: not known */
	uint32_t index;
	struct gpucode_function found; /* its code is NULL where there is no such function */
};

/* The list, which malloc() made, is the image's then and freed with it; its texts outlive it. 0 or
 * -errno, which is of the image, and then none of them is found. */
int gpu_image_find(struct gpu_image *i, struct gpu_image_function *functions, size_t count);
/* As `frames` of the format, for one of the list that was found; the list's order is fastest. Texts
 * are valid until the image is closed. */
size_t gpu_image_frames(struct gpu_image *i, const struct gpu_image_function *f, uint32_t offset,
	struct gpucode_frame ret[GPUCODE_FRAMES_MAX], bool *ret_called);
