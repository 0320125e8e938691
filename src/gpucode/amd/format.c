// SPDX-License-Identifier: MIT
#include "gpucode/amd/format.h"

#include <string.h>

#include "gpucode/amd/gcn.h"
#include "gpucode/amd/object.h"
#include "gpucode/amd/text.h"

_Static_assert(GPUCODE_FRAMES_MAX >= AMD_FRAMES_MAX && GPUCODE_NAME_MAX >= GCN_TEXT_MAX,
	"there is room for all");

static struct amd_object *object_of(const struct gpucode_image *image)
{
	return (struct amd_object *)image;
}

static int open_image(const void *data, size_t size, struct gpucode_image **ret)
{
	struct amd_object *o;
	int error = amd_object_open(data, size, &o);

	if (!error)
		*ret = (struct gpucode_image *)o;
	return error;
}

static void close_image(struct gpucode_image *image)
{
	amd_object_close(object_of(image));
}

/* The name is compared, too: it comes with the index from a program that is not trusted. */
static const struct amd_function *find_function(
	const struct amd_object *o, const char *name, uint32_t index)
{
	const struct amd_function *f = amd_object_function_of_symbol(o, index);

	if (!name || (f && !strcmp(f->name, name)))
		return f;
	return amd_object_function_named(o, name);
}

static bool find(const struct gpucode_image *image, const char *name, uint32_t index,
	struct gpucode_function *ret)
{
	const struct amd_object *o = object_of(image);
	const struct amd_function *f = find_function(o, name, index);

	if (!f)
		return false;
	*ret = (struct gpucode_function){.number = (uint32_t)(f - amd_object_function(o, 0)),
		.target = amd_object_target(o)};
	ret->code = amd_object_code(o, f, &ret->size);
	return true;
}

static size_t frames(struct gpucode_image *image, const struct gpucode_function *f, uint64_t offset,
	struct gpucode_frame ret[GPUCODE_FRAMES_MAX], bool *ret_called)
{
	struct amd_object *o = object_of(image);
	struct amd_frame found[AMD_FRAMES_MAX];
	size_t count = amd_object_frames(o, amd_object_function(o, f->number), offset, found);

	for (size_t n = 0; n < count; n++)
		ret[n] = (struct gpucode_frame){found[n].function, found[n].path, found[n].line};
	*ret_called = false;
	return count;
}

/* Code that ends within an instruction ends with as much of it as there is. */
static size_t instruction_size(const struct gpucode_function *f, uint64_t offset)
{
	size_t left = f->size - offset, size = gcn_size(f->target, f->code + offset, left);

	return size < left ? size : left;
}

static void instruction_name(
	const struct gpucode_function *f, uint64_t offset, char *ret, size_t size)
{
	(void)gcn_text(f->target, f->code + offset, f->size - offset, ret, size);
}

const struct gpucode_format amd_object_format = {
	.name = "amdgpu",
	.text_writer = "llvm-objdump",
	.instruction_bytes = GCN_BYTES_MIN,
	.instruction_size = instruction_size,
	.open = open_image,
	.close = close_image,
	.find = find,
	.frames = frames,
	.instruction_name = instruction_name,
	.text = amd_text,
};
