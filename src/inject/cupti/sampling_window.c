// SPDX-License-Identifier: MIT
/*
 * What was sampled in a window of time, on its way into the ring. Rows belong to the latest window,
 * so `lock` is held while one is written; nothing of CUPTI or the driver is called under it.
 *
 * CUPTI owns the names of functions, and has one pointer for each function.
 */
#include "inject/cupti/sampling.h"
#include "inject/cupti/sampling_slot.h"

#include <sys/mman.h>
#include <time.h>

#include "base/bare/hash_step.h"
#include "inject/cupti/cupti.h"
#include "inject/library.h"

#define PCS		 4096u		      /* instructions fetched at once */
#define FUNCTION_SLOTS	 (2 * WIRE_FUNCTIONS) /* at most half full */
#define BATCH		 256u		      /* rows in a record */
#define LONGEST_NAME	 32768u
#define LOCK_PATIENCE_NS 1000000000ull
#define LOCK_WAIT_NS	 50000000ull
#define RING_PATIENCE_NS 200000000ull /* of the program's thread with a full ring */
#define PAUSE_NS	 200000

struct function {
	uint64_t image;
	uint32_t index;
	uint32_t id; /* 0: free */
};

static struct {
	struct function *functions;
	pthread_mutex_t lock; /* of the rest, and of what `functions` points to */
	uint64_t deadline_ns; /* for room in the ring; 0: our thread, which has its own patience */
	uint8_t reasons_sent[WIRE_DEVICES];
	uint32_t function_count;
	uint32_t batch_count;
	struct {
		struct wire_stalls_head head;
		struct wire_stall rows[BATCH];
	} batch;
} windows = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* In many short waits: if the machine stood still or its clock was set, only one of them ends too
 * early. */
bool sampling_lock_patiently(pthread_mutex_t *lock)
{
	struct timespec until;

	if (!pthread_mutex_trylock(lock))
		return true;
	for (uint64_t waited_ns = 0; waited_ns < LOCK_PATIENCE_NS; waited_ns += LOCK_WAIT_NS) {
		if (clock_gettime(CLOCK_REALTIME, &until))
			return false;
		until.tv_nsec += (long)LOCK_WAIT_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (!pthread_mutex_timedlock(lock, &until))
			return true;
	}
	return false;
}

bool sampling_put_patiently(const void *head, size_t head_size, const void *body, size_t body_size,
	uint64_t deadline_ns)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};

	while (!ring_put_long(&library.ring, head, head_size, body, body_size)) {
		if (now_ns() > deadline_ns)
			return false;
		connection_hurry(&library.connection);
		nanosleep(&pause, NULL);
	}
	return true;
}

/* ---- buffers ---- */

static uint32_t pc_stride(void)
{
	const uint32_t with_correlation = 22; /* the API version of CUDA 12.4 */

	return cupti.api_version < with_correlation ? CUPTI_PC_BYTES_OLD
						    : (uint32_t)sizeof(struct cupti_pc);
}

static struct cupti_pc *pc_at(const struct sampling_buffer *b, size_t n)
{
	return (struct cupti_pc *)(b->memory + n * b->stride);
}

static struct cupti_stall *stalls_at(const struct sampling_buffer *b, size_t n)
{
	return (struct cupti_stall *)(b->memory + (size_t)PCS * b->stride) + n * b->reasons;
}

/* Gives each instruction its room for reasons again. */
static void reset(struct sampling_buffer *b, size_t used)
{
	struct cupti_pc *pcs = (struct cupti_pc *)b->memory;

	for (size_t n = 0; n < used; n++) {
		struct cupti_pc *pc = pc_at(b, n);

		memset(pc, 0, b->stride);
		pc->size = b->stride == CUPTI_PC_BYTES_OLD
				   ? CUPTI_PC_BYTES_OLD
				   : CUPTI_SIZE_UP_TO(struct cupti_pc, pad2);
		pc->stalls = stalls_at(b, n);
	}
	b->data = (struct cupti_pcs){.size = sizeof(b->data), .room = PCS, .pcs = pcs};
}

bool sampling_make_buffer(struct sampling_buffer *b, size_t reasons)
{
	void *memory;

	b->stride = pc_stride();
	b->reasons = (uint32_t)reasons;
	b->size = PCS * (b->stride + reasons * sizeof(struct cupti_stall));
	memory = mmap(NULL, b->size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	b->memory = memory;
	reset(b, PCS);
	return true;
}

void sampling_free_buffer(struct sampling_buffer *b)
{
	if (b->memory)
		munmap(b->memory, b->size);
	*b = (struct sampling_buffer){0};
}

bool sampling_make_windows(void)
{
	struct function *expected = NULL;
	size_t size = FUNCTION_SLOTS * sizeof(struct function);
	void *memory;

	if (__atomic_load_n(&windows.functions, __ATOMIC_ACQUIRE))
		return true;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	if (!__atomic_compare_exchange_n(&windows.functions, &expected, memory, false,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		munmap(memory, size);
	return true;
}

void sampling_free_windows(void)
{
	if (windows.functions)
		munmap(windows.functions, FUNCTION_SLOTS * sizeof(struct function));
	windows.functions = NULL;
}

/* ---- a window, on its way into the ring; `sending` is held ---- */

static bool put(const void *head, size_t head_size, const void *body, size_t body_size)
{
	if (!windows.deadline_ns)
		return send_long(head, head_size, body, body_size);
	return sampling_put_patiently(head, head_size, body, body_size, windows.deadline_ns);
}

static void flush_rows(void)
{
	uint64_t samples = 0;

	if (!windows.batch_count)
		return;
	windows.batch.head = (struct wire_stalls_head){
		.type = WIRE_STALLS,
		.count = windows.batch_count,
	};
	if (!put(&windows.batch.head, sizeof(windows.batch.head), windows.batch.rows,
		    windows.batch_count * sizeof(windows.batch.rows[0]))) {
		for (uint32_t n = 0; n < windows.batch_count; n++)
			samples += windows.batch.rows[n].samples;
		count(WIRE_LOST_STALLS, samples);
	}
	windows.batch_count = 0;
}

static void send_reasons(const struct sampling_slot *p)
{
	if (windows.reasons_sent[p->device])
		return;
	windows.reasons_sent[p->device] = 1;
	for (size_t n = 0; n < p->reason_count; n++) {
		struct wire_stall_reason record = {
			.type = WIRE_STALL_REASON,
			.device = p->device,
			.index = p->indexes[n],
			.name_size = (uint32_t)strnlen(p->names[n], CUPTI_STALL_NAME_BYTES),
		};

		if (record.index < WIRE_STALL_REASONS && record.name_size &&
			!put(&record, sizeof(record), p->names[n], record.name_size))
			windows.reasons_sent[p->device] = 0;
	}
}

/* The entry of this function, or a free one for it. */
static struct function *find_function(uint64_t image, uint32_t index)
{
	uint64_t hash = hash_step(image, (uint64_t)index << 32 ^ index);
	uint32_t slot = (uint32_t)(hash >> 32) % FUNCTION_SLOTS;

	for (;; slot = (slot + 1) % FUNCTION_SLOTS) {
		struct function *f = &windows.functions[slot];

		if (!f->id || (f->image == image && f->index == index))
			return f;
	}
}

/* Its id; 0: it could not be sent. */
static uint32_t function_id(const struct cupti_pc *pc)
{
	struct wire_function record = {
		.type = WIRE_FUNCTION,
		.checksum = pc->image,
		.index = pc->function,
	};
	struct function *f = find_function(pc->image, pc->function);

	if (f->id)
		return f->id;
	if (windows.function_count >= WIRE_FUNCTIONS)
		return 0;
	record.id = windows.function_count + 1;
	record.name_size = pc->name ? (uint32_t)strnlen(pc->name, LONGEST_NAME) : 0;
	if (!put(&record, sizeof(record), pc->name, record.name_size))
		return 0;
	*f = (struct function){pc->image, pc->function, record.id};
	return windows.function_count = record.id;
}

/* Before CUDA 12.4 kernels are serialized, but samples do not name their launches. */
static bool names_launches(const struct sampling_buffer *b)
{
	return library.stalls == WIRE_STALLS_EXACT && b->stride > CUPTI_PC_BYTES_OLD;
}

static void add_rows(const struct sampling_buffer *b, const struct cupti_pc *pc)
{
	uint32_t function = pc->offset <= UINT32_MAX ? function_id(pc) : 0;
	uint32_t correlation = names_launches(b) ? pc->correlation : 0;

	for (size_t n = 0; n < pc->stall_count; n++) {
		const struct cupti_stall *s = &pc->stalls[n];

		if (!s->samples)
			continue;
		if (!function) {
			count(WIRE_LOST_STALLS, s->samples);
			continue;
		}
		windows.batch.rows[windows.batch_count++] = (struct wire_stall){
			.function = function,
			.offset = (uint32_t)pc->offset,
			.reason = s->reason,
			.samples = s->samples,
			.correlation = correlation,
		};
		if (windows.batch_count == BATCH)
			flush_rows();
	}
}

static void send_window(const struct sampling_slot *p, struct sampling_buffer *b, uint64_t start_ns,
	uint64_t end_ns)
{
	const struct cupti_pcs *data = &b->data;
	struct wire_window record = {
		.type = WIRE_WINDOW,
		.exact = names_launches(b),
		.period = p->period,
		.safe_period = p->safe_period,
		.device = p->device,
		.context = p->id,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.samples = data->samples,
		.dropped = data->dropped,
		.without_code = data->without_code,
	};

	send_reasons(p);
	if (!put(&record, sizeof(record), NULL, 0)) {
		count(WIRE_LOST_STALLS, data->samples);
		return;
	}
	for (size_t n = 0; n < data->count && n < PCS; n++) {
		const struct cupti_pc *pc = pc_at(b, n);

		/* CUPTI fills in the room that it was given, or its layout differs from ours. */
		if (pc->stalls == stalls_at(b, n) && pc->stall_count <= b->reasons)
			add_rows(b, pc);
		else
			count(WIRE_UNKNOWN, 1);
	}
	flush_rows();
}

/* What CUPTI put into the buffer since the last time. */
void sampling_send(struct sampling_slot *p, struct sampling_buffer *b, uint64_t end_ns, bool ours)
{
	size_t used = b->data.count < PCS ? b->data.count : PCS;

	if (!b->data.samples && !b->data.dropped && !used)
		return;
	introduce_device(p->device);
	p->samples += b->data.samples;
	p->without_code += b->data.without_code;
	if (sampling_lock_patiently(&windows.lock)) {
		windows.deadline_ns = ours ? 0 : now_ns() + RING_PATIENCE_NS;
		send_window(p, b, p->since_ns < end_ns ? p->since_ns : end_ns, end_ns);
		pthread_mutex_unlock(&windows.lock);
	} else {
		count(WIRE_LOST_STALLS, b->data.samples);
	}
	reset(b, used);
}
