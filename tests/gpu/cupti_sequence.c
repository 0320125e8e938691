// SPDX-License-Identifier: MIT
/*
 * What CUPTI tells about a program, as text that can be compared between NVIDIA's driver and the
 * simulated one: every callback in its order, then every record. Ids are numbered by their first
 * appearance, times are left out, and so are questions (cuDeviceGetAttribute and its like), which
 * say nothing about the program.
 *
 * A library of its own for CUDA_INJECTION64_PATH; for programs with one thread. It links nothing
 * of CUDA, and says so when the loader does not find libcupti.
 *
 *	XPUPROF_SEQUENCE=out.txt CUDA_INJECTION64_PATH=.../libcupti_sequence.so PROGRAM
 */
#include <cupti.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_IDS = 4096, MAX_RECORDS = 4096, BUFFER_BYTES = 1 << 20, RECORD_BYTES = 256 };

/* The numbers given to one sort of id. */
struct ids {
	char letter;
	unsigned int count;
	uint64_t seen[MAX_IDS];
};

/* A record kept for the end: its place in the order, and its bytes. */
struct kept {
	uint32_t correlation;
	uint64_t node, start;
	_Alignas(8) char bytes[RECORD_BYTES];
};

static struct {
	FILE *out;
	int depth;
	struct ids correlations, contexts, streams, graphs, nodes;
	struct kept records[MAX_RECORDS];
	size_t record_count;
	__typeof__(cuptiSubscribe) *Subscribe;
	__typeof__(cuptiEnableDomain) *EnableDomain;
	__typeof__(cuptiActivityRegisterCallbacks) *ActivityRegisterCallbacks;
	__typeof__(cuptiActivityEnable) *ActivityEnable;
	__typeof__(cuptiActivityFlushAll) *ActivityFlushAll;
	__typeof__(cuptiActivityGetNextRecord) *ActivityGetNextRecord;
	__typeof__(cuptiGetGraphNodeId) *GetGraphNodeId;
	__typeof__(cuptiGetGraphId) *GetGraphId;
	__typeof__(cuptiGetGraphExecId) *GetGraphExecId;
	__typeof__(cuptiGetStreamIdEx) *GetStreamIdEx;
} seq = {
	.correlations.letter = 'c',
	.contexts.letter = 'x',
	.streams.letter = 's',
	.graphs.letter = 'g',
	.nodes.letter = 'n',
};

static unsigned int number(struct ids *ids, uint64_t id)
{
	unsigned int i;

	for (i = 0; i < ids->count; i++)
		if (ids->seen[i] == id)
			return i + 1;
	if (ids->count == MAX_IDS)
		return 0;
	ids->seen[ids->count++] = id;
	return i + 1;
}

/* " c12", or nothing for id 0. */
static const char *label(struct ids *ids, uint64_t id, char *text)
{
	text[0] = 0;
	if (id)
		sprintf(text, " %c%u", ids->letter, number(ids, id));
	return text;
}

static bool question(const char *name)
{
	static const char *const starts[] = {"cuDeviceGet", "cudaDeviceGet", "cuGetProcAddress",
		"cuGetExportTable", "cuDriverGetVersion", "cudaDriverGetVersion", "cuCtxGet",
		"cudaGetDevice", "cudaGetLastError", "cudaPeekAtLastError", "cudaRuntimeGetVersion",
		"cuGetError", "cudaGetError", "cuModuleGetLoadingMode", "cuKernelGet", "cuFuncGet",
		"cuDevicePrimaryCtxGetState", "cuDeviceComputeCapability", "cuDeviceTotalMem",
		"cuPointerGet", "__cuda", "cuFlushGPUDirect", "cuMemGetInfo"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])) &&
			strncmp(name, "__cudaLaunchKernel", 18))
			return true;
	return false;
}

static void indent(void)
{
	for (int i = 0; i < seq.depth; i++)
		fputs("  ", seq.out);
}

static void api(CUpti_CallbackDomain domain, const CUpti_CallbackData *data)
{
	char correlation[32];

	if (question(data->functionName))
		return;
	label(&seq.correlations, data->correlationId, correlation);
	if (data->callbackSite == CUPTI_API_EXIT)
		seq.depth--;
	indent();
	if (data->callbackSite == CUPTI_API_ENTER) {
		fprintf(seq.out, "%s %s%s",
			domain == CUPTI_CB_DOMAIN_DRIVER_API ? "driver" : "runtime",
			data->functionName, correlation);
		/* Elsewhere NVIDIA's is not a name. */
		if (strstr(data->functionName, "Launch") && strstr(data->functionName, "Kernel") &&
			data->symbolName)
			fprintf(seq.out, " (%s)", data->symbolName);
		fputc('\n', seq.out);
		seq.depth++;
	} else {
		fprintf(seq.out, "return %d\n", *(int *)data->functionReturnValue);
	}
}

static const char *const resources[CUPTI_CBID_RESOURCE_SIZE] = {
	[1] = "context created",
	"context destroy starting",
	"stream created",
	"stream destroy starting",
	"init finished",
	"module loaded",
	"module unload starting",
	"module profiled",
	"graph created",
	"graph destroy starting",
	"graph cloned",
	"graph node create starting",
	"graph node created",
	"graph node destroy starting",
	"graph node dependency created",
	"graph node dependency destroy starting",
	"graph exec create starting",
	"graph exec created",
	"graph exec destroy starting",
	"graph node cloned",
	"stream attribute changed",
	"graph node updated",
	"graph node set params",
};

static void print_node(const char *what, CUgraphNode node)
{
	uint64_t id = 0;
	char text[32];

	if (node && !seq.GetGraphNodeId(node, &id))
		fprintf(seq.out, " %s%s", what, label(&seq.nodes, id, text));
}

static void graph_resource(CUpti_CallbackId id, const CUpti_GraphData *g)
{
	uint32_t graph = 0;
	char text[32];

	if (g->graph && !seq.GetGraphId(g->graph, &graph))
		fprintf(seq.out, " graph%s", label(&seq.graphs, graph, text));
	if (id == CUPTI_CBID_RESOURCE_GRAPH_CLONED && g->originalGraph &&
		!seq.GetGraphId(g->originalGraph, &graph))
		fprintf(seq.out, " from%s", label(&seq.graphs, graph, text));
	if (id >= CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED &&
		id <= CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING &&
		!seq.GetGraphExecId(g->graphExec, &graph))
		fprintf(seq.out, " exec%s", label(&seq.graphs, graph, text));
	if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ||
		id == CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING ||
		id == CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED ||
		id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED ||
		id == CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED)
		print_node("node", g->node);
	if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
		print_node("from", g->originalNode);
	if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED)
		print_node("on", g->dependency);
	if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ||
		id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
		fprintf(seq.out, " type %d", g->nodeType);
}

static bool about_graphs(CUpti_CallbackId id)
{
	return (id >= CUPTI_CBID_RESOURCE_GRAPH_CREATED &&
		       id <= CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) ||
	       id == CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED;
}

static void resource(CUpti_CallbackId id, const CUpti_ResourceData *data)
{
	uint32_t stream;
	char text[32];

	indent();
	fprintf(seq.out, "- %s",
		id < CUPTI_CBID_RESOURCE_SIZE && resources[id] ? resources[id] : "?");
	if (id == CUPTI_CBID_RESOURCE_STREAM_CREATED &&
		!seq.GetStreamIdEx(data->context, data->resourceHandle.stream, 0, &stream))
		fprintf(seq.out, "%s", label(&seq.streams, stream, text));
	if (about_graphs(id) && data->resourceDescriptor)
		graph_resource(id, data->resourceDescriptor);
	fputc('\n', seq.out);
}

static void callback(
	void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	switch (domain) {
	case CUPTI_CB_DOMAIN_DRIVER_API:
	case CUPTI_CB_DOMAIN_RUNTIME_API:
		api(domain, data);
		break;
	case CUPTI_CB_DOMAIN_RESOURCE:
		resource(id, data);
		break;
	case CUPTI_CB_DOMAIN_SYNCHRONIZE:
		indent();
		fprintf(seq.out, "- %s synchronized\n",
			id == CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED ? "stream" : "context");
		break;
	default:
		break;
	}
}

static const char *times(uint64_t start, uint64_t end)
{
	return start && start <= end ? "" : " BAD TIMES";
}

/* The fields that every kind of record has, each in its own place. */
#define EACH_KIND(any, KERNEL, COPY, PEER, SET)                                                    \
	switch ((any)->kind) {                                                                     \
	case CUPTI_ACTIVITY_KIND_KERNEL:                                                           \
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:                                                \
		KERNEL((const CUpti_ActivityKernel10 *)(const void *)(any));                       \
		break;                                                                             \
	case CUPTI_ACTIVITY_KIND_MEMCPY:                                                           \
		COPY((const CUpti_ActivityMemcpy6 *)(const void *)(any));                          \
		break;                                                                             \
	case CUPTI_ACTIVITY_KIND_MEMCPY2:                                                          \
		PEER((const CUpti_ActivityMemcpyPtoP4 *)(const void *)(any));                      \
		break;                                                                             \
	case CUPTI_ACTIVITY_KIND_MEMSET:                                                           \
		SET((const CUpti_ActivityMemset4 *)(const void *)(any));                           \
		break;                                                                             \
	default:                                                                                   \
		break;                                                                             \
	}

static void print_common(const char *what, uint32_t correlation, uint32_t context, uint32_t stream,
	uint32_t graph, uint64_t node, const char *bad_times)
{
	char c[32], x[32], s[32], g[32], n[32];

	fprintf(seq.out, "  %s%s%s%s%s%s%s", what, label(&seq.correlations, correlation, c),
		label(&seq.contexts, context, x), label(&seq.streams, stream, s),
		label(&seq.graphs, graph, g), label(&seq.nodes, node, n), bad_times);
}

static void print_record(const CUpti_Activity *any)
{
#define COMMON(what, r)                                                                            \
	print_common(what, (r)->correlationId, (r)->contextId, (r)->streamId, (r)->graphId,        \
		(r)->graphNodeId, times((r)->start, (r)->end))
#define KERNEL(r)                                                                                  \
	(COMMON("kernel", r),                                                                      \
		fprintf(seq.out, " %s grid %d %d %d block %d %d %d shared %d type %d\n",           \
			(r)->name, (r)->gridX, (r)->gridY, (r)->gridZ, (r)->blockX, (r)->blockY,   \
			(r)->blockZ, (r)->dynamicSharedMemory, (r)->launchType))
#define MOVED(r)                                                                                   \
	fprintf(seq.out, " kind %d from %d to %d flags %d bytes %llu\n", (r)->copyKind,            \
		(r)->srcKind, (r)->dstKind, (r)->flags, (unsigned long long)(r)->bytes)
#define COPY(r) (COMMON("copy", r), MOVED(r))
#define PEER(r) (COMMON("peer copy", r), MOVED(r))
#define SET(r)                                                                                     \
	(COMMON("set", r), fprintf(seq.out, " value %u in %d flags %d bytes %llu\n", (r)->value,   \
				   (r)->memoryKind, (r)->flags, (unsigned long long)(r)->bytes))
	EACH_KIND(any, KERNEL, COPY, PEER, SET)
#undef COMMON
#undef KERNEL
#undef MOVED
#undef COPY
#undef PEER
#undef SET
}

static void keep(const CUpti_Activity *any, size_t available)
{
	struct kept *k = &seq.records[seq.record_count];

	if (seq.record_count == MAX_RECORDS)
		return;
	seq.record_count++;
	memcpy(k->bytes, any, available < RECORD_BYTES ? available : RECORD_BYTES);
#define PLACE(r)                                                                                   \
	(k->correlation = (r)->correlationId, k->node = (r)->graphNodeId, k->start = (r)->start)
	EACH_KIND(any, PLACE, PLACE, PLACE, PLACE)
#undef PLACE
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void complete(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;

	while (valid && !seq.ActivityGetNextRecord(buffer, valid, &record))
		keep(record, valid - (size_t)((uint8_t *)record - buffer));
	free(buffer);
}

/* By call, then by graph node, then by time: not by the order of delivery, which means nothing. */
static int compare(const void *a, const void *b)
{
	const struct kept *l = a, *r = b;

	if (l->correlation != r->correlation)
		return l->correlation < r->correlation ? -1 : 1;
	if (l->node != r->node)
		return l->node < r->node ? -1 : 1;
	return l->start < r->start ? -1 : l->start > r->start;
}

static void finish(void)
{
	seq.ActivityFlushAll(1);
	qsort(seq.records, seq.record_count, sizeof(*seq.records), compare);
	fprintf(seq.out, "records\n");
	for (size_t i = 0; i < seq.record_count; i++)
		print_record((const CUpti_Activity *)(const void *)seq.records[i].bytes);
	fclose(seq.out);
}

static bool load(void)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);

	if (!cupti)
		cupti = dlopen("libcupti.so.12", RTLD_NOW);
	if (!cupti) {
		fprintf(stderr,
			"cupti_sequence: no CUPTI (its folder belongs in LD_LIBRARY_PATH): "
			"%s\n",
			dlerror());
		return false;
	}
#define LOAD(name)                                                                                 \
	*(void **)&seq.name = dlsym(cupti, "cupti" #name);                                         \
	if (!seq.name) {                                                                           \
		fprintf(stderr, "cupti_sequence: this CUPTI has no cupti" #name "\n");             \
		return false;                                                                      \
	}
	LOAD(Subscribe)
	LOAD(EnableDomain)
	LOAD(ActivityRegisterCallbacks)
	LOAD(ActivityEnable)
	LOAD(ActivityFlushAll)
	LOAD(ActivityGetNextRecord)
	LOAD(GetGraphNodeId)
	LOAD(GetGraphId)
	LOAD(GetGraphExecId)
	LOAD(GetStreamIdEx)
#undef LOAD
	return true;
}

int InitializeInjection(void);

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
		CUPTI_ACTIVITY_KIND_MEMSET};
	const char *path = getenv("XPUPROF_SEQUENCE");
	CUpti_SubscriberHandle subscriber;
	int error;

	seq.out = path ? fopen(path, "w") : stderr;
	if (!seq.out) {
		fprintf(stderr, "cupti_sequence: cannot write '%s'\n", path);
		return 1;
	}
	setvbuf(seq.out, NULL, _IOLBF, 0); /* what there was before a crash tells the most */
	if (!load())
		return 1;
	error = seq.Subscribe(&subscriber, callback, NULL);
	for (int d = CUPTI_CB_DOMAIN_DRIVER_API; d <= CUPTI_CB_DOMAIN_SYNCHRONIZE && !error; d++)
		error = seq.EnableDomain(1, subscriber, (CUpti_CallbackDomain)d);
	if (!error)
		error = seq.ActivityRegisterCallbacks(request, complete);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !error; i++)
		error = seq.ActivityEnable(kinds[i]);
	if (error)
		fprintf(stderr, "cupti_sequence: CUPTI error %d\n", error);
	else
		atexit(finish);
	return 1;
}
