// SPDX-License-Identifier: MIT
/*
 * Instructions are sampled by context:
 *
 *	program's thread                         our thread
 *	context created: enable, configure
 *	                                         every tick: GetData until nothing remains -> a window
 *	                                                                 and its rows, into the ring
 *	context ends: GetData, disable, the rest
 *	                                         the process ends, or we stop: the same, until
 *	                                         nothing comes any more
 *
 * A device can be sampled in one context at a time (claims.h); the others are refused.
 *
 * Sampling must be switched on where the context is made, before it has modules: CUPTI samples no
 * instructions of modules that were loaded earlier. Switched on or off by a thread while another
 * launches, CUPTI (13.0 on an H200) hangs for good. So both are only done where the program makes
 * or destroys a context, with launches held for those 100 ms (launches_hold). At the end of the
 * process or of the recording sampling stays on. Fetching may be done beside launches.
 *
 * Samples come late: the GPU leaves them in memory, CUPTI's threads look there every SLEEP_MS, and
 * two or three of each multiprocessor stay behind until sampling is switched off. So the stretch of
 * time that a window covers ends a little before it is fetched. CUPTI owns the names of functions,
 * and has one pointer for each function.
 *
 * Locks. Whoever asks CUPTI about a context holds the lock of the context's slot. CUPTI and the
 * driver have locks of their own. The program's thread may hold those when it calls us back, while
 * our thread waits for them with the slot's lock held. So the program's thread waits for the slot's
 * lock only so long, and then leaves the context to CUPTI and our thread to itself. `sending` is
 * held while a window is written to the ring, as rows belong to the latest window; nothing of CUPTI
 * or the driver is called under it. Our thread only ever tries a slot's lock.
 */
#include "inject/cupti/sampling.h"

#include <sys/mman.h>

#include "base/bare/hash_step.h"
#include "inject/cupti/claims.h"
#include "inject/cupti/cupti.h"
#include "inject/cupti/health.h"
#include "inject/launches.h"
#include "inject/library.h"

#define CONTEXTS	 64u
#define PCS		 4096u		      /* instructions fetched at once */
#define ROUNDS		 64		      /* at most, at a tick */
#define FUNCTION_SLOTS	 (2 * WIRE_FUNCTIONS) /* at most half full */
#define BATCH		 256u		      /* rows in a record */
#define LONGEST_NAME	 32768u
#define TICK_NS		 100000000ull
#define LOCK_PATIENCE_NS 1000000000ull
#define LOCK_WAIT_NS	 50000000ull
#define RING_PATIENCE_NS 200000000ull /* of the program's thread with a full ring */
#define PAUSE_NS	 200000
#define SLEEP_MS	 10
#define LATENCY_NS	 10000000ull /* of samples, with that: 5 to 20 ms */
#define STOP_NS		 30000000ull
#define FINISH_NS	 300000000ull
/* Samples that come faster than CUPTI hands over pile up in its memory; what is left then comes in
 * heaps. It hands over 18 to 30 million a second (13.0, with an H200). */
#define FAST	       4000000u	 /* a second, from then on it can fall behind */
#define HANDED_OVER    16000000u /* a second: that many it can */
#define FINISH_FAST_NS 4000000000ull
/* So often nothing came, with half of SLEEP_MS between: then nothing will. Time is no measure: to
 * fetch may take more than a second while CUPTI decodes. */
#define QUIET	   6
#define QUIET_FAST 100
/* A kernel with 1 % of 10 s is to get 1,000 samples, though it may run on one SM only. */
#define SAMPLES_A_SECOND 10000u
#define PERIOD_MIN	 5
#define PERIOD_MAX	 31
#define BLACKWELL	 10 /* compute capability: its period and memory are not to be set */
/* For CUPTI's threads to be late by so long: when it is full once, nothing more comes of the
 * context. */
#define MEMORY_SECONDS 2
#define MEMORY_MIN     (64ull << 20)
#define MEMORY_MAX     (512ull << 20) /* CUPTI's own */
#define SAMPLE_BYTES   32

enum state {
	FREE = 0,
	SETUP, /* being made ready, in the program's thread */
	SAMPLED,
	GIVEN_UP, /* CUPTI gives no samples of it any more, but samples */
	/* our thread was in it when its context ended: CUPTI has it, and the device stays
	 * claimed */
	ABANDONED,
};

/* Where CUPTI puts what it fetches. */
struct buffer {
	struct cupti_pcs data;
	uint8_t *memory;
	size_t size;
	uint32_t reasons; /* room for each instruction */
	uint32_t stride;
};

struct slot {
	pthread_mutex_t lock;
	uint32_t state;
	void *context;
	uint32_t device; /* ordinal */
	uint32_t id;	 /* of the context */
	uint8_t period;
	uint8_t safe_period; /* with which CUPTI does not fall behind; 0: not known */
	bool is_fast;	     /* it may fall behind */
	uint64_t since_ns;
	struct buffer fetched;
	struct buffer rest; /* what is left when sampling ends; CUPTI has its address */
	size_t reason_count;
	uint32_t *indexes; /* of the reasons, and their names */
	char (*names)[CUPTI_STALL_NAME_BYTES];
};

struct function {
	uint64_t image;
	uint32_t index;
	uint32_t id; /* 0: free */
};

static struct {
	struct slot slots[CONTEXTS];
	uint64_t drained_ns;
	uint32_t exits;	   /* enum exit_time: when our exit handler was registered again */
	uint32_t refusals; /* bits: kinds that were reported */
	/* The rest under this lock. */
	pthread_mutex_t sending;
	uint64_t deadline_ns; /* for room in the ring; 0: our thread, which has its own patience */
	uint8_t reasons_sent[WIRE_DEVICES];
	uint32_t function_count;
	struct function *functions;
	uint32_t batch_count;
	struct {
		struct wire_stalls_head head;
		struct wire_stall rows[BATCH];
	} batch;
} sampling = {
	.slots = {[0 ... CONTEXTS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}},
	.sending = PTHREAD_MUTEX_INITIALIZER,
};

/* In many short waits: if the machine stood still or its clock was set, only one of them ends too
 * early. */
static bool lock_patiently(pthread_mutex_t *lock)
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

static uint32_t state_of(const struct slot *p)
{
	return __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
}

static void set_state(struct slot *p, enum state state)
{
	__atomic_store_n(&p->state, state, __ATOMIC_RELEASE);
}

/* ---- refusals ---- */

static enum wire_stalls_refusal refusal_of(int result)
{
	switch (result) {
	case CUPTI_RIGHTS:
	case CUPTI_VIRTUAL_DEVICE_RIGHTS:
		return WIRE_STALLS_RIGHTS;
	case CUPTI_HARDWARE_BUSY:
	case CUPTI_OTHER_PROFILER:
	case CUPTI_INVALID_OPERATION: /* it is on already */
		return WIRE_STALLS_BUSY;
	case CUPTI_OUT_OF_MEMORY:
		return WIRE_STALLS_MEMORY;
	case CUPTI_NOT_SUPPORTED:
	case CUPTI_VIRTUAL_DEVICE:
	case CUPTI_LEGACY_DEVICE:
		return WIRE_STALLS_DEVICE;
	default:
		return result >= CUPTI_CONFIDENTIAL && result <= CUPTI_WSL_DEVICE
			       ? WIRE_STALLS_DEVICE
			       : WIRE_STALLS_OTHER;
	}
}

static bool put_patiently(const void *head, size_t head_size, const void *body, size_t body_size,
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

static bool came_too_fast(enum wire_stalls_refusal refusal)
{
	return refusal == WIRE_STALLS_OVERRUN || refusal == WIRE_STALLS_UNFETCHED;
}

/* Once for each kind of refusal. */
static void report_holder(const struct slot *p, enum wire_stalls_refusal refusal, int result,
	const struct claim_holder *holder)
{
	struct wire_stalls_refused record = {
		.type = WIRE_STALLS_REFUSED,
		.refusal = (uint8_t)refusal,
		.period = came_too_fast(refusal) ? p->safe_period : 0,
		.device = p->device,
		.context = p->id,
		.result = result,
		.holder_pid = holder->pid,
		.holder_uid = holder->uid,
	};
	uint32_t bit = 1u << refusal;

	if (__atomic_fetch_or(&sampling.refusals, bit, __ATOMIC_RELAXED) & bit)
		return;
	if (!put_patiently(&record, sizeof(record), NULL, 0, now_ns() + RING_PATIENCE_NS))
		__atomic_fetch_and(&sampling.refusals, ~bit, __ATOMIC_RELAXED);
}

static void report_refusal(const struct slot *p, enum wire_stalls_refusal refusal, int result)
{
	report_holder(p, refusal, result, &(struct claim_holder){0});
}

/* ---- buffers ---- */

static uint32_t pc_stride(void)
{
	const uint32_t with_correlation = 22; /* the API version of CUDA 12.4 */

	return cupti.api_version < with_correlation ? CUPTI_PC_BYTES_OLD
						    : (uint32_t)sizeof(struct cupti_pc);
}

static struct cupti_pc *pc_at(const struct buffer *b, size_t n)
{
	return (struct cupti_pc *)(b->memory + n * b->stride);
}

static struct cupti_stall *stalls_at(const struct buffer *b, size_t n)
{
	return (struct cupti_stall *)(b->memory + (size_t)PCS * b->stride) + n * b->reasons;
}

/* Gives each instruction its room for reasons again. */
static void reset(struct buffer *b, size_t used)
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

static bool make_buffer(struct buffer *b, size_t reasons)
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

static void free_buffer(struct buffer *b)
{
	if (b->memory)
		munmap(b->memory, b->size);
	*b = (struct buffer){0};
}

static size_t names_bytes(size_t count)
{
	return count * (CUPTI_STALL_NAME_BYTES + sizeof(uint32_t));
}

static void release(struct slot *p)
{
	if (p->names)
		munmap(p->names, names_bytes(p->reason_count));
	free_buffer(&p->fetched);
	free_buffer(&p->rest);
	p->names = NULL;
	p->context = NULL;
	set_state(p, FREE);
}

/* ---- a window, on its way into the ring; `sending` is held ---- */

static bool put(const void *head, size_t head_size, const void *body, size_t body_size)
{
	if (!sampling.deadline_ns)
		return send_long(head, head_size, body, body_size);
	return put_patiently(head, head_size, body, body_size, sampling.deadline_ns);
}

static void flush_rows(void)
{
	uint64_t samples = 0;

	if (!sampling.batch_count)
		return;
	sampling.batch.head = (struct wire_stalls_head){
		.type = WIRE_STALLS,
		.count = sampling.batch_count,
	};
	if (!put(&sampling.batch.head, sizeof(sampling.batch.head), sampling.batch.rows,
		    sampling.batch_count * sizeof(sampling.batch.rows[0]))) {
		for (uint32_t n = 0; n < sampling.batch_count; n++)
			samples += sampling.batch.rows[n].samples;
		count(WIRE_LOST_STALLS, samples);
	}
	sampling.batch_count = 0;
}

static void send_reasons(const struct slot *p)
{
	if (sampling.reasons_sent[p->device])
		return;
	sampling.reasons_sent[p->device] = 1;
	for (size_t n = 0; n < p->reason_count; n++) {
		struct wire_stall_reason record = {
			.type = WIRE_STALL_REASON,
			.device = p->device,
			.index = p->indexes[n],
			.name_size = (uint32_t)strnlen(p->names[n], CUPTI_STALL_NAME_BYTES),
		};

		if (record.index < WIRE_STALL_REASONS && record.name_size &&
			!put(&record, sizeof(record), p->names[n], record.name_size))
			sampling.reasons_sent[p->device] = 0;
	}
}

/* The entry of this function, or a free one for it. */
static struct function *find_function(uint64_t image, uint32_t index)
{
	uint64_t hash = hash_step(image, (uint64_t)index << 32 ^ index);
	uint32_t slot = (uint32_t)(hash >> 32) % FUNCTION_SLOTS;

	for (;; slot = (slot + 1) % FUNCTION_SLOTS) {
		struct function *f = &sampling.functions[slot];

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
	if (sampling.function_count >= WIRE_FUNCTIONS)
		return 0;
	record.id = sampling.function_count + 1;
	record.name_size = pc->name ? (uint32_t)strnlen(pc->name, LONGEST_NAME) : 0;
	if (!put(&record, sizeof(record), pc->name, record.name_size))
		return 0;
	*f = (struct function){pc->image, pc->function, record.id};
	return sampling.function_count = record.id;
}

/* Before CUDA 12.4 kernels are serialized, but samples do not name their launches. */
static bool names_launches(const struct buffer *b)
{
	return library.stalls == WIRE_STALLS_EXACT && b->stride > CUPTI_PC_BYTES_OLD;
}

static void add_rows(const struct buffer *b, const struct cupti_pc *pc)
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
		sampling.batch.rows[sampling.batch_count++] = (struct wire_stall){
			.function = function,
			.offset = (uint32_t)pc->offset,
			.reason = s->reason,
			.samples = s->samples,
			.correlation = correlation,
		};
		if (sampling.batch_count == BATCH)
			flush_rows();
	}
}

static void send_window(const struct slot *p, struct buffer *b, uint64_t start_ns, uint64_t end_ns)
{
	const struct cupti_pcs *data = &b->data;
	struct wire_window record = {
		.type = WIRE_WINDOW,
		.exact = names_launches(b),
		.period = p->period,
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
static void send_fetched(struct slot *p, struct buffer *b, uint64_t end_ns, bool ours)
{
	size_t used = b->data.count < PCS ? b->data.count : PCS;

	if (!b->data.samples && !b->data.dropped && !used)
		return;
	introduce_device(p->device);
	if (lock_patiently(&sampling.sending)) {
		sampling.deadline_ns = ours ? 0 : now_ns() + RING_PATIENCE_NS;
		send_window(p, b, p->since_ns < end_ns ? p->since_ns : end_ns, end_ns);
		pthread_mutex_unlock(&sampling.sending);
	} else {
		count(WIRE_LOST_STALLS, b->data.samples);
	}
	reset(b, used);
}

/* ---- CUPTI; the slot's lock is held ---- */

static int fetch_once(struct slot *p, bool ours)
{
	struct cupti_sampling_data params = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_sampling_data, data),
		.context = p->context,
		.data = &p->fetched.data,
	};
	int result;

	if (ours)
		pthread_mutex_lock(&library.no_fork);
	result = cupti.PCSamplingGetData(&params);
	if (ours)
		pthread_mutex_unlock(&library.no_fork);
	return result;
}

/*
 * Samples cannot be fetched, now or later. When another process has begun to sample the device,
 * CUPTI returns CUPTI_UNKNOWN, if it has not ended altogether. When its memory was full once, it
 * returns that memory is short, then and always. The end of a context is reported elsewhere.
 */
static void give_up(struct slot *p, int result, bool ours)
{
	uint32_t sampled = SAMPLED;

	if (!__atomic_compare_exchange_n(
		    &p->state, &sampled, GIVEN_UP, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ||
		result == CUPTI_INVALID_CONTEXT)
		return;
	if (result == CUPTI_OUT_OF_MEMORY)
		report_refusal(p, WIRE_STALLS_OVERRUN, result);
	else if (result != CUPTI_UNKNOWN)
		report_refusal(p, refusal_of(result), result);
	else if (!ours || health_ask(result))
		report_refusal(p, WIRE_STALLS_DISPLACED, result);
}

/* All samples that have come, as one stretch of time: whether there were any. */
static bool fetch(struct slot *p, bool ours)
{
	uint64_t end_ns = now_ns() - LATENCY_NS;
	bool some = false;

	for (int round = 0; round < ROUNDS; round++) {
		int result = fetch_once(p, ours);
		size_t remaining = p->fetched.data.remaining;

		if (result) {
			give_up(p, result, ours);
			break;
		}
		if (ours)
			health_worked();
		some |= p->fetched.data.samples || p->fetched.data.count;
		send_fetched(p, &p->fetched, end_ns, ours);
		if (!remaining || state_of(p) != SAMPLED)
			break;
	}
	if (p->since_ns < end_ns)
		p->since_ns = end_ns;
	return some;
}

static void disable(const struct slot *p)
{
	struct cupti_sampling_context params = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_sampling_context, context),
		.context = p->context,
	};

	cupti.PCSamplingDisable(&params);
}

/* The last samples: those that CUPTI has not decoded yet come when sampling is switched off. In the
 * program's thread. */
static void end(struct slot *p)
{
	uint32_t device = p->device;

	if (state_of(p) == SAMPLED)
		fetch(p, false);
	launches_hold();
	disable(p);
	launches_release();
	count(WIRE_LOST_STALLS,
		p->rest.data.remaining); /* instructions: of each one sample at least */
	send_fetched(p, &p->rest, now_ns(), false);
	release(p);
	claim_release(device);
}

/* ---- a context is made ---- */

static int device_attribute(const struct slot *p, int attribute)
{
	const struct cuda_driver *d = &cuda_driver;
	int device, value = 0;

	if (!d->cuDeviceGet || !d->cuDeviceGetAttribute ||
		d->cuDeviceGet(&device, (int)p->device) ||
		d->cuDeviceGetAttribute(&value, attribute, device))
		return 0;
	return value;
}

/* 0: CUPTI's own stays. */
static uint8_t choose_period(const struct slot *p, uint64_t clock_hz)
{
	uint64_t cycles = clock_hz / SAMPLES_A_SECOND;
	uint8_t period = PERIOD_MIN;

	if (device_attribute(p, CUDA_ATTRIBUTE_MAJOR) >= BLACKWELL)
		return 0;
	if (library.stall_period || !cycles)
		return library.stall_period;
	while (period < PERIOD_MAX && 2ull << period <= cycles)
		period++;
	return period;
}

/* The cycles of all multiprocessors in a second: each leaves a sample each period. */
static uint64_t cycles_a_second(const struct slot *p, uint64_t clock_hz)
{
	return (uint64_t)device_attribute(p, CUDA_ATTRIBUTE_SM_COUNT) * clock_hz;
}

static size_t choose_memory(const struct slot *p, uint64_t clock_hz, uint8_t period)
{
	uint64_t bytes = (cycles_a_second(p, clock_hz) >> period) * SAMPLE_BYTES * MEMORY_SECONDS;

	if (bytes > MEMORY_MAX)
		return MEMORY_MAX;
	return bytes < MEMORY_MIN ? MEMORY_MIN : bytes;
}

static uint8_t find_safe_period(uint64_t cycles)
{
	uint8_t period = PERIOD_MIN;

	while (period < PERIOD_MAX && cycles >> period > HANDED_OVER)
		period++;
	return cycles ? period : 0;
}

static int configure(struct slot *p)
{
	const struct cupti *c = &cupti;
	uint64_t clock_hz = (uint64_t)device_attribute(p, CUDA_ATTRIBUTE_CLOCK_KHZ) * 1000;
	uint8_t period = choose_period(p, clock_hz);
	struct cupti_sampling_setting settings[] = {
		{
			.attribute = CUPTI_SAMPLING_MODE,
			.number = library.stalls == WIRE_STALLS_EXACT ? CUPTI_SAMPLING_SERIALIZED
								      : CUPTI_SAMPLING_CONTINUOUS,
		},
		{.attribute = CUPTI_SAMPLING_OUTPUT, .number = 1},
		{.attribute = CUPTI_SAMPLING_BUFFER, .pointer = &p->rest.data},
		{.attribute = CUPTI_SAMPLING_SLEEP, .number = SLEEP_MS},
		/* From here on only with a period of ours. */
		{.attribute = CUPTI_SAMPLING_PERIOD, .number = period},
		{
			.attribute = CUPTI_SAMPLING_MEMORY,
			.bytes = choose_memory(p, clock_hz, period),
		},
	};
	struct cupti_sampling_setting asked = {.attribute = CUPTI_SAMPLING_PERIOD};
	struct cupti_sampling_settings params = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_sampling_settings, settings),
		.context = p->context,
		.count = sizeof(settings) / sizeof(settings[0]) - (period ? 0 : 2),
		.settings = settings,
	};
	int result = c->PCSamplingSetConfigurationAttribute(&params);

	if (result)
		return result;
	params.count = 1;
	params.settings = &asked;
	if (c->PCSamplingGetConfigurationAttribute(&params) || asked.number > PERIOD_MAX)
		asked.number = period;
	p->period = (uint8_t)asked.number;
	p->safe_period = find_safe_period(cycles_a_second(p, clock_hz));
	p->is_fast = cycles_a_second(p, clock_hz) >> p->period > FAST;
	return 0;
}

/* Makes the names of the reasons, and the buffers, whose size depends on the number of reasons: 0
 * or a result of CUPTI's. */
static int prepare(struct slot *p)
{
	const struct cupti *c = &cupti;
	char *names[WIRE_STALL_REASONS];
	struct cupti_stall_count counted = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_stall_count, count),
		.context = p->context,
		.count = &p->reason_count,
	};
	struct cupti_stall_names named = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_stall_names, names),
		.context = p->context,
		.names = names,
	};
	int result = c->PCSamplingGetNumStallReasons(&counted);
	void *memory;

	if (result)
		return result;
	if (!p->reason_count || p->reason_count > WIRE_STALL_REASONS)
		return CUPTI_NOT_SUPPORTED;
	memory = mmap(NULL, names_bytes(p->reason_count), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return CUPTI_OUT_OF_MEMORY;
	p->names = memory;
	p->indexes = (uint32_t *)(p->names + p->reason_count);
	for (size_t n = 0; n < p->reason_count; n++)
		names[n] = p->names[n];
	named.count = p->reason_count;
	named.indexes = p->indexes;
	result = c->PCSamplingGetStallReasons(&named);
	if (!result && (!make_buffer(&p->fetched, p->reason_count) ||
			       !make_buffer(&p->rest, p->reason_count)))
		result = CUPTI_OUT_OF_MEMORY;
	return result;
}

static int enable(struct slot *p)
{
	struct cupti_sampling_context params = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_sampling_context, context),
		.context = p->context,
	};
	int result = cupti.PCSamplingEnable(&params);

	if (result)
		return result;
	result = prepare(p);
	if (!result)
		result = configure(p);
	if (result)
		disable(p);
	return result;
}

/* With launches held, and the device claimed. */
static int enable_held(struct slot *p)
{
	int result;

	launches_hold();
	result = enable(p);
	launches_release();
	if (result)
		claim_release(p->device);
	return result;
}

static bool has_functions(const struct cupti *c)
{
	return c->GetDeviceId && c->GetContextId && c->PCSamplingEnable && c->PCSamplingDisable &&
	       c->PCSamplingSetConfigurationAttribute && c->PCSamplingGetConfigurationAttribute &&
	       c->PCSamplingGetNumStallReasons && c->PCSamplingGetStallReasons &&
	       c->PCSamplingGetData;
}

static bool make_functions(void)
{
	struct function *expected = NULL;
	size_t size = FUNCTION_SLOTS * sizeof(struct function);
	void *memory;

	if (__atomic_load_n(&sampling.functions, __ATOMIC_ACQUIRE))
		return true;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	if (!__atomic_compare_exchange_n(&sampling.functions, &expected, memory, false,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		munmap(memory, size);
	return true;
}

static struct slot *claim_slot(void)
{
	for (uint32_t n = 0; n < CONTEXTS; n++) {
		uint32_t expected = FREE;

		if (__atomic_compare_exchange_n(&sampling.slots[n].state, &expected, SETUP, false,
			    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &sampling.slots[n];
	}
	return NULL;
}

void sampling_context_created(void *context)
{
	const struct cupti *c = &cupti;
	struct claim_holder holder = {0};
	struct slot none = {0}, *p;
	unsigned int refusal;
	int result;

	if (!has_functions(c)) {
		report_refusal(&none, WIRE_STALLS_NO_FUNCTION, 0);
		return;
	}
	p = make_functions() ? claim_slot() : NULL;
	if (!p) {
		report_refusal(&none, WIRE_STALLS_CONTEXTS, 0);
		return;
	}
	p->context = context;
	p->device = p->id = 0;
	result = c->GetDeviceId(context, &p->device);
	if (!result)
		result = c->GetContextId(context, &p->id);
	if (!result && p->device >= WIRE_DEVICES)
		result = CUPTI_NOT_SUPPORTED;
	refusal = result ? refusal_of(result) : claim_device(p->device, &holder);
	if (refusal == WIRE_STALLS_STRANGER) {
		report_holder(p, refusal, 0, &holder);
		refusal = 0;
	}
	if (!refusal) {
		result = enable_held(p);
		refusal = result ? refusal_of(result) : 0;
	}
	if (refusal) {
		report_holder(p, refusal, result, &holder);
		release(p);
		return;
	}
	p->since_ns = now_ns();
	set_state(p, SAMPLED);
}

/* ---- and ends ---- */

static bool is_on(const struct slot *p)
{
	return state_of(p) == SAMPLED || state_of(p) == GIVEN_UP;
}

void sampling_context_ends(void *context)
{
	for (uint32_t n = 0; n < CONTEXTS; n++) {
		struct slot *p = &sampling.slots[n];

		if (!is_on(p) || p->context != context)
			continue;
		if (!lock_patiently(&p->lock)) {
			set_state(p, ABANDONED);
			report_refusal(p, WIRE_STALLS_LATE, 0);
			return;
		}
		end(p);
		pthread_mutex_unlock(&p->lock);
		return;
	}
}

/* ---- our thread ---- */

/*
 * What CUPTI's threads have not decoded when the program exits, they never do: an exit handler of
 * CUPTI's stops them, which is registered some time after the context was made. So ours is
 * registered again when a kernel was launched, and when the first samples have come.
 */
enum exit_time {
	EXIT_LAUNCHED = 1,
	EXIT_SAMPLED = 2,
};

static void exit_first(enum exit_time time)
{
	struct undisturbed u;

	if (__atomic_load_n(&sampling.exits, __ATOMIC_RELAXED) & time ||
		__atomic_fetch_or(&sampling.exits, time, __ATOMIC_RELAXED) & time)
		return;
	begin_slow(&u);
	exit_before_others();
	end_slow(&u);
}

void sampling_launched(void)
{
	exit_first(EXIT_LAUNCHED);
}

/* True: some samples came. */
static bool drain(void)
{
	bool some = false;

	for (uint32_t n = 0; n < CONTEXTS; n++) {
		struct slot *p = &sampling.slots[n];

		if (state_of(p) != SAMPLED || pthread_mutex_trylock(&p->lock))
			continue;
		if (state_of(p) == SAMPLED)
			some |= fetch(p, true);
		pthread_mutex_unlock(&p->lock);
	}
	if (some)
		exit_first(EXIT_SAMPLED);
	return some;
}

void sampling_drain_if_due(void)
{
	uint64_t now = now_ns();

	if (now - sampling.drained_ns < TICK_NS || health_has_ended())
		return;
	drain();
	sampling.drained_ns = now_ns();
}

static bool is_any(bool fast)
{
	for (uint32_t n = 0; n < CONTEXTS; n++)
		if (state_of(&sampling.slots[n]) == SAMPLED && (!fast || sampling.slots[n].is_fast))
			return true;
	return false;
}

static void report_unfetched(void)
{
	for (uint32_t n = 0; n < CONTEXTS; n++)
		if (state_of(&sampling.slots[n]) == SAMPLED && sampling.slots[n].is_fast)
			report_refusal(&sampling.slots[n], WIRE_STALLS_UNFETCHED, 0);
}

/* If CUPTI may be far behind, it is waited for as long as something comes. */
void sampling_finish(bool program_goes_on)
{
	struct timespec pause = {.tv_nsec = SLEEP_MS * 1000000 / 2};
	bool fast = is_any(true);
	uint64_t patience_ns = fast ? FINISH_FAST_NS : program_goes_on ? STOP_NS : FINISH_NS;
	uint64_t begin_ns = now_ns();
	unsigned int quiet = 0, enough = fast ? QUIET_FAST : QUIET;

	while (!health_has_ended() && is_any(false) && quiet < enough &&
		now_ns() - begin_ns < patience_ns) {
		quiet = drain() ? 0 : quiet + 1;
		nanosleep(&pause, NULL);
	}
	if (fast && !health_has_ended() && quiet < enough)
		report_unfetched();
}
