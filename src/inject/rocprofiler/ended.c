// SPDX-License-Identifier: MIT
/*
 * What GPUs have done, from rocprofiler-sdk's thread, which hands it over in buffers, to ours: a
 * ring of copies. The former never waits for us: what finds no room is counted as lost. Records are
 * read as far as their sizes go.
 */
#include <sys/mman.h>

#include "inject/rocprofiler/rocprofiler.h"

#define PIECES (1u << 16)

struct ended_kinds ended_kinds;

static struct {
	struct ended *pieces;
	uint64_t head, tail; /* ever put, and taken */
	uint64_t arrived;
	uint64_t dropped;     /* by rocprofiler-sdk, so far */
	pthread_mutex_t lock; /* of those that put: buffers may come from several threads */
} ring = {.lock = PTHREAD_MUTEX_INITIALIZER};

int ended_init(void)
{
	void *memory = mmap(NULL, PIECES * sizeof(struct ended), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -1;
	ring.pieces = memory;
	return 0;
}

/* --- rocprofiler-sdk's thread, under the lock */

static void has_arrived(uint64_t pieces)
{
	__atomic_add_fetch(&ring.arrived, pieces, __ATOMIC_SEQ_CST);
}

static void put(const struct ended *p)
{
	uint64_t head = ring.head;

	if (p->external == NOT_RECORDED)
		return;
	has_arrived(1);
	if (head - __atomic_load_n(&ring.tail, __ATOMIC_ACQUIRE) >= PIECES) {
		count(WIRE_LOST_WORK, 1);
		return;
	}
	ring.pieces[head % PIECES] = *p;
	__atomic_store_n(&ring.head, head + 1, __ATOMIC_RELEASE);
}

static bool put_dispatch(const struct rocprofiler_dispatch *d)
{
	struct ended p = {.kind = WIRE_WORK_KERNEL};

	if (d->size < sizeof(*d))
		return false;
	p.external = d->external;
	p.start_ns = d->start_ns;
	p.end_ns = d->end_ns;
	p.agent = d->agent;
	p.kernel = d->kernel;
	p.queue = d->queue;
	p.group_bytes = d->group_bytes;
	memcpy(p.workgroup, d->workgroup, sizeof(p.workgroup));
	memcpy(p.grid, d->grid, sizeof(p.grid));
	put(&p);
	return true;
}

/* A copy is on the device that it leaves, unless that is none. */
static bool put_copy(const struct rocprofiler_copy *c)
{
	struct ended p = {.kind = WIRE_WORK_COPY};

	if (c->size < sizeof(*c))
		return false;
	p.external = c->external;
	p.start_ns = c->start_ns;
	p.end_ns = c->end_ns;
	p.agent = agents_index(c->source_agent) < 0 ? c->target_agent : c->source_agent;
	p.direction = c->operation > 0 && c->operation <= ROCPROFILER_DEVICE_TO_DEVICE
			      ? (uint8_t)c->operation
			      : 0;
	p.bytes = c->bytes;
	put(&p);
	return true;
}

static bool put_record(const struct rocprofiler_header *h)
{
	if (!h || !h->payload || h->category != ROCPROFILER_CATEGORY_TRACING)
		return false;
	if (h->kind == ended_kinds.dispatch)
		return put_dispatch(h->payload);
	return h->kind == ended_kinds.copy && put_copy(h->payload);
}

void on_buffer(uint64_t context, uint64_t buffer, struct rocprofiler_header **headers, size_t n,
	void *data, uint64_t dropped)
{
	if (!is_alive())
		return;
	pthread_mutex_lock(&ring.lock);
	for (size_t i = 0; i < n; i++)
		if (!put_record(headers[i])) {
			count(WIRE_UNKNOWN, 1);
			has_arrived(1);
		}
	if (dropped > ring.dropped) {
		count(WIRE_DROPPED_BY_TRACER, dropped - ring.dropped);
		has_arrived(dropped - ring.dropped);
		ring.dropped = dropped;
	}
	pthread_mutex_unlock(&ring.lock);
	collector_has_work();
}

/* --- our thread */

void ended_drain(void (*visit)(const struct ended *p))
{
	uint64_t tail = ring.tail, head = __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE);

	for (; tail < head; tail++) {
		visit(&ring.pieces[tail % PIECES]);
		__atomic_store_n(&ring.tail, tail + 1, __ATOMIC_RELEASE);
	}
}

uint64_t ended_arrived(void)
{
	return __atomic_load_n(&ring.arrived, __ATOMIC_SEQ_CST);
}
