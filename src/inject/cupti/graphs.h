/* SPDX-License-Identifier: MIT */
/*
 * CUDA graphs. Each node is reported with the call that made it; that the call made a node proves
 * that it was captured (it asked for no work). Executable graphs that do no work at all are kept,
 * so that their launches are reported as empty.
 *
 * The launch path, and where graphs are made: no locks, no allocations; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/abi.h"

/* What a thread is about to make. */
struct graph_making {
	uint32_t clones; /* nodes cloned for the copy or executable graph */
	uint32_t exec;	 /* inside the instantiation of a graph */
};

extern __thread struct graph_making graph_making;

/* A call begins in this thread: no instantiation is going on, also when the last one failed
 * half-way. */
static inline void graphs_call_begins(void)
{
	graph_making.exec = 0;
}

/* Whether the call, one that launches a graph, launches one that does nothing. */
bool graph_is_empty(const struct cupti_callback_data *d);

/* What CUPTI's callbacks report of graphs. */
void graphs_change(uint32_t id, const struct cupti_graph_data *g);
