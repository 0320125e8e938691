// SPDX-License-Identifier: MIT
#include "gpucode/intel/format.h"

#include "gpucode/intel/iga.h"
#include "gpucode/intel/isa.h"
#include "gpucode/intel/text.h"
#include "gpucode/intel/zebin.h"

_Static_assert(GPUCODE_NAME_MAX >= ISA_TEXT_MAX, "there is room for all");

static struct zebin *zebin_of(const struct gpucode_image *image)
{
	return (struct zebin *)image;
}

static int open_image(const void *data, size_t size, struct gpucode_image **ret)
{
	struct zebin *z;
	int error = zebin_open(data, size, &z);

	if (!error)
		*ret = (struct gpucode_image *)z;
	return error;
}

static void close_image(struct gpucode_image *image)
{
	zebin_close(zebin_of(image));
}

/* The driver gives names only, so the index means nothing. */
static bool find(const struct gpucode_image *image, const char *name, uint32_t index,
	struct gpucode_function *ret)
{
	const struct zebin *z = zebin_of(image);
	const struct zebin_function *f = name ? zebin_function_named(z, name) : NULL;

	if (!f)
		return false;
	*ret = (struct gpucode_function){
		.number = (uint32_t)(f - zebin_function(z, 0)), .target = zebin_target(z)};
	ret->code = zebin_code(z, f, &ret->size);
	return true;
}

/* Functions that are no kernels count, without a name. */
static bool kernel(const struct gpucode_image *image, size_t i, struct gpucode_kernel *ret)
{
	const struct zebin *z = zebin_of(image);
	const struct zebin_function *f = zebin_function(z, i);

	if (!f)
		return false;
	*ret = (struct gpucode_kernel){.name = f->kernel ? f->name : "",
		.address = zebin_section_address(z, f->section),
		.size = f->size};
	return true;
}

static size_t frames(struct gpucode_image *image, const struct gpucode_function *f, uint64_t offset,
	struct gpucode_frame ret[GPUCODE_FRAMES_MAX], bool *ret_called)
{
	struct zebin *z = zebin_of(image);
	struct zebin_frame found;

	if (!zebin_source(z, zebin_function(z, f->number), offset, &found, ret_called))
		return 0;
	ret[0] = (struct gpucode_frame){found.function, found.path, found.line};
	return 1;
}

/* Code that ends within an instruction ends with as much of it as there is. */
static size_t instruction_size(const struct gpucode_function *f, uint64_t offset)
{
	size_t left = f->size - offset;
	size_t size = left < ISA_COMPACTED_BYTES ? left : isa_size(f->code + offset);

	return size < left ? size : left;
}

static void instruction_name(
	const struct gpucode_function *f, uint64_t offset, char *ret, size_t size)
{
	(void)isa_text(f->target, f->code + offset, f->size - offset, ret, size);
}

const struct gpucode_format zebin_format = {
	.name = "zebin",
	.text_writer = IGA_NAME,
	.instruction_bytes = ISA_COMPACTED_BYTES,
	.instruction_size = instruction_size,
	.open = open_image,
	.close = close_image,
	.find = find,
	.kernel = kernel,
	.frames = frames,
	.instruction_name = instruction_name,
	.text = zebin_text,
	.writer = &iga_writer,
};
