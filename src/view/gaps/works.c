// SPDX-License-Identifier: MIT
#include "view/gaps/works.h"

int gap_works_init(struct gap_works *w, const struct gap_events *e)
{
	*w = (struct gap_works){.works = e->works.items};
	for (size_t i = 0; i < e->works.count; i++)
		if (i && w->works[i].device == w->works[i - 1].device)
			w->devices.items[w->devices.count - 1].end++;
		else if (vec_push(&w->devices,
				 (struct gap_works_device){i, i + 1, i, w->works[i].start_ns}))
			return -ENOMEM;
	return 0;
}

void gap_works_release(struct gap_works *w)
{
	vec_release(&w->devices);
}

/* One that begins at UINT64_MAX is looked for when all others are gone. */
static struct gap_works_device *find_last(struct gap_works *w)
{
	vec_foreach (d, &w->devices)
		if (d->next < d->end)
			return d;
	return NULL;
}

bool gap_works_next(struct gap_works *w, size_t *ret_work, size_t *ret_device)
{
	struct gap_works_device *first = NULL;
	uint64_t first_ns = UINT64_MAX;

	vec_foreach (d, &w->devices)
		if (d->next_ns < first_ns) {
			first = d;
			first_ns = d->next_ns;
		}
	first = first ?: find_last(w);
	if (!first)
		return false;
	*ret_work = first->next++;
	*ret_device = (size_t)(first - w->devices.items);
	first->next_ns = first->next < first->end ? w->works[first->next].start_ns : UINT64_MAX;
	return true;
}
