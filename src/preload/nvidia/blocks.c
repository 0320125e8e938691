// SPDX-License-Identifier: MIT
#include "preload/nvidia/blocks.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "preload/link.h"
#include "preload/nvidia/sizes.h"

#define LARGEST_BLOCK 1024 /* of all GPUs so far: no kernel has more to lose */

/* The largest block of a kernel; 0: not known. */
static uint32_t largest_block(const struct loader *l, void *handle, const char *name)
{
	void *kernel = kernel_find(l, handle, name);

	return kernel ? kernel_attribute(l, kernel, CU_MAX_THREADS) : 0;
}

static bool any_is_smaller(const struct loader *l, const struct image *i, void *handle)
{
	vec_foreach (k, &i->spliced.kernels) {
		uint32_t block = largest_block(l, handle, k->name);

		if (block && block < LARGEST_BLOCK)
			return true;
	}
	return false;
}

struct bounds vec(struct ptx_bound);

/* Kernels whose blocks are smaller than those of the original, with what these were. */
static bool compare(const struct loader *l, const struct image *i, void *handle, void *original,
	struct bounds *ret)
{
	vec_foreach (k, &i->spliced.kernels) {
		uint32_t before = largest_block(l, original, k->name);
		struct ptx_bound bound = {k->name, before};

		if (largest_block(l, handle, k->name) < before && vec_push(ret, bound))
			return false;
	}
	return true;
}

/* With the bounds in its text. */
static bool load_bounded(
	const struct loader *l, struct image *i, const struct bounds *bounds, void **handle)
{
	void *new = NULL;

	if (!image_splice_again(i, bounds->items, bounds->count) ||
		l->load(l->context, i->spliced.text.data, &new))
		return false;
	for (size_t n = 0; n < bounds->count; n++)
		if (largest_block(l, new, bounds->items[n].kernel) < bounds->items[n].threads) {
			l->unload(l->context, new);
			return false;
		}
	*handle = new;
	return true;
}

static void forget(struct bounds *bounds)
{
	vec_foreach (b, bounds)
		free((char *)(uintptr_t)b->kernel);
	vec_release(bounds);
}

/* Names of kernels go with what is spliced. */
static bool keep_names(struct bounds *bounds)
{
	bool kept = true;

	vec_foreach (b, bounds) {
		b->kernel = strdup(b->kernel);
		kept &= b->kernel != NULL;
	}
	return kept;
}

bool blocks_stay(const struct loader *l, struct image *i, void **handle)
{
	struct bounds bounds = {0};
	void *original;
	bool stay;

	if (!any_is_smaller(l, i, *handle))
		return true;
	if (l->load(l->context, i->original, &original)) {
		l->unload(l->context, *handle);
		return false;
	}
	stay = compare(l, i, *handle, original, &bounds);
	l->unload(l->context, original);
	if (stay && !bounds.count)
		return true;
	l->unload(l->context, *handle);
	stay = keep_names(&bounds) && stay && load_bounded(l, i, &bounds, handle);
	forget(&bounds);
	if (!stay)
		link_send_fate(PROBE_FATE_SMALLER, 1, NULL);
	return stay;
}
