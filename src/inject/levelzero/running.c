// SPDX-License-Identifier: MIT
/*
 * Programs that run already: the loader's tracing layer is switched on for as long as the library
 * is there (loaders from 1.20 on can), and what the program made before is asked for where it is
 * met.
 *
 * The driver knows what an immediate list belongs to, and names of kernels. What is in a list that
 * was recorded before, nobody can say: such a list is not known until the program resets it.
 */
#include "inject/levelzero/levelzero.h"

#define NAME_BYTES 4096u

static struct {
	int32_t (*enable)(void);
	int32_t (*disable)(void);
	int32_t (*is_immediate)(void *list, uint8_t *ret);
	int32_t (*device)(void *list, void **ret);
	int32_t (*context)(void *list, void **ret);
	int32_t (*name)(void *kernel, size_t *size, char *ret);
	bool switched;
} loader;

static bool find(void *function, const char *name)
{
	*(void **)function = loader_symbol(name);
	return *(void **)function;
}

bool running_find(void)
{
	return find(&loader.enable, "zelEnableTracingLayer") &&
	       find(&loader.disable, "zelDisableTracingLayer") &&
	       find(&loader.is_immediate, "zeCommandListIsImmediate") &&
	       find(&loader.device, "zeCommandListGetDeviceHandle") &&
	       find(&loader.context, "zeCommandListGetContextHandle") &&
	       find(&loader.name, "zeKernelGetName");
}

/* Also where it is on: it stays on until all who wanted that have switched it off, and who was
 * first may leave before us. */
bool running_begin(void)
{
	loader.switched = !loader.enable();
	return loader.switched;
}

void running_end(void)
{
	if (loader.switched)
		loader.disable();
	loader.switched = false;
}

bool running_place(void *list, void **ret_context, void **ret_device)
{
	return !loader.context(list, ret_context) && !loader.device(list, ret_device);
}

struct list *running_list(void *list)
{
	void *context, *device;
	uint8_t immediate = true;
	struct list *l = NULL;

	if (!is_recording())
		return NULL;
	if (!loader.is_immediate(list, &immediate) && immediate &&
		running_place(list, &context, &device))
		l = objects_know_list(list, context, device, true);
	if (!l && immediate)
		count(WIRE_LOST_CALLS, 1);
	return l;
}

void running_list_is_reset(void *list)
{
	void *context, *device;

	if (running_place(list, &context, &device))
		objects_know_list(list, context, device, false);
}

struct queue *running_queue(void *queue, void *list)
{
	void *context, *device;

	return running_place(list, &context, &device) ? objects_know_queue(queue, context, device)
						      : NULL;
}

struct kernel *running_kernel(void *kernel)
{
	char name[NAME_BYTES] = "";
	size_t size = sizeof(name);

	if (!is_recording() || loader.name(kernel, &size, name) || !*name)
		return NULL;
	name[sizeof(name) - 1] = '\0';
	return objects_know_kernel(kernel, name);
}
