// SPDX-License-Identifier: MIT
/* Records of the threads of Intel GPUs, made bit by bit, and the code that their addresses are
 * in. */
#include <errno.h>
#include <stdlib.h>

#include "gpu/code_places.h"
#include "gpu/intel/stall_records.h"
#include "random.h"
#include "tap.h"
#include "view/stalls/reasons.h"

#define BYTES 64

static void put_bits(uint8_t *record, unsigned int bit, unsigned int count, uint64_t value)
{
	for (unsigned int i = 0; i < count; i++, bit++)
		record[bit / 8] = (uint8_t)((record[bit / 8] & ~(1 << bit % 8)) |
					    (value >> i & 1) << bit % 8);
}

/* What is known of each layout beside the table: where the address ends, and the place of each
 * reason by its name. */
static const struct {
	unsigned int major, minor, address_bits;
	struct {
		unsigned int bit, reason;
	} counts[10];
} known[] = {
	{12, 60, 29,
		{{29, 0}, {37, 1}, {45, 2}, {53, 3}, {61, 4}, {69, 5}, {77, 6}, {85, 7}, {93, 8}}},
	{20, 1, 29,
		{{29, 9}, {37, 1}, {45, 2}, {53, 3}, {61, 4}, {69, 5}, {77, 6}, {85, 7}, {93, 8},
			{101, 0}}},
	{30, 0, 29,
		{{29, 9}, {37, 1}, {45, 2}, {53, 3}, {61, 4}, {69, 5}, {77, 6}, {85, 7}, {93, 8},
			{101, 0}}},
	{35, 0, 61,
		{{61, 9}, {69, 1}, {77, 2}, {85, 3}, {93, 4}, {101, 5}, {109, 6}, {117, 7},
			{125, 8}, {133, 0}}},
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

/* Of each reason by itself, in a record whose other bits are all set or all not. */
static void each_count_is_in_its_bits_alone(void)
{
	for (size_t k = 0; k < KNOWN; k++) {
		const struct stall_layout *l =
			stall_layout_of(known[k].major, known[k].minor, BYTES);

		CHECK(l && stall_layout_bytes(l) == BYTES);
		for (int n = 0; l && n < 10 && known[k].counts[n].bit; n++) {
			uint8_t record[BYTES] = {0};
			struct stall_record r;

			put_bits(record, known[k].counts[n].bit, 8, 0xa5);
			stall_record_decode(l, record, &r);
			CHECK(r.samples[known[k].counts[n].reason] == 0xa5 && r.sum == 0xa5);
			memset(record, 0xff, sizeof(record));
			put_bits(record, known[k].counts[n].bit, 8, 0);
			stall_record_decode(l, record, &r);
			CHECK(!r.samples[known[k].counts[n].reason]);
		}
	}
}

static void an_address_is_in_units_of_8_bytes(void)
{
	for (size_t k = 0; k < KNOWN; k++) {
		const struct stall_layout *l =
			stall_layout_of(known[k].major, known[k].minor, BYTES);
		uint64_t address = 0x8000ffbe0340;
		uint8_t record[BYTES];
		struct stall_record r;

		memset(record, 0xff, sizeof(record));
		put_bits(record, 0, known[k].address_bits, address >> 3);
		stall_record_decode(l, record, &r);
		CHECK(r.address == (address & stall_layout_mask(l)));
	}
	CHECK(stall_layout_mask(stall_layout_of(20, 4, BYTES)) == 0xfffffff8);
	CHECK(stall_layout_mask(stall_layout_of(35, 11, BYTES)) == 0xfffffffffffffff8);
}

static void records_of_other_sizes_and_GPUs_are_not_read(void)
{
	CHECK(!stall_layout_of(20, 1, 32) && !stall_layout_of(20, 1, 0));
	CHECK(!stall_layout_of(20, 1, 128) && !stall_layout_of(20, 1, UINT64_MAX));
	CHECK(!stall_layout_of(12, 55, BYTES) && !stall_layout_of(0, 0, BYTES));
	CHECK(!stall_layout_of(UINT32_MAX, UINT32_MAX, BYTES) && !stall_layout_of(19, 101, BYTES));
}

static void records_of_nothing_count_nothing(void)
{
	const struct stall_layout *l = stall_layout_of(20, 1, BYTES);
	uint8_t record[BYTES] = {0};
	struct stall_record r;

	stall_record_decode(l, record, &r);
	CHECK(!r.address && !r.sum);
	memset(record, 0xff, sizeof(record));
	stall_record_decode(l, record, &r);
	CHECK(r.address == 0xfffffff8 && r.sum == 10 * 0xff);
}

static void reasons_have_words_and_active_is_issuing(void)
{
	struct stall_name active = stall_name_parse(INTEL_STALL_PREFIX "active");
	struct stall_name sbid = stall_name_parse(INTEL_STALL_PREFIX "sbid");
	struct stall_name sync = stall_name_parse(INTEL_STALL_PREFIX "sync");

	CHECK(stall_is_issuing(&active) && stall_class_of(&active) == STALL_ISSUING);
	CHECK(!stall_is_issuing(&sbid) && stall_class_of(&sbid) == STALL_MEMORY);
	CHECK(!sbid.latency && stall_class_of(&sync) == STALL_SYNC);
}

static void add(struct code_places *c, uint32_t process, uint64_t address, uint64_t size,
	uint64_t from_ns, uint32_t function)
{
	const struct code_place p = {.address = address,
		.size = size,
		.from_ns = from_ns,
		.process = process,
		.instance = process,
		.device = 1,
		.function = function};

	CHECK(!code_places_add(c, &p));
}

#define LOW 0xfffffff8ull

/* Its function; 0: none, 1000: it is in several processes. */
static uint32_t find(struct code_places *c, uint64_t address, uint64_t start_ns, uint64_t end_ns)
{
	const struct code_place *p = NULL;
	size_t processes = code_places_find(c, 1, address & LOW, LOW, start_ns, end_ns, &p);

	return processes > 1 ? 1000 : processes ? p->function : 0;
}

static void code_is_found_by_the_low_bits_of_its_addresses(void)
{
	struct code_places *c = code_places_new();

	CHECK(!find(c, 0x1000, 0, 10));
	add(c, 1, 0x8000ffbe0000, 0x300, 0, 7);
	add(c, 1, 0x8000ffbe0300, 0x940, 0, 8);
	CHECK(find(c, 0xffbe0000, 0, 10) == 7 && find(c, 0xffbe02f8, 0, 10) == 7);
	CHECK(find(c, 0xffbe0300, 0, 10) == 8 && find(c, 0xffbe0c38, 0, 10) == 8);
	CHECK(!find(c, 0xffbe0c40, 0, 10) && !find(c, 0xffbdfff8, 0, 10));
	code_places_free(c);
}

static void an_address_that_is_used_again_is_of_its_time(void)
{
	struct code_places *c = code_places_new();
	const struct code_place *p;

	add(c, 1, 0x1000, 0x100, 10, 1);
	code_places_end(c, 1, 1, 0x1000, 20);
	add(c, 1, 0x1000, 0x80, 30, 2);
	CHECK(find(c, 0x1000, 10, 15) == 1 && find(c, 0x1000, 32, 40) == 2);
	CHECK(!find(c, 0x1000, 21, 29) && !find(c, 0x1000, 0, 9));
	/* in a window with both it is the later one */
	CHECK(find(c, 0x1000, 10, 40) == 2 && find(c, 0x10f8, 10, 40) == 1);
	/* what nobody ended is over when something else lies there */
	add(c, 1, 0x1040, 0x100, 50, 3);
	CHECK(find(c, 0x1040, 51, 60) == 3 && !find(c, 0x1000, 51, 60));
	CHECK(!code_places_find(c, 2, 0x1040, LOW, 51, 60, &p));
	code_places_end_all(c, 1, 70);
	CHECK(!find(c, 0x1040, 71, 80));
	code_places_forget(c, 60);
	CHECK(code_places_count(c) == 1 && find(c, 0x1040, 51, 60) == 3);
	code_places_free(c);
}

static void two_processes_at_one_address_are_ambiguous(void)
{
	struct code_places *c = code_places_new();

	add(c, 1, 0x1000, 0x100, 0, 1);
	add(c, 2, 0x700001080, 0x100, 5, 2);
	CHECK(find(c, 0x1000, 0, 10) == 1 && find(c, 0x1100, 0, 10) == 2);
	CHECK(find(c, 0x1080, 0, 10) == 1000 && find(c, 0x1080, 0, 4) == 1);
	code_places_free(c);
}

static void places_that_make_no_sense_are_refused(void)
{
	struct code_places *c = code_places_new();
	struct code_place p = {.address = 0xfffffff0, .size = 0x10};

	CHECK(!code_places_add(c, &p));
	p.size = 0x11;
	CHECK(code_places_add(c, &p) == -EINVAL);
	p.size = 0;
	CHECK(code_places_add(c, &p) == -EINVAL);
	p.size = UINT64_MAX;
	CHECK(code_places_add(c, &p) == -EINVAL);
	p.address = 0;
	p.size = CODE_PLACE_MAX_BYTES + 1;
	CHECK(code_places_add(c, &p) == -EINVAL);
	code_places_free(c);
}

static void one_instance_has_a_part_of_all_places(void)
{
	struct code_places *c = code_places_new();
	struct code_place p = {.size = 0x100, .instance = 1, .device = 1};

	for (uint32_t n = 0; n < CODE_PLACES_INSTANCE_MAX; n++, p.address += 0x100)
		CHECK(!code_places_add(c, &p));
	CHECK(code_places_add(c, &p) == -ENOSPC);
	/* what lay there is gone all the same */
	p.address = 0;
	p.from_ns = 10;
	CHECK(code_places_add(c, &p) == -ENOSPC);
	CHECK(!code_places_find(c, 1, 0, LOW, 11, 20, &(const struct code_place *){0}));
	p.instance = 2;
	CHECK(!code_places_add(c, &p));
	code_places_forget(c, 11);
	p.instance = 1;
	p.from_ns = 20;
	CHECK(!code_places_add(c, &p));
	code_places_free(c);
}

static void code_of_one_device_is_not_that_of_another(void)
{
	struct code_places *c = code_places_new();
	const struct code_place *p = NULL;
	/* large enough to reach over all */
	struct code_place other = {
		.size = CODE_PLACE_MAX_BYTES, .instance = 1, .process = 1, .function = 9};

	add(c, 1, 0x1000, 0x100, 0, 7);
	for (other.device = 0; other.device < 3; other.device += 2)
		CHECK(!code_places_add(c, &other));
	CHECK(find(c, 0x1000, 0, 10) == 7 && !find(c, 0x2000, 0, 10) && !find(c, 0, 0, 10));
	code_places_end(c, 1, 2, 0x1000, 5);
	code_places_end(c, 1, 2, 0, 5);
	CHECK(find(c, 0x1000, 6, 10) == 7);
	CHECK(!code_places_find(c, 2, 0x1000, LOW, 6, 10, &p));
	CHECK(code_places_find(c, 0, 0x1000, LOW, 6, 10, &p) == 1 && p->function == 9);
	code_places_free(c);
}

/* Beside a search of all. */
static void many_places_are_found_as_one_by_one(void)
{
	struct code_places *c = code_places_new();
	static struct code_place all[300];

	for (uint32_t i = 0; i < 300; i++) {
		all[i] = (struct code_place){.address = random_below(1 << 16) & ~7u,
			.size = 8 + (random_below(1 << 10) & ~7u),
			.instance = i,
			.process = i,
			.device = 1,
			.function = i + 1};
		CHECK(!code_places_add(c, &all[i]));
	}
	for (int n = 0; n < 2000; n++) {
		uint64_t address = random_below(1 << 16) & ~7u;
		const struct code_place *p;
		size_t expected = 0;

		for (int i = 0; i < 300; i++)
			expected +=
				all[i].address <= address && address < all[i].address + all[i].size;
		CHECK(code_places_find(c, 1, address, LOW, 0, 1, &p) == expected);
	}
	code_places_free(c);
}

int main(void)
{
	RUN(each_count_is_in_its_bits_alone);
	RUN(an_address_is_in_units_of_8_bytes);
	RUN(records_of_other_sizes_and_GPUs_are_not_read);
	RUN(records_of_nothing_count_nothing);
	RUN(reasons_have_words_and_active_is_issuing);
	RUN(code_is_found_by_the_low_bits_of_its_addresses);
	RUN(an_address_that_is_used_again_is_of_its_time);
	RUN(two_processes_at_one_address_are_ambiguous);
	RUN(places_that_make_no_sense_are_refused);
	RUN(one_instance_has_a_part_of_all_places);
	RUN(code_of_one_device_is_not_that_of_another);
	RUN(many_places_are_found_as_one_by_one);
	return tap_end();
}
