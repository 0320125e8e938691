// SPDX-License-Identifier: MIT
/*
 * The commands of queues: each is described by its arguments, and the rest is the same for all. The
 * functions that the program calls are made of abi.h's list.
 *
 * To a driver "host" is memory of the program's, and "device" that of an object, wherever that is.
 */
#include "inject/opencl/command.h"

static uint32_t clamp(size_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void is_kernel(struct command *c, const char *name)
{
	c->work.kind = WIRE_WORK_KERNEL;
	c->work.name = name;
	for (int n = 0; n < 3; n++)
		c->work.grid[n] = 1;
}

static size_t volume(const size_t *region)
{
	return region ? region[0] * region[1] * region[2] : 0;
}

/* Of a part of an image. */
static size_t image_bytes(void *image, const size_t *region)
{
	size_t element = 0;

	if (!region || opencl.clGetImageInfo(
			       image, OPENCL_IMAGE_ELEMENT_SIZE, sizeof(element), &element, NULL))
		return 0;
	return volume(region) * element;
}

/* --- kernels */

static void launches(struct command *c, void *handle)
{
	struct named *kernel = kernels_find(handle);

	is_kernel(c, kernel->text);
	c->of_a_sort = &kernel->launches;
}

/* Without sizes of groups the driver chooses them, and does not say which. Then the grid is of
 * single items, and blocks have no size. */
static void describe_clEnqueueNDRangeKernel(struct command *c, void *kernel, uint32_t dimensions,
	const size_t *offset, const size_t *global, const size_t *local)
{
	launches(c, kernel);
	for (uint32_t n = 0; n < dimensions && n < 3; n++) {
		size_t items = global ? global[n] : 0, group = local ? local[n] : 0;

		c->work.block[n] = clamp(group);
		c->work.grid[n] = clamp(group ? (items + group - 1) / group : items);
	}
	for (uint32_t n = dimensions; local && n < 3; n++)
		c->work.block[n] = 1;
}

static void describe_clEnqueueTask(struct command *c, void *kernel)
{
	launches(c, kernel);
	for (int n = 0; n < 3; n++)
		c->work.block[n] = 1;
}

static void describe_clEnqueueNativeKernel(struct command *c, void (*function)(void *),
	void *arguments, size_t size, uint32_t count, void *const *buffers, const void **places)
{
	is_kernel(c, "[native kernel]");
}

/* --- buffers */

static void describe_clEnqueueReadBuffer(
	struct command *c, void *buffer, uint32_t blocking, size_t offset, size_t size, void *to)
{
	command_is_copy(c, COPY_TO_HOST, size);
	c->blocking = blocking;
}

static void describe_clEnqueueWriteBuffer(struct command *c, void *buffer, uint32_t blocking,
	size_t offset, size_t size, const void *from)
{
	command_is_copy(c, COPY_TO_DEVICE, size);
	c->blocking = blocking;
}

static void describe_clEnqueueCopyBuffer(
	struct command *c, void *from, void *to, size_t from_offset, size_t to_offset, size_t size)
{
	command_is_copy(c, COPY_ON_DEVICE, size);
}

static void describe_clEnqueueReadBufferRect(struct command *c, void *buffer, uint32_t blocking,
	const size_t *origin, const size_t *host_origin, const size_t *region, size_t row,
	size_t slice, size_t host_row, size_t host_slice, void *to)
{
	command_is_copy(c, COPY_TO_HOST, volume(region));
	c->blocking = blocking;
}

static void describe_clEnqueueWriteBufferRect(struct command *c, void *buffer, uint32_t blocking,
	const size_t *origin, const size_t *host_origin, const size_t *region, size_t row,
	size_t slice, size_t host_row, size_t host_slice, const void *from)
{
	command_is_copy(c, COPY_TO_DEVICE, volume(region));
	c->blocking = blocking;
}

static void describe_clEnqueueCopyBufferRect(struct command *c, void *from, void *to,
	const size_t *from_origin, const size_t *to_origin, const size_t *region, size_t from_row,
	size_t from_slice, size_t to_row, size_t to_slice)
{
	command_is_copy(c, COPY_ON_DEVICE, volume(region));
}

static void describe_clEnqueueFillBuffer(struct command *c, void *buffer, const void *pattern,
	size_t pattern_size, size_t offset, size_t size)
{
	command_is_set(c, size);
}

/* How much of it was changed, and has to go back, is not known. */
static void describe_clEnqueueUnmapMemObject(struct command *c, void *object, void *mapped)
{
	command_is_copy(c, COPY_TO_DEVICE, 0);
}

static void describe_clEnqueueMigrateMemObjects(
	struct command *c, uint32_t count, void *const *objects, uint64_t flags)
{
	size_t bytes = 0, one;

	for (uint32_t n = 0; objects && n < count; n++)
		if (!opencl.clGetMemObjectInfo(
			    objects[n], OPENCL_MEM_SIZE, sizeof(one), &one, NULL))
			bytes += one;
	command_is_copy(c, COPY_ANYWHERE, bytes);
}

/* --- images */

static void describe_clEnqueueReadImage(struct command *c, void *image, uint32_t blocking,
	const size_t *origin, const size_t *region, size_t row, size_t slice, void *to)
{
	command_is_copy(c, COPY_TO_HOST, image_bytes(image, region));
	c->blocking = blocking;
}

static void describe_clEnqueueWriteImage(struct command *c, void *image, uint32_t blocking,
	const size_t *origin, const size_t *region, size_t row, size_t slice, const void *from)
{
	command_is_copy(c, COPY_TO_DEVICE, image_bytes(image, region));
	c->blocking = blocking;
}

static void describe_clEnqueueCopyImage(struct command *c, void *image, void *to,
	const size_t *from_origin, const size_t *to_origin, const size_t *region)
{
	command_is_copy(c, COPY_ON_DEVICE, image_bytes(image, region));
}

static void describe_clEnqueueCopyImageToBuffer(struct command *c, void *image, void *to,
	const size_t *origin, const size_t *region, size_t offset)
{
	command_is_copy(c, COPY_ON_DEVICE, image_bytes(image, region));
}

static void describe_clEnqueueCopyBufferToImage(struct command *c, void *from, void *image,
	size_t offset, const size_t *origin, const size_t *region)
{
	command_is_copy(c, COPY_ON_DEVICE, image_bytes(image, region));
}

static void describe_clEnqueueFillImage(struct command *c, void *image, const void *color,
	const size_t *origin, const size_t *region)
{
	command_is_set(c, image_bytes(image, region));
}

/* --- shared virtual memory, which may be anywhere */

static void describe_clEnqueueSVMMemcpy(
	struct command *c, uint32_t blocking, void *to, const void *from, size_t size)
{
	command_is_copy(c, COPY_ANYWHERE, size);
	c->blocking = blocking;
}

static void describe_clEnqueueSVMMemFill(
	struct command *c, void *to, const void *pattern, size_t pattern_size, size_t size)
{
	command_is_set(c, size);
}

static void describe_clEnqueueSVMMap(
	struct command *c, uint32_t blocking, uint64_t flags, void *memory, size_t size)
{
	command_is_copy(c, COPY_TO_HOST, size);
	c->blocking = blocking;
}

static void describe_clEnqueueSVMUnmap(struct command *c, void *memory)
{
	command_is_copy(c, COPY_TO_DEVICE, 0);
}

/* A size of 0 stands for all of an allocation, whose size only the driver knows. */
static void describe_clEnqueueSVMMigrateMem(
	struct command *c, uint32_t count, const void **memory, const size_t *sizes, uint64_t flags)
{
	size_t bytes = 0;

	for (uint32_t n = 0; sizes && n < count; n++)
		bytes += sizes[n];
	command_is_copy(c, COPY_ANYWHERE, bytes);
}

/* --- maps, which return an address instead of a result */

static void *our_clEnqueueMapBuffer(void *queue, void *buffer, uint32_t blocking, uint64_t flags,
	size_t offset, size_t size, WAITS_AND_EVENT, int32_t *error)
{
	struct command c;
	int32_t result = OPENCL_SUCCESS;
	void *mapped;

	command_begin(&c, NUMBER_clEnqueueMapBuffer, WIRE_CALL_COPY, queue, event,
		__builtin_frame_address(0));
	if (c.is_followed) {
		command_is_copy(&c, COPY_TO_HOST, size);
		command_draw(&c);
	}
	c.blocking = blocking;
	mapped = opencl.clEnqueueMapBuffer(
		queue, buffer, blocking, flags, offset, size, wait_count, waits, c.event, &result);
	command_end(&c, result);
	if (error)
		*error = result;
	return mapped;
}

static void *our_clEnqueueMapImage(void *queue, void *image, uint32_t blocking, uint64_t flags,
	const size_t *origin, const size_t *region, size_t *row, size_t *slice, WAITS_AND_EVENT,
	int32_t *error)
{
	struct command c;
	int32_t result = OPENCL_SUCCESS;
	void *mapped;

	command_begin(&c, NUMBER_clEnqueueMapImage, WIRE_CALL_COPY, queue, event,
		__builtin_frame_address(0));
	if (c.is_followed) {
		command_is_copy(&c, COPY_TO_HOST, image_bytes(image, region));
		command_draw(&c);
	}
	c.blocking = blocking;
	mapped = opencl.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice,
		wait_count, waits, c.event, &result);
	command_end(&c, result);
	if (error)
		*error = result;
	return mapped;
}

/* --- the table */

#define COMMAND(name, parameters, arguments)                                                       \
	static int32_t our_##name(OPENCL_UNPACK parameters, WAITS_AND_EVENT)                       \
	{                                                                                          \
		struct command c;                                                                  \
                                                                                                   \
		command_begin(                                                                     \
			&c, NUMBER_##name, KIND_##name, queue, event, __builtin_frame_address(0)); \
		if (c.is_followed) {                                                               \
			describe_##name(&c, OPENCL_DETAILS arguments);                             \
			command_draw(&c);                                                          \
		}                                                                                  \
		return command_end(                                                                \
			&c, opencl.name(OPENCL_UNPACK arguments, wait_count, waits, c.event));     \
	}
OPENCL_COMMANDS(COMMAND)
#undef COMMAND

void commands_put(void **table, uint32_t entries)
{
#define COMMAND(name, parameters, arguments)                                                       \
	put_entry(table, entries, OPENCL_AT_##name, our_##name);
	OPENCL_COMMANDS(COMMAND)
#undef COMMAND
	put_entry(table, entries, OPENCL_AT_clEnqueueMapBuffer, our_clEnqueueMapBuffer);
	put_entry(table, entries, OPENCL_AT_clEnqueueMapImage, our_clEnqueueMapImage);
}
