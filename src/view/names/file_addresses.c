// SPDX-License-Identifier: MIT
#include "view/names/file_addresses.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/search.h"

static int compare(const void *a, const void *b)
{
	const struct profile_segment *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int file_addresses_init(struct file_addresses *a, const struct profile_reader *r)
{
	uint32_t count = profile_counts(r).segments;

	*a = (struct file_addresses){0};
	for (uint32_t id = 1; id <= count; id++)
		if (vec_push(&a->segments, *profile_segment(r, id)))
			return error_memory("where files were linked to run");
	if (a->segments.count)
		qsort(a->segments.items, a->segments.count, sizeof(a->segments.items[0]), compare);
	return 0;
}

void file_addresses_release(struct file_addresses *a)
{
	vec_release(&a->segments);
}

uint64_t file_address(const struct file_addresses *a, uint32_t module, uint64_t offset)
{
	const struct profile_segment wanted = {.module = module, .offset = offset}, *s;
	size_t behind =
		search_first(i, 0, a->segments.count, compare(&a->segments.items[i], &wanted) > 0);

	s = behind ? &a->segments.items[behind - 1] : NULL;
	if (!s || s->module != module || offset - s->offset >= s->size)
		return offset;
	return offset - s->offset + s->vaddr;
}
