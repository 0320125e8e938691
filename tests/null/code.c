// SPDX-License-Identifier: MIT
/*
 * GPU code of a vendor that does not exist: an image begins with the text "NULLCODE", and is the
 * code of every function, of four instructions in four lines.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "code.h"
#include "tables.h"

#define INSTRUCTIONS 4
#define BYTES	     8

static int open_image(const void *data, size_t size, struct gpucode_image **ret)
{
	if (size != sizeof(null_image) || memcmp(data, null_image, size))
		return error_set(-ENOEXEC, "no null code");
	*ret = (struct gpucode_image *)(uintptr_t)data;
	return 0;
}

static void close_image(struct gpucode_image *image)
{
}

static bool find(const struct gpucode_image *image, const char *name, uint32_t index,
	struct gpucode_function *ret)
{
	*ret = (struct gpucode_function){
		.code = (const uint8_t *)image, .size = INSTRUCTIONS * BYTES};
	return true;
}

static size_t frames(struct gpucode_image *image, const struct gpucode_function *f, uint64_t offset,
	struct gpucode_frame ret[GPUCODE_FRAMES_MAX], bool *ret_called)
{
	*ret_called = false;
	ret[0] = (struct gpucode_frame){.function = "",
		.path = "/null/kernels.nul",
		.line = 10 + (uint32_t)(offset / BYTES)};
	return 1;
}

static void instruction_name(
	const struct gpucode_function *f, uint64_t offset, char *ret, size_t size)
{
	snprintf(ret, size, "%s", offset ? "NOTHING" : "BEGIN");
}

const struct gpucode_format null_format = {
	.name = "nullcode",
	.text_writer = "null",
	.instruction_bytes = BYTES,
	.open = open_image,
	.close = close_image,
	.find = find,
	.frames = frames,
	.instruction_name = instruction_name,
};
