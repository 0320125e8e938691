// SPDX-License-Identifier: MIT
/*
 * Copies and fills: how many bytes, and from where to where. Where memory is, the driver knows
 * (zeMemGetAllocProperties): that is asked once for each page that copies begin in, until the
 * program frees or gets memory; of a few hundred pages the answers are kept.
 */
#include "base/bare/hash_step.h"
#include "inject/handles.h"
#include "inject/levelzero/levelzero.h"

#define PAGE_BITS  12
#define KNOWN_BITS 9

/* As enum profile_memory_kind and enum profile_copy_kind have them. */
enum { PAGEABLE = 1, PINNED = 2, ON_DEVICE = 3, IMAGE = 4, SHARED = 5 };
enum {
	TO_DEVICE = 1,
	TO_HOST,
	TO_IMAGE,
	FROM_IMAGE,
	IN_IMAGES,
	IMAGE_TO_DEVICE,
	DEVICE_TO_IMAGE,
	ON_ONE_DEVICE,
	ON_HOST
};

/* Bytes of a point, by the layout of an image; 0: they differ from plane to plane. */
static const uint8_t point_bytes[] = {1, 2, 4, 2, 4, 4, 8, 8, 16, 4, 4, 2, 2, 2};

/* One word each, so that they are read whole: page << 28 | version << 4 | memory kind. */
static uint64_t known[1 << KNOWN_BITS];
static uint32_t version;      /* changes with the program's memory */
static struct handles images; /* bytes << 8 | bytes of a point */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int copies_init(void)
{
	return handles_init(&images);
}

void copies_release(void)
{
	handles_release(&images);
}

/* --- where memory is */

static uint8_t ask(void *context, const void *at)
{
	static const uint8_t kinds[] = {[LEVELZERO_MEMORY_UNKNOWN] = PAGEABLE,
		[LEVELZERO_MEMORY_HOST] = PINNED,
		[LEVELZERO_MEMORY_DEVICE] = ON_DEVICE,
		[LEVELZERO_MEMORY_SHARED] = SHARED,
		[LEVELZERO_MEMORY_IMPORTED] = PINNED};
	struct levelzero_memory_properties p = {.stype = LEVELZERO_IS_MEMORY_PROPERTIES};
	void *device;

	if (levelzero.zeMemGetAllocProperties(context, at, &p, &device) ||
		p.type >= sizeof(kinds) / sizeof(kinds[0]))
		return 0;
	return kinds[p.type];
}

static uint8_t memory_kind(void *context, const void *at)
{
	uint64_t page = (uintptr_t)at >> PAGE_BITS,
		 key = page << 28 | (__atomic_load_n(&version, __ATOMIC_RELAXED) & 0xffffff) << 4;
	uint64_t *slot = &known[page * HASH_FACTOR >> (64 - KNOWN_BITS)];
	uint64_t found = __atomic_load_n(slot, __ATOMIC_RELAXED);

	if ((found & ~(uint64_t)0xf) == key && found & 0xf)
		return (uint8_t)(found & 0xf);
	found = key | ask(context, at);
	__atomic_store_n(slot, found, __ATOMIC_RELAXED);
	return (uint8_t)(found & 0xf);
}

static uint8_t copy_kind(uint8_t from, uint8_t to)
{
	static const uint8_t kinds[SHARED + 1][SHARED + 1] = {
		[PAGEABLE] = {[PAGEABLE] = ON_HOST,
			[PINNED] = ON_HOST,
			[ON_DEVICE] = TO_DEVICE,
			[IMAGE] = TO_IMAGE},
		[PINNED] = {[PAGEABLE] = ON_HOST,
			[PINNED] = ON_HOST,
			[ON_DEVICE] = TO_DEVICE,
			[IMAGE] = TO_IMAGE},
		[ON_DEVICE] = {[PAGEABLE] = TO_HOST,
			[PINNED] = TO_HOST,
			[ON_DEVICE] = ON_ONE_DEVICE,
			[IMAGE] = DEVICE_TO_IMAGE},
		[IMAGE] = {[PAGEABLE] = FROM_IMAGE,
			[PINNED] = FROM_IMAGE,
			[ON_DEVICE] = IMAGE_TO_DEVICE,
			[IMAGE] = IN_IMAGES},
	};

	return kinds[from][to];
}

/* Memory that the program shares with a device is where it was used last: nobody knows where. */
static void is_copy(struct work *w, uint64_t bytes, uint8_t from, uint8_t to)
{
	w->kind = WIRE_WORK_COPY;
	w->bytes = bytes;
	w->source_memory = from;
	w->target_memory = to;
	w->copy_kind = copy_kind(from, to);
}

static uint8_t memory_at(void **arguments, const void *at)
{
	const struct list *l = objects_list(*(void **)arguments[0]);

	return l && l->context ? memory_kind(l->context->handle, at) : 0;
}

static uint64_t points_of(const struct levelzero_copy_region *r)
{
	return (uint64_t)r->size[0] * (r->size[1] ? r->size[1] : 1) * (r->size[2] ? r->size[2] : 1);
}

/* --- memory */

/* (list, to, from, size, ...) */
void describe_CommandListAppendMemoryCopy(struct work *w, void **arguments)
{
	is_copy(w, *(size_t *)arguments[3], memory_at(arguments, *(void **)arguments[2]),
		memory_at(arguments, *(void **)arguments[1]));
}

/* (list, to, from, size, parameters, ...) */
void describe_CommandListAppendMemoryCopyWithParameters(struct work *w, void **arguments)
{
	describe_CommandListAppendMemoryCopy(w, arguments);
}

/* (list, to, context of the source, from, size, ...) */
void describe_CommandListAppendMemoryCopyFromContext(struct work *w, void **arguments)
{
	is_copy(w, *(size_t *)arguments[4],
		memory_kind(*(void **)arguments[2], *(void **)arguments[3]),
		memory_at(arguments, *(void **)arguments[1]));
}

/* (list, to, region, pitch, pitch, from, ...) */
void describe_CommandListAppendMemoryCopyRegion(struct work *w, void **arguments)
{
	const struct levelzero_copy_region *r = *(void **)arguments[2];

	is_copy(w, r ? points_of(r) : 0, memory_at(arguments, *(void **)arguments[5]),
		memory_at(arguments, *(void **)arguments[1]));
}

/* (list, at, pattern, its size, size, ...) */
void describe_CommandListAppendMemoryFill(struct work *w, void **arguments)
{
	w->kind = WIRE_WORK_SET;
	w->bytes = *(size_t *)arguments[4];
	w->target_memory = memory_at(arguments, *(void **)arguments[1]);
}

/* (list, at, pattern, its size, size, parameters, ...) */
void describe_CommandListAppendMemoryFillWithParameters(struct work *w, void **arguments)
{
	describe_CommandListAppendMemoryFill(w, arguments);
}

/* --- images */

/* Of a part of an image, or of all of it. */
static uint64_t image_bytes(const void *image, const struct levelzero_copy_region *part)
{
	uint64_t known_image = handles_get(&images, image);

	return part ? points_of(part) * (known_image & 0xff) : known_image >> 8;
}

/* (list, to, from, ...) */
void describe_CommandListAppendImageCopy(struct work *w, void **arguments)
{
	is_copy(w, image_bytes(*(void **)arguments[2], NULL), IMAGE, IMAGE);
}

/* (list, to, from, part of `to`, part of `from`, ...): without a part it is all of the image. */
void describe_CommandListAppendImageCopyRegion(struct work *w, void **arguments)
{
	is_copy(w, image_bytes(*(void **)arguments[2], *(void **)arguments[4]), IMAGE, IMAGE);
}

/* (list, to, image, part, ...) */
void describe_CommandListAppendImageCopyToMemory(struct work *w, void **arguments)
{
	is_copy(w, image_bytes(*(void **)arguments[2], *(void **)arguments[3]), IMAGE,
		memory_at(arguments, *(void **)arguments[1]));
}

void describe_CommandListAppendImageCopyToMemoryExt(struct work *w, void **arguments)
{
	describe_CommandListAppendImageCopyToMemory(w, arguments);
}

/* (list, image, from, part, ...) */
void describe_CommandListAppendImageCopyFromMemory(struct work *w, void **arguments)
{
	is_copy(w, image_bytes(*(void **)arguments[1], *(void **)arguments[3]),
		memory_at(arguments, *(void **)arguments[2]), IMAGE);
}

void describe_CommandListAppendImageCopyFromMemoryExt(struct work *w, void **arguments)
{
	describe_CommandListAppendImageCopyFromMemory(w, arguments);
}

/* --- callbacks */

static void after_memory_changes(void **arguments, int32_t result, void *unused, void **instance)
{
	__atomic_add_fetch(&version, 1, __ATOMIC_RELAXED);
}

/* (context, device, description, ret) */
static void after_create_image(void **arguments, int32_t result, void *unused, void **instance)
{
	const struct levelzero_image_desc *d = *(void **)arguments[2];
	void **made = *(void **)arguments[3];
	uint64_t bytes, points;

	if (result || !d || !made || !*made || !is_alive())
		return;
	bytes = d->layout < sizeof(point_bytes) ? point_bytes[d->layout] : 0;
	points = d->width * (d->height ? d->height : 1) * (d->depth ? d->depth : 1) *
		 (d->levels ? d->levels : 1);
	pthread_mutex_lock(&lock);
	handles_put(&images, *made, bytes * points << 8 | bytes, NULL);
	pthread_mutex_unlock(&lock);
}

void copies_register(void)
{
	static const char *const changes[] = {"MemFree", "MemFreeExt", "MemAllocDevice",
		"MemAllocHost", "MemAllocShared", "MemOpenIpcHandle", "MemCloseIpcHandle", NULL};

	for (const char *const *name = changes; *name; name++)
		tracer_register(*name, NULL, after_memory_changes);
	tracer_register("ImageCreate", NULL, after_create_image);
}
