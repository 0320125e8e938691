// SPDX-License-Identifier: MIT
/* The programs of an object as functions of their own. */
#include "ebpf/nvidia/bodies.h"

#include "base/error.h"
#include "ptx/patch.h"

const char *body_lacks_as_patch(const struct body *b)
{
	struct ptx_body body;

	if (b->program->site.where == EBPF_ALONE)
		return "a launch of its own";
	body_probe(b, &body);
	return ptx_patch_lacks(&body);
}

struct list {
	struct vec(struct ptx_body) items;
};

/* Patches count all that are in kernels of the program's, also those that can be none. */
static int add(struct list *l, const struct bodies *b)
{
	vec_foreach (body, &b->items) {
		struct ptx_body one;

		if (body->program->site.where == EBPF_ALONE)
			continue;
		body_probe(body, &one);
		if (vec_push(&l->items, one))
			return error_memory("patches");
	}
	return 0;
}

int bodies_as_patches(const struct bodies *const *all, size_t count, struct buf *ret)
{
	struct ptx_patches patches;
	struct list l = {0};
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		error = add(&l, all[i]);
	if (!error)
		error = ptx_patches_make(
			&(struct ptx_probes){.bodies = l.items.items, .body_count = l.items.count},
			&patches);
	if (!error)
		*ret = patches.text;
	if (!error)
		ret->size--; /* its NUL */
	vec_release(&l.items);
	return error;
}
