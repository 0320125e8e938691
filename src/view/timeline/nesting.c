// SPDX-License-Identifier: MIT
#include "view/timeline/nesting.h"

#include "base/error.h"

void nesting_release(struct nesting *n)
{
	vec_release(&n->highest);
}

int nesting_add(struct nesting *n, uint64_t begin_ns, uint32_t *depth)
{
	struct nesting_open new = {.begin_ns = begin_ns, .height = 1};
	size_t count = n->highest.count;

	/* the highest of those in it is the first of them */
	for (; count && n->highest.items[count - 1].begin_ns >= begin_ns; count--)
		new.height = n->highest.items[count - 1].height + 1;
	if (new.height > NESTING_MAX)
		new.height = NESTING_MAX;
	while (count && n->highest.items[count - 1].height <= new.height)
		count--;
	n->highest.count = count;
	*depth = new.height > *depth ? new.height : *depth;
	return vec_push(&n->highest, new) ? error_memory("the time axis") : 0;
}
