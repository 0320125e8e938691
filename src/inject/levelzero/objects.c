// SPDX-License-Identifier: MIT
/*
 * Contexts, command lists and kernels by their handles, from where they are made. What is known of
 * one stays in memory for good, as work may name it later; the table of handles has the latest
 * object under an address.
 */
#include <sys/mman.h>

#include "inject/handles.h"
#include "inject/levelzero/levelzero.h"

#define CONTEXTS_MAX 256
#define LISTS_MAX    (1u << 18)
#define KERNELS_MAX  (1u << 18)
#define EXITS_MAX    8

static struct handles lists_by_handle, kernels_by_handle;
static struct context *contexts;
static struct list *lists;
static struct kernel *kernels;
static uint32_t context_count, list_count, kernel_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int objects_init(void)
{
	int error = names_init();

	error = error ?: handles_init(&lists_by_handle);
	error = error ?: handles_init(&kernels_by_handle);
	contexts = reserve(CONTEXTS_MAX * sizeof(*contexts));
	lists = reserve(LISTS_MAX * sizeof(*lists));
	kernels = reserve(KERNELS_MAX * sizeof(*kernels));
	return error ?: !contexts || !lists || !kernels ? -1 : 0;
}

struct list *objects_list(const void *list)
{
	return (struct list *)handles_get(&lists_by_handle, list);
}

struct kernel *objects_kernel(const void *kernel)
{
	return (struct kernel *)handles_get(&kernels_by_handle, kernel);
}

/* --- under the lock */

static struct context *find_context(void *handle)
{
	struct context *c;

	for (uint32_t n = context_count; n; n--)
		if (contexts[n - 1].handle == handle && !contexts[n - 1].gone)
			return &contexts[n - 1];
	if (context_count == CONTEXTS_MAX)
		return NULL;
	c = &contexts[context_count++];
	c->handle = handle;
	c->number = LEVELZERO_API << WIRE_API_SHIFT | context_count;
	return c;
}

/* Stands for those that there is no room for, so that what is appended to them is counted. */
static struct list left_out = {.immediate = true};

static void add_list(void *handle, void *context, void *device, bool immediate)
{
	int index = gpus_find(device);
	struct context *c = index < 0 ? NULL : find_context(context);
	struct list *l = immediate ? &left_out : NULL;

	if (c && list_count < LISTS_MAX) {
		l = &lists[list_count++];
		*l = (struct list){.context = c,
			.number = list_count,
			.device = (uint16_t)index,
			.immediate = immediate};
	}
	handles_put(&lists_by_handle, handle, (uintptr_t)l, NULL);
}

static void add_kernel(void *handle, const char *name)
{
	struct kernel *k = NULL;

	if (kernel_count < KERNELS_MAX) {
		k = &kernels[kernel_count++];
		*k = (struct kernel){.name = names_keep(name), .block = {1, 1, 1}};
	}
	handles_put(&kernels_by_handle, handle, (uintptr_t)k, NULL);
}

uint32_t objects_context(void *context)
{
	struct context *c;

	pthread_mutex_lock(&lock);
	c = find_context(context);
	pthread_mutex_unlock(&lock);
	return c ? c->number : 0;
}

/* --- callbacks: arguments are given by their addresses */

static void *handle_at(void *argument)
{
	return *(void **)argument;
}

/* Drivers register what they do at exit when they are first used: we have to end before that. */
static void end_before_driver(void)
{
	static uint32_t count;

	if (__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) < EXITS_MAX)
		exit_before_others();
}

/* (context, device, description, ret) */
static void list_is_made(void **arguments, int32_t result, bool immediate)
{
	void **made = handle_at(arguments[3]);

	if (result || !made || !*made || !is_alive())
		return;
	end_before_driver();
	pthread_mutex_lock(&lock);
	add_list(*made, handle_at(arguments[0]), handle_at(arguments[1]), immediate);
	pthread_mutex_unlock(&lock);
}

static void after_create_immediate(void **arguments, int32_t result, void *unused, void **instance)
{
	list_is_made(arguments, result, true);
}

static void after_create_list(void **arguments, int32_t result, void *unused, void **instance)
{
	list_is_made(arguments, result, false);
}

/* (module, description, ret) */
static void after_create_kernel(void **arguments, int32_t result, void *unused, void **instance)
{
	const struct levelzero_kernel_desc *desc = handle_at(arguments[1]);
	void **made = handle_at(arguments[2]);

	if (result || !made || !*made || !desc || !desc->name || !is_alive())
		return;
	pthread_mutex_lock(&lock);
	add_kernel(*made, desc->name);
	pthread_mutex_unlock(&lock);
	if (library.stalls)
		code_is_made(handle_at(arguments[0]), *made, desc->name);
}

/* (kernel, x, y, z) */
static void after_set_group_size(void **arguments, int32_t result, void *unused, void **instance)
{
	struct kernel *k = result ? NULL : objects_kernel(handle_at(arguments[0]));

	for (int n = 0; k && n < 3; n++)
		k->block[n] = *(uint32_t *)arguments[1 + n];
}

/* (context) */
static void before_destroy_context(void **arguments, int32_t result, void *unused, void **instance)
{
	struct context *gone = NULL;

	pthread_mutex_lock(&lock);
	for (uint32_t n = 0; n < context_count; n++)
		if (contexts[n].handle == handle_at(arguments[0]) && !contexts[n].gone)
			gone = &contexts[n];
	pthread_mutex_unlock(&lock);
	if (gone)
		pieces_leave_context(gone);
}

void objects_register(void)
{
	tracer_register("CommandListCreateImmediate", NULL, after_create_immediate);
	tracer_register("CommandListCreate", NULL, after_create_list);
	tracer_register("KernelCreate", NULL, after_create_kernel);
	tracer_register("KernelSetGroupSize", NULL, after_set_group_size);
	tracer_register("ContextDestroy", before_destroy_context, NULL);
}
