// SPDX-License-Identifier: MIT
/*
 * Code objects, from when they are loaded until the program ends, where instructions are sampled: a
 * sample names one by its number, and a place from where it was loaded. Each is loaded for one
 * device. They are found by our thread.
 *
 * The runtime loads code from memory or, where it is part of a file (as of most programs that are
 * compiled with their kernels), from that: then the address of the object says which part of which
 * file it is (locations.c), and it is read from there.
 */
#include <sys/mman.h>

#include "inject/images.h"
#include "inject/rocprofiler/code.h"
#include "inject/rocprofiler/locations.h"
#include "inject/rocprofiler/rocprofiler.h"

#define OBJECTS_MAX   4096u
#define FUNCTIONS_MAX WIRE_FUNCTIONS

struct object {
	uint64_t id;
	uint64_t checksum;
	uint64_t load_base;
	int64_t load_delta;
	int device;	       /* index */
	uint32_t first, count; /* of the functions */
};

static struct object *objects;
static struct sampled_function *functions;
static struct code_function *found; /* while one is read */
static uint32_t object_count, function_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int objects_reserve(void)
{
	objects = reserve(OBJECTS_MAX * sizeof(*objects));
	functions = reserve(FUNCTIONS_MAX * sizeof(*functions));
	found = reserve(FUNCTIONS_MAX * sizeof(*found));
	return objects && functions && found ? 0 : -1;
}

/* Under the lock. */
static void add(
	const struct rocprofiler_code_object *o, const void *image, size_t size, struct object *ret)
{
	size_t count = code_functions(image, size, found, FUNCTIONS_MAX - function_count);

	*ret = (struct object){.id = o->id,
		.checksum = images_checksum(image, size),
		.load_base = o->load_base,
		.load_delta = o->load_delta,
		.device = agents_index(o->agent),
		.first = function_count,
		.count = (uint32_t)count};
	for (size_t n = 0; n < count; n++)
		functions[function_count++] = (struct sampled_function){.address = found[n].address,
			.size = found[n].size,
			.index = found[n].index,
			.name = names_keep(found[n].name)->text};
}

static void keep(const struct rocprofiler_code_object *o, const void *image, size_t size)
{
	uint64_t checksum = 0;

	pthread_mutex_lock(&lock);
	if (object_count < OBJECTS_MAX) {
		add(o, image, size, &objects[object_count]);
		checksum = objects[object_count].checksum;
		__atomic_store_n(&object_count, object_count + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	if (checksum)
		images_keep(AMD_API, image, size, checksum, NULL);
	else
		count(WIRE_LOST_IMAGES, 1);
}

static void keep_of_file(const struct rocprofiler_code_object *o)
{
	struct location l;
	void *image = location_parse(o->uri, &l) ? location_read(&l) : NULL;

	if (!image) {
		count(WIRE_LOST_IMAGES, 1);
		return;
	}
	keep(o, image, l.size);
	munmap(image, l.size);
}

void objects_loaded(const struct rocprofiler_code_object *o)
{
	if (!objects || o->size < sizeof(*o))
		return;
	if (o->storage == ROCPROFILER_STORED_IN_MEMORY && o->memory)
		keep(o, (const void *)(uintptr_t)o->memory, o->memory_size);
	else if (o->storage == ROCPROFILER_STORED_IN_FILE && o->uri)
		keep_of_file(o);
}

static const struct object *object_of(uint64_t id)
{
	static const struct object *last;
	uint32_t count = __atomic_load_n(&object_count, __ATOMIC_ACQUIRE);

	if (last && last->id == id)
		return last;
	for (uint32_t n = 0; n < count; n++)
		if (objects[n].id == id)
			return last = &objects[n];
	return NULL;
}

struct sampled_function *objects_function(
	uint64_t id, uint64_t offset, int *ret_device, uint64_t *ret_checksum, uint64_t *ret_offset)
{
	const struct object *o = object_of(id);
	uint64_t address = o ? offset + o->load_base - (uint64_t)o->load_delta : 0;
	uint32_t low = 0, high = o ? o->count : 0;

	*ret_device = o ? o->device : -1;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (functions[o->first + middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - functions[o->first + low - 1].address >=
			    functions[o->first + low - 1].size)
		return NULL;
	*ret_checksum = o->checksum;
	*ret_offset = address - functions[o->first + low - 1].address;
	return &functions[o->first + low - 1];
}
