// SPDX-License-Identifier: MIT
/*
 * Graphs and their nodes are in two pools; handles of the program's lead to the former. Whoever
 * changes a graph has the lock. A launch reads without it: HIP does not let a program change a
 * graph that a thread launches, and where one does it all the same, places stay inside the pools.
 */
#include "inject/rocprofiler/hip_graphs.h"

#include <pthread.h>
#include <sys/mman.h>

#include "base/bare/hash_step.h"
#include "inject/handles.h"
#include "inject/rocprofiler/rocprofiler.h"
#include "vendor/amd/amd.h"

#define GRAPHS_MAX  (1u << 12)
#define NODES_MAX   (1u << 18)
#define STEPS_MAX   4096u /* to find a kernel in a graph that is no chain */
#define NAMES_SLOTS (1u << 16)

#define FUNCTION_IN_PARAMETERS 24 /* of a kernel's node: where its function is */

#define CALL_NUMBER(number, kind, name, ...) NUMBER_##name = (number),
enum { AMD_LAUNCHES(CALL_NUMBER) AMD_NODES(CALL_NUMBER) AMD_GRAPHS(CALL_NUMBER) };
#undef CALL_NUMBER

/* What nodes do that are no kernels of the program's. */
static const char fill_key[] = "fill", copy_key[] = "copy";

/* Places in a pool are counted from 1; 0: none. */
struct node {
	const char *key; /* the name of its kernel, or one of the above */
	uint32_t number;
	uint32_t next;
	uint32_t after; /* of no chain: the node that came after it in a launch */
	bool again;	/* there is another one with its key */
};

struct kind_of_node {
	uint32_t count, number; /* of one of them */
};

struct graph {
	uint32_t serial; /* another one each time that the place is used */
	uint32_t first, last;
	uint32_t next; /* of the free ones */
	struct kind_of_node fills, copies;
	const void *latest; /* the node that was added last, by hand */
	const void *origin; /* the stream that its capture began with */
	bool is_used;
	bool is_launched; /* made from another, of which it is no part any more */
	bool captures;	  /* a stream makes it */
	bool branches;	  /* it is no chain */
	bool unknown;	  /* something was done to it that is not followed */
	uint32_t at;	  /* in a launch: the node to come, or of no chain the one before */
};

static struct graph *graphs;
static struct node *nodes;
static uint32_t free_graph, free_node;	 /* the first of each */
static uint32_t graphs_used, nodes_used; /* ever */
static uint32_t latest_number;
static uint32_t captures;
static struct handles by_handle, by_stream, by_event, by_function;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct name_slot {
	const char *key;
	uint32_t node;
	uint32_t round;
} * names;

static void *reserve(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int hip_graphs_init(void)
{
	graphs = reserve((GRAPHS_MAX + 1) * sizeof(*graphs));
	nodes = reserve((NODES_MAX + 1) * sizeof(*nodes));
	names = reserve(NAMES_SLOTS * sizeof(*names));
	return !graphs || !nodes || !names || handles_init(&by_handle) ||
			       handles_init(&by_stream) || handles_init(&by_event) ||
			       handles_init(&by_function)
		       ? -1
		       : 0;
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* --- nodes; under the lock -------------------------------------------------------------------- */

static void send_node(
	enum wire_node_change change, uint32_t correlation, uint32_t node, uint32_t original)
{
	const struct wire_node record = {.type = WIRE_NODE,
		.change = (uint8_t)change,
		.correlation = correlation,
		.node = node_id(node),
		.original = original ? node_id(original) : 0};

	if (is_recording() && !ring_put(&library.ring, &record))
		count(WIRE_LOST_NODES, 1);
}

static void count_kind(struct graph *g, const struct node *n)
{
	struct kind_of_node *k = n->key == fill_key   ? &g->fills
				 : n->key == copy_key ? &g->copies
						      : NULL;

	if (!k)
		return;
	k->count++;
	k->number = n->number;
}

/* NULL: there is no room. */
static struct node *append(struct graph *g, const char *key)
{
	uint32_t place = free_node;
	struct node *n;

	if (place)
		free_node = nodes[place].next;
	else if (nodes_used < NODES_MAX)
		place = ++nodes_used;
	if (!place) {
		g->unknown = true;
		count(WIRE_LOST_NODES, 1);
		return NULL;
	}
	n = &nodes[place];
	*n = (struct node){.key = key, .number = ++latest_number};
	if (g->last)
		nodes[g->last].next = place;
	else
		g->first = place;
	g->last = place;
	count_kind(g, n);
	return n;
}

static void drop_nodes(struct graph *g)
{
	for (uint32_t place = g->first; place; place = nodes[place].next)
		send_node(WIRE_NODE_DESTROYED, 0, nodes[place].number, 0);
	if (g->last) {
		nodes[g->last].next = free_node;
		free_node = g->first;
	}
	g->first = g->last = 0;
	g->fills = g->copies = (struct kind_of_node){0};
}

static uint32_t slot_of(const char *key)
{
	uint64_t hash = 0;

	while (*key)
		hash = hash_step(hash, (unsigned char)*key++);
	return (uint32_t)(hash >> 32) % NAMES_SLOTS;
}

/* Which kernels are there more than once. */
static void compare_names(struct graph *g)
{
	static uint32_t round;

	round++;
	for (uint32_t place = g->first; place; place = nodes[place].next) {
		struct node *n = &nodes[place];
		uint32_t slot = slot_of(n->key), tries = 0;

		while (names[slot].round == round && !is_same(names[slot].key, n->key) &&
			tries++ < STEPS_MAX)
			slot = (slot + 1) % NAMES_SLOTS;
		if (names[slot].round == round) {
			n->again = nodes[names[slot].node].again = true;
			g->unknown |= tries > STEPS_MAX;
			continue;
		}
		names[slot] = (struct name_slot){n->key, place, round};
	}
}

/* Nodes of its own for each of the other's. */
static void copy_nodes(struct graph *to, const struct graph *from)
{
	to->branches = from->branches;
	to->unknown = from->unknown;
	for (uint32_t place = from->first; place && !to->unknown; place = nodes[place].next) {
		struct node *n = append(to, nodes[place].key);

		if (n)
			send_node(WIRE_NODE_CLONED, 0, n->number, nodes[place].number);
	}
	if (to->branches)
		compare_names(to);
}

/* --- graphs ----------------------------------------------------------------------------------- */

/* A place and its serial number, in what a handle leads to. */
static uintptr_t value_of(const struct graph *g)
{
	return (uintptr_t)(g - graphs) | (uintptr_t)(g->serial % (1u << 19)) << 13;
}

static struct graph *graph_of(uintptr_t value)
{
	uintptr_t place = value % (1u << 13);
	struct graph *g = &graphs[place];

	return place && place <= GRAPHS_MAX && g->is_used && value_of(g) == value ? g : NULL;
}

static struct graph *graph_at(const void *handle)
{
	return graph_of(handles_get(&by_handle, handle));
}

static void end_capture(struct graph *g)
{
	if (g->captures)
		__atomic_sub_fetch(&captures, 1, __ATOMIC_RELAXED);
	g->captures = false;
}

static void drop(struct graph *g)
{
	if (!g)
		return;
	end_capture(g);
	drop_nodes(g);
	g->is_used = false;
	g->next = free_graph;
	free_graph = (uint32_t)(g - graphs);
}

/* NULL: there is no room. */
static struct graph *make(void)
{
	uint32_t place = free_graph;
	struct graph *g;

	if (place)
		free_graph = graphs[place].next;
	else if (graphs_used < GRAPHS_MAX)
		place = ++graphs_used;
	if (!place) {
		count(WIRE_LOST_NODES, 1);
		return NULL;
	}
	g = &graphs[place];
	*g = (struct graph){.serial = g->serial + 1, .is_used = true};
	return g;
}

static void put(struct handles *table, const void *handle, const struct graph *g)
{
	handles_put(table, handle, g ? value_of(g) : 0, NULL);
}

/* What was there under the same handle is gone. */
static struct graph *make_at(const void *handle)
{
	struct graph *g;

	drop(graph_at(handle));
	g = make();
	put(&by_handle, handle, g);
	return g;
}

/* What made a node is not known, or is not what it was. */
static void forget(struct graph *g)
{
	if (g)
		g->unknown = true;
}

/* A node changes, of which only its own handle is known. */
static void forget_all(void)
{
	for (uint32_t place = 1; place <= graphs_used; place++)
		if (!graphs[place].is_launched)
			forget(&graphs[place]);
}

static void add_node(struct graph *g, const char *key, const struct open_call *open)
{
	struct node *n = NULL;

	if (key && open && !g->unknown)
		n = append(g, key);
	else
		g->unknown = true;
	if (n)
		send_node(WIRE_NODE_CREATED, open->correlation, n->number, 0);
}

/* --- capture ---------------------------------------------------------------------------------- */

static struct graph *capture_of(struct handles *table, const void *handle)
{
	struct graph *g = graph_of(handles_get(table, handle));

	return g && g->captures ? g : NULL;
}

/* The default streams are others in each thread or on each device. */
static void begin_capture(const void *stream)
{
	struct graph *g = capture_of(&by_stream, stream);

	if (g && g->origin == stream)
		drop(g);
	g = (uintptr_t)stream > 2 ? make() : NULL;
	put(&by_stream, stream, g);
	if (!g)
		return;
	g->origin = stream;
	g->captures = true;
	__atomic_add_fetch(&captures, 1, __ATOMIC_RELAXED);
}

static void finish_capture(const void *stream, void *const *at)
{
	struct graph *g = capture_of(&by_stream, stream);

	if (!g)
		return;
	end_capture(g);
	if (!at || !*at) {
		drop(g);
		return;
	}
	drop(graph_at(*at));
	put(&by_handle, *at, g);
}

/* A stream that waits for an event of one that is captured is captured, too. */
static void join_capture(const void *stream, const void *event)
{
	struct graph *g = capture_of(&by_event, event), *own = capture_of(&by_stream, stream);

	if (!g || g == own)
		return;
	g->branches = true;
	put(&by_stream, stream, g);
}

void hip_graphs_event(const void *event, const void *stream)
{
	if (!__atomic_load_n(&captures, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	put(&by_event, event, capture_of(&by_stream, stream));
	pthread_mutex_unlock(&lock);
}

bool hip_graphs_captures(void)
{
	return __atomic_load_n(&captures, __ATOMIC_RELAXED);
}

static const char *function_key(const void *function)
{
	const char *name = (const char *)handles_get(&by_function, function);

	return name == names_none()->text ? NULL : name;
}

/* NULL: not known. */
static const char *key_of(uint8_t number, uint8_t kind, const struct rocprofiler_call_data *data)
{
	size_t place = number == NUMBER_hipLaunchKernelExC || number == NUMBER_hipDrvLaunchKernelEx
			       ? 8
			       : 0;
	void *function;

	if (kind == WIRE_CALL_COPY)
		return copy_key;
	if (kind == WIRE_CALL_SET)
		return fill_key;
	return kind == WIRE_CALL_LAUNCH && calls_argument(data, place, &function)
		       ? function_key(function)
		       : NULL;
}

bool hip_graphs_captured(const void *stream, uint8_t number, uint8_t kind,
	const struct rocprofiler_call_data *data, const struct open_call *open)
{
	struct graph *g;

	if (!hip_graphs_captures())
		return false;
	pthread_mutex_lock(&lock);
	g = capture_of(&by_stream, stream);
	if (g)
		add_node(g, key_of(number, kind, data), open);
	pthread_mutex_unlock(&lock);
	return g;
}

void hip_graphs_missed(const void *stream)
{
	pthread_mutex_lock(&lock);
	forget(capture_of(&by_stream, stream));
	pthread_mutex_unlock(&lock);
}

/* --- calls ------------------------------------------------------------------------------------ */

void hip_graphs_know_function(const void *function, const char *name)
{
	pthread_mutex_lock(&lock);
	handles_put(&by_function, function, (uintptr_t)name, NULL);
	pthread_mutex_unlock(&lock);
}

/* It depends on the one before it, and on no other. */
static bool is_next(
	const struct graph *g, const struct rocprofiler_call_data *data, const void *const *on)
{
	void *wanted;

	if (!calls_argument(data, 24, &wanted))
		return false;
	if (!g->first)
		return !wanted;
	return (uintptr_t)wanted == 1 && on && g->latest && *on == g->latest;
}

static const char *key_of_node(uint8_t number, const struct rocprofiler_call_data *data)
{
	void *parameters, *function;

	if (number == NUMBER_hipGraphAddMemsetNode || number == NUMBER_hipDrvGraphAddMemsetNode)
		return fill_key;
	if (number != NUMBER_hipGraphAddKernelNode)
		return copy_key;
	if (!calls_argument(data, 32, &parameters) || !parameters)
		return NULL;
	memcpy(&function, (const char *)parameters + FUNCTION_IN_PARAMETERS, sizeof(function));
	return function_key(function);
}

bool hip_graphs_add(
	uint8_t number, const struct rocprofiler_call_data *data, const struct open_call *open)
{
	void *at, *graph, *on;
	struct graph *g = NULL;

	if (!calls_argument(data, 0, &at) || !calls_argument(data, 8, &graph) ||
		!calls_argument(data, 16, &on) || !at)
		return false;
	pthread_mutex_lock(&lock);
	g = graph_at(graph);
	if (g) {
		g->branches |= !is_next(g, data, on);
		g->latest = *(void *const *)at;
		add_node(g, key_of_node(number, data), open);
	}
	pthread_mutex_unlock(&lock);
	return g;
}

static void copy_graph(void *const *at, const void *original, bool is_launched)
{
	struct graph *g = at ? make_at(*at) : NULL, *from = graph_at(original);

	if (g)
		g->is_launched = is_launched;
	if (g && from)
		copy_nodes(g, from);
	else
		forget(g);
}

static void update(const void *exec, const void *original)
{
	struct graph *from = graph_at(original), *g = graph_at(exec);

	if (!g)
		return;
	drop_nodes(g);
	if (from)
		copy_nodes(g, from);
	else
		forget(g);
}

static void know_by_symbol(void *const *at, const void *symbol)
{
	if (at)
		handles_put(&by_function, *at, handles_get(&by_function, symbol), NULL);
}

/* Under the lock. */
static void change(uint8_t number, void *first, void *second)
{
	switch (number) {
	case NUMBER_hipStreamBeginCapture:
	case NUMBER_hipStreamBeginCapture_spt:
		begin_capture(first);
		break;
	case NUMBER_hipStreamEndCapture:
	case NUMBER_hipStreamEndCapture_spt:
		finish_capture(first, second);
		break;
	case NUMBER_hipStreamWaitEvent:
	case NUMBER_hipStreamWaitEvent_spt:
		join_capture(first, second);
		break;
	case NUMBER_hipStreamUpdateCaptureDependencies:
		forget(capture_of(&by_stream, first));
		break;
	case NUMBER_hipStreamBeginCaptureToGraph:
	case NUMBER_hipGraphAddNode:
	case NUMBER_hipGraphAddChildGraphNode:
		forget(graph_at(second));
		break;
	case NUMBER_hipGraphCreate:
		if (first)
			make_at(*(void **)first);
		break;
	case NUMBER_hipGraphDestroy:
	case NUMBER_hipGraphExecDestroy:
		drop(graph_at(first));
		break;
	case NUMBER_hipGraphClone:
		copy_graph(first, second, false);
		break;
	case NUMBER_hipGraphInstantiate:
	case NUMBER_hipGraphInstantiateWithFlags:
	case NUMBER_hipGraphInstantiateWithParams:
		copy_graph(first, second, true);
		break;
	case NUMBER_hipGraphExecUpdate:
		update(first, second);
		break;
	case NUMBER_hipGraphRemoveDependencies:
	case NUMBER_hipGraphExecKernelNodeSetParams:
	case NUMBER_hipGraphExecNodeSetParams:
	case NUMBER_hipGraphExecChildGraphNodeSetParams:
	case NUMBER_hipGraphNodeSetEnabled:
		forget(graph_at(first));
		break;
	case NUMBER_hipGraphDestroyNode:
	case NUMBER_hipGraphKernelNodeSetParams:
	case NUMBER_hipGraphNodeSetParams:
		forget_all();
		break;
	case NUMBER_hipGetFuncBySymbol:
		know_by_symbol(first, second);
		break;
	}
}

static void find_function(const struct rocprofiler_call_data *data)
{
	void *at, *name;

	if (calls_argument(data, 0, &at) && calls_argument(data, 16, &name) && at && name)
		hip_graphs_know_function(*(void **)at, names_keep(name)->text);
}

static bool ends_capture(uint8_t number)
{
	return number == NUMBER_hipStreamEndCapture || number == NUMBER_hipStreamEndCapture_spt;
}

/* Calls that others make all the time. */
static bool joins_capture(uint8_t number)
{
	return number == NUMBER_hipStreamWaitEvent || number == NUMBER_hipStreamWaitEvent_spt;
}

/* A capture that did not succeed has ended, too. */
void hip_graphs_change(uint8_t number, const struct rocprofiler_call_data *data, bool failed)
{
	void *first, *second;

	if ((failed && !ends_capture(number)) ||
		(joins_capture(number) && !hip_graphs_captures()) ||
		!calls_argument(data, 0, &first))
		return;
	if (number == NUMBER_hipModuleGetFunction) {
		find_function(data);
		return;
	}
	if (failed || !calls_argument(data, 8, &second))
		second = NULL;
	pthread_mutex_lock(&lock);
	change(number, first, second);
	pthread_mutex_unlock(&lock);
	if (number >= NUMBER_hipGraphInstantiate && number <= NUMBER_hipGraphInstantiateWithParams)
		follow_dispatches();
}

/* --- launches --------------------------------------------------------------------------------- */

uint32_t hip_graphs_launch(const void *exec)
{
	uintptr_t value = handles_get(&by_handle, exec);
	struct graph *g = graph_of(value);

	if (!g || g->unknown)
		return 0;
	g->at = g->branches ? 0 : g->first;
	return (uint32_t)value;
}

/* Programs may launch one graph from several threads at once, which they may not, in HIP. */
static uint32_t next_of_chain(struct graph *g, const char *kernel)
{
	uint32_t at = __atomic_load_n(&g->at, __ATOMIC_RELAXED);

	while (at && (nodes[at].key == fill_key || nodes[at].key == copy_key))
		at = nodes[at].next;
	if (!at || !is_same(nodes[at].key, kernel)) {
		g->unknown = true;
		return 0;
	}
	__atomic_store_n(&g->at, nodes[at].next, __ATOMIC_RELAXED);
	return nodes[at].number;
}

/* The one that came after the same one in the launch before, or the first that fits. */
static uint32_t only_one(struct graph *g, const char *kernel)
{
	uint32_t at = __atomic_load_n(&g->at, __ATOMIC_RELAXED);
	struct node *before = at ? &nodes[at] : NULL;
	uint32_t place = before ? before->after : 0;

	if (!place || !is_same(nodes[place].key, kernel)) {
		uint32_t steps = 0;

		for (place = g->first; place && !is_same(nodes[place].key, kernel);)
			place = steps++ < STEPS_MAX ? nodes[place].next : 0;
		if (before)
			before->after = place;
	}
	if (!place)
		return 0;
	g->at = place;
	return nodes[place].again ? 0 : nodes[place].number;
}

static uint32_t only_of(const struct kind_of_node *k)
{
	return k->count == 1 ? k->number : 0;
}

uint32_t hip_graphs_node(uint32_t launched, const char *kernel)
{
	static const char fill[] = AMD_RUNTIMES_KERNEL "fill", copy[] = AMD_RUNTIMES_KERNEL "copy";
	struct graph *g = graph_of(launched);

	if (!g || g->unknown)
		return 0;
	if (!kernel || !strncmp(kernel, copy, sizeof(copy) - 1))
		return only_of(&g->copies);
	if (!strncmp(kernel, fill, sizeof(fill) - 1))
		return only_of(&g->fills);
	if (!strncmp(kernel, AMD_RUNTIMES_KERNEL, sizeof(AMD_RUNTIMES_KERNEL) - 1))
		return 0;
	return g->branches ? only_one(g, kernel) : next_of_chain(g, kernel);
}
