// SPDX-License-Identifier: MIT
/*
 * Graphs. An executable graph holds a copy of the graph it was made from; its nodes have ids of
 * their own, and it is these that CUPTI's records name. Launching one gives each node its time on
 * the device: not before the nodes it depends on, and beside those it does not.
 *
 * Every graph and node that comes and goes is reported to CUPTI. The order is documented nowhere:
 * it is what tests/gpu/cupti_sequence.c saw of NVIDIA's driver 580 (tests/data/cupti-*.txt). There
 * a node's dependencies come before the node, its type is never reported, the nodes of a copy are
 * created and then cloned, updates are not reported at all, and instantiating a graph replaces its
 * memory sets: the node is destroyed, though records go on naming it.
 */
#include "sim.h"
#include "cupti.h"

#include <stdlib.h>
#include <string.h>

static void report(enum sim_resource what, const CUpti_GraphData *data)
{
	if (xpuprof_sim_tools.callbacks[SIM_RESOURCE][what])
		xpuprof_sim_tools.resource(what, sim_current(), NULL, (void *)data);
}

static void report_node(enum sim_resource what, CUgraphNode node, CUgraphNode original)
{
	CUpti_GraphData data = {.graph = node->graph, .node = node};

	if (original) {
		data.originalNode = original;
		data.originalGraph = original->graph;
	}
	report(what, &data);
}

static void report_dependency(CUgraphNode node, CUgraphNode on)
{
	report(SIM_DEPENDENCY_CREATED,
		&(CUpti_GraphData){.graph = node->graph, .node = node, .dependency = on});
}

static bool graph_valid(CUgraph graph)
{
	return graph && graph->magic == SIM_GRAPH;
}

static bool node_valid(CUgraphNode node)
{
	return node && node->magic == SIM_NODE;
}

static bool exec_valid(CUgraphExec exec)
{
	return exec && exec->magic == SIM_EXEC;
}

static CUgraph graph_new(void)
{
	CUgraph graph = calloc(1, sizeof(*graph));

	if (!graph)
		return NULL;
	graph->magic = SIM_GRAPH;
	graph->id = atomic_fetch_add(&sim.next_graph, 1);
	return graph;
}

static void node_free(CUgraphNode node)
{
	report_node(SIM_NODE_DESTROY_STARTING, node, NULL);
	node->magic = 0;
	free(node->dependencies);
	free(node);
}

static void graph_free(CUgraph graph)
{
	for (size_t i = 0; i < graph->count; i++)
		node_free(graph->nodes[i]);
	graph->magic = 0;
	free(graph->nodes);
	free(graph);
}

static bool node_append(CUgraph graph, CUgraphNode node)
{
	if (graph->count == graph->capacity) {
		size_t capacity = graph->capacity ? graph->capacity * 2 : 16;
		CUgraphNode *nodes = realloc(graph->nodes, capacity * sizeof(*nodes));

		if (!nodes)
			return false;
		graph->nodes = nodes;
		graph->capacity = capacity;
	}
	node->index = graph->count;
	graph->nodes[graph->count++] = node;
	return true;
}

static CUgraphNode node_new(CUgraph graph, size_t dependency_count, const struct sim_work *work)
{
	CUgraphNode node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->magic = SIM_NODE;
	node->graph = graph;
	node->id = (uint64_t)graph->id << 32 | ++graph->node_ids;
	node->work = *work;
	node->dependencies = calloc(dependency_count + 1, sizeof(CUgraphNode));
	if (node->dependencies && node_append(graph, node))
		return node;
	free(node->dependencies);
	free(node);
	return NULL;
}

CUresult sim_graph_create(CUgraph *ret)
{
	CUgraph graph;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	graph = graph_new();
	if (!graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	report(SIM_GRAPH_CREATED, &(CUpti_GraphData){.graph = graph});
	*ret = graph;
	return CUDA_SUCCESS;
}

CUresult sim_graph_destroy(CUgraph graph)
{
	if (!graph_valid(graph))
		return CUDA_ERROR_INVALID_VALUE;
	report(SIM_GRAPH_DESTROY_STARTING, &(CUpti_GraphData){.graph = graph});
	graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult sim_graph_add(CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies,
	size_t count, const struct sim_work *work)
{
	CUgraphNode node;

	if (!graph_valid(graph) || !ret || (count && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!node_valid(dependencies[i]) || dependencies[i]->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
	report(SIM_NODE_CREATE_STARTING, &(CUpti_GraphData){.graph = graph});
	node = node_new(graph, count, work);
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < count; i++) {
		node->dependencies[node->dependency_count++] = dependencies[i];
		report_dependency(node, dependencies[i]);
	}
	report_node(SIM_NODE_CREATED, node, NULL);
	*ret = node;
	return CUDA_SUCCESS;
}

CUresult sim_graph_add_kernel(CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies,
	size_t count, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct sim_work work = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
	CUresult result = p ? sim_kernel_describe(p, &work.kernel) : CUDA_ERROR_INVALID_VALUE;

	return result ? result : sim_graph_add(ret, graph, dependencies, count, &work);
}

CUresult sim_graph_add_copy(CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies,
	size_t count, const CUDA_MEMCPY3D *p)
{
	struct sim_work work = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
	CUresult result = p ? sim_copy_describe(p, &work.copy) : CUDA_ERROR_INVALID_VALUE;

	work.copy.async = true;
	return result ? result : sim_graph_add(ret, graph, dependencies, count, &work);
}

CUresult sim_graph_add_fill(CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies,
	size_t count, const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct sim_work work = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
	CUresult result = p ? sim_fill_describe(p, &work.fill) : CUDA_ERROR_INVALID_VALUE;

	work.fill.async = true;
	return result ? result : sim_graph_add(ret, graph, dependencies, count, &work);
}

CUresult sim_graph_add_empty(
	CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies, size_t count)
{
	return sim_graph_add(ret, graph, dependencies, count,
		&(struct sim_work){.type = CU_GRAPH_NODE_TYPE_EMPTY});
}

static CUresult add_dependency(CUgraph graph, CUgraphNode from, CUgraphNode to)
{
	CUgraphNode *grown;

	if (!node_valid(from) || !node_valid(to) || from->graph != graph || to->graph != graph)
		return CUDA_ERROR_INVALID_VALUE;
	grown = realloc(to->dependencies, (to->dependency_count + 1) * sizeof(*grown));
	if (!grown)
		return CUDA_ERROR_OUT_OF_MEMORY;
	to->dependencies = grown;
	grown[to->dependency_count++] = from;
	graph->unordered |= from->index >= to->index;
	report_dependency(to, from);
	return CUDA_SUCCESS;
}

CUresult sim_graph_add_dependencies(
	CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	CUresult result = CUDA_SUCCESS;

	if (!graph_valid(graph))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++)
		result = add_dependency(graph, from[i], to[i]);
	return result;
}

CUresult sim_graph_nodes(CUgraph graph, CUgraphNode *ret, size_t *count)
{
	if (!graph_valid(graph) || !count)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ret) {
		*count = graph->count;
		return CUDA_SUCCESS;
	}
	if (*count > graph->count) {
		memset(ret + graph->count, 0, (*count - graph->count) * sizeof(*ret));
		*count = graph->count;
	}
	memcpy(ret, graph->nodes, *count * sizeof(*ret));
	return CUDA_SUCCESS;
}

CUresult sim_graph_node_type(CUgraphNode node, CUgraphNodeType *ret)
{
	if (!node_valid(node))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = node->work.type;
	return CUDA_SUCCESS;
}

CUresult sim_graph_find_in_clone(CUgraphNode *ret, CUgraphNode original, CUgraph clone)
{
	if (!node_valid(original) || !graph_valid(clone))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < clone->count; i++)
		if (clone->nodes[i]->original == original)
			return *ret = clone->nodes[i], CUDA_SUCCESS;
	return CUDA_ERROR_INVALID_VALUE;
}

static void forget_dependency(CUgraphNode node, CUgraphNode gone)
{
	size_t kept = 0;

	for (size_t i = 0; i < node->dependency_count; i++)
		if (node->dependencies[i] != gone)
			node->dependencies[kept++] = node->dependencies[i];
	node->dependency_count = kept;
}

CUresult sim_graph_destroy_node(CUgraphNode node)
{
	CUgraph graph;

	if (!node_valid(node))
		return CUDA_ERROR_INVALID_VALUE;
	graph = node->graph;
	graph->count--;
	for (size_t i = node->index; i < graph->count; i++) {
		graph->nodes[i] = graph->nodes[i + 1];
		graph->nodes[i]->index = i;
	}
	for (size_t i = 0; i < graph->count; i++)
		forget_dependency(graph->nodes[i], node);
	node_free(node);
	return CUDA_SUCCESS;
}

CUresult sim_graph_set_kernel(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	if (!node_valid(node) || node->work.type != CU_GRAPH_NODE_TYPE_KERNEL || !p)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_kernel_describe(p, &node->work.kernel);
}

/* The copy of a graph: node i of the one is node i of the other. */
static CUgraph graph_copy(CUgraph graph)
{
	CUgraph copy = graph_new();

	if (!copy)
		return NULL;
	report(SIM_GRAPH_CREATED, &(CUpti_GraphData){.graph = copy});
	copy->unordered = graph->unordered;
	for (size_t i = 0; i < graph->count; i++) {
		CUgraphNode from = graph->nodes[i], node;

		report(SIM_NODE_CREATE_STARTING, &(CUpti_GraphData){.graph = copy});
		node = node_new(copy, from->dependency_count, &from->work);
		if (!node) {
			graph_free(copy);
			return NULL;
		}
		node->original = from;
		report_node(SIM_NODE_CREATED, node, NULL);
		report_node(SIM_NODE_CLONED, node, from);
	}
	for (size_t i = 0; i < graph->count; i++) {
		CUgraphNode from = graph->nodes[i], node = copy->nodes[i];

		for (size_t d = 0; d < from->dependency_count; d++) {
			node->dependencies[d] = copy->nodes[from->dependencies[d]->index];
			report_dependency(node, node->dependencies[d]);
		}
		node->dependency_count = from->dependency_count;
	}
	return copy;
}

CUresult sim_graph_clone(CUgraph *ret, CUgraph graph)
{
	if (!graph_valid(graph) || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = graph_copy(graph);
	if (!*ret)
		return CUDA_ERROR_OUT_OF_MEMORY;
	report(SIM_GRAPH_CLONED, &(CUpti_GraphData){.graph = *ret, .originalGraph = graph});
	return CUDA_SUCCESS;
}

static bool ready(CUgraphNode node, size_t placed)
{
	for (size_t i = 0; i < node->dependency_count; i++)
		if (node->dependencies[i]->index >= placed)
			return false;
	return true;
}

/*
 * Puts every node after those it depends on; false when they run in a circle. Rare: only for graphs
 * whose dependencies were added afterwards and point forward.
 */
static bool graph_order(CUgraph graph)
{
	for (size_t placed = 0; placed < graph->count; placed++) {
		size_t next = placed;

		while (next < graph->count && !ready(graph->nodes[next], placed))
			next++;
		if (next == graph->count)
			return false;
		CUgraphNode node = graph->nodes[next];

		graph->nodes[next] = graph->nodes[placed];
		graph->nodes[next]->index = next;
		graph->nodes[placed] = node;
		node->index = placed;
	}
	graph->unordered = false;
	return true;
}

/* What is reported while memory sets become something of the driver's own. */
static void report_replacements(CUgraph graph)
{
	for (size_t i = 0; i < graph->count; i++) {
		struct CUgraphNode_st inner = {.magic = SIM_NODE, .graph = graph};

		if (graph->nodes[i]->work.type != CU_GRAPH_NODE_TYPE_MEMSET)
			continue;
		inner.id = (uint64_t)graph->id << 32 | ++graph->node_ids;
		report(SIM_NODE_CREATE_STARTING, &(CUpti_GraphData){.graph = graph});
		report_node(SIM_NODE_CREATED, &inner, NULL);
		report_node(SIM_NODE_DESTROY_STARTING, graph->nodes[i], NULL);
	}
}

CUresult sim_graph_instantiate(CUgraphExec *ret, CUgraph graph)
{
	CUgraphExec exec;

	if (!graph_valid(graph) || !ret)
		return CUDA_ERROR_INVALID_VALUE;
	exec = calloc(1, sizeof(*exec));
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->magic = SIM_EXEC;
	exec->graph = graph_copy(graph);
	if (!exec->graph || (exec->graph->unordered && !graph_order(exec->graph))) {
		if (exec->graph)
			graph_free(exec->graph);
		free(exec);
		return CUDA_ERROR_INVALID_VALUE;
	}
	exec->id = exec->graph->id;
	report(SIM_EXEC_CREATE_STARTING, &(CUpti_GraphData){.graph = graph});
	report_replacements(exec->graph);
	report(SIM_EXEC_CREATED, &(CUpti_GraphData){.graph = graph, .graphExec = exec});
	*ret = exec;
	return CUDA_SUCCESS;
}

CUresult sim_graph_instantiate_params(
	CUgraphExec *ret, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	CUresult result = p ? sim_graph_instantiate(ret, graph) : CUDA_ERROR_INVALID_VALUE;

	if (p)
		p->result_out =
			result ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return result;
}

CUresult sim_graph_exec_set_kernel(
	CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	CUgraphNode own;

	if (!exec_valid(exec) || !node_valid(node) ||
		sim_graph_find_in_clone(&own, node, exec->graph))
		return CUDA_ERROR_INVALID_VALUE;
	return sim_graph_set_kernel(own, p);
}

static CUgraphNode first_difference(CUgraph a, CUgraph b, CUgraphExecUpdateResult *ret_why)
{
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		if (a->nodes[i]->work.type != b->nodes[i]->work.type) {
			*ret_why = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
			return b->nodes[i];
		}
		if (a->nodes[i]->dependency_count != b->nodes[i]->dependency_count) {
			*ret_why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
			return b->nodes[i];
		}
	}
	*ret_why = a->count == b->count ? CU_GRAPH_EXEC_UPDATE_SUCCESS
					: CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	return NULL;
}

CUresult sim_graph_exec_update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *ret)
{
	CUgraphExecUpdateResultInfo info = {0};

	if (!exec_valid(exec) || !graph_valid(graph))
		return CUDA_ERROR_INVALID_VALUE;
	info.errorNode = first_difference(exec->graph, graph, &info.result);
	if (ret)
		*ret = info;
	if (info.result)
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	for (size_t i = 0; i < graph->count; i++) {
		CUgraphNode node = exec->graph->nodes[i];

		node->work = graph->nodes[i]->work;
		node->original = graph->nodes[i];
	}
	return CUDA_SUCCESS;
}

static uint64_t run_node(
	CUgraphExec exec, CUgraphNode node, CUstream s, uint64_t start_ns, CUresult *result)
{
	struct sim_run run = {.start_ns = start_ns, .graph_node = node->id, .graph = exec->id};

	for (size_t i = 0; i < node->dependency_count; i++)
		if (node->dependencies[i]->end_ns > run.start_ns)
			run.start_ns = node->dependencies[i]->end_ns;
	run.end_ns = run.start_ns;
	if (node->work.type != CU_GRAPH_NODE_TYPE_EMPTY) {
		CUresult one = sim_compute_run(&node->work, &run);

		*result = *result ? *result : one;
		sim_work_move_bytes(&node->work);
		sim_stream_run(s, &node->work, &run);
	}
	node->end_ns = run.end_ns;
	return run.end_ns;
}

CUresult sim_graph_launch(CUgraphExec exec, CUstream s)
{
	struct sim_run run = {0};
	CUresult result = CUDA_SUCCESS;

	if (!exec_valid(exec))
		return CUDA_ERROR_INVALID_VALUE;
	if (!s)
		return sim_stream_error();
	if (s->capture)
		return CUDA_ERROR_NOT_SUPPORTED;
	run.start_ns = sim_stream_begin(s);
	if (exec->idle_ns > run.start_ns)
		run.start_ns = exec->idle_ns; /* never beside itself */
	run.end_ns = run.start_ns;
	for (size_t i = 0; i < exec->graph->count; i++) {
		uint64_t end_ns = run_node(exec, exec->graph->nodes[i], s, run.start_ns, &result);

		run.end_ns = end_ns > run.end_ns ? end_ns : run.end_ns;
	}
	run.graph = exec->id;
	run.correlation = sim_thread.correlation;
	if (xpuprof_sim_tools.records && exec->graph->count)
		xpuprof_sim_tools.graph_run(s, exec, &run);
	exec->idle_ns = run.end_ns;
	sim_stream_end(s, run.end_ns);
	return result;
}

CUresult sim_graph_upload(CUgraphExec exec, CUstream s)
{
	if (!exec_valid(exec))
		return CUDA_ERROR_INVALID_VALUE;
	return s ? CUDA_SUCCESS : sim_stream_error();
}

CUresult sim_graph_exec_destroy(CUgraphExec exec)
{
	if (!exec_valid(exec))
		return CUDA_ERROR_INVALID_VALUE;
	report(SIM_EXEC_DESTROY_STARTING, &(CUpti_GraphData){.graphExec = exec});
	report(SIM_GRAPH_DESTROY_STARTING, &(CUpti_GraphData){.graph = exec->graph});
	graph_free(exec->graph);
	exec->magic = 0;
	free(exec);
	return CUDA_SUCCESS;
}
