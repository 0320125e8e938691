// SPDX-License-Identifier: MIT
/*
 * Each image is mapped when it comes, and its descriptor is not needed any more: a process may have
 * many more mappings than descriptors (65,530, vm.max_map_count, of which ours are to leave most to
 * the rest of the recorder), and they take no memory of their own before they are read. The seals
 * make sure that nobody can change or truncate what is mapped.
 */
#include "gpucode/kept_images.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/map.h"
#include "base/vec.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct image {
	const void *data; /* NULL: none, or none any more */
	size_t size;
	bool needed;
	bool lost;
};

struct kept_images {
	struct map by_module;	      /* -> index */
	struct vec(struct image) all; /* in the order in which they came or were needed */
	size_t oldest;		      /* no image before this index can make room */
	uint64_t bytes, budget_bytes;
	size_t mapped; /* images */
};

struct kept_images *kept_images_new(uint64_t budget_bytes)
{
	struct kept_images *k = calloc(1, sizeof(*k));

	if (k)
		k->budget_bytes = budget_bytes;
	return k;
}

static void drop(struct kept_images *k, struct image *i)
{
	if (!i->data)
		return;
	munmap((void *)i->data, i->size);
	i->data = NULL;
	k->bytes -= i->size;
	k->mapped--;
}

void kept_images_free(struct kept_images *k)
{
	if (!k)
		return;
	vec_foreach (i, &k->all)
		drop(k, i);
	vec_release(&k->all);
	map_release(&k->by_module);
	free(k);
}

static struct image *find(const struct kept_images *k, uint32_t module)
{
	const uint64_t *index = map_get(&k->by_module, module);

	return index ? &k->all.items[*index] : NULL;
}

/* The module's entry, made if it has none; NULL when memory is short. */
static struct image *find_or_add(struct kept_images *k, uint32_t module)
{
	struct image *i = find(k, module);

	if (i)
		return i;
	if (vec_push(&k->all, (struct image){0}))
		return NULL;
	if (map_put(&k->by_module, module, k->all.count - 1)) {
		k->all.count--;
		return NULL;
	}
	return &k->all.items[k->all.count - 1];
}

void kept_images_need(struct kept_images *k, uint32_t module)
{
	struct image *i = find_or_add(k, module);

	if (i)
		i->needed = true;
}

/* Only a memfd has seals. One of huge pages may have a hole where there is no page to read. */
static bool is_sealed(int fd, uint64_t size)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) || fs.f_type == HUGETLBFS_MAGIC)
		return false;
	return seals >= 0 && (seals & SEALS) == SEALS && !fstat(fd, &st) && size &&
	       st.st_size >= 0 && (uint64_t)st.st_size == size;
}

static bool has_room(const struct kept_images *k, uint64_t size)
{
	return k->mapped < KEPT_IMAGES_MAX && k->bytes <= k->budget_bytes - size;
}

/* Drops images that nobody needs, the oldest first, until there is room. An image that is needed or
 * gone stays so: those before `oldest` are not looked at again. */
static bool make_room(struct kept_images *k, uint64_t size)
{
	if (size > k->budget_bytes)
		return false;
	for (; !has_room(k, size) && k->oldest < k->all.count; k->oldest++) {
		struct image *i = &k->all.items[k->oldest];

		if (!i->data || i->needed)
			continue;
		drop(k, i);
		i->lost = true;
	}
	return has_room(k, size);
}

static int map_image(struct kept_images *k, struct image *i, int fd, uint64_t size)
{
	void *data;

	if (!make_room(k, size))
		return -ENOSPC;
	/* A shared mapping of what is sealed is refused by kernels before 6.7. */
	data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	i->data = data;
	i->size = size;
	if (k->oldest > (size_t)(i - k->all.items))
		k->oldest = (size_t)(i - k->all.items);
	k->bytes += size;
	k->mapped++;
	return 0;
}

int kept_images_add(struct kept_images *k, uint32_t module, int fd, uint64_t size)
{
	struct image *i = find_or_add(k, module);
	int error;

	if (!i)
		return -ENOMEM;
	if (i->data)
		return 0;
	error = is_sealed(fd, size) ? map_image(k, i, fd, size) : -EINVAL;
	i->lost = error;
	return error;
}

const void *kept_images_find(const struct kept_images *k, uint32_t module, size_t *ret_size)
{
	const struct image *i = find(k, module);

	if (!i || !i->data)
		return NULL;
	*ret_size = i->size;
	return i->data;
}

bool kept_images_lost(const struct kept_images *k, uint32_t module)
{
	const struct image *i = find(k, module);

	return i && i->lost;
}
