// SPDX-License-Identifier: MIT
/*
 * Names of kernels. They are kept by the kernel's handle from where it is made. A kernel that has
 * found no room in the table is asked for its name.
 */
#include <string.h>

#include "inject/handles.h"
#include "inject/names.h"
#include "inject/opencl/opencl.h"

#define LONGEST_NAME 4096u

static struct handles kernels;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int kernels_init(void)
{
	int error = names_init();

	return error ?: handles_init(&kernels);
}

static struct named *note(void *kernel, const char *name)
{
	struct named *kept = names_keep(name);

	pthread_mutex_lock(&lock);
	handles_put(&kernels, kernel, (uintptr_t)kept, NULL);
	pthread_mutex_unlock(&lock);
	return kept;
}

static struct named *ask(void *kernel)
{
	char name[LONGEST_NAME] = "";

	if (opencl.clGetKernelInfo(
		    kernel, OPENCL_KERNEL_FUNCTION_NAME, sizeof(name) - 1, name, NULL))
		return names_none();
	return note(kernel, name);
}

struct named *kernels_find(void *kernel)
{
	struct named *known = (struct named *)handles_get(&kernels, kernel);

	return known ?: ask(kernel);
}

/* A handle is new here, whatever was under it before. */
static void is_made(void *kernel)
{
	if (kernel && is_alive())
		ask(kernel);
}

static void *create_kernel(void *program, const char *name, int32_t *error)
{
	void *kernel = opencl.clCreateKernel(program, name, error);

	if (kernel && name && is_alive())
		note(kernel, name);
	return kernel;
}

static int32_t create_kernels(void *program, uint32_t count, void **made, uint32_t *ret_count)
{
	uint32_t n = 0;
	int32_t result = opencl.clCreateKernelsInProgram(program, count, made, &n);

	if (ret_count && !result)
		*ret_count = n;
	for (uint32_t i = 0; !result && made && i < n && i < count; i++)
		is_made(made[i]);
	return result;
}

static void *clone_kernel(void *kernel, int32_t *error)
{
	void *clone = opencl.clCloneKernel(kernel, error);

	is_made(clone);
	return clone;
}

void kernels_put(void **table, uint32_t entries)
{
	put_entry(table, entries, OPENCL_AT_clCreateKernel, create_kernel);
	put_entry(table, entries, OPENCL_AT_clCreateKernelsInProgram, create_kernels);
	put_entry(table, entries, OPENCL_AT_clCloneKernel, clone_kernel);
}
