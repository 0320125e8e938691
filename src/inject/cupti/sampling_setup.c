// SPDX-License-Identifier: MIT
/* How CUPTI is to sample a context: how often, into how much memory, and which reasons it knows. */
#include <sys/mman.h>

#include "inject/cupti/cupti.h"
#include "inject/cupti/sampling_slot.h"
#include "inject/library.h"

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
/* CUPTI hands over 18 to 30 million samples a second (13.0, with an H200). */
#define FAST	    4000000u  /* a second, from then on it can fall behind */
#define HANDED_OVER 16000000u /* a second: that many it can */

static int device_attribute(const struct sampling_slot *p, int attribute)
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
static uint8_t choose_period(const struct sampling_slot *p, uint64_t clock_hz)
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
static uint64_t cycles_a_second(const struct sampling_slot *p, uint64_t clock_hz)
{
	return (uint64_t)device_attribute(p, CUDA_ATTRIBUTE_SM_COUNT) * clock_hz;
}

static size_t choose_memory(const struct sampling_slot *p, uint64_t clock_hz, uint8_t period)
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

static int configure(struct sampling_slot *p)
{
	const struct cupti *c = &cupti;
	uint64_t clock_hz = (uint64_t)device_attribute(p, CUDA_ATTRIBUTE_CLOCK_KHZ) * 1000;
	uint8_t period = choose_period(p, clock_hz);
	size_t first = library.joined ? 0 : 1;
	struct cupti_sampling_setting settings[] = {
		/* In a program that was joined: so instructions of modules are sampled, too, that
		 * were loaded earlier. */
		{.attribute = CUPTI_SAMPLING_START_STOP, .number = 1},
		{
			.attribute = CUPTI_SAMPLING_MODE,
			.number = library.stalls == WIRE_STALLS_EXACT ? CUPTI_SAMPLING_SERIALIZED
								      : CUPTI_SAMPLING_CONTINUOUS,
		},
		{.attribute = CUPTI_SAMPLING_OUTPUT, .number = 1},
		{.attribute = CUPTI_SAMPLING_BUFFER, .pointer = &p->rest.data},
		{.attribute = CUPTI_SAMPLING_SLEEP, .number = SAMPLING_SLEEP_MS},
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
		.count = sizeof(settings) / sizeof(settings[0]) - first - (period ? 0 : 2),
		.settings = settings + first,
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

static size_t names_bytes(size_t count)
{
	return count * (CUPTI_STALL_NAME_BYTES + sizeof(uint32_t));
}

/* 0 or a result of CUPTI's. */
static int count_reasons(struct sampling_slot *p)
{
	struct cupti_stall_count counted = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_stall_count, count),
		.context = p->context,
		.count = &p->reason_count,
	};
	int result = cupti.PCSamplingGetNumStallReasons(&counted);

	if (result)
		return result;
	return p->reason_count && p->reason_count <= WIRE_STALL_REASONS ? 0 : CUPTI_NOT_SUPPORTED;
}

/* Makes the names of the reasons, and the buffers, whose size depends on the number of reasons: 0
 * or a result of CUPTI's. */
static int prepare(struct sampling_slot *p)
{
	const struct cupti *c = &cupti;
	char *names[WIRE_STALL_REASONS];
	struct cupti_stall_names named = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_stall_names, names),
		.context = p->context,
		.names = names,
	};
	int result = count_reasons(p);
	void *memory;

	if (result)
		return result;
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
	if (!result && (!sampling_make_buffer(&p->fetched, p->reason_count) ||
			       !sampling_make_buffer(&p->rest, p->reason_count)))
		result = CUPTI_OUT_OF_MEMORY;
	return result;
}

int sampling_set_up(struct sampling_slot *p)
{
	int result = prepare(p);

	return result ? result : configure(p);
}

int sampling_set_up_idle(struct sampling_slot *p)
{
	struct cupti_sampling_setting settings[] = {
		{.attribute = CUPTI_SAMPLING_START_STOP, .number = 1},
		{.attribute = CUPTI_SAMPLING_BUFFER, .pointer = &p->rest.data},
	};
	struct cupti_sampling_settings params = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_sampling_settings, settings),
		.context = p->context,
		.count = sizeof(settings) / sizeof(settings[0]),
		.settings = settings,
	};
	int result = count_reasons(p);

	if (result)
		return result;
	if (!sampling_make_buffer(&p->rest, p->reason_count))
		return CUPTI_OUT_OF_MEMORY;
	return cupti.PCSamplingSetConfigurationAttribute(&params);
}

void sampling_release_setup(struct sampling_slot *p)
{
	if (p->names)
		munmap(p->names, names_bytes(p->reason_count));
	p->names = NULL;
	sampling_free_buffer(&p->fetched);
	sampling_free_buffer(&p->rest);
}
