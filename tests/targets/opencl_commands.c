// SPDX-License-Identifier: MIT
/*
 * A program that uses OpenCL: the first argument says what it does.
 *
 *	commands	every command of queues once, up to OpenCL 3.0, and those of extensions that the driver
 *			has; prints each that was accepted
 *	seen		prints all that it can see of its queues and events: properties, counts of references, errors
 */
#include "opencl_api.h"

static const char source[] =
	"__kernel void touch(__global float *a) { a[get_global_id(0)] += 1; }\n"
	"__kernel void task(__global float *a) { a[0] += 1; }\n";

static const size_t items = 256, group = 64;

static void accepted(const char *call, int32_t error)
{
	if (!error)
		printf("%s\n", call);
	else
		fprintf(stderr, "%s: error %d\n", call, (int)error);
}

static void native(void *unused)
{
}

struct image_format {
	uint32_t order, type;
};

struct image_desc {
	uint32_t type;
	size_t width, height, depth, array_size, row, slice;
	uint32_t levels, samples;
	void *object;
};

static void *make_image(void)
{
	const struct image_format format = {0x10b5, 0x10d2 + 8}; /* RGBA, unsigned 8 bits */
	const struct image_desc desc = {.type = 0x10f1, .width = 16, .height = 16};

	return clCreateImage(context, 1, &format, &desc, NULL, NULL);
}

static void use_buffers(void *queue)
{
	static char memory[BUFFER_BYTES];
	const size_t zero[3] = {0}, region[3] = {64, 4, 1};
	const int pattern = 7;
	int32_t error;
	void *mapped;

	accepted("clEnqueueFillBuffer",
		cl.clEnqueueFillBuffer(queue, buffer, &pattern, 4, 0, 4096, 0, NULL, NULL));
	accepted("clEnqueueWriteBuffer",
		cl.clEnqueueWriteBuffer(queue, buffer, 0, 0, 4096, memory, 0, NULL, NULL));
	accepted("clEnqueueReadBuffer",
		cl.clEnqueueReadBuffer(queue, buffer, 1, 0, 4096, memory, 0, NULL, NULL));
	accepted("clEnqueueCopyBuffer",
		cl.clEnqueueCopyBuffer(queue, buffer, other, 0, 0, 4096, 0, NULL, NULL));
	accepted("clEnqueueWriteBufferRect",
		cl.clEnqueueWriteBufferRect(
			queue, buffer, 0, zero, zero, region, 64, 0, 64, 0, memory, 0, NULL, NULL));
	accepted("clEnqueueReadBufferRect", cl.clEnqueueReadBufferRect(queue, buffer, 1, zero, zero,
						    region, 64, 0, 64, 0, memory, 0, NULL, NULL));
	accepted("clEnqueueCopyBufferRect", cl.clEnqueueCopyBufferRect(queue, buffer, other, zero,
						    zero, region, 64, 0, 64, 0, 0, NULL, NULL));
	accepted("clEnqueueMigrateMemObjects",
		cl.clEnqueueMigrateMemObjects(queue, 1, &buffer, 0, 0, NULL, NULL));
	mapped = cl.clEnqueueMapBuffer(queue, buffer, 1, 3, 0, 4096, 0, NULL, NULL, &error);
	accepted("clEnqueueMapBuffer", error);
	accepted("clEnqueueUnmapMemObject",
		cl.clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL));
}

static void use_images(void *queue)
{
	static char memory[16 * 16 * 4];
	const size_t zero[3] = {0}, region[3] = {16, 16, 1};
	const uint32_t color[4] = {1, 2, 3, 4};
	void *image = make_image(), *second = make_image();
	size_t row, slice;
	int32_t error;
	void *mapped;

	if (!image || !second)
		return;
	accepted("clEnqueueFillImage",
		cl.clEnqueueFillImage(queue, image, color, zero, region, 0, NULL, NULL));
	accepted("clEnqueueWriteImage",
		cl.clEnqueueWriteImage(queue, image, 0, zero, region, 0, 0, memory, 0, NULL, NULL));
	accepted("clEnqueueReadImage",
		cl.clEnqueueReadImage(queue, image, 1, zero, region, 0, 0, memory, 0, NULL, NULL));
	accepted("clEnqueueCopyImage",
		cl.clEnqueueCopyImage(queue, image, second, zero, zero, region, 0, NULL, NULL));
	accepted("clEnqueueCopyImageToBuffer", cl.clEnqueueCopyImageToBuffer(queue, image, buffer,
						       zero, region, 0, 0, NULL, NULL));
	accepted("clEnqueueCopyBufferToImage", cl.clEnqueueCopyBufferToImage(queue, buffer, image,
						       0, zero, region, 0, NULL, NULL));
	mapped = cl.clEnqueueMapImage(
		queue, image, 1, 1, zero, region, &row, &slice, 0, NULL, NULL, &error);
	accepted("clEnqueueMapImage", error);
	accepted("clEnqueueUnmapMemObject",
		cl.clEnqueueUnmapMemObject(queue, image, mapped, 0, NULL, NULL));
}

static void use_shared_memory(void *queue)
{
	char *memory = clSVMAlloc(context, 1, 4096, 0), *second = clSVMAlloc(context, 1, 4096, 0);
	const void *list[] = {memory};
	const size_t sizes[] = {4096};
	const int pattern = 7;

	if (!memory || !second)
		return;
	accepted("clEnqueueSVMMemFill",
		cl.clEnqueueSVMMemFill(queue, memory, &pattern, 4, 4096, 0, NULL, NULL));
	accepted("clEnqueueSVMMemcpy",
		cl.clEnqueueSVMMemcpy(queue, 1, second, memory, 4096, 0, NULL, NULL));
	accepted("clEnqueueSVMMap", cl.clEnqueueSVMMap(queue, 1, 3, memory, 4096, 0, NULL, NULL));
	accepted("clEnqueueSVMUnmap", cl.clEnqueueSVMUnmap(queue, memory, 0, NULL, NULL));
	accepted("clEnqueueSVMMigrateMem",
		cl.clEnqueueSVMMigrateMem(queue, 1, list, sizes, 0, 0, NULL, NULL));
	cl.clFinish(queue);
	clSVMFree(context, memory);
	clSVMFree(context, second);
}

static void use_extensions(void *queue)
{
	typedef void *create(uint32_t, void **, const uint64_t *, int32_t *);
	typedef int32_t finalize(void *);
	typedef int32_t enqueue(uint32_t, void **, void *, WAITS_AND_EVENT);
	create *make = (create *)cl.clGetExtensionFunctionAddressForPlatform(
		platform, "clCreateCommandBufferKHR");
	finalize *end = (finalize *)cl.clGetExtensionFunctionAddressForPlatform(
		platform, "clFinalizeCommandBufferKHR");
	enqueue *run = (enqueue *)cl.clGetExtensionFunctionAddressForPlatform(
		platform, "clEnqueueCommandBufferKHR");
	void *commands;

	if (!make || !end || !run)
		return;
	commands = make(1, &queue, NULL, NULL);
	if (commands && !end(commands))
		accepted("clEnqueueCommandBufferKHR", run(0, NULL, commands, 0, NULL, NULL));
}

static int commands(void)
{
	void *queue = make_queue(0), *touch = make_kernel("touch", 0),
	     *task = make_kernel("task", 0);
	void *event;

	accepted("clEnqueueNDRangeKernel",
		cl.clEnqueueNDRangeKernel(queue, touch, 1, NULL, &items, &group, 0, NULL, &event));
	accepted("clWaitForEvents", cl.clWaitForEvents(1, &event));
	accepted("clEnqueueTask", cl.clEnqueueTask(queue, task, 0, NULL, NULL));
	accepted("clEnqueueNativeKernel",
		cl.clEnqueueNativeKernel(queue, native, NULL, 0, 0, NULL, NULL, 0, NULL, NULL));
	use_buffers(queue);
	use_images(queue);
	use_shared_memory(queue);
	use_extensions(queue);
	accepted("clFinish", cl.clFinish(queue));
	return 0;
}

/* --- what the program sees */

/* The driver's own threads let go of an event some time after it has ended. */
static void settle(void)
{
	usleep(20000);
}

static void show_event(const char *what, void *event)
{
	uint32_t references = 0;
	uint64_t ns = 0;

	settle();
	cl.clGetEventInfo(
		event, OPENCL_EVENT_REFERENCE_COUNT, sizeof(references), &references, NULL);
	printf("%s: %u references, times %d, no such time %d\n", what, references,
		(int)cl.clGetEventProfilingInfo(event, OPENCL_PROFILING_QUEUED, 8, &ns, NULL),
		(int)cl.clGetEventProfilingInfo(event, 1, 8, &ns, NULL));
}

static void show_queue(const char *what, void *queue)
{
	uint64_t bits = 99, words[16] = {0};
	uint32_t references = 0;
	size_t size = 99;

	settle();
	cl.clGetCommandQueueInfo(queue, OPENCL_QUEUE_PROPERTIES, sizeof(bits), &bits, NULL);
	cl.clGetCommandQueueInfo(
		queue, OPENCL_QUEUE_REFERENCE_COUNT, sizeof(references), &references, NULL);
	printf("%s: properties %llu, %u references", what, (unsigned long long)bits, references);
	printf(", array %d", (int)cl.clGetCommandQueueInfo(queue, OPENCL_QUEUE_PROPERTIES_ARRAY,
				     sizeof(words), words, &size));
	printf(" of %zu: %llu %llu %llu\n", size, (unsigned long long)words[0],
		(unsigned long long)words[1], (unsigned long long)words[2]);
}

static void show_work(const char *what, void *queue)
{
	void *touch = make_kernel("touch", 0), *event, *never;
	const size_t none = 0;

	show_queue(what, queue);
	printf("errors %d %d\n",
		(int)cl.clEnqueueNDRangeKernel(queue, touch, 4, NULL, &items, NULL, 0, NULL, NULL),
		(int)cl.clEnqueueReadBuffer(
			queue, buffer, 1, 0, BUFFER_BYTES * 2, NULL, none, NULL, &event));
	check("launch",
		cl.clEnqueueNDRangeKernel(queue, touch, 1, NULL, &items, &group, 0, NULL, NULL));
	check("launch",
		cl.clEnqueueNDRangeKernel(queue, touch, 1, NULL, &items, &group, 0, NULL, &event));
	check("finish", cl.clFinish(queue));
	show_event("after it ended", event);
	check("release", cl.clReleaseEvent(event));
	show_queue("after work", queue);
	never = made("event", clCreateUserEvent(context, NULL));
	check("launch", cl.clEnqueueNDRangeKernel(
				queue, touch, 1, NULL, &items, &group, 1, &never, &event));
	show_event("before it began", event);
	show_event("of the program", never);
	check("status", clSetUserEventStatus(never, 0));
	check("finish", cl.clFinish(queue));
	show_event("then", event);
}

static int seen(void)
{
	const uint64_t none[] = {0}, disorder[] = {OPENCL_QUEUE_PROPERTIES, 1, 0},
		       timed[] = {OPENCL_QUEUE_PROPERTIES, 2, 0}, wrong[] = {1, 1, 0};
	int32_t error = 0;
	uint32_t references = 0;

	show_work("old", make_queue(0));
	show_work("old, timed", make_queue(2));
	show_work("without properties",
		cl.clCreateCommandQueueWithProperties(context, device, NULL, NULL));
	show_work("with none", cl.clCreateCommandQueueWithProperties(context, device, none, NULL));
	show_work("out of order",
		cl.clCreateCommandQueueWithProperties(context, device, disorder, NULL));
	show_work("timed", cl.clCreateCommandQueueWithProperties(context, device, timed, NULL));
	cl.clCreateCommandQueueWithProperties(context, device, wrong, &error);
	printf("wrong: %d\n", (int)error);
	cl.clGetContextInfo(
		context, OPENCL_CONTEXT_REFERENCE_COUNT, sizeof(references), &references, NULL);
	printf("context: %u references\n", references);
	return 0;
}

int main(int argc, char **argv)
{
	begin(source);
	return argc > 1 && !strcmp(argv[1], "seen") ? seen() : commands();
}
