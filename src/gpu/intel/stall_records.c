// SPDX-License-Identifier: MIT
/*
 * One row a layout: where the address is, and where the count of each reason begins; each has 8
 * bits. A reason that a generation does not have is at 0, where the address is.
 *
 * Sources: for Ponte Vecchio the record of iaprof's collector, for Xe2 that of Mesa's
 * (perf/xe/intel_perf.c); the kernel's uAPI has none. No such record of a real GPU was seen.
 */
#include "gpu/intel/stall_records.h"

#include <string.h>

#define COUNT_BITS 8
#define NONE	   0

struct stall_layout {
	unsigned int first, last; /* architectures: 100 * major + minor */
	size_t bytes;
	unsigned int address_bits; /* from bit 0 */
	uint8_t counts[INTEL_STALL_REASONS];
};

/* By number of the reason: active, other, control, pipestall, send, dist_acc, sbid, sync,
 * inst_fetch, tdr. */
static const struct stall_layout layouts[] = {
	/* Ponte Vecchio */
	{1260, 1269, 64, 29, {29, 37, 45, 53, 61, 69, 77, 85, 93, NONE}},
	/* Xe2, Xe3 */
	{2000, 3029, 64, 29, {101, 37, 45, 53, 61, 69, 77, 85, 93, 29}},
	/* Xe3p */
	{3500, 3599, 64, 61, {133, 69, 77, 85, 93, 101, 109, 117, 125, 61}},
};

const struct stall_layout *stall_layout_of(
	unsigned int major, unsigned int minor, uint64_t record_bytes)
{
	unsigned int version = 100 * major + minor;

	for (size_t i = 0; minor < 100 && i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].first <= version && version <= layouts[i].last)
			return layouts[i].bytes == record_bytes ? &layouts[i] : NULL;
	return NULL;
}

size_t stall_layout_bytes(const struct stall_layout *l)
{
	return l->bytes;
}

uint64_t stall_layout_mask(const struct stall_layout *l)
{
	return ((1ull << l->address_bits) - 1) << 3;
}

/* `count` bits from `bit`, at most 61; the record is longer than any of them by 8 bytes. */
static uint64_t bits_at(const uint8_t *record, unsigned int bit, unsigned int count)
{
	uint64_t low;
	uint8_t high = record[bit / 8 + sizeof(low)];

	memcpy(&low, record + bit / 8, sizeof(low));
	low >>= bit % 8;
	if (bit % 8)
		low |= (uint64_t)high << (64 - bit % 8);
	return low & ((1ull << count) - 1);
}

void stall_record_decode(
	const struct stall_layout *l, const uint8_t *record, struct stall_record *ret)
{
	ret->address = bits_at(record, 0, l->address_bits) << 3;
	ret->sum = 0;
	for (size_t i = 0; i < INTEL_STALL_REASONS; i++) {
		ret->samples[i] = l->counts[i] == NONE
					  ? 0
					  : (uint32_t)bits_at(record, l->counts[i], COUNT_BITS);
		ret->sum += ret->samples[i];
	}
}
