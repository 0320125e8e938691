// SPDX-License-Identifier: MIT
/*
 * The activity API. The driver reports work at submission, when its end is already computed; the
 * record waits in its stream's queue until that time has come. A worker thread moves what has ended
 * into the client's buffer, queue by queue (so streams are out of order), and hands the buffer over
 * when it is full; cuptiActivityFlushAll does the same and hands over the buffer as it is. A forked
 * child has no worker, and cuptiActivityFlushAll waits for it for ever there, as NVIDIA's does.
 *
 * Inside, times are on the host's monotonic clock. They are moved to the client's clock
 * (CLOCK_REALTIME, or the one it registered) when they are delivered.
 */
#include "queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { POLL_NS = 5000000, MAX_HELD = 256, FAR_NS = 1000000000 };

static struct {
	pthread_mutex_t lock; /* delivery: the reader of all queues */
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;
	CUpti_TimestampCallbackFunc clock;
	bool latency;
	_Atomic bool system_threads; /* threads go by the kernel's numbers */
	_Atomic bool forked;
	bool worker;
	uint8_t *buffer;
	size_t size, used;
	size_t max_records, records; /* of the buffer; 0: as many as fit */
	int64_t offset_ns;	     /* from the monotonic clock to the client's */
	uint64_t delivered;	     /* for the faults that hit every nth */
	struct queue_item held[MAX_HELD];
	size_t held_count;
	_Atomic size_t dropped;
	pthread_mutex_t api_lock; /* writers of api */
	struct queue *api;
} act = {.lock = PTHREAD_MUTEX_INITIALIZER, .api_lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool delivering; /* this thread is inside a client's buffer callback */

static uint64_t realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t sim_cupti_clock(void)
{
	return act.clock ? act.clock() : realtime();
}

/* Only followed when the clocks moved apart: a measurement is some tens of ns wrong, each time. */
static void calibrate(void)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < 8; i++) {
		uint64_t before = sim_now(), there = sim_cupti_clock(), after = sim_now();

		if (after - before < best) {
			best = after - before;
			offset = (int64_t)(there - before - best / 2);
		}
	}
	if (offset <= (int64_t)best && -offset <= (int64_t)best)
		offset = 0; /* the same clock */
	if (llabs(offset - act.offset_ns) > 1000000 || !offset)
		act.offset_ns = offset;
}

static size_t record_bytes(CUpti_ActivityKind kind)
{
	size_t extra = xpuprof_sim_driver()->faults.record_extra + 7;

	extra -= extra % 8;
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(CUpti_ActivityKernel10) + extra;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(CUpti_ActivityMemcpy6) + extra;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return sizeof(CUpti_ActivityMemcpyPtoP4) + extra;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(CUpti_ActivityMemset4) + extra;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return sizeof(CUpti_ActivityGraphTrace2) + extra;
	case CUPTI_ACTIVITY_KIND_DRIVER:
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		return sizeof(CUpti_ActivityAPI) + extra;
	case CUPTI_ACTIVITY_KIND_MARKER:
		return sizeof(CUpti_ActivityMarker2) + extra;
	default:
		return 0;
	}
}

static bool enabled(CUpti_ActivityKind kind)
{
	return atomic_load_explicit(&xpuprof_sim_tools.kinds[kind], memory_order_relaxed);
}

/* From here to sim_cupti_work: records are made. */

static void fill_kernel(CUpti_ActivityKernel10 *r, CUstream s, const struct sim_kernel *k,
	const struct sim_run *run)
{
	memset(r, 0, sizeof(*r));
	r->kind = enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			  ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
			  : CUPTI_ACTIVITY_KIND_KERNEL;
	r->registersPerThread = (uint16_t)k->function->registers;
	r->start = run->start_ns;
	r->end = run->end_ns;
	r->completed = run->end_ns;
	r->deviceId = (uint32_t)s->context->device;
	r->contextId = s->context->id;
	r->streamId = s->id;
	r->gridX = (int32_t)k->grid.x;
	r->gridY = (int32_t)k->grid.y;
	r->gridZ = (int32_t)k->grid.z;
	r->blockX = (int32_t)k->block.x;
	r->blockY = (int32_t)k->block.y;
	r->blockZ = (int32_t)k->block.z;
	r->staticSharedMemory = (int32_t)k->function->static_shared_bytes;
	r->dynamicSharedMemory = (int32_t)k->shared_bytes;
	r->correlationId = run->correlation;
	r->gridId = (int64_t)sim_grid_id(run);
	r->name = k->function->name;
	if (act.latency) {
		r->queued = run->queued_ns;
		r->submitted = run->submitted_ns;
	}
	r->launchType = k->flags & SIM_COOPERATIVE
				? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
				: CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
	r->graphNodeId = run->graph_node;
	r->graphId = run->graph;
	r->channelID = s->id;
	r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	r->clusterX = k->cluster.x;
	r->clusterY = k->cluster.y;
	r->clusterZ = k->cluster.z;
}

static bool on_device(enum sim_memory_kind kind)
{
	return kind == SIM_MEMORY_DEVICE || kind == SIM_MEMORY_MANAGED;
}

static uint8_t copy_kind(const struct sim_copy *c)
{
	if (on_device(c->to.kind))
		return on_device(c->from.kind) ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
					       : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
	return on_device(c->from.kind) ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
				       : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

static void fill_copy(
	CUpti_ActivityMemcpy6 *r, CUstream s, const struct sim_copy *c, const struct sim_run *run)
{
	memset(r, 0, sizeof(*r));
	r->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	r->copyKind = copy_kind(c);
	r->srcKind = (uint8_t)c->from.kind;
	r->dstKind = (uint8_t)c->to.kind;
	r->flags = c->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	r->bytes = c->width * c->height * c->depth;
	r->start = run->start_ns;
	r->end = run->end_ns;
	r->deviceId = (uint32_t)s->context->device;
	r->contextId = s->context->id;
	r->streamId = s->id;
	r->correlationId = run->correlation;
	r->graphNodeId = run->graph_node;
	r->graphId = run->graph;
	r->channelID = s->id;
	r->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	r->copyCount = 1;
}

static void fill_peer(CUpti_ActivityMemcpyPtoP4 *r, CUstream s, const struct sim_copy *c,
	const struct sim_run *run)
{
	memset(r, 0, sizeof(*r));
	r->kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	r->copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
	r->srcKind = (uint8_t)c->from.kind;
	r->dstKind = (uint8_t)c->to.kind;
	r->flags = c->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
	r->bytes = c->width * c->height * c->depth;
	r->start = run->start_ns;
	r->end = run->end_ns;
	r->deviceId = (uint32_t)s->context->device;
	r->contextId = s->context->id;
	r->streamId = s->id;
	r->srcDeviceId = (uint32_t)c->from.device;
	r->srcContextId = c->from.context->id;
	r->dstDeviceId = (uint32_t)c->to.device;
	r->dstContextId = c->to.context->id;
	r->correlationId = run->correlation;
	r->graphNodeId = run->graph_node;
	r->graphId = run->graph;
	r->channelID = s->id;
	r->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
}

static void fill_set(
	CUpti_ActivityMemset4 *r, CUstream s, const struct sim_fill *f, const struct sim_run *run)
{
	memset(r, 0, sizeof(*r));
	r->kind = CUPTI_ACTIVITY_KIND_MEMSET;
	r->value = f->value;
	r->bytes = f->width * f->height * f->element_bytes;
	r->start = run->start_ns;
	r->end = run->end_ns;
	r->deviceId = (uint32_t)s->context->device;
	r->contextId = s->context->id;
	r->streamId = s->id;
	r->correlationId = run->correlation;
	r->flags = f->async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
	r->memoryKind = (uint16_t)f->kind;
	r->graphNodeId = run->graph_node;
	r->graphId = run->graph;
	r->channelID = s->id;
	r->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
}

static CUpti_ActivityKind kind_of(const struct sim_work *work)
{
	switch (work->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			       ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
			       : CUPTI_ACTIVITY_KIND_KERNEL;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return work->copy.peer ? CUPTI_ACTIVITY_KIND_MEMCPY2 : CUPTI_ACTIVITY_KIND_MEMCPY;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return CUPTI_ACTIVITY_KIND_MEMSET;
	default:
		return CUPTI_ACTIVITY_KIND_INVALID;
	}
}

/* The stream's lock is held: one writer. */
static struct queue_item *reserve(CUstream s)
{
	struct queue_item *item = NULL;

	if (!s->tools)
		s->tools = queue_acquire();
	if (s->tools)
		item = queue_reserve(s->tools);
	if (!item)
		act.dropped++;
	return item;
}

void sim_cupti_work(CUstream s, const struct sim_work *work, const struct sim_run *run)
{
	struct queue_item *item;

	if (work->type == CU_GRAPH_NODE_TYPE_KERNEL && xpuprof_sim_tools.sampled)
		sim_cupti_sample(s, &work->kernel, run);
	/* With graphs traced as a whole their nodes are not. */
	if (!enabled(kind_of(work)) || (run->graph && enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)))
		return;
	item = reserve(s);
	if (!item)
		return;
	item->ready_ns = run->end_ns;
	if (work->type == CU_GRAPH_NODE_TYPE_KERNEL)
		fill_kernel(&item->kernel, s, &work->kernel, run);
	else if (work->type == CU_GRAPH_NODE_TYPE_MEMSET)
		fill_set(&item->set, s, &work->fill, run);
	else if (work->copy.peer)
		fill_peer(&item->peer, s, &work->copy, run);
	else
		fill_copy(&item->copy, s, &work->copy, run);
	queue_commit(s->tools);
}

void sim_cupti_graph_run(CUstream s, CUgraphExec exec, const struct sim_run *run)
{
	struct queue_item *item;

	if (!enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) || !(item = reserve(s)))
		return;
	item->ready_ns = run->end_ns;
	item->graph = (CUpti_ActivityGraphTrace2){
		.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
		.correlationId = run->correlation,
		.start = run->start_ns,
		.end = run->end_ns,
		.deviceId = (uint32_t)s->context->device,
		.graphId = exec->id,
		.contextId = s->context->id,
		.streamId = s->id,
		.endDeviceId = (uint32_t)s->context->device,
		.endContextId = s->context->id,
	};
	queue_commit(s->tools);
}

void sim_cupti_stream_gone(CUstream s)
{
	queue_retire(s->tools);
	s->tools = NULL;
}

bool sim_cupti_api_wanted(enum sim_domain domain)
{
	return enabled(
		domain == SIM_DRIVER ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME);
}

/* A record of the program's own calls; then end_own. NULL: it is lost. */
static struct queue_item *begin_own(void)
{
	pthread_mutex_lock(&act.api_lock);
	if (!act.api)
		act.api = queue_acquire();
	return act.api ? queue_reserve(act.api) : NULL;
}

static void end_own(const struct queue_item *item)
{
	if (item)
		queue_commit(act.api);
	else
		act.dropped++;
	pthread_mutex_unlock(&act.api_lock);
}

void sim_cupti_marker(CUpti_ActivityFlag flag, uint32_t id, const char *name, const char *domain)
{
	struct queue_item *item;

	if (!enabled(CUPTI_ACTIVITY_KIND_MARKER))
		return;
	item = begin_own();
	if (item) {
		item->ready_ns = sim_now();
		item->marker = (CUpti_ActivityMarker2){
			.kind = CUPTI_ACTIVITY_KIND_MARKER,
			.flags = flag,
			.timestamp = item->ready_ns,
			.id = id,
			.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
			.objectId.pt = {(uint32_t)getpid(),
				act.system_threads ? (uint32_t)syscall(SYS_gettid)
						   : (uint32_t)(uintptr_t)pthread_self()},
			.name = name,
			.domain = domain,
		};
	}
	end_own(item);
}

void sim_cupti_api_record(const struct sim_call *call)
{
	struct queue_item *item = begin_own();

	if (item) {
		item->ready_ns = sim_now();
		item->api = (CUpti_ActivityAPI){
			.kind = call->domain == SIM_DRIVER ? CUPTI_ACTIVITY_KIND_DRIVER
							   : CUPTI_ACTIVITY_KIND_RUNTIME,
			.cbid = call->cbid,
			.start = call->start_ns,
			.end = item->ready_ns,
			.processId = (uint32_t)getpid(),
			.threadId = (uint32_t)syscall(SYS_gettid),
			.correlationId = call->correlation,
			.returnValue = (uint32_t)*call->result,
		};
	}
	end_own(item);
}

/* From here to deliver: records are handed over. The delivery lock is held. */

struct times {
	uint64_t *start, *end, *queued, *submitted, *completed;
};

static struct times times_of(struct queue_item *item, uint64_t *none)
{
	struct times t = {none, none, none, none, none};

	*none = 0;
#define PLACE(record) (t.start = (void *)&(record).start, t.end = (void *)&(record).end)
	switch (item->any.kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		PLACE(item->kernel);
		t.queued = (void *)&item->kernel.queued;
		t.submitted = (void *)&item->kernel.submitted;
		t.completed = (void *)&item->kernel.completed;
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		PLACE(item->copy);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		PLACE(item->peer);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		PLACE(item->set);
		break;
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		PLACE(item->graph);
		break;
	default:
		PLACE(item->api);
	}
#undef PLACE
	return t;
}

static bool every(uint64_t nth)
{
	return nth && act.delivered % nth == 0;
}

static void set_times(struct queue_item *item, bool ended)
{
	const struct sim_faults *faults = &xpuprof_sim_driver()->faults;
	uint64_t none, start;
	struct times t = times_of(item, &none);

	if (!ended || every(faults->zero_time)) {
		*t.start = *t.end = *t.completed = 0;
		return;
	}
	*t.start += (uint64_t)act.offset_ns;
	*t.end += (uint64_t)act.offset_ns;
	*t.completed = *t.end;
	if (*t.queued)
		*t.queued += (uint64_t)act.offset_ns;
	if (*t.submitted)
		*t.submitted += (uint64_t)act.offset_ns;
	if (every(faults->reversed_time)) {
		start = *t.start;
		*t.start = *t.end;
		*t.end = start;
	}
	if (every(faults->far_time)) {
		*t.start += (uint64_t)FAR_NS * 86400 * 365;
		*t.end += (uint64_t)FAR_NS * 86400 * 365;
	}
}

static void complete_buffer(void)
{
	uint8_t *buffer = act.buffer;

	if (!buffer)
		return;
	act.buffer = NULL;
	delivering = true;
	act.complete(NULL, 0, buffer, act.size, act.used);
	delivering = false;
}

static bool request_buffer(void)
{
	uint8_t *buffer = NULL;
	size_t size = 0, records = 0;

	delivering = true;
	act.request(&buffer, &size, &records);
	delivering = false;
	if (!buffer || !size)
		return false;
	act.buffer = buffer;
	act.size = size;
	act.used = 0;
	act.max_records = records;
	act.records = 0;
	return true;
}

static void write_record(struct queue_item *item)
{
	size_t bytes = record_bytes(item->any.kind);
	size_t usual = bytes - (xpuprof_sim_driver()->faults.record_extra + 7) / 8 * 8;

	if (act.buffer && (act.used + bytes > act.size ||
				  (act.max_records && act.records == act.max_records)))
		complete_buffer();
	if ((!act.buffer && !request_buffer()) || bytes > act.size) {
		act.dropped++;
		return;
	}
	memcpy(act.buffer + act.used, &item->any, usual);
	memset(act.buffer + act.used + usual, 0xa5, bytes - usual);
	act.used += bytes;
	act.records++;
}

static void deliver(struct queue_item *item, bool ended)
{
	const struct sim_faults *faults = &xpuprof_sim_driver()->faults;

	act.delivered++;
	set_times(item, ended);
	if (every(faults->drop))
		act.dropped++;
	else if (every(faults->reorder) && act.held_count < MAX_HELD)
		act.held[act.held_count++] = *item;
	else
		write_record(item);
}

/* Moves everything that has ended, or everything at all, into buffers. */
static void drain(bool all)
{
	uint64_t delay_ns = xpuprof_sim_driver()->faults.delay_ms * 1000000;
	uint64_t now;

	if (!act.request)
		return;
	calibrate();
	for (struct queue *q = queue_first(); q; q = q->next) {
		struct queue_item *item;

		while ((item = queue_peek(q))) {
			now = sim_now();
			if (!all && item->ready_ns + delay_ns > now)
				break;
			deliver(item, item->ready_ns <= now);
			queue_pop(q);
		}
	}
	for (size_t i = 0; i < act.held_count; i++)
		write_record(&act.held[i]);
	act.held_count = 0;
}

static void *work(void *unused)
{
	struct timespec pause = {0, POLL_NS};

	while (1) {
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&act.lock);
		drain(false);
		pthread_mutex_unlock(&act.lock);
	}
	return NULL;
}

static void forked(void)
{
	act.forked = true;
}

static bool start_worker(void)
{
	pthread_mutex_lock(&act.lock);
	if (!act.worker && xpuprof_sim_start_thread(work)) {
		pthread_atfork(NULL, NULL, forked);
		act.worker = true;
	}
	pthread_mutex_unlock(&act.lock);
	return act.worker;
}

SIM_EXPORT CUptiResult cuptiActivityRegisterCallbacks(
	CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
	CUptiResult why;

	if (!request || !complete)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!sim_cupti_usable(&why))
		return why;
	pthread_mutex_lock(&act.lock);
	act.request = request;
	act.complete = complete;
	pthread_mutex_unlock(&act.lock);
	return CUPTI_SUCCESS;
}

static bool is_work(CUpti_ActivityKind kind)
{
	return kind != CUPTI_ACTIVITY_KIND_DRIVER && kind != CUPTI_ACTIVITY_KIND_RUNTIME;
}

static void set_kind(CUpti_ActivityKind kind, bool on)
{
	bool any = false;

	if (atomic_exchange(&xpuprof_sim_tools.kinds[kind], on) == on)
		return;
	if (!is_work(kind)) {
		sim_cupti_count_api_user(on ? 1 : -1);
		sim_cupti_watch(kind == CUPTI_ACTIVITY_KIND_DRIVER ? SIM_DRIVER : SIM_RUNTIME);
	}
	for (int i = 0; i < CUPTI_ACTIVITY_KIND_COUNT; i++)
		any |= is_work((CUpti_ActivityKind)i) && enabled((CUpti_ActivityKind)i);
	xpuprof_sim_tools.records = any;
}

static CUptiResult change_kind(CUpti_ActivityKind kind, bool on)
{
	CUptiResult why;

	if (!sim_cupti_usable(&why))
		return why;
	if (sim_cupti_has_ended())
		abort(); /* NVIDIA's crashes (cuptiActivityEnable of 13.0) */
	if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
		return CUPTI_ERROR_INVALID_KIND;
	if (on && !record_bytes(kind))
		return CUPTI_ERROR_NOT_SUPPORTED;
	if (on && !start_worker())
		return CUPTI_ERROR_OUT_OF_MEMORY;
	set_kind(kind, on);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && xpuprof_sim_tools.sampled &&
		!enabled(kind))
		return CUPTI_ERROR_NOT_COMPATIBLE;
	return change_kind(kind, true);
}

SIM_EXPORT CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	act.system_threads = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return change_kind(kind, false);
}

SIM_EXPORT CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return change_kind(kind, true);
}

SIM_EXPORT CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return change_kind(kind, false);
}

void sim_cupti_lose_activity(void)
{
	for (int i = 1; i < CUPTI_ACTIVITY_KIND_COUNT; i++)
		set_kind((CUpti_ActivityKind)i, false);
	pthread_mutex_lock(&act.lock);
	act.request = NULL;
	act.complete = NULL;
	act.clock = NULL;
	act.latency = false;
	pthread_mutex_unlock(&act.lock);
}

void sim_cupti_stop_activity(void)
{
	cuptiActivityFlushAll(0);
	sim_cupti_lose_activity();
}

SIM_EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	CUptiResult why;

	while (act.forked)
		pause();
	if (!sim_cupti_usable(&why))
		return why;
	if (delivering)
		return CUPTI_ERROR_INVALID_OPERATION;
	pthread_mutex_lock(&act.lock);
	if (act.request) {
		drain(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		complete_buffer();
	}
	pthread_mutex_unlock(&act.lock);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivityFlush(CUcontext context, uint32_t streamId, uint32_t flag)
{
	return cuptiActivityFlushAll(flag);
}

/* Full buffers are handed over at once here, and NVIDIA's flush period hands over no others. */
SIM_EXPORT CUptiResult cuptiActivityFlushPeriod(uint32_t time)
{
	CUptiResult why;

	return sim_cupti_usable(&why) ? CUPTI_SUCCESS : why;
}

SIM_EXPORT CUptiResult cuptiActivityGetNextRecord(
	uint8_t *buffer, size_t validBufferSizeBytes, CUpti_Activity **record)
{
	uint8_t *next = buffer;

	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*record)
		next = (uint8_t *)*record + record_bytes((*record)->kind);
	if (next >= buffer + validBufferSizeBytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(
	CUcontext context, uint32_t streamId, size_t *dropped)
{
	if (!dropped)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*dropped = atomic_exchange(&act.dropped, 0);
	return CUPTI_SUCCESS;
}

/* Sizes of buffers on the device, which this one does not have. */
SIM_EXPORT CUptiResult cuptiActivitySetAttribute(
	CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
	if (!valueSize || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivityGetAttribute(
	CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
	if (!valueSize || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	memset(value, 0, *valueSize);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock)
{
	CUptiResult why;

	if (!clock)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!sim_cupti_usable(&why))
		return why;
	pthread_mutex_lock(&act.lock);
	act.clock = clock;
	act.offset_ns = 0;
	pthread_mutex_unlock(&act.lock);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
	CUptiResult why;

	if (!sim_cupti_usable(&why))
		return why;
	act.latency = enable;
	xpuprof_sim_tools.queued = enable;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiActivityEnableHWTrace(uint8_t enable)
{
	return enable ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}
