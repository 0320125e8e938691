// SPDX-License-Identifier: MIT
/*
 * Records of work, and the buffer that tools get them in.
 *
 *	deliver:  pending, in the order in which they were handed over
 *	a thread: what has ended goes into the buffer, which is handed over when it is full enough
 *	flush:    another thread hands over what there is, and is waited for
 *
 * One buffer, which is lossless: whoever has no room waits until it was handed over.
 */
#include "sdk.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT	     __attribute__((visibility("default")))
#define RECORD_BYTES 256u /* ours, and what later versions append */
#define BUFFERED_MAX 4096u
#define PENDING_MAX  (1u << 18)

struct record {
	struct rocprofiler_header header;
	uint64_t ends_ns;
	union {
		struct rocprofiler_dispatch dispatch;
		struct rocprofiler_copy copy;
		uint8_t bytes[RECORD_BYTES];
	};
};

static struct {
	rocprofiler_on_buffer *callback;
	void *data;
	bool wants[64];
	size_t most; /* records */
	uint64_t dropped;
	struct record *pending, *buffered; /* a ring, and a line */
	uint64_t put, taken;
	size_t count;
	pthread_mutex_t lock;
	pthread_mutex_t handing; /* one buffer at a time */
	bool ends;
} d = {.lock = PTHREAD_MUTEX_INITIALIZER, .handing = PTHREAD_MUTEX_INITIALIZER};

EXPORT int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark,
	uint32_t policy, rocprofiler_on_buffer *callback, void *data, uint64_t *ret);
EXPORT int rocprofiler_flush_buffer(uint64_t buffer);
EXPORT int rocprofiler_configure_buffer_tracing_service(
	uint64_t context, int32_t kind, const int32_t *operations, size_t count, uint64_t buffer);

/* Hands over what is in the buffer. */
static void hand_over(void)
{
	static struct record records[BUFFERED_MAX];
	static struct rocprofiler_header *headers[BUFFERED_MAX];
	uint64_t dropped;
	size_t count;

	pthread_mutex_lock(&d.handing);
	pthread_mutex_lock(&d.lock);
	count = d.count;
	dropped = d.dropped;
	memcpy(records, d.buffered, count * sizeof(*records));
	d.count = 0;
	pthread_mutex_unlock(&d.lock);
	for (size_t n = 0; n < count; n++) {
		headers[n] = &records[n].header;
		headers[n]->payload = records[n].bytes;
	}
	if (count)
		d.callback(77, 88, headers, count, d.data, dropped);
	pthread_mutex_unlock(&d.handing);
}

/* What has ended goes into the buffer. True: that is to be handed over. */
static bool take_ended(void)
{
	static uint64_t records;
	bool is_full;

	pthread_mutex_lock(&d.lock);
	while (d.taken < d.put && d.count < BUFFERED_MAX &&
		d.pending[d.taken % PENDING_MAX].ends_ns <= sim_amd_now()) {
		if (fault_is_due(faults.drop, &records))
			d.dropped++;
		else
			d.buffered[d.count++] = d.pending[d.taken % PENDING_MAX];
		d.taken++;
	}
	is_full = d.count >= d.most;
	pthread_mutex_unlock(&d.lock);
	return is_full;
}

static void *deliver_always(void *unused)
{
	while (!__atomic_load_n(&d.ends, __ATOMIC_SEQ_CST)) {
		if (take_ended())
			hand_over();
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	return NULL;
}

static void *hand_over_once(void *unused)
{
	take_ended();
	hand_over();
	return NULL;
}

int rocprofiler_flush_buffer(uint64_t buffer)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, hand_over_once, NULL))
		return 1;
	pthread_join(thread, NULL);
	return 0;
}

int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark, uint32_t policy,
	rocprofiler_on_buffer *callback, void *data, uint64_t *ret)
{
	pthread_t thread;

	d.pending = calloc(PENDING_MAX, sizeof(*d.pending));
	d.buffered = calloc(BUFFERED_MAX, sizeof(*d.buffered));
	d.callback = callback;
	d.data = data;
	d.most = watermark / RECORD_BYTES < BUFFERED_MAX / 2 ? watermark / RECORD_BYTES
							     : BUFFERED_MAX / 2;
	*ret = 88;
	return policy != ROCPROFILER_POLICY_LOSSLESS || !d.pending || !d.buffered ||
	       pthread_create(&thread, NULL, deliver_always, NULL);
}

int rocprofiler_configure_buffer_tracing_service(
	uint64_t context, int32_t kind, const int32_t *operations, size_t count, uint64_t buffer)
{
	if (faults.refuse)
		return 1;
	d.wants[kind % 64] = true;
	return 0;
}

bool delivery_wants(uint32_t kind)
{
	return d.wants[kind % 64];
}

/* --- records */

static void tell_lies(struct record *r)
{
	static uint64_t small, zero, reversed, far, no_agent, no_kernel;
	struct rocprofiler_dispatch *k = &r->dispatch;

	if (fault_is_due(faults.small, &small))
		k->size = 40;
	if (fault_is_due(faults.zero_time, &zero))
		k->start_ns = k->end_ns = 0;
	if (fault_is_due(faults.reversed_time, &reversed))
		k->start_ns = k->end_ns + 1000;
	if (fault_is_due(faults.far_time, &far))
		k->end_ns += 1ull << 62;
	if (k->kind != (int32_t)kind_number("KERNEL_DISPATCH"))
		return;
	if (fault_is_due(faults.no_agent, &no_agent))
		k->agent = 0xdead;
	if (fault_is_due(faults.no_kernel, &no_kernel))
		k->kernel = UINT64_MAX;
}

static void describe_dispatch(const struct sim_amd_work *w, struct rocprofiler_dispatch *k)
{
	static uint64_t dispatches;

	k->info_size = 72;
	k->agent = SIM_AMD_FIRST_AGENT + (uint64_t)w->device;
	k->queue = w->queue;
	k->kernel = w->kernel;
	k->dispatch = __atomic_add_fetch(&dispatches, 1, __ATOMIC_RELAXED);
	k->group_bytes = 512 + w->shared;
	for (int n = 0; n < 3; n++) {
		k->workgroup[n] = w->workgroup[n];
		k->grid[n] = w->groups[n] * w->workgroup[n];
	}
}

static void describe_copy(const struct sim_amd_work *w, struct rocprofiler_copy *c)
{
	uint64_t gpu = SIM_AMD_FIRST_AGENT + (uint64_t)w->device;
	bool to_host = w->direction == 2;

	c->operation = to_host ? ROCPROFILER_DEVICE_TO_HOST
			       : w->direction == 1 ? ROCPROFILER_HOST_TO_DEVICE
						   : ROCPROFILER_DEVICE_TO_DEVICE;
	c->source_agent = w->direction == 1 ? SIM_AMD_CPU_AGENT : gpu;
	c->target_agent = to_host ? SIM_AMD_CPU_AGENT : gpu;
	c->bytes = w->bytes;
}

void deliver(const struct sim_amd_work *w, uint64_t external)
{
	uint32_t kind = kind_number(w->is_copy ? "MEMORY_COPY" : "KERNEL_DISPATCH");
	struct record r = {.ends_ns = w->end_ns,
		.header = {.category = ROCPROFILER_CATEGORY_TRACING, .kind = kind}};

	/* Both are alike up to the times. */
	r.dispatch = (struct rocprofiler_dispatch){
		.size = (w->is_copy ? sizeof(r.copy) + 16 : sizeof(r.dispatch) + 56) +
			(faults.version >= 10100 ? 8 : 0),
		.kind = (int32_t)kind,
		.operation = 2,
		.internal = 1,
		.external = external,
		.start_ns = w->start_ns,
		.end_ns = w->end_ns};
	if (w->is_copy)
		describe_copy(w, &r.copy);
	else
		describe_dispatch(w, &r.dispatch);
	tell_lies(&r);
	pthread_mutex_lock(&d.lock);
	if (d.put - d.taken >= PENDING_MAX)
		abort();
	d.pending[d.put++ % PENDING_MAX] = r;
	pthread_mutex_unlock(&d.lock);
}

void delivery_end(void)
{
	if (!d.callback)
		return;
	__atomic_store_n(&d.ends, true, __ATOMIC_SEQ_CST);
	take_ended();
	hand_over();
}
