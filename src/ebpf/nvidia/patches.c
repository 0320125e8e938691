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

int bodies_as_patches(const struct bodies *b, struct buf *ret)
{
	struct vec(struct ptx_body) all = {0};
	struct ptx_patches patches;
	int error = 0;

	vec_foreach (body, &b->items) {
		struct ptx_body one;

		if (body_lacks_as_patch(body))
			continue;
		body_probe(body, &one);
		if (vec_push(&all, one))
			error = error_memory("patches");
	}
	if (!error)
		error = ptx_patches_make(
			&(struct ptx_probes){.bodies = all.items, .body_count = all.count},
			&patches);
	if (!error)
		*ret = patches.text;
	if (!error)
		ret->size--; /* its NUL */
	vec_release(&all);
	return error;
}
