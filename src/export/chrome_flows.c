// SPDX-License-Identifier: MIT
#include "export/chrome_flows.h"

#include <errno.h>

void flows_release(struct flows *f)
{
	map_release(&f->open);
	vec_release(&f->ends);
	vec_release(&f->unused);
	*f = FLOWS_INIT;
}

/* Viewers bind an end to the slice of its row that is open at its time; "bp": "e" asks for that at
 * the target, too. */
static void put_end(struct output *o, const char *what, const struct flow_end *end, uint64_t id)
{
	output_printf(o, ",\n{\"ph\":%s,\"name\":\"launch\",\"cat\":\"Launch\",\"id\":", what);
	output_u64(o, id);
	output_printf(o, ",\"pid\":%u,\"tid\":%u,\"ts\":", end->pid, end->tid);
	output_us(o, end->time_ns);
	output_puts(o, "}");
}

static int keep(struct flows *f, uint64_t key, const struct flow_end *end)
{
	size_t index;

	if (f->unused.count) {
		index = f->unused.items[--f->unused.count];
		f->ends.items[index] = *end;
	} else {
		index = f->ends.count;
		if (vec_push(&f->ends, *end))
			return -ENOMEM;
	}
	return map_put(&f->open, key, index);
}

/* Room for one more unused index, as forgetting must not fail. */
static int make_room(struct flows *f)
{
	return vec_reserve(&f->unused, f->ends.count - f->unused.count + 1);
}

int flows_add(struct flows *f, uint64_t key, const struct flow_end *end, struct output *o)
{
	const uint64_t *index = map_get(&f->open, key);
	const struct flow_end *other = index ? &f->ends.items[*index] : NULL;
	const struct flow_end *call = end->is_work ? other : end,
			      *work = end->is_work ? end : other;

	if (!other)
		return end->is_graph ? 0 : make_room(f) ? -ENOMEM : keep(f, key, end);
	if (other->is_work == end->is_work)
		return 0;
	/* By the clocks of CPU and GPU, which may be a little apart, an arrow could go
	 * backwards. */
	if (work->time_ns >= call->time_ns) {
		f->count++;
		put_end(o, "\"s\"", call, f->count);
		put_end(o, "\"f\",\"bp\":\"e\"", work, f->count);
	}
	flows_forget(f, key);
	return 0;
}

void flows_forget(struct flows *f, uint64_t key)
{
	uint64_t index;

	if (map_remove(&f->open, key, &index))
		f->unused.items[f->unused.count++] = index;
}
