// SPDX-License-Identifier: MIT
#include "gpucode/nvidia/format.h"

#include <string.h>

#include "gpucode/nvidia/cubin.h"
#include "gpucode/nvidia/sass.h"
#include "gpucode/nvidia/text.h"

_Static_assert(GPUCODE_FRAMES_MAX >= CUBIN_FRAMES_MAX && GPUCODE_NAME_MAX >= SASS_TEXT_MAX,
	"there is room for all");

static struct cubin *cubin_of(const struct gpucode_image *image)
{
	return (struct cubin *)image;
}

static int open_image(const void *data, size_t size, struct gpucode_image **ret)
{
	struct cubin *c;
	int error = cubin_open(data, size, &c);

	if (!error)
		*ret = (struct gpucode_image *)c;
	return error;
}

static void close_image(struct gpucode_image *image)
{
	cubin_close(cubin_of(image));
}

/* The name is compared, too: it comes with the index from a program that is not trusted. */
static const struct cubin_function *find_function(
	const struct cubin *c, const char *name, uint32_t index)
{
	const struct cubin_function *f = cubin_function_of_symbol(c, index);

	if (!name)
		return f;
	if (f && (!strcmp(f->name, name) || !strcmp(f->linkage_name, name)))
		return f;
	return cubin_function_named(c, name);
}

static bool find(const struct gpucode_image *image, const char *name, uint32_t index,
	struct gpucode_function *ret)
{
	const struct cubin *c = cubin_of(image);
	const struct cubin_function *f = find_function(c, name, index);

	if (!f)
		return false;
	*ret = (struct gpucode_function){
		.number = (uint32_t)(f - cubin_function(c, 0)), .target = cubin_sm(c)};
	ret->code = cubin_code(c, f, &ret->size);
	return true;
}

/* Whether the code there is that of a device function that stands inside this one: those that were
 * not inlined stand behind their kernel, inside its bounds, and samples in them count as the
 * kernel's (seen with CUPTI 13.0 on an H200). */
static bool is_called(const struct cubin *c, const struct cubin_function *f, uint64_t offset)
{
	const struct cubin_function *inner = cubin_function_at(c, f->section, f->offset + offset);

	return inner && inner->offset != f->offset;
}

static size_t frames(struct gpucode_image *image, const struct gpucode_function *f, uint64_t offset,
	struct gpucode_frame ret[GPUCODE_FRAMES_MAX], bool *ret_called)
{
	struct cubin_frame found[CUBIN_FRAMES_MAX];
	struct cubin *c = cubin_of(image);
	const struct cubin_function *function = cubin_function(c, f->number);
	enum cubin_line_kind kind = CUBIN_LINES_NONE;
	size_t count = cubin_frames(c, function, offset, found, &kind);

	/* The section that has the text of the PTX is in no profile. */
	for (size_t n = 0; n < count; n++)
		ret[n] = (struct gpucode_frame){.function = found[n].function,
			.path = kind == CUBIN_LINES_PTX ? "[PTX]" : found[n].path,
			.line = found[n].line};
	*ret_called = is_called(c, function, offset);
	return count;
}

static void instruction_name(
	const struct gpucode_function *f, uint64_t offset, char *ret, size_t size)
{
	(void)sass_text(f->target, f->code + offset, ret, size);
}

const struct gpucode_format cubin_format = {
	.name = "cubin",
	.text_writer = "nvdisasm",
	.instruction_bytes = SASS_INSTRUCTION_BYTES,
	.open = open_image,
	.close = close_image,
	.find = find,
	.frames = frames,
	.instruction_name = instruction_name,
	.text = cubin_text,
};
