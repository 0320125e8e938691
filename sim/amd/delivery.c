// SPDX-License-Identifier: MIT
/*
 * Records of work, and the buffer that tools get them in.
 *
 *	deliver:  pending, in the order in which they were handed over
 *	a thread: what has ended goes into the buffer, which is handed over when it is full enough
 *	flush:    another thread hands over what there is, and is waited for
 *
 * Buffers are lossless: whoever has no room waits until they were handed over. Work is in the one
 * that was named for it last. A dispatch that ends has samples, in the one that was named for
 * those: one every SIM_SAMPLE_NS, at four instructions in turn, of which every third is issued.
 */
#include "sdk.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT	     __attribute__((visibility("default")))
#define RECORD_BYTES 256u /* ours, and what later versions append */
#define BUFFERED_MAX 4096u
#define PENDING_MAX  (1u << 18)
#define BUFFERS	     4
#define SPARE	     512u /* what a dispatch's samples need */
#define INSTRUCTIONS 4u
#define INSTRUCTION  8u /* bytes */
#define BUFFER_ID    88u

struct record {
	struct rocprofiler_header header;
	uint64_t ends_ns;
	union {
		struct rocprofiler_dispatch dispatch;
		struct rocprofiler_copy copy;
		struct rocprofiler_stochastic stochastic;
		struct rocprofiler_host_trap host_trap;
		uint8_t bytes[RECORD_BYTES];
	};
};

struct buffer {
	rocprofiler_on_buffer *callback;
	void *data;
	uint64_t dropped;
	struct record *records;
	size_t count, most;
};

static struct {
	struct buffer buffers[BUFFERS];
	uint32_t buffer_count;
	struct buffer *work, *samples; /* samples: NULL, nobody wants any */
	bool wants[64];
	uint32_t methods[2]; /* of sampling, by devices; 0: they are not sampled */
	struct record *pending;
	uint64_t put, taken;
	pthread_mutex_t lock;
	pthread_mutex_t handing; /* one buffer at a time */
	bool ends;
} d = {.work = &d.buffers[0],
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.handing = PTHREAD_MUTEX_INITIALIZER};

EXPORT int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark,
	uint32_t policy, rocprofiler_on_buffer *callback, void *data, uint64_t *ret);
EXPORT int rocprofiler_flush_buffer(uint64_t buffer);
EXPORT int rocprofiler_configure_buffer_tracing_service(
	uint64_t context, int32_t kind, const int32_t *operations, size_t count, uint64_t buffer);

static void hand_over(struct buffer *b)
{
	static struct record records[BUFFERED_MAX];
	static struct rocprofiler_header *headers[BUFFERED_MAX];
	uint64_t dropped;
	size_t count;

	pthread_mutex_lock(&d.handing);
	pthread_mutex_lock(&d.lock);
	count = b->count;
	dropped = b->dropped;
	memcpy(records, b->records, count * sizeof(*records));
	b->count = 0;
	pthread_mutex_unlock(&d.lock);
	for (size_t n = 0; n < count; n++) {
		headers[n] = &records[n].header;
		headers[n]->payload = records[n].bytes;
	}
	if (count)
		b->callback(77, BUFFER_ID, headers, count, b->data, dropped);
	pthread_mutex_unlock(&d.handing);
}

static void hand_over_all(void)
{
	for (uint32_t n = 0; n < d.buffer_count; n++)
		hand_over(&d.buffers[n]);
}

/* --- samples; under the lock */

static void put_stochastic(const struct rocprofiler_dispatch *k, uint64_t n, struct record *r)
{
	r->header.kind = ROCPROFILER_STOCHASTIC_SAMPLE;
	r->stochastic = (struct rocprofiler_stochastic){.size = sizeof(r->stochastic) + 8,
		.issued = n % 3 == 0 ? 1 | 1 << 1 : 15 << 1,
		.offset = code_offset(k->kernel) + n % INSTRUCTIONS * INSTRUCTION,
		.external = k->external,
		.snapshot = n % 3 == 1 ? 3 : 2};
}

static void put_host_trap(const struct rocprofiler_dispatch *k, uint64_t n, struct record *r)
{
	r->header.kind = ROCPROFILER_HOST_TRAP_SAMPLE;
	r->host_trap = (struct rocprofiler_host_trap){.size = sizeof(r->host_trap) + 16,
		.offset = code_offset(k->kernel) + n % INSTRUCTIONS * INSTRUCTION,
		.external = k->external};
}

static void sample(const struct rocprofiler_dispatch *k)
{
	static uint64_t invalid, lost;
	uint64_t device = k->agent - SIM_AMD_FIRST_AGENT, ns = k->end_ns - k->start_ns;
	struct buffer *b = d.samples;

	if (device > 1 || !d.methods[device] || ns > SPARE * SIM_SAMPLE_NS)
		return;
	for (uint64_t n = 0; n < ns / SIM_SAMPLE_NS; n++) {
		struct record *r = &b->records[b->count++];
		uint64_t code = SIM_CODE_ID(k->kernel, device);

		*r = (struct record){.header = {.category = ROCPROFILER_CATEGORY_SAMPLES}};
		if (fault_is_due(faults.lost_code, &lost))
			code = 0;
		if (d.methods[device] == ROCPROFILER_STOCHASTIC)
			put_stochastic(k, n, r);
		else
			put_host_trap(k, n, r);
		if (d.methods[device] == ROCPROFILER_STOCHASTIC)
			r->stochastic.code_object = code;
		else
			r->host_trap.code_object = code;
		if (fault_is_due(faults.invalid_sample, &invalid))
			r->header.kind = 1; /* an invalid sample */
	}
}

/* --- the buffers */

static bool has_room(void)
{
	return d.work->count < BUFFERED_MAX &&
	       (!d.samples || d.samples->count < BUFFERED_MAX - SPARE);
}

/* What has ended goes into the buffers. True: they are to be handed over. */
static bool take_ended(void)
{
	static uint64_t records;
	bool is_full;

	pthread_mutex_lock(&d.lock);
	while (d.taken < d.put && has_room() &&
		d.pending[d.taken % PENDING_MAX].ends_ns <= sim_amd_now()) {
		const struct record *r = &d.pending[d.taken % PENDING_MAX];

		if (fault_is_due(faults.drop, &records))
			d.work->dropped++;
		else
			d.work->records[d.work->count++] = *r;
		if (r->header.kind == kind_number("KERNEL_DISPATCH"))
			sample(&r->dispatch);
		d.taken++;
	}
	is_full = d.work->count >= d.work->most || !has_room();
	pthread_mutex_unlock(&d.lock);
	return is_full;
}

static void *deliver_always(void *unused)
{
	while (!__atomic_load_n(&d.ends, __ATOMIC_SEQ_CST)) {
		if (take_ended())
			hand_over_all();
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	}
	return NULL;
}

static void *hand_over_once(void *buffer)
{
	take_ended();
	hand_over(buffer);
	return NULL;
}

int rocprofiler_flush_buffer(uint64_t buffer)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, hand_over_once, &d.buffers[buffer - BUFFER_ID]))
		return 1;
	pthread_join(thread, NULL);
	return 0;
}

/* A child may launch: another thread of its parent's may be in here when it is forked. */
static void lock(void)
{
	pthread_mutex_lock(&d.lock);
}

static void unlock(void)
{
	pthread_mutex_unlock(&d.lock);
}

int rocprofiler_create_buffer(uint64_t context, size_t size, size_t watermark, uint32_t policy,
	rocprofiler_on_buffer *callback, void *data, uint64_t *ret)
{
	struct buffer *b = &d.buffers[d.buffer_count];
	pthread_t thread;

	if (policy != ROCPROFILER_POLICY_LOSSLESS || d.buffer_count == BUFFERS)
		return 1;
	*b = (struct buffer){.callback = callback,
		.data = data,
		.records = calloc(BUFFERED_MAX, sizeof(*b->records)),
		.most = watermark / RECORD_BYTES};
	if (b->most > BUFFERED_MAX / 2)
		b->most = BUFFERED_MAX / 2;
	*ret = BUFFER_ID + d.buffer_count++;
	if (d.buffer_count > 1)
		return !b->records;
	d.pending = calloc(PENDING_MAX, sizeof(*d.pending));
	return !d.pending || !b->records || pthread_atfork(lock, unlock, unlock) ||
	       pthread_create(&thread, NULL, deliver_always, NULL);
}

void delivery_samples(uint64_t agent, uint32_t method, uint64_t buffer)
{
	d.samples = &d.buffers[buffer - BUFFER_ID];
	d.methods[agent - SIM_AMD_FIRST_AGENT] = method;
}

int rocprofiler_configure_buffer_tracing_service(
	uint64_t context, int32_t kind, const int32_t *operations, size_t count, uint64_t buffer)
{
	if (faults.refuse)
		return 1;
	d.wants[kind % 64] = true;
	d.work = &d.buffers[buffer - BUFFER_ID];
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

	c->operation = to_host		   ? ROCPROFILER_DEVICE_TO_HOST
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
	if (!d.buffer_count)
		return;
	__atomic_store_n(&d.ends, true, __ATOMIC_SEQ_CST);
	take_ended();
	hand_over_all();
}
