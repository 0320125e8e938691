// SPDX-License-Identifier: MIT
/*
 * Samples of instructions: asked for at the begin, for every device that can, and on their way from
 * rocprofiler-sdk's thread, which never waits for us, to ours, which sends what each round has as
 * one window of each device. A sample names its launch, so nothing is apportioned.
 *
 * The way that rests on the hardware is taken where there is one: its samples say why a wave did
 * not go on. rocprofiler-sdk warns that sampling may hang the machine, and does it only where the
 * user has set a variable, which we do not.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "inject/rocprofiler/rocprofiler.h"
#include "vendor/amd/stalls.h"

#define SAMPLES	       (1u << 17)
#define BATCH	       4096u
#define ROWS	       256u
#define PERIOD_DEFAULT 18 /* 2^18 cycles are about 0.1 ms */
#define TRAP_INTERVAL  100u

struct sample {
	uint64_t object, offset;
	uint64_t external;
	uint32_t reason;
	uint32_t count;
};

static struct {
	struct sample *samples;
	uint64_t head, tail; /* ever put, and taken */
	uint64_t dropped;
	pthread_mutex_t lock; /* of those that put */
} ring = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct rocprofiler_sampling chosen;

/* --- setting up */

static int on_samplings(const struct rocprofiler_sampling *all, size_t count, void *data)
{
	size_t stride = count ? all->size : 0;

	if (stride < sizeof(*all) || stride > 1024)
		return 0;
	for (size_t n = 0; n < count; n++) {
		const struct rocprofiler_sampling *s =
			(const void *)((const uint8_t *)all + n * stride);

		if (s->method == ROCPROFILER_STOCHASTIC ||
			(s->method == ROCPROFILER_HOST_TRAP && !chosen.method))
			chosen = *s;
	}
	return 0;
}

/* As near to what is wanted as the device can. */
static uint64_t interval(void)
{
	uint64_t wanted = chosen.unit == ROCPROFILER_UNIT_CYCLES
				  ? 1ull << (library.stall_period ?: PERIOD_DEFAULT)
				  : TRAP_INTERVAL;

	return wanted < chosen.least ? chosen.least : wanted > chosen.most ? chosen.most : wanted;
}

static enum wire_stalls_refusal begin_on(uint64_t context, uint64_t buffer, uint32_t device)
{
	uint64_t agent = agents_handle(device);
	int status;

	chosen = (struct rocprofiler_sampling){0};
	if (rocprofiler.query_pc_sampling_agent_configurations(agent, on_samplings, NULL) ||
		!chosen.method)
		return WIRE_STALLS_DEVICE;
	status = rocprofiler.configure_pc_sampling_service(
		context, agent, chosen.method, chosen.unit, interval(), buffer, 0);
	return status == ROCPROFILER_ERROR ? WIRE_STALLS_CONTEXT : status ? WIRE_STALLS_DEVICE : 0;
}

/* All that can; else why the last one cannot. */
static enum wire_stalls_refusal begin_on_all(uint64_t context, uint64_t buffer)
{
	enum wire_stalls_refusal refusal = WIRE_STALLS_DEVICE;
	bool any = false;

	for (uint32_t n = 0; n < agents_count(); n++) {
		refusal = begin_on(context, buffer, n);
		any |= !refusal;
	}
	return any ? 0 : refusal;
}

static bool is_permitted(void)
{
	const char *set = getenv(ROCPROFILER_SAMPLES_VARIABLE);

	return set && *set && strcmp(set, "0") != 0;
}

static enum wire_stalls_refusal begin(uint64_t context, uint32_t version)
{
	uint64_t buffer = 0;

	if (version >= ROCPROFILER_VERSION_SAMPLES_END ||
		!rocprofiler.query_pc_sampling_agent_configurations ||
		!rocprofiler.configure_pc_sampling_service)
		return WIRE_STALLS_NO_FUNCTION;
	if (!is_permitted())
		return WIRE_STALLS_RIGHTS;
	if (!claim_samples(AMD_API))
		return WIRE_STALLS_BUSY;
	ring.samples = mmap(NULL, SAMPLES * sizeof(*ring.samples), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ring.samples == MAP_FAILED || objects_reserve())
		return WIRE_STALLS_MEMORY;
	if (make_buffer(on_samples, &buffer))
		return WIRE_STALLS_OTHER;
	return begin_on_all(context, buffer);
}

void samples_begin(uint64_t context, uint32_t version)
{
	struct wire_stalls_refused record = {.type = WIRE_STALLS_REFUSED,
		.api = AMD_API,
		.device = AMD_API * WIRE_API_DEVICES,
		.holder_uid = UINT32_MAX};

	if (!library.stalls)
		return;
	record.refusal = (uint8_t)begin(context, version);
	if (record.refusal)
		ring_put(&library.ring, &record);
}

/* --- rocprofiler-sdk's thread */

static bool read_sample(const struct rocprofiler_header *h, struct sample *ret)
{
	const struct rocprofiler_stochastic *s = h->payload;
	const struct rocprofiler_host_trap *t = h->payload;
	uint32_t reason;

	if (h->kind == ROCPROFILER_HOST_TRAP_SAMPLE && t->size >= sizeof(*t)) {
		*ret = (struct sample){
			t->code_object, t->offset, t->external, AMD_STALL_NO_REASON, 1};
		return true;
	}
	if (h->kind != ROCPROFILER_STOCHASTIC_SAMPLE || s->size < sizeof(*s))
		return false;
	reason = s->snapshot & 15;
	if (reason >= ROCPROFILER_NOT_ISSUED_REASONS)
		reason = 0;
	*ret = (struct sample){s->code_object, s->offset, s->external,
		s->issued & 1 ? AMD_STALL_ISSUED : AMD_STALL_FIRST + reason, 1};
	return true;
}

/* Under the lock. */
static void put(const struct rocprofiler_header *h)
{
	struct sample s;

	/* Of some the tracer says itself that they make no sense. */
	if (!h || !h->payload || h->category != ROCPROFILER_CATEGORY_SAMPLES ||
		!read_sample(h, &s)) {
		count(WIRE_UNKNOWN, 1);
		return;
	}
	if (s.external == NOT_RECORDED)
		return;
	if (ring.head - __atomic_load_n(&ring.tail, __ATOMIC_ACQUIRE) >= SAMPLES) {
		count(WIRE_LOST_STALLS, 1);
		return;
	}
	ring.samples[ring.head % SAMPLES] = s;
	__atomic_store_n(&ring.head, ring.head + 1, __ATOMIC_RELEASE);
}

void on_samples(uint64_t context, uint64_t buffer, struct rocprofiler_header **headers, size_t n,
	void *data, uint64_t dropped)
{
	if (!is_alive())
		return;
	pthread_mutex_lock(&ring.lock);
	for (size_t i = 0; i < n; i++)
		put(headers[i]);
	if (dropped > ring.dropped)
		count(WIRE_LOST_STALLS, dropped - ring.dropped);
	ring.dropped = dropped > ring.dropped ? dropped : ring.dropped;
	pthread_mutex_unlock(&ring.lock);
	collector_has_work();
}

/* --- our thread */

/* With where it is; function NULL: no code that we know. */
struct placed {
	struct sampled_function *function;
	uint64_t checksum, offset;
	uint32_t correlation, reason;
	int device;
};

static struct placed placed[BATCH];
static uint64_t since_ns[AGENTS_MAX];

static int by_place(const void *a_, const void *b_)
{
	const struct placed *a = a_, *b = b_;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->correlation != b->correlation)
		return a->correlation < b->correlation ? -1 : 1;
	return a->reason < b->reason ? -1 : a->reason > b->reason;
}

static size_t take(void)
{
	uint64_t head = __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE);
	size_t n = 0;

	for (; ring.tail < head && n < BATCH; n++) {
		const struct sample *s = &ring.samples[ring.tail % SAMPLES];
		struct placed *p = &placed[n];

		*p = (struct placed){
			.correlation = id_correlation(s->external), .reason = s->reason};
		p->function = objects_function(
			s->object, s->offset, &p->device, &p->checksum, &p->offset);
		__atomic_store_n(&ring.tail, ring.tail + 1, __ATOMIC_RELEASE);
	}
	qsort(placed, n, sizeof(*placed), by_place);
	return n;
}

static void send_reasons(uint32_t device)
{
	static const char *const names[] = {
#define NAME(name, ...) AMD_STALL_PREFIX #name,
		AMD_STALLS(NAME)
#undef NAME
	};
	static bool sent[AGENTS_MAX];

	if (sent[device])
		return;
	sent[device] = true;
	for (uint32_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		struct wire_stall_reason record = {.type = WIRE_STALL_REASON,
			.device = AMD_API * WIRE_API_DEVICES + device,
			.index = n,
			.name_size = (uint32_t)strlen(names[n])};

		sent[device] &= send_long(&record, sizeof(record), names[n], record.name_size);
	}
}

/* 0: it could not be sent. */
static uint32_t function_id(const struct placed *p)
{
	static uint32_t latest;
	struct wire_function record = {.type = WIRE_FUNCTION,
		.api = AMD_API,
		.id = latest + 1,
		.checksum = p->checksum,
		.index = p->function->index,
		.name_size = (uint32_t)strlen(p->function->name)};

	if (!p->function->id && latest < WIRE_FUNCTIONS &&
		send_long(&record, sizeof(record), p->function->name, record.name_size))
		p->function->id = ++latest;
	return p->function->id;
}

static struct {
	struct wire_stalls_head head;
	struct wire_stall rows[ROWS];
} batch;

static void send_rows(void)
{
	uint64_t samples = 0;

	if (!batch.head.count)
		return;
	batch.head.type = WIRE_STALLS;
	if (!send_long(&batch.head, sizeof(batch.head), batch.rows,
		    batch.head.count * sizeof(batch.rows[0]))) {
		for (uint32_t n = 0; n < batch.head.count; n++)
			samples += batch.rows[n].samples;
		count(WIRE_LOST_STALLS, samples);
	}
	batch.head.count = 0;
}

static void add_row(const struct placed *p, uint32_t samples)
{
	uint32_t function = function_id(p);

	if (!function || p->offset > UINT32_MAX) {
		count(WIRE_LOST_STALLS, samples);
		return;
	}
	batch.rows[batch.head.count++] = (struct wire_stall){.function = function,
		.offset = (uint32_t)p->offset,
		.reason = p->reason,
		.samples = samples,
		.correlation = p->correlation};
	if (batch.head.count == ROWS)
		send_rows();
}

/* Those of one device, in their order. Functions come before rows that name them. */
static void send_window(const struct placed *all, size_t count_of, uint64_t now)
{
	uint32_t device = (uint32_t)all->device;
	struct wire_window record = {.type = WIRE_WINDOW,
		.exact = 1,
		.device = agents_introduce(device),
		.context = agents_context(device),
		.start_ns = since_ns[device],
		.end_ns = now,
		.samples = count_of};
	size_t n = 0, same;

	send_reasons(device);
	for (; n < count_of && !all[n].function; n++)
		record.without_code++;
	since_ns[device] = now;
	if (!send_slot(&record)) {
		count(WIRE_LOST_STALLS, count_of);
		return;
	}
	for (; n < count_of; n += same) {
		for (same = 1; n + same < count_of && !by_place(&all[n], &all[n + same]);)
			same++;
		add_row(&all[n], (uint32_t)same);
	}
	send_rows();
}

/* Samples of code objects that we do not know are of no device. */
static void send_batch(size_t taken)
{
	uint64_t now = now_ns();
	size_t n = 0, same;

	for (; n < taken; n += same) {
		for (same = 1; n + same < taken && placed[n + same].device == placed[n].device;)
			same++;
		if (placed[n].device < 0)
			count(WIRE_UNKNOWN, same);
		else
			send_window(&placed[n], same, now);
	}
}

void samples_drain(void)
{
	size_t taken;

	if (!ring.samples || ring.samples == MAP_FAILED)
		return;
	for (uint32_t n = 0; n < agents_count(); n++)
		if (!since_ns[n])
			since_ns[n] = now_ns();
	while ((taken = take()))
		send_batch(taken);
}
