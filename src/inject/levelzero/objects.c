// SPDX-License-Identifier: MIT
/*
 * Contexts, queues, command lists and kernels by their handles, from where they are made to where
 * they are destroyed. Their places are used again; their numbers, by which work is reported, are
 * not.
 *
 * The lock is taken inside that of pieces, never around it.
 */
#include <sys/mman.h>

#include "inject/handles.h"
#include "inject/levelzero/levelzero.h"

#define CONTEXTS_MAX 256u
#define QUEUES_MAX   (1u << 17)
#define LISTS_MAX    (1u << 18)
#define KERNELS_MAX  (1u << 18)
#define EXITS_MAX    8

/* Objects of one kind. Each begins with its link. */
struct objects {
	struct links links;
	struct links_list free;
	uint32_t fresh, most;
	struct handles by_handle;
};

struct links lists;

static struct objects all_lists, all_queues, all_kernels;
static struct context *contexts;
static uint32_t context_number, stream_number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int reserve_objects(struct objects *o, uint32_t most, size_t size)
{
	o->links = (struct links){.things = reserve(most * size), .size = size};
	o->most = most;
	return o->links.things ? handles_init(&o->by_handle) : -1;
}

int objects_init(void)
{
	int error = names_init();

	error = error ?: reserve_objects(&all_lists, LISTS_MAX, sizeof(struct list));
	error = error ?: reserve_objects(&all_queues, QUEUES_MAX, sizeof(struct queue));
	error = error ?: reserve_objects(&all_kernels, KERNELS_MAX, sizeof(struct kernel));
	lists = all_lists.links;
	contexts = reserve(CONTEXTS_MAX * sizeof(*contexts));
	return error ?: contexts ? 0 : -1;
}

static void release(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

static void release_objects(struct objects *o)
{
	release(o->links.things, o->most * o->links.size);
	handles_release(&o->by_handle);
}

void objects_release(void)
{
	release_objects(&all_lists);
	release_objects(&all_queues);
	release_objects(&all_kernels);
	release(contexts, CONTEXTS_MAX * sizeof(*contexts));
	names_release();
}

static struct list *known_list(const void *list)
{
	return (struct list *)handles_get(&all_lists.by_handle, list);
}

static struct kernel *known_kernel(const void *kernel)
{
	return (struct kernel *)handles_get(&all_kernels.by_handle, kernel);
}

struct list *objects_list(void *list)
{
	struct list *l = known_list(list);

	return l || !library.joined ? l : running_list(list);
}

struct queue *objects_queue(const void *queue)
{
	return (struct queue *)handles_get(&all_queues.by_handle, queue);
}

struct kernel *objects_kernel(void *kernel)
{
	struct kernel *k = known_kernel(kernel);

	return k || !library.joined ? k : running_kernel(kernel);
}

/* --- under the lock */

static void *new_object(struct objects *o)
{
	void *object = links_shift(&o->links, &o->free);

	return object ?: links_take_fresh(&o->links, &o->fresh, o->most);
}

static bool may_go(uintptr_t object)
{
	return !object;
}

/* It had no room in the table: then it is not known. */
static void put_object(struct objects *o, void *handle, void *object)
{
	if (!handles_put(&o->by_handle, handle, (uintptr_t)object, may_go) && object)
		links_append(&o->links, &o->free, object);
}

static void remove_object(struct objects *o, void *handle, void *object)
{
	handles_put(&o->by_handle, handle, 0, may_go);
	links_append(&o->links, &o->free, object);
}

static struct context *find_context(const void *handle)
{
	for (uint32_t n = 0; n < CONTEXTS_MAX; n++)
		if (contexts[n].handle == handle && !contexts[n].gone)
			return &contexts[n];
	return NULL;
}

static struct context *know_context(void *handle)
{
	struct context *c = find_context(handle);

	for (uint32_t n = 0; n < CONTEXTS_MAX && !c; n++)
		if (!contexts[n].handle)
			c = &contexts[n];
	if (c && !c->handle) {
		c->handle = handle;
		c->number = LEVELZERO_API << WIRE_API_SHIFT |
			    (++context_number & ((1u << WIRE_API_SHIFT) - 1));
	}
	return c;
}

void objects_free_context(struct context *c)
{
	pthread_mutex_lock(&lock);
	c->free = 0;
	c->gone = false;
	c->handle = NULL;
	pthread_mutex_unlock(&lock);
}

void objects_each_list(struct context *c, void (*visit)(struct list *l))
{
	for (uint32_t n = 1; n <= __atomic_load_n(&all_lists.fresh, __ATOMIC_RELAXED); n++) {
		struct list *l = links_at(&lists, n);

		if (l->context == c)
			visit(l);
	}
}

/* What work in it is reported with: no context if there are too many, or of devices. */
static struct context *find_place(void *context, void *device, struct place *ret)
{
	int index = gpus_find(device);
	struct context *c = index < 0 ? NULL : know_context(context);

	*ret = (struct place){.context = c ? c->number : 0, .device = (uint16_t)(c ? index : 0)};
	return c;
}

static void add_list(void *handle, void *context, void *device, bool immediate)
{
	struct place place;
	struct context *c = find_place(context, device, &place);
	struct list *l = new_object(&all_lists);

	if (l) {
		place.stream = immediate ? ++stream_number : 0;
		*l = (struct list){.context = c, .place = place, .immediate = immediate};
	}
	put_object(&all_lists, handle, l);
}

static void add_queue(void *handle, void *context, void *device)
{
	struct place place;
	struct queue *q = find_place(context, device, &place) ? new_object(&all_queues) : NULL;

	if (q) {
		place.stream = ++stream_number;
		*q = (struct queue){.handle = handle, .place = place};
	}
	put_object(&all_queues, handle, q);
}

static void add_kernel(void *handle, const struct kernel *as)
{
	struct kernel *k = new_object(&all_kernels);

	if (k)
		*k = *as;
	put_object(&all_kernels, handle, k);
}

/* --- what was made before the library came: another thread may have met it, too */

struct list *objects_know_list(void *handle, void *context, void *device, bool immediate)
{
	pthread_mutex_lock(&lock);
	if (is_alive() && !known_list(handle))
		add_list(handle, context, device, immediate);
	pthread_mutex_unlock(&lock);
	return known_list(handle);
}

struct queue *objects_know_queue(void *handle, void *context, void *device)
{
	pthread_mutex_lock(&lock);
	if (is_alive() && !objects_queue(handle))
		add_queue(handle, context, device);
	pthread_mutex_unlock(&lock);
	return objects_queue(handle);
}

struct kernel *objects_know_kernel(void *handle, const char *name)
{
	pthread_mutex_lock(&lock);
	if (is_alive() && !known_kernel(handle))
		add_kernel(handle, &(struct kernel){.name = names_keep(name), .is_earlier = true});
	pthread_mutex_unlock(&lock);
	return known_kernel(handle);
}

/* --- the end in a program that goes on */

bool objects_let_go(void)
{
	bool all = true;

	if (!pieces_lock())
		return false;
	for (uint32_t n = 1; n <= __atomic_load_n(&all_queues.fresh, __ATOMIC_RELAXED); n++)
		all &= signals_let_go(links_at(&all_queues.links, n));
	for (uint32_t n = 0; n < CONTEXTS_MAX; n++)
		all &= pieces_let_go(&contexts[n]);
	pieces_unlock();
	return all;
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

/* (list) */
static void before_reset_list(void **arguments, int32_t result, void *unused, void **instance)
{
	struct list *l = known_list(handle_at(arguments[0]));

	if (!l || l->immediate || !pieces_lock())
		return;
	recorded_clear(l);
	pieces_unlock();
}

static void after_reset_list(void **arguments, int32_t result, void *unused, void **instance)
{
	if (library.joined && !result && is_alive() && !known_list(handle_at(arguments[0])))
		running_list_is_reset(handle_at(arguments[0]));
}

/* Where the lock of pieces cannot be had, in a forked child, nothing is followed any more. */
static void remove_destroyed(struct objects *o, void *handle, void *object)
{
	pthread_mutex_lock(&lock);
	remove_object(o, handle, object);
	pthread_mutex_unlock(&lock);
}

static void before_destroy_list(void **arguments, int32_t result, void *unused, void **instance)
{
	void *handle = handle_at(arguments[0]);
	struct list *l = known_list(handle);

	if (!l || !pieces_lock())
		return;
	recorded_clear(l);
	l->context = NULL;
	remove_destroyed(&all_lists, handle, l);
	pieces_unlock();
}

/* (context, device, description, ret) */
static void after_create_queue(void **arguments, int32_t result, void *unused, void **instance)
{
	void **made = handle_at(arguments[3]);

	if (result || !made || !*made || !is_alive())
		return;
	end_before_driver();
	pthread_mutex_lock(&lock);
	add_queue(*made, handle_at(arguments[0]), handle_at(arguments[1]));
	pthread_mutex_unlock(&lock);
}

/* (queue) */
static void before_destroy_queue(void **arguments, int32_t result, void *unused, void **instance)
{
	void *handle = handle_at(arguments[0]);
	struct queue *q = objects_queue(handle);

	if (!q || !pieces_lock())
		return;
	signals_leave_queue(q);
	remove_destroyed(&all_queues, handle, q);
	pieces_unlock();
}

/* (module, description, ret) */
static void after_create_kernel(void **arguments, int32_t result, void *unused, void **instance)
{
	const struct levelzero_kernel_desc *desc = handle_at(arguments[1]);
	void **made = handle_at(arguments[2]);
	struct kernel k = {.block = {1, 1, 1}};

	if (result || !made || !*made || !desc || !desc->name || !is_alive())
		return;
	k.name = names_keep(desc->name);
	k.is_earlier = library.joined && library.stalls && !code_knows(handle_at(arguments[0]));
	pthread_mutex_lock(&lock);
	add_kernel(*made, &k);
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

/* (kernel) */
static void before_destroy_kernel(void **arguments, int32_t result, void *unused, void **instance)
{
	void *handle = handle_at(arguments[0]);
	struct kernel *k = known_kernel(handle);

	if (!k || !pieces_lock())
		return;
	if (k->has_own_code)
		code_is_gone(handle);
	remove_destroyed(&all_kernels, handle, k);
	pieces_unlock();
}

static void leave_list(struct list *l)
{
	recorded_clear(l);
	l->context = NULL;
}

/* (context) */
static void before_destroy_context(void **arguments, int32_t result, void *unused, void **instance)
{
	struct context *gone;

	if (!pieces_lock())
		return;
	pthread_mutex_lock(&lock);
	gone = find_context(handle_at(arguments[0]));
	pthread_mutex_unlock(&lock);
	if (gone && gone->handle) {
		objects_each_list(gone, leave_list);
		ends_leave_context(gone);
		pieces_leave_context(gone);
	}
	pieces_unlock();
}

void objects_register(void)
{
	tracer_register("CommandListCreateImmediate", NULL, after_create_immediate);
	tracer_register("CommandListCreate", NULL, after_create_list);
	tracer_register("CommandListReset", before_reset_list, after_reset_list);
	tracer_register("CommandListDestroy", before_destroy_list, NULL);
	tracer_register("CommandQueueCreate", NULL, after_create_queue);
	tracer_register("CommandQueueDestroy", before_destroy_queue, NULL);
	tracer_register("KernelCreate", NULL, after_create_kernel);
	tracer_register("KernelSetGroupSize", NULL, after_set_group_size);
	tracer_register("KernelDestroy", before_destroy_kernel, NULL);
	tracer_register("ContextDestroy", before_destroy_context, NULL);
}
