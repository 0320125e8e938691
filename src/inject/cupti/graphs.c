// SPDX-License-Identifier: MIT
/* Executable graphs that do nothing are kept as handles in a small table, which is nearly always
 * empty. */
#include "inject/cupti/graphs.h"

#include "inject/cupti/cupti.h"
#include "inject/launches.h"
#include "inject/library.h"

#define EMPTY_EXECS 64

__thread struct graph_making graph_making;

static void *empty_execs[EMPTY_EXECS]; /* NULL: a free slot */
static uint32_t empty_exec_count;
/* CUPTI has reported a cloned node; until then a graph without reported nodes may have some. */
static uint32_t clones_reported;

bool graph_is_empty(const struct cupti_callback_data *d)
{
	void *exec = NULL;

	if (__atomic_load_n(&empty_exec_count, __ATOMIC_RELAXED) && d->params)
		exec = *(void *const *)d->params;
	for (int i = 0; exec && i < EMPTY_EXECS; i++)
		if (__atomic_load_n(&empty_execs[i], __ATOMIC_RELAXED) == exec)
			return true;
	return false;
}

static uint64_t node_id(void *node)
{
	uint64_t id = 0;

	if (!node || !cupti.GetGraphNodeId || cupti.GetGraphNodeId(node, &id))
		return 0;
	return id;
}

static void send_node(
	enum wire_node_change change, uint32_t correlation, void *node, void *original)
{
	struct wire_node record = {
		.type = WIRE_NODE,
		.change = (uint8_t)change,
		.correlation = correlation,
		.node = node_id(node),
		.original = original ? node_id(original) : 0,
	};

	if (record.node && !ring_put(&library.ring, &record))
		count(WIRE_LOST_NODES, 1);
}

static void node_appeared(const struct cupti_graph_data *g, bool cloned)
{
	struct open_call *open = call_inside();

	if (cloned) {
		graph_making.clones++;
		__atomic_store_n(&clones_reported, 1, __ATOMIC_RELAXED);
		send_node(
			WIRE_NODE_CLONED, open ? open->correlation : 0, g->node, g->original_node);
		return;
	}
	if (open && !graph_making.exec) {
		open->flags |= WIRE_FLAG_CAPTURED;
		send_node(WIRE_NODE_CREATED, open->correlation, g->node, NULL);
	}
}

/*
 * Remembers the new executable graph if launching it asks for nothing: if no node was cloned for
 * it. The driver (580) reports clones before it reports that the instantiation begins, of every
 * node alike, and without its type; so graphs of nothing but empty nodes are not identified.
 */
static void exec_appeared(void *exec)
{
	bool has_nodes =
		graph_making.clones || !__atomic_load_n(&clones_reported, __ATOMIC_RELAXED);

	graph_making.exec = 0;
	graph_making.clones = 0;
	if (has_nodes)
		return;
	for (int i = 0; i < EMPTY_EXECS; i++) {
		void *free_slot = NULL;

		if (__atomic_compare_exchange_n(&empty_execs[i], &free_slot, exec, false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_fetch_add(&empty_exec_count, 1, __ATOMIC_RELAXED);
			return;
		}
	}
}

static void exec_gone(void *exec)
{
	if (!__atomic_load_n(&empty_exec_count, __ATOMIC_RELAXED))
		return;
	for (int i = 0; i < EMPTY_EXECS; i++) {
		void *expected = exec;

		if (__atomic_compare_exchange_n(&empty_execs[i], &expected, NULL, false,
			    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			__atomic_fetch_sub(&empty_exec_count, 1, __ATOMIC_RELAXED);
			return;
		}
	}
}

void graphs_change(uint32_t id, const struct cupti_graph_data *g)
{
	switch (id) {
	case CUPTI_RESOURCE_NODE_CREATED:
		node_appeared(g, false);
		break;
	case CUPTI_RESOURCE_NODE_CLONED:
		node_appeared(g, true);
		break;
	case CUPTI_RESOURCE_GRAPH_CLONED:
		graph_making.clones = 0;
		break;
	case CUPTI_RESOURCE_NODE_DESTROY_STARTING:
		/* To instantiate, the driver (580) replaces nodes, whose ids work goes on to
		 * name. */
		if (!graph_making.exec)
			send_node(WIRE_NODE_DESTROYED, 0, g->node, NULL);
		break;
	case CUPTI_RESOURCE_EXEC_CREATE_STARTING:
		graph_making.exec = 1;
		break;
	case CUPTI_RESOURCE_EXEC_CREATED:
		exec_appeared(g->graph_exec);
		break;
	case CUPTI_RESOURCE_EXEC_DESTROY_STARTING:
		exec_gone(g->graph_exec);
		break;
	}
}
