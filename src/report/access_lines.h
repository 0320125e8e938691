/* SPDX-License-Identifier: MIT */
/* Which accesses to memory are on which lines of an annotation. */
#pragma once

#include "report/accesses.h"
#include "view/stalls/annotation.h"

#define ACCESS_NO_LINE UINT32_MAX

struct access_lines {
	uint32_t *of; /* of each access: index of the annotation's `lines`; ACCESS_NO_LINE */
	uint32_t *
		first; /* of each line, and one more: index in `sorted`, where its accesses begin */
	uint32_t *sorted; /* accesses with a line: by line, and in their order */
};

/* Where several lines are the same line of a file of the same path, the first is it. 0 or -ENOMEM;
 * in either case it is good for release. */
int access_lines_find(
	struct access_lines *l, const struct annotation *a, const struct kernel_accesses *accesses);
void access_lines_release(struct access_lines *l);

/* How many there are on a line, *ret the first of their indices. */
static inline uint32_t access_lines_on(
	const struct access_lines *l, uint32_t line, const uint32_t **ret)
{
	*ret = l->sorted + l->first[line];
	return l->first[line + 1] - l->first[line];
}
