/* SPDX-License-Identifier: MIT */
/*
 * Arrows of a timeline from launching calls to their GPU work: flow events, "s" inside the call and
 * "f" at the work.
 *
 * An arrow is written after both of its ends, whichever came first. A call has one arrow: to the
 * first piece of its work, of a graph as well. Memory is for calls whose work has not come yet.
 * Calls whose work never comes are forgotten when the recording reports them so (flows_forget).
 */
#pragma once

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "export/output.h"

struct flow_end {
	uint64_t time_ns;
	uint32_t pid, tid;
	bool is_work;
	/* work that does not wait for its call: others of its launch may have had it */
	bool is_graph;
};

struct flows {
	struct map open; /* instance << 32 | correlation: index of `ends` */
	struct vec(struct flow_end) ends;
	struct vec(size_t) unused; /* indices of `ends` */
	uint64_t count;
};

#define FLOWS_INIT ((struct flows){0})

void flows_release(struct flows *f);
/* One end was written; writes the arrow if it is the second: 0 or -ENOMEM. */
int flows_add(struct flows *f, uint64_t key, const struct flow_end *end, struct output *o);
void flows_forget(struct flows *f, uint64_t key);
