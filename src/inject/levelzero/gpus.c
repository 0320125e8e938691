// SPDX-License-Identifier: MIT
/*
 * Devices, in the order in which lists were made for them. Each has a timer, of so many bits, and
 * timestamps of work may have fewer. The timer is asked far more often than it wraps, and a
 * timestamp is never far from when it was asked: so both can be told apart from those of other
 * rounds.
 */
#include "inject/levelzero/levelzero.h"

#define ASK_NS	      100000000ull
#define HZ_AT_LEAST   100000ull /* less is a number of nanoseconds: from drivers before 1.2 */
#define DEFAULT_BITS  64
#define NS_PER_SECOND 1000000000ull

struct device gpus[GPUS_MAX];

static uint32_t found_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint8_t bits_of(uint32_t bits)
{
	return bits && bits < DEFAULT_BITS ? (uint8_t)bits : DEFAULT_BITS;
}

static uint64_t mask(uint8_t bits)
{
	return bits == DEFAULT_BITS ? UINT64_MAX : (1ull << bits) - 1;
}

static void describe(struct device *d, uint32_t index, void *device)
{
	struct levelzero_device_properties p = {.stype = LEVELZERO_IS_DEVICE_PROPERTIES_1_2};
	bool known = !levelzero.zeDeviceGetProperties(device, &p);
	uint64_t hz = known ? p.timer_resolution : NS_PER_SECOND;

	*d = (struct device){.handle = device,
		.hz = hz >= HZ_AT_LEAST ? hz : NS_PER_SECOND / (hz ? hz : 1),
		.bits = bits_of(known ? p.timestamp_bits : 0),
		.kernel_bits = bits_of(known ? p.kernel_timestamp_bits : 0)};
	/* Work may have ended before its timer wrapped, and that it is first asked after it. */
	d->cycles = mask(d->bits) + 1;
	memcpy(d->name, p.name, sizeof(d->name) - 1);
	d->record = (struct wire_device){.type = WIRE_DEVICE,
		.number = LEVELZERO_API * WIRE_API_DEVICES + index,
		.sm_count = p.slices * p.subslices_per_slice,
		.clock_khz = p.core_mhz * 1000,
		.name_size = (uint32_t)strnlen(d->name, sizeof(d->name))};
	memcpy(d->record.uuid, p.uuid, sizeof(d->record.uuid));
}

int gpus_find(void *device)
{
	int found = -1;

	pthread_mutex_lock(&lock);
	for (uint32_t n = 0; found < 0 && n < found_count; n++)
		if (gpus[n].handle == device)
			found = (int)n;
	if (found < 0 && found_count < GPUS_MAX) {
		describe(&gpus[found_count], found_count, device);
		found = (int)found_count++;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

uint64_t gpu_ns(const struct device *d, uint64_t cycles)
{
	return cycles / d->hz * NS_PER_SECOND + cycles % d->hz * NS_PER_SECOND / d->hz;
}

void gpus_ask(struct device *d)
{
	struct device_clock *c = &d->clock;
	uint64_t before_ns = now_ns(), host, cycles = 0;

	if (c->asked_ns && before_ns - c->asked_ns < ASK_NS)
		return;
	pthread_mutex_lock(&library.no_fork);
	before_ns = now_ns();
	c->cannot_ask = levelzero.zeDeviceGetGlobalTimestamps(d->handle, &host, &cycles);
	c->asked_ns = now_ns();
	pthread_mutex_unlock(&library.no_fork);
	if (c->cannot_ask)
		return;
	d->cycles += (cycles - d->cycles) & mask(d->bits);
	clock_bound(c, gpu_ns(d, d->cycles), before_ns, c->asked_ns, NS_PER_SECOND / d->hz + 1);
}

uint64_t gpus_unwrap(const struct device *d, uint64_t timestamp)
{
	uint8_t bits = d->kernel_bits < d->bits ? d->kernel_bits : d->bits;
	uint64_t ahead = (timestamp - d->cycles) & mask(bits);

	return ahead > mask(bits) / 2 ? d->cycles - (mask(bits) - ahead + 1) : d->cycles + ahead;
}

void gpus_introduce(struct device *d)
{
	if (!d->sent)
		d->sent = send_long(&d->record, sizeof(d->record), d->name, d->record.name_size);
}
