// SPDX-License-Identifier: MIT
/*
 * Commands of extensions, and an older form of clCreateCommandQueueWithProperties. They are not in
 * the loader's table: programs ask for their addresses, and get ours. Each platform has functions
 * of its own under these names. Which one is meant is known by the queue, as the older form of the
 * question names no platform.
 */
#include "inject/opencl/command.h"

#define PLATFORMS_MAX 16

#define COMMAND(name, parameters, arguments)                                                       \
	typedef int32_t function_##name(OPENCL_UNPACK parameters, WAITS_AND_EVENT);
OPENCL_EXTENSION_COMMANDS(COMMAND)
#undef COMMAND
typedef int32_t function_clEnqueueCommandBufferKHR(
	uint32_t count, void **queues, void *buffer, WAITS_AND_EVENT);
typedef void *function_clCreateCommandQueueWithPropertiesKHR(
	void *context, void *device, const uint64_t *properties, int32_t *error);

#define COMMAND(name, parameters, arguments) EXTENSION_##name,
enum extension {
	OPENCL_EXTENSION_COMMANDS(COMMAND) EXTENSION_clEnqueueCommandBufferKHR,
	EXTENSION_clCreateCommandQueueWithPropertiesKHR,
	EXTENSIONS
};
#undef COMMAND

struct found {
	void *platform;
	void *functions[EXTENSIONS];
};

static struct found found[PLATFORMS_MAX];
static uint32_t found_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The functions of a platform, or those that were asked for first. */
static void *function_of(void *platform, enum extension extension)
{
	uint32_t count = __atomic_load_n(&found_count, __ATOMIC_ACQUIRE);
	void *any = NULL, *function;

	for (uint32_t n = 0; n < count; n++) {
		function = __atomic_load_n(&found[n].functions[extension], __ATOMIC_ACQUIRE);
		if (function && found[n].platform == platform)
			return function;
		any = any ?: function;
	}
	return any;
}

/* Also of a queue that nobody follows. */
static void *platform_of(void *queue)
{
	const struct queue *q = queues_find(queue);
	void *device = NULL, *platform = NULL;

	if (q || !queue)
		return q ? q->platform : NULL;
	if (!opencl.clGetCommandQueueInfo(
		    queue, OPENCL_QUEUE_DEVICE, sizeof(device), &device, NULL))
		opencl.clGetDeviceInfo(
			device, OPENCL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	return platform;
}

static void *of_queue(void *queue, enum extension extension)
{
	return function_of(platform_of(queue), extension);
}

/* False: there are too many platforms. */
static bool keep(void *platform, enum extension extension, void *function)
{
	uint32_t n = 0;

	pthread_mutex_lock(&lock);
	while (n < found_count && found[n].platform != platform)
		n++;
	if (n < PLATFORMS_MAX) {
		found[n].platform = platform;
		__atomic_store_n(&found[n].functions[extension], function, __ATOMIC_RELEASE);
		if (n == found_count)
			__atomic_store_n(&found_count, n + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return n < PLATFORMS_MAX;
}

/* --- the commands */

static void describe_clEnqueueMemcpyINTEL(
	struct command *c, uint32_t blocking, void *to, const void *from, size_t size)
{
	command_is_copy(c, COPY_ANYWHERE, size);
	c->blocking = blocking;
}

static void describe_clEnqueueMemFillINTEL(
	struct command *c, void *to, const void *pattern, size_t pattern_size, size_t size)
{
	command_is_set(c, size);
}

static void describe_clEnqueueMemsetINTEL(struct command *c, void *to, int32_t value, size_t size)
{
	command_is_set(c, size);
}

static void describe_clEnqueueMigrateMemINTEL(
	struct command *c, const void *memory, size_t size, uint64_t flags)
{
	command_is_copy(c, COPY_ANYWHERE, size);
}

#define COMMAND(name, parameters, arguments)                                                       \
	static int32_t our_##name(OPENCL_UNPACK parameters, WAITS_AND_EVENT)                       \
	{                                                                                          \
		function_##name *function = (function_##name *)of_queue(queue, EXTENSION_##name);  \
		struct command c;                                                                  \
                                                                                                   \
		command_begin(                                                                     \
			&c, NUMBER_##name, KIND_##name, queue, event, __builtin_frame_address(0)); \
		if (c.is_followed) {                                                               \
			describe_##name(&c, OPENCL_DETAILS arguments);                             \
			command_draw(&c);                                                          \
		}                                                                                  \
		return command_end(                                                                \
			&c, function(OPENCL_UNPACK arguments, wait_count, waits, c.event));        \
	}
OPENCL_EXTENSION_COMMANDS(COMMAND)
#undef COMMAND

/* All of a recorded buffer is one piece of work: its event has one begin and one end. Where no
 * queues are given, those are used that it was recorded for, and the event leads to one. */
static int32_t our_clEnqueueCommandBufferKHR(
	uint32_t queue_count, void **queues, void *buffer, WAITS_AND_EVENT)
{
	void *queue = queue_count && queues ? queues[0] : NULL;
	function_clEnqueueCommandBufferKHR *function =
		(function_clEnqueueCommandBufferKHR *)of_queue(
			queue, EXTENSION_clEnqueueCommandBufferKHR);
	struct command c;

	command_begin(&c, NUMBER_clEnqueueCommandBufferKHR, KIND_clEnqueueCommandBufferKHR, queue,
		event, __builtin_frame_address(0));
	if (c.is_followed) {
		c.work.kind = WIRE_WORK_KERNEL;
		c.work.name = "[command buffer]";
		command_find_queue(&c);
	}
	return command_end(&c, function(queue_count, queues, buffer, wait_count, waits, c.event));
}

static void *our_clCreateCommandQueueWithPropertiesKHR(
	void *context, void *device, const uint64_t *properties, int32_t *error)
{
	void *platform = NULL, *function;

	opencl.clGetDeviceInfo(device, OPENCL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	function = function_of(platform, EXTENSION_clCreateCommandQueueWithPropertiesKHR);
	return queues_make_khr(context, device, properties, error,
		(function_clCreateCommandQueueWithPropertiesKHR *)function);
}

/* --- their addresses */

static void *ours_for(void *platform, const char *name, void *function)
{
#define COMMAND(name, parameters, arguments) [EXTENSION_##name] = {#name, (void *)our_##name},
	static const struct {
		const char *name;
		void *function;
	} ours[EXTENSIONS] = {OPENCL_EXTENSION_COMMANDS(COMMAND) COMMAND(
		clEnqueueCommandBufferKHR, , ) COMMAND(clCreateCommandQueueWithPropertiesKHR, , )};
#undef COMMAND

	if (!function || !name || !is_alive())
		return function;
	for (uint32_t n = 0; n < EXTENSIONS; n++)
		if (!strcmp(name, ours[n].name))
			return keep(platform, n, function) ? ours[n].function : function;
	return function;
}

static void *get_address(const char *name)
{
	return ours_for(NULL, name, opencl.clGetExtensionFunctionAddress(name));
}

static void *get_address_for_platform(void *platform, const char *name)
{
	return ours_for(
		platform, name, opencl.clGetExtensionFunctionAddressForPlatform(platform, name));
}

void extensions_put(void **table, uint32_t entries)
{
	put_entry(table, entries, OPENCL_AT_clGetExtensionFunctionAddress, get_address);
	put_entry(table, entries, OPENCL_AT_clGetExtensionFunctionAddressForPlatform,
		get_address_for_platform);
}
