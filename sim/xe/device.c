// SPDX-License-Identifier: MIT
/*
 * Each has 5 slices of 4 cores of 8 units, whatever the real one has: less than this and Intel's
 * driver refuses kernels.
 */
#include "device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "faults.h"
#include "stalls.h"

static const struct device devices[] = {
	{"bmg", 0xe20b, 20, 1, 4, true, 48, 19, SIM_STALL_ACTIVE_XE2, 8},
	{"lnl", 0x64a0, 20, 4, 4, false, 48, 19, SIM_STALL_ACTIVE_XE2, 8},
	{"ptl", 0xb080, 30, 0, 4, false, 48, 19, SIM_STALL_ACTIVE_XE2, 8},
	{"cri", 0x674c, 35, 11, 0, true, 57, 19, SIM_STALL_ACTIVE_XE3P, 8},
	{"pvc", 0x0bd5, 12, 60, 7, true, 57, 18, SIM_STALL_ACTIVE_PVC, 4},
};

const struct device *device_here(void)
{
	const char *name = getenv("XPUPROF_SIM_XE_DEVICE");

	for (size_t i = 0; name && i < sizeof(devices) / sizeof(devices[0]); i++)
		if (!strcmp(name, devices[i].name))
			return &devices[i];
	return &devices[0];
}

unsigned int device_tiles(void)
{
	const char *text = getenv("XPUPROF_SIM_XE_TILES");
	int count = text ? atoi(text) : 1;

	return count < 1 ? 1 : count < SIM_XE_TILES ? (unsigned int)count : SIM_XE_TILES;
}

static uint64_t cycles_of(uint64_t ns)
{
	return ns / 1000000000 * SIM_XE_HZ + ns % 1000000000 * SIM_XE_HZ / 1000000000;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t device_cycles(void)
{
	return cycles_of(now_ns(CLOCK_MONOTONIC_RAW));
}

static int answer(struct xe_query *q, const void *bytes, uint32_t size)
{
	if (!q->size) {
		q->size = size;
		return 0;
	}
	if (q->size != size)
		return -EINVAL;
	memcpy((void *)(uintptr_t)q->data, bytes, size);
	return 0;
}

static int answer_engines(struct xe_query *q)
{
	static const uint16_t classes[] = {
		XE_ENGINE_COMPUTE, XE_ENGINE_COPY, XE_ENGINE_RENDER, XE_ENGINE_COPY};
	struct xe_engines e = {0};

	for (uint16_t tile = 0; tile < device_tiles(); tile++)
		for (uint16_t i = 0; i < 4; i++)
			e.engines[e.count++].instance = (struct xe_instance){.class = classes[i],
				.number = i == 3,
				.gt = tile * SIM_XE_GTS_EACH};
	return answer(q, &e, sizeof(e) - (XE_ENGINES_MAX - e.count) * sizeof(e.engines[0]));
}

static int answer_memory(const struct device *d, struct xe_query *q)
{
	struct xe_regions r = {.count = 1, .regions = {{.page = 4096, .total = 16ull << 30}}};

	for (uint16_t tile = 0; d->own_memory && tile < device_tiles(); tile++) {
		r.regions[r.count].class = 1;
		r.regions[r.count].number = tile + 1;
		r.regions[r.count].page = 65536;
		r.regions[r.count].total = r.regions[r.count].visible = 12ull << 30;
		r.count++;
	}
	return answer(q, &r, sizeof(r) - (XE_REGIONS_MAX - r.count) * sizeof(r.regions[0]));
}

static int answer_config(const struct device *d, struct xe_query *q)
{
	struct xe_config c = {.count = 5,
		.device = d->id | (uint64_t)d->revision << 16,
		.flags = d->own_memory,
		.alignment = d->own_memory ? 65536 : 4096,
		.va_bits = d->va_bits,
		.priority = 2};

	return answer(q, &c, sizeof(c));
}

/* Of each tile the main GT, then the one for media. */
static int answer_gts(const struct device *d, struct xe_query *q)
{
	struct {
		struct xe_gts head;
		struct xe_gt gts[SIM_XE_TILES * SIM_XE_GTS_EACH];
	} gts = {.head = {.count = device_tiles() * SIM_XE_GTS_EACH}};

	for (uint16_t n = 0; n < gts.head.count; n++) {
		uint16_t tile = n / SIM_XE_GTS_EACH;
		bool is_main = n % SIM_XE_GTS_EACH == 0;

		gts.gts[n] = (struct xe_gt){.type = is_main ? XE_GT_MAIN : 1,
			.tile = tile,
			.id = n,
			.reference_clock = SIM_XE_HZ,
			.near = d->own_memory ? 2u << tile : 1,
			.far = d->own_memory ? 1 : 0,
			.major = is_main ? d->major : 13,
			.minor = is_main ? d->minor : 0,
			.revision = d->revision};
	}
	if (has_fault("version"))
		gts.gts[0].major = 99;
	return answer(q, &gts, (uint32_t)(sizeof(gts.head) + gts.head.count * sizeof(gts.gts[0])));
}

/* Its shape: key, count of words, value. */
static int answer_hardware(struct xe_query *q)
{
	static const uint32_t all[][3] = {
		{1, 1, 5},     /* slices */
		{2, 1, 20},    /* cores */
		{3, 1, 8},     /* units of a core */
		{6, 1, 18432}, /* KiB of level 3 */
		{7, 1, 16},    /* its banks */
		{10, 1, 12},   /* memory channels */
		{11, 1, 7},    /* their type */
		{15, 1, 8},    /* threads of a unit */
		{23, 1, 1},    /* engines: render, */
		{24, 1, 1},    /* compute, */
		{27, 1, 2},    /* copy */
		{64, 1, 128},  /* KiB of memory of a core */
	};

	return answer(q, all, sizeof(all));
}

static int answer_topology(struct xe_query *q)
{
	static const struct xe_mask all[] = {
		{0, 1, 8, {0xff, 0xff, 0xf}},
		{0, 2, 8, {0xff, 0xff, 0xf}},
		{0, 5, 8, {0xff}},
		{0, 3, 8, {0xff}},
	};
	struct xe_mask of_tiles[SIM_XE_TILES][4];
	unsigned int tiles = device_tiles();

	for (uint16_t tile = 0; tile < tiles; tile++) {
		memcpy(of_tiles[tile], all, sizeof(all));
		for (int i = 0; i < 4; i++)
			of_tiles[tile][i].gt = tile * SIM_XE_GTS_EACH;
	}
	return answer(q, of_tiles, (uint32_t)(tiles * sizeof(all)));
}

static int answer_cycles(struct xe_query *q)
{
	struct xe_cycles *c = (void *)(uintptr_t)q->data;

	if (!q->size) {
		q->size = sizeof(*c);
		return 0;
	}
	if (q->size != sizeof(*c))
		return -EINVAL;
	c->cpu_ns = now_ns(c->clock);
	c->cycles = device_cycles();
	c->width = 64;
	c->cpu_delta_ns = now_ns(c->clock) - c->cpu_ns;
	return 0;
}

static int answer_firmware(struct xe_query *q)
{
	static const struct xe_firmware f = {.major = 70};

	return answer(q, &f, sizeof(f));
}

static int answer_stalls(struct xe_query *q)
{
	struct {
		struct xe_eu_stall head;
		uint64_t rates[SIM_XE_RATES];
	} stall = {.head = {.capabilities = 1,
			   .record_bytes = has_fault("size") ? 32 : 64,
			   .buffer_bytes = 524288,
			   .rate_count = SIM_XE_RATES}};

	for (uint64_t i = 0; i < SIM_XE_RATES; i++)
		stall.rates[i] = SIM_XE_RATE * (i + 1);
	return answer(q, &stall, sizeof(stall));
}

int device_answer(const struct device *d, struct xe_query *q)
{
	switch (q->query) {
	case XE_QUERY_ENGINES:
		return answer_engines(q);
	case XE_QUERY_MEMORY:
		return answer_memory(d, q);
	case XE_QUERY_CONFIG:
		return answer_config(d, q);
	case XE_QUERY_GTS:
		return answer_gts(d, q);
	case XE_QUERY_HARDWARE:
		return answer_hardware(q);
	case XE_QUERY_TOPOLOGY:
		return answer_topology(q);
	case XE_QUERY_CYCLES:
		return answer_cycles(q);
	case XE_QUERY_FIRMWARE:
		return answer_firmware(q);
	case XE_QUERY_EU_STALL:
		return answer_stalls(q);
	default:
		return -EINVAL;
	}
}
