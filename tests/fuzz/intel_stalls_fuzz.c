// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as stall records of each layout, and as places of code that come and go
 * meanwhile: each address is found as a search of all places finds it. */
#include "fuzz.h"
#include "gpu/code_places.h"
#include "gpu/intel/stall_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RECORD	   64
#define PLACES_MAX 32

static const unsigned int versions[][2] = {{12, 60}, {20, 1}, {30, 3}, {35, 10}};

static uint32_t sum_of(const struct stall_record *r)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < INTEL_STALL_REASONS; i++) {
		require(r->samples[i] <= 0xff);
		sum += r->samples[i];
	}
	return sum;
}

static void decode(const uint8_t *record, struct code_places *places)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		const struct stall_layout *l =
			stall_layout_of(versions[i][0], versions[i][1], RECORD);
		const struct code_place *found = NULL;
		struct stall_record r;

		stall_record_decode(l, record, &r);
		require(!(r.address & ~stall_layout_mask(l)));
		require(sum_of(&r) == r.sum);
		if (code_places_find(
			    places, 1, r.address, stall_layout_mask(l), 0, UINT64_MAX, &found))
			require(((r.address - found->address) & stall_layout_mask(l)) <
				found->size);
	}
}

static void change(struct code_places *places, struct bytes *b)
{
	struct code_place p = {.device = 1 + take(b, 2), .instance = take(b, 3)};

	p.process = p.instance;
	p.address = (uint64_t)take(b, 200) << 3 | (uint64_t)take(b, 4) << 30;
	p.size = take(b, 200) * 8;
	p.from_ns = take(b, 100);
	if (take(b, 4))
		(void)code_places_add(places, &p);
	else if (p.size)
		code_places_end(places, p.instance, p.device, p.address, p.from_ns);
	else
		code_places_end_all(places, p.instance, p.from_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_places *places = code_places_new();
	struct bytes b = {data, size};

	for (int n = 0; places && n < PLACES_MAX && b.size > RECORD; n++) {
		change(places, &b);
		if (b.size >= RECORD)
			decode(b.data, places);
	}
	if (places)
		code_places_forget(places, 50);
	code_places_free(places);
	return 0;
}
