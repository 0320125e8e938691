/* SPDX-License-Identifier: MIT */
/*
 * The simulated driver: its objects and the engine behind driver_api.def.
 *
 * Time. A piece of work is not executed by anything: when it is submitted, its start and end on the
 * simulated device are computed (not before the work ahead of it in its stream, the events the
 * stream waits for and, for the legacy default stream, everything else), and the stream remembers
 * when it will be idle. Waiting means sleeping until that time on the host's monotonic clock.
 * Copies and sets move their bytes when they are submitted; kernels compute nothing, or then, too
 * (compute.c).
 *
 * Objects are the structs behind CUDA's opaque handles, so nothing needs a cast. Each begins with a
 * magic number that is checked where the real driver checks its handles.
 *
 * Threads: everything may be called from any thread. A stream's lock guards its time line.
 * Contexts, modules and allocations have locks of their own; a launch needs none of those.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "cuda.h"
#include "tools.h"

enum {
	SIM_MAX_DEVICES = 16,
	SIM_CONTEXT_DEPTH = 32,
	SIM_IN_FLIGHT = 1024, /* work in a stream ahead of the device; a launch past it waits */
};

enum sim_magic {
	SIM_CONTEXT = 0x53435458,
	SIM_STREAM_MAGIC = 0x5353544d,
	SIM_EVENT = 0x53455654,
	SIM_MODULE = 0x534d4f44,
	SIM_FUNCTION = 0x5346554e,
	SIM_GRAPH = 0x53475248,
	SIM_NODE = 0x534e4f44,
	SIM_EXEC = 0x53455845,
};

enum sim_state { SIM_NEW, SIM_READY, SIM_FORKED };

/* XPUPROF_SIM_FAULTS, for the driver and for CUPTI; each described in sim/README.md. */
struct sim_faults {
	uint64_t fail_launch, fail_copy, fail_load, small_blocks;
	uint64_t drop, zero_time, reversed_time, far_time, reorder;
	uint64_t delay_ms, record_extra, cupti_version;
	uint64_t subscriber_before, subscriber_after, no_cupti;
	uint64_t stalls_refused, stalls_full, stalls_dropped, stalls_slow_ms, stalls_delay_ms,
		stalls_behind, stalls_stop, stalls_lock, stalls_taken, stalls_hang, stalls_strict,
		stalls_alone, stalls_end, one_sampler, cupti_ends;
	uint64_t counters_refused, counters_unsupported, counters_busy, counters_full,
		counters_full_from, counters_crash, counters_stop;
};

struct sim_device {
	int ordinal;
	CUcontext primary;
	unsigned int primary_users;
	unsigned int primary_flags;
	_Atomic uint64_t allocated_bytes;
};

struct sim_driver {
	_Atomic enum sim_state state;
	pthread_mutex_t lock; /* start, primary contexts */
	int device_count;
	struct sim_device devices[SIM_MAX_DEVICES];
	struct sim_faults faults;
	uint64_t kernel_ns; /* XPUPROF_SIM_KERNEL_NS: every kernel runs this long; 0: each its own
			       time */
	_Atomic uint32_t next_context, next_stream, next_module, next_graph, next_correlation;
	_Atomic uint64_t launches, copies, loads, capture_ids;
};

extern struct sim_driver sim;

/* One thread's state: what is current, and the CUDA call it is in. */
struct sim_thread {
	unsigned int depth;  /* of API calls: 1 in the outermost */
	unsigned int inside; /* of those of the driver, between their callbacks */
	bool in_callback;
	uint32_t correlation;
	uint32_t stuck;	    /* 0, or the id that all its calls have (xpuprof_sim_exit) */
	uint32_t cuts;	    /* when the outermost call began */
	bool whole;	    /* so too */
	uint64_t called_ns; /* when the outermost call began, while queued times are wanted */
	CUcontext contexts[SIM_CONTEXT_DEPTH];
	unsigned int context_count;
	CUstreamCaptureMode capture_mode;
	CUstream per_thread; /* this thread's default streams, one for each context it used */
};

extern _Thread_local struct sim_thread sim_thread;

struct CUstream_st {
	enum sim_magic magic;
	uint32_t id;
	CUcontext context;
	unsigned int flags;
	int priority;
	bool legacy;
	bool per_thread;
	/* in the thread's list of per-thread streams, or a list of the program's */
	struct CUstream_st *next;

	pthread_mutex_t lock;
	uint64_t idle_ns; /* when everything submitted so far will have ended */
	uint64_t in_flight[SIM_IN_FLIGHT];
	uint64_t submitted;
	_Atomic(struct sim_capture *) capture;
	CUgraphNode *tips; /* while capturing: what the next node depends on */
	size_t tip_count;
	_Atomic unsigned int host_functions; /* still to run */
	void *tools;			     /* CUPTI's queue of records */
};

struct CUctx_st {
	enum sim_magic magic;
	uint32_t id;
	CUdevice device;
	unsigned int flags;
	bool primary;
	struct CUstream_st legacy;
	_Atomic uint64_t legacy_idle_ns; /* of the legacy default stream */
	_Atomic uint64_t
		blocking_idle_ns; /* of all streams that it waits for and that wait for it */
	_Atomic uint64_t idle_ns; /* of all streams */
	_Atomic uint64_t host_functions;
	_Atomic uint64_t peers; /* a bit for each device */
	_Atomic uint32_t
		captures; /* going on in blocking streams: the legacy one may not be used */
};

struct CUevent_st {
	enum sim_magic magic;
	unsigned int flags;
	_Atomic uint64_t time_ns; /* 0: never recorded */
	uint64_t capture; /* recorded into this capture (its id), with these tips; 0: none */
	CUgraphNode *tips;
	size_t tip_count;
};

struct CUmod_st {
	enum sim_magic magic;
	uint32_t id;
	struct sim_ptx *code; /* its kernels compute; NULL: they do not */
	char *image;	      /* what was loaded, as CUPTI's module callback shows it */
	size_t image_bytes;
	bool any_name; /* not PTX text: any function may be asked for */
	struct CUfunc_st *functions;
	pthread_mutex_t lock;
};

struct CUfunc_st {
	enum sim_magic magic;
	const char *name; /* lives for ever */
	CUmodule module;
	_Atomic bool nameless; /* it ran while samples of what runs then have no names */
	const struct sim_ptx_kernel *code; /* NULL: it computes nothing */
	struct CUfunc_st *next;
	uint64_t fixed_ns; /* from its name; 0: computed */
	uint64_t base_ns;
	uint64_t thousand_threads_ns;
	uint32_t registers;
	uint32_t static_shared_bytes;
	int max_dynamic_shared_bytes;
};

struct sim_dim {
	uint32_t x, y, z;
};

enum sim_memory_kind { /* CUpti_ActivityMemoryKind */
	SIM_MEMORY_UNKNOWN,
	SIM_MEMORY_PAGEABLE,
	SIM_MEMORY_PINNED,
	SIM_MEMORY_DEVICE,
	SIM_MEMORY_ARRAY,
	SIM_MEMORY_MANAGED,
};

struct sim_memory {
	uintptr_t base;
	size_t bytes;
	enum sim_memory_kind kind;
	int device;
	CUcontext context;
};

enum sim_launch_flags { SIM_COOPERATIVE = 1 };
enum sim_direction { SIM_HTOD, SIM_DTOH, SIM_DTOD, SIM_ANY, SIM_PEER };
enum sim_sync { SIM_ASYNC, SIM_SYNC };

struct sim_kernel {
	CUfunction function;
	struct sim_dim grid, block, cluster;
	uint32_t shared_bytes;
	unsigned int flags;
	void *params; /* of one that computes; those of graph nodes live for ever */
};

struct sim_side { /* of a copy */
	char *at;
	size_t pitch, slice;
	enum sim_memory_kind kind;
	int device;
	CUcontext context;
};

struct sim_copy {
	struct sim_side to, from;
	size_t width, height, depth;
	bool async;
	bool peer;
};

struct sim_fill {
	char *at;
	size_t pitch, width, height; /* width in elements */
	uint32_t value;
	uint32_t element_bytes;
	enum sim_memory_kind kind;
	bool async;
};

/* A piece of work, submitted to a stream or kept in a graph node. */
struct sim_work {
	CUgraphNodeType type; /* KERNEL, MEMCPY, MEMSET or EMPTY */
	union {
		struct sim_kernel kernel;
		struct sim_copy copy;
		struct sim_fill fill;
	};
};

/* When and as whose it ran. */
struct sim_run {
	uint64_t queued_ns, submitted_ns, start_ns, end_ns;
	uint64_t computed_ns; /* not before this has it ended */
	uint64_t graph_node;
	uint32_t graph;
	uint32_t correlation;
};

/* What kernels read as %gridid: a launch's own; in a graph the node's, in each replay again. */
static inline uint64_t sim_grid_id(const struct sim_run *run)
{
	return run->graph_node ? 1ull << 32 | run->graph_node : run->correlation;
}

struct CUgraphNode_st {
	enum sim_magic magic;
	uint64_t id;
	CUgraph graph;
	CUgraphNode original; /* what it was cloned from */
	CUgraphNode *dependencies;
	size_t dependency_count;
	size_t index;	 /* in its graph */
	uint64_t end_ns; /* while its graph runs */
	struct sim_work work;
};

struct CUgraph_st {
	enum sim_magic magic;
	uint32_t id;
	uint32_t node_ids;
	CUgraphNode *nodes; /* in the order they were added: dependencies come first */
	size_t count, capacity;
	bool unordered; /* a dependency was added that points forward */
};

struct CUgraphExec_st {
	enum sim_magic magic;
	uint32_t id;
	CUgraph graph; /* its own copy, with original pointing into the graph it was made from */
	_Atomic uint64_t idle_ns;
};

struct sim_capture {
	struct sim_capture *next; /* all that are going on */
	uint64_t id;
	CUgraph graph;
	CUstream origin;
	CUstream *streams; /* all that joined, origin too */
	size_t stream_count;
	CUstreamCaptureMode mode;
	pthread_t thread;
	_Atomic bool invalid;
};

#define SIM_PTR(p)	 ((CUdeviceptr)(uintptr_t)(p))
#define SIM_DIM(a, b, c) ((struct sim_dim){(a), (b), (c)})
#define SIM_STREAM(h)	 sim_stream_of((h), false)
#define SIM_STREAM_PT(h) sim_stream_of((h), true)

static inline uint64_t sim_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* api.c */
CUresult sim_error_string(CUresult error, const char **ret);
CUresult sim_error_name(CUresult error, const char **ret);
CUresult sim_proc_address(const char *symbol, void **ret, int version, cuuint64_t flags,
	CUdriverProcAddressQueryResult *ret_status);

/* device.c */
CUresult sim_init(unsigned int flags);
CUresult sim_driver_version(int *ret);
CUresult sim_device_get(CUdevice *ret, int ordinal);
CUresult sim_device_count(int *ret);
CUresult sim_device_name(char *ret, int length, CUdevice dev);
CUresult sim_device_capability(int *ret_major, int *ret_minor, CUdevice dev);
CUresult sim_device_total_memory(size_t *ret, CUdevice dev);
CUresult sim_device_attribute(int *ret, CUdevice_attribute attribute, CUdevice dev);
CUresult sim_device_uuid(CUuuid *ret, CUdevice dev);
CUresult sim_device_pci_bus_id(char *ret, int length, CUdevice dev);
CUresult sim_device_can_access_peer(int *ret, CUdevice dev, CUdevice peer);
bool sim_device_valid(CUdevice dev);

/* context.c */
CUcontext sim_current(void);
CUresult sim_primary_retain(CUcontext *ret, CUdevice dev);
CUresult sim_primary_release(CUdevice dev);
CUresult sim_primary_reset(CUdevice dev);
CUresult sim_primary_set_flags(CUdevice dev, unsigned int flags);
CUresult sim_primary_state(CUdevice dev, unsigned int *ret_flags, int *ret_active);
CUresult sim_context_create(CUcontext *ret, unsigned int flags, CUdevice dev);
CUresult sim_context_destroy(CUcontext ctx);
CUresult sim_context_push(CUcontext ctx);
CUresult sim_context_pop(CUcontext *ret);
CUresult sim_context_set(CUcontext ctx);
CUresult sim_context_get(CUcontext *ret);
CUresult sim_context_device(CUdevice *ret);
CUresult sim_context_synchronize(void);
CUresult sim_context_api_version(CUcontext ctx, unsigned int *ret);
CUresult sim_context_id(CUcontext ctx, unsigned long long *ret);
CUresult sim_context_set_limit(CUlimit limit, size_t value);
CUresult sim_context_get_limit(size_t *ret, CUlimit limit);
CUresult sim_peer_enable(CUcontext peer, unsigned int flags);
CUresult sim_peer_disable(CUcontext peer);

/* module.c */
CUresult sim_module_load(CUmodule *ret, const void *image);
CUresult sim_module_load_options(CUmodule *ret, const void *image, unsigned int count,
	const CUjit_option *options, void *const *values);
CUresult sim_module_load_file(CUmodule *ret, const char *path);
CUresult sim_module_unload(CUmodule module);
CUresult sim_module_function_count(unsigned int *ret, CUmodule module);
CUresult sim_module_functions(CUfunction *ret, unsigned int count, CUmodule module);
CUresult sim_module_function(CUfunction *ret, CUmodule module, const char *name);
CUresult sim_library_load(CUlibrary *ret, const void *code, unsigned int count,
	const CUjit_option *options, void *const *values);
CUresult sim_library_unload(CUlibrary library);
CUresult sim_library_kernel(CUkernel *ret, CUlibrary library, const char *name);
CUresult sim_library_module(CUmodule *ret, CUlibrary library);
CUresult sim_kernel_function(CUfunction *ret, CUkernel kernel);
CUresult sim_kernel_name(const char **ret, CUkernel kernel);
CUresult sim_function_name(const char **ret, CUfunction f);
CUresult sim_function_module(CUmodule *ret, CUfunction f);
CUresult sim_function_attribute(int *ret, CUfunction_attribute attribute, CUfunction f);
CUresult sim_function_set_attribute(CUfunction f, CUfunction_attribute attribute, int value);
CUresult sim_function_set_cache(CUfunction f, CUfunc_cache config);
CUresult sim_occupancy(int *ret, CUfunction f, int block_size);
const char *sim_symbol(CUfunction f); /* NULL when f is no function */

/* memory.c */
bool sim_memory_find(uintptr_t at, struct sim_memory *ret);
/* A variable of a module, which copies know from then on. False: memory is short. */
bool sim_memory_add_variable(void *at, size_t bytes);
void sim_memory_remove_variable(void *at);
CUresult sim_memory_info(size_t *ret_free, size_t *ret_total);
CUresult sim_memory_alloc(CUdeviceptr *ret, size_t bytes);
CUresult sim_memory_alloc_pitch(CUdeviceptr *ret, size_t *ret_pitch, size_t width, size_t height);
CUresult sim_memory_alloc_managed(CUdeviceptr *ret, size_t bytes);
CUresult sim_memory_alloc_async(CUdeviceptr *ret, size_t bytes, CUstream stream);
CUresult sim_memory_free(CUdeviceptr at);
CUresult sim_memory_free_async(CUdeviceptr at, CUstream stream);
CUresult sim_memory_range(CUdeviceptr *ret_base, size_t *ret_bytes, CUdeviceptr at);
CUresult sim_memory_alloc_host(void **ret, size_t bytes);
CUresult sim_memory_free_host(void *at);
CUresult sim_memory_host_device_pointer(CUdeviceptr *ret, void *at);
CUresult sim_memory_register(void *at, size_t bytes);
CUresult sim_memory_unregister(void *at);
CUresult sim_pointer_attribute(void *ret, CUpointer_attribute attribute, CUdeviceptr at);
CUresult sim_pointer_attributes(
	unsigned int count, CUpointer_attribute *attributes, void **ret, CUdeviceptr at);

/* copy.c */
CUresult sim_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, enum sim_direction direction,
	CUstream stream, enum sim_sync sync);
CUresult sim_copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
	CUcontext from_context, size_t bytes, CUstream stream, enum sim_sync sync);
CUresult sim_copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, enum sim_sync sync);
CUresult sim_copy_3d(const CUDA_MEMCPY3D *p, CUstream stream, enum sim_sync sync);
CUresult sim_copy_describe(const CUDA_MEMCPY3D *p, struct sim_copy *ret);
CUresult sim_fill(CUdeviceptr at, size_t pitch, uint32_t value, uint32_t element_bytes,
	size_t width, size_t height, CUstream stream, enum sim_sync sync);
CUresult sim_fill_describe(const CUDA_MEMSET_NODE_PARAMS *p, struct sim_fill *ret);
void sim_work_move_bytes(const struct sim_work *work);

/* launch.c */
CUresult sim_launch(CUfunction f, struct sim_dim grid, struct sim_dim block, uint32_t shared_bytes,
	CUstream stream, unsigned int flags, void **params, void **extra);
CUresult sim_launch_config(
	const CUlaunchConfig *config, CUfunction f, CUstream stream, void **params, void **extra);
CUresult sim_launch_host(CUstream stream, CUhostFn fn, void *data);
CUresult sim_kernel_describe(const CUDA_KERNEL_NODE_PARAMS *p, struct sim_kernel *ret);
/* position: in its stream */
uint64_t sim_work_duration(const struct sim_work *work, uint64_t position);

/* compute.c */
struct sim_ptx;
struct sim_ptx_kernel;
/* *ret and *ret_text are NULL where the image has no PTX, or nothing is to be computed. */
CUresult sim_compute_load(const void *image, char **ret_text, struct sim_ptx **ret);
void sim_compute_unload(struct sim_ptx *code);
/* The last error of loading, into the program's log. */
void sim_compute_log(unsigned int count, const CUjit_option *options, void *const *values);
/* A copy of a launch's parameters, for the heap; NULL where there is nothing to compute. */
CUresult sim_compute_params(CUfunction f, void *const *params, void *const *extra, void **ret);
CUresult sim_compute_run(const struct sim_work *work, struct sim_run *run);
CUresult sim_module_global(CUdeviceptr *ret, size_t *ret_bytes, CUmodule module, const char *name);

/* stream.c */
CUstream sim_stream_of(CUstream handle, bool per_thread); /* NULL: no such stream, or no context */
CUresult sim_stream_error(void);			  /* why it was NULL */
void sim_stream_init(CUstream s, CUcontext ctx, unsigned int flags, int priority);
void sim_stream_release(CUstream s);
void sim_streams_end(CUcontext ctx); /* that the program made in it */
CUresult sim_submit(CUstream s, const struct sim_work *work, enum sim_sync sync);
uint64_t sim_stream_begin(CUstream s); /* locks; when the next piece of work could start */
void sim_stream_run(CUstream s, const struct sim_work *work, struct sim_run *run);
void sim_stream_end(CUstream s, uint64_t end_ns); /* unlocks */
void sim_wait_until(uint64_t ns);
CUresult sim_stream_create(CUstream *ret, unsigned int flags, int priority);
CUresult sim_stream_destroy(CUstream s);
CUresult sim_stream_query(CUstream s);
CUresult sim_stream_synchronize(CUstream s);
CUresult sim_stream_wait_event(CUstream s, CUevent event);
CUresult sim_stream_priority(CUstream s, int *ret);
CUresult sim_stream_flags(CUstream s, unsigned int *ret);
CUresult sim_stream_context(CUstream s, CUcontext *ret);
CUresult sim_stream_id(CUstream s, unsigned long long *ret);
CUresult sim_stream_priority_range(int *ret_least, int *ret_greatest);
CUresult sim_event_create(CUevent *ret, unsigned int flags);
CUresult sim_event_record(CUevent event, CUstream s);
CUresult sim_event_query(CUevent event);
CUresult sim_event_synchronize(CUevent event);
CUresult sim_event_destroy(CUevent event);
CUresult sim_event_elapsed(float *ret_ms, CUevent start, CUevent end);

/* capture.c */
CUresult sim_capture_begin(CUstream s, CUstreamCaptureMode mode);
CUresult sim_capture_end(CUstream s, CUgraph *ret);
CUresult sim_capture_status(CUstream s, CUstreamCaptureStatus *ret);
CUresult sim_capture_info(CUstream s, CUstreamCaptureStatus *ret_status, cuuint64_t *ret_id,
	CUgraph *ret_graph, const CUgraphNode **ret_tips, size_t *ret_count);
CUresult sim_capture_exchange_mode(CUstreamCaptureMode *mode);
CUresult sim_capture_work(CUstream s, const struct sim_work *work);
CUresult sim_capture_record(CUstream s, CUevent event);
CUresult sim_capture_wait(CUstream s, CUevent event);
CUresult sim_capture_forbid(CUstream s); /* a call that a capturing stream refuses */
void sim_capture_leave(CUstream s);	 /* the stream goes away */

/* graph.c */
CUresult sim_graph_create(CUgraph *ret);
CUresult sim_graph_destroy(CUgraph graph);
CUresult sim_graph_clone(CUgraph *ret, CUgraph graph);
CUresult sim_graph_add(CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies,
	size_t count, const struct sim_work *work);
CUresult sim_graph_add_kernel(CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies,
	size_t count, const CUDA_KERNEL_NODE_PARAMS *p);
CUresult sim_graph_add_copy(CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies,
	size_t count, const CUDA_MEMCPY3D *p);
CUresult sim_graph_add_fill(CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies,
	size_t count, const CUDA_MEMSET_NODE_PARAMS *p);
CUresult sim_graph_add_empty(
	CUgraphNode *ret, CUgraph graph, const CUgraphNode *dependencies, size_t count);
CUresult sim_graph_add_dependencies(
	CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count);
CUresult sim_graph_nodes(CUgraph graph, CUgraphNode *ret, size_t *count);
CUresult sim_graph_node_type(CUgraphNode node, CUgraphNodeType *ret);
CUresult sim_graph_find_in_clone(CUgraphNode *ret, CUgraphNode original, CUgraph clone);
CUresult sim_graph_destroy_node(CUgraphNode node);
CUresult sim_graph_set_kernel(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p);
CUresult sim_graph_instantiate(CUgraphExec *ret, CUgraph graph);
CUresult sim_graph_instantiate_params(
	CUgraphExec *ret, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p);
CUresult sim_graph_exec_set_kernel(
	CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p);
CUresult sim_graph_exec_update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *ret);
CUresult sim_graph_launch(CUgraphExec exec, CUstream s);
CUresult sim_graph_upload(CUgraphExec exec, CUstream s);
CUresult sim_graph_exec_destroy(CUgraphExec exec);
