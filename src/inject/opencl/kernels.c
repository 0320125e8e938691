// SPDX-License-Identifier: MIT
/*
 * Names of kernels. They are kept by the kernel's handle from where it is made; each text once, for
 * as long as the library is there. A kernel that has found no room in the table is asked for its
 * name.
 */
#include <string.h>
#include <sys/mman.h>

#include "base/bare/hash_step.h"
#include "inject/opencl/handles.h"
#include "inject/opencl/opencl.h"

#define TEXT_BYTES   (16u << 20)
#define LONGEST_NAME 4096u

static struct handles kernels, texts; /* texts by their hash */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *memory;
static size_t used;

static union {
	struct kernel kernel;
	struct {
		uint32_t launches;
		char name[20];
	} is;
} nameless = {.is.name = "[name left out]"};

int kernels_init(void)
{
	int error = handles_init(&kernels);

	error = error ?: handles_init(&texts);
	memory = mmap(NULL, TEXT_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		memory = NULL;
		return -1;
	}
	return error;
}

static uintptr_t hash_of(const char *text, size_t size)
{
	uint64_t hash = size;

	for (size_t n = 0; n < size; n++)
		hash = hash_step(hash, (unsigned char)text[n]);
	return (uintptr_t)(hash | 2);
}

/* Under the lock. */
static struct kernel *keep(const char *text)
{
	size_t size = strnlen(text, LONGEST_NAME);
	size_t bytes = (sizeof(struct kernel) + size + 1 + 3) & ~(size_t)3;
	uintptr_t hash = hash_of(text, size);
	struct kernel *known = (struct kernel *)handles_get(&texts, (const void *)hash);

	if (known && !strncmp(known->name, text, size) && !known->name[size])
		return known;
	if (!memory || used + bytes > TEXT_BYTES)
		return &nameless.kernel;
	known = (struct kernel *)(memory + used); /* it is zero, that behind it, too */
	memcpy(known->name, text, size);
	used += bytes;
	handles_put(&texts, (const void *)hash, (uintptr_t)known, NULL);
	return known;
}

static struct kernel *note(void *kernel, const char *name)
{
	struct kernel *kept;

	pthread_mutex_lock(&lock);
	kept = keep(name);
	handles_put(&kernels, kernel, (uintptr_t)kept, NULL);
	pthread_mutex_unlock(&lock);
	return kept;
}

static struct kernel *ask(void *kernel)
{
	char name[LONGEST_NAME] = "";

	if (opencl.clGetKernelInfo(
		    kernel, OPENCL_KERNEL_FUNCTION_NAME, sizeof(name) - 1, name, NULL))
		return &nameless.kernel;
	return note(kernel, name);
}

struct kernel *kernels_find(void *kernel)
{
	struct kernel *known = (struct kernel *)handles_get(&kernels, kernel);

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
