// SPDX-License-Identifier: MIT
/* Streams of stall records, in any pieces, as rows of a profile: each sample is there, or
 * counted. */
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "gpu/backend.h"
#include "gpu/intel/intel.h"
#include "gpu/intel/sampler.h"
#include "profile/reader.h"
#include "random.h"
#include "tap.h"

#define BYTES 64
#define MASK  0xfffffff8ull

static char path[] = "/tmp/intel_sampler_test.XXXXXX";
static struct profile_writer *w;
static struct code_places *places;
static struct sampler *s;
static uint32_t processes[2], device, functions[2];
static uint64_t instructions_max = 1000;

static uint32_t string(const char *text)
{
	uint32_t id = 0;

	CHECK(!profile_add_string(w, text, strlen(text), &id));
	return id;
}

/* A function of each of two processes; the second one's code lies where `address` says. */
static void begin(uint64_t second)
{
	struct profile_module m = {.kind = MODULE_GPU_CODE, .build_id_size = 8};
	struct profile_device d = {.uuid = {1}};
	struct sampler_options o = {
		.layout = stall_layout_of(20, 1, BYTES), .instructions_max = instructions_max};
	uint32_t module = 0;

	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_add_device(w, &d, &device));
	CHECK(!profile_add_module(w, &m, &module));
	places = code_places_new();
	for (uint32_t i = 0; i < 2; i++) {
		struct profile_process p = {.pid = i + 1};
		struct profile_gpu_function f = {
			.module = module, .name = string(i ? "second" : "first")};
		struct code_place place = {.address = i ? second : 0x8000ffbe0000,
			.size = 0x400,
			.instance = i + 1,
			.device = device,
			.context = 3,
			.module = module};

		CHECK(!profile_add_process(w, &p, &processes[i]));
		CHECK(!profile_add_gpu_function(w, &f, &functions[i]));
		place.process = processes[i];
		place.function = functions[i];
		CHECK(!code_places_add(places, &place));
	}
	o.writer = w;
	o.places = places;
	s = sampler_new(&o, 1000);
	sampler_add_device(s, device);
	sampler_add_device(s, device);
}

/* So many threads at an address that wait for memory. */
static void make_record(uint8_t record[BYTES], uint64_t address, unsigned int samples)
{
	uint32_t ip = (uint32_t)((address & MASK) >> 3);

	memset(record, 0, BYTES);
	memcpy(record, &ip, sizeof(ip));
	/* sbid: bits 77 to 84 */
	record[9] = (uint8_t)(samples << 5);
	record[10] = (uint8_t)(samples >> 3);
}

static void add(uint64_t address, unsigned int samples)
{
	uint8_t record[BYTES];

	make_record(record, address, samples);
	CHECK(!sampler_add(s, record, sizeof(record)));
}

/* What the profile has of each function, and how much was lost by these causes. */
struct sums {
	uint64_t of[2], left_out[2], windows, outside, ambiguous, overflows, in_windows, cut;
};

static struct sums end(void)
{
	struct sums sums = {0};
	struct profile_reader *r;
	struct profile_event e;

	CHECK(!sampler_end_window(s, 9000, UINT64_MAX));
	sampler_free(s);
	code_places_free(places);
	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&r, path));
	while (profile_reader_next(r, &e) > 0) {
		const struct profile_instruction *i;

		if (e.kind != EVENT_STALL)
			continue;
		i = profile_instruction(r, e.stall.instruction);
		CHECK_TEXT(profile_string(r, e.stall.reason, NULL), "eu_stall_sbid");
		sums.of[i->function != functions[0]] += e.stall.samples;
		if (i->offset == OFFSET_LEFT_OUT)
			sums.left_out[i->function != functions[0]] += e.stall.samples;
		else
			CHECK(i->offset < 0x400 && i->offset % 8 == 0);
		CHECK(profile_window(r, e.stall.window)->process ==
			processes[i->function != functions[0]]);
	}
	sums.windows = profile_counts(r).windows;
	for (uint32_t n = 1; n <= sums.windows; n++)
		sums.in_windows += profile_window(r, n)->samples;
	sums.outside = profile_loss_count(r, LOSS_STALLS_OUTSIDE);
	sums.ambiguous = profile_loss_count(r, LOSS_STALLS_AMBIGUOUS);
	sums.overflows = profile_loss_count(r, LOSS_STALLS_OVERFLOWS);
	sums.cut = profile_loss_count(r, LOSS_STALLS_CUT);
	profile_reader_close(r);
	return sums;
}

static void samples_go_to_the_process_whose_code_it_is(void)
{
	struct sums sums;

	begin(0x8000ffbe0400);
	add(0x8000ffbe0000, 5);
	add(0x8000ffbe03f8, 7);
	add(0x8000ffbe0400, 11);
	add(0x8000ffbe0000, 1);
	sums = end();
	CHECK(sums.of[0] == 13 && sums.of[1] == 11);
	CHECK(sums.windows == 2 && sums.in_windows == 24);
	CHECK(!sums.outside && !sums.ambiguous);
}

static void what_is_nowhere_or_in_two_processes_is_counted(void)
{
	struct sums sums;

	begin(0x1ffbe0200);
	add(0x8000ffbe0000, 5);
	add(0x8000ffbe0200, 6); /* both have it */
	add(0x8000ffbe0400, 7);
	add(0x8000ffbe0600, 8); /* none has */
	add(0, 9);
	CHECK(!sampler_overflow(s));
	sums = end();
	CHECK(sums.of[0] == 5 && sums.of[1] == 7 && sums.ambiguous == 6 && sums.outside == 17);
	CHECK(sums.overflows == 1 && sums.in_windows == 12);
}

/* A GPU and its tile, which the same process or another one uses. */
static struct sums with_tile(uint32_t process)
{
	struct profile_device d = {.uuid = {2}};
	struct code_place place = {
		.address = 0x8000ffbe0000, .size = 0x400, .instance = process + 1, .context = 3};

	begin(0x8000ffbe0400);
	CHECK(!profile_add_device(w, &d, &place.device));
	sampler_add_device(s, place.device);
	place.process = processes[process];
	place.function = functions[process];
	CHECK(!code_places_add(places, &place));
	add(0x8000ffbe0000, 5);
	add(0x8000ffbe0400, 7);
	return end();
}

static void an_address_is_looked_for_on_the_GPU_and_on_its_tile(void)
{
	struct sums sums = with_tile(0);

	CHECK(sums.of[0] == 5 && sums.of[1] == 7 && !sums.ambiguous && !sums.outside);
	sums = with_tile(1);
	CHECK(!sums.of[0] && sums.of[1] == 7 && sums.ambiguous == 5 && !sums.outside);
}

static void records_may_come_in_any_pieces(void)
{
	static uint8_t stream[500 * BYTES];
	uint64_t expected = 0;
	struct sums sums;

	begin(0x8000ffbe0400);
	for (size_t i = 0; i < 500; i++) {
		unsigned int samples = 1 + random_below(200);

		make_record(stream + i * BYTES, 0x8000ffbe0000 + 8 * random_below(128), samples);
		expected += samples;
	}
	for (size_t at = 0; at < sizeof(stream);) {
		size_t n = 1 + random_below(300);

		n = n < sizeof(stream) - at ? n : sizeof(stream) - at;
		CHECK(!sampler_add(s, stream + at, n));
		at += n;
	}
	sums = end();
	CHECK(sums.of[0] == expected && sums.windows == 1 && sums.in_windows == expected);
}

static void a_stream_that_is_cut_loses_its_last_record_alone(void)
{
	uint8_t record[BYTES];

	for (size_t cut = 0; cut < BYTES; cut += 7) {
		struct sums sums;

		begin(0x8000ffbe0400);
		add(0x8000ffbe0000, 5);
		make_record(record, 0x8000ffbe0000, 7);
		CHECK(!sampler_add(s, record, cut));
		sums = end();
		CHECK(sums.of[0] == 5);
	}
}

static void windows_wait_for_news_of_code(void)
{
	struct code_place late = {.address = 0x5000, .size = 0x100, .from_ns = 1500};
	struct sums sums;

	begin(0x8000ffbe0400);
	add(0x5000, 5);
	CHECK(!sampler_end_window(s, 2000, 1000));
	add(0x5000, 6);
	CHECK(!sampler_end_window(s, 3000, 1999));
	late.process = processes[1];
	late.instance = 2;
	late.device = device;
	late.function = functions[1];
	CHECK(!code_places_add(places, &late));
	CHECK(!sampler_end_window(s, 4000, 2000));
	CHECK(!sampler_end_window(s, 5000, 4000));
	sums = end();
	CHECK(sums.of[1] == 11 && sums.windows == 2 && !sums.outside);
}

static void further_instructions_are_left_out_and_their_samples_are_not(void)
{
	struct sums sums;

	instructions_max = 3;
	begin(0x8000ffbe0400);
	instructions_max = 1000;
	add(0x8000ffbe0000, 1);
	add(0x8000ffbe0008, 2);
	add(0x8000ffbe0010, 4);
	add(0x8000ffbe0018, 8);
	add(0x8000ffbe0020, 16);
	CHECK(!sampler_end_window(s, 2000, 2000));
	add(0x8000ffbe0000, 32);
	add(0x8000ffbe0400, 64);
	add(0x8000ffbe0408, 128);
	sums = end();
	CHECK(sums.of[0] == 63 && sums.of[1] == 192);
	CHECK(sums.left_out[0] == 56 && sums.left_out[1] == 192 && sums.cut == 5);
}

static void the_oldest_window_that_waits_is_known(void)
{
	begin(0x8000ffbe0400);
	CHECK(sampler_oldest_ns(s) == 1000);
	CHECK(!sampler_end_window(s, 2000, 1000));
	CHECK(sampler_oldest_ns(s) == 2000); /* nothing was in it */
	add(0x8000ffbe0000, 5);
	CHECK(!sampler_end_window(s, 3000, 1000));
	add(0x8000ffbe0000, 5);
	CHECK(!sampler_end_window(s, 4000, 1000) && sampler_oldest_ns(s) == 2000);
	CHECK(!sampler_end_window(s, 5000, 3000) && sampler_oldest_ns(s) == 3000);
	CHECK(!sampler_end_window(s, 6000, 4000) && sampler_oldest_ns(s) == 6000);
	CHECK(end().of[0] == 10);
}

static void code_that_ended_is_forgotten_when_no_window_needs_it(void)
{
	const struct gpu_options o = {.stalls = GPU_STALLS_CONTINUOUS};
	struct gpu_shared shared = {0};
	struct gpu_backend *b = NULL;
	bool busy = false;

	begin(0x8000ffbe0400);
	shared.writer = w;
	shared.places = places;
	CHECK(!intel_backend.open(&b, &o, &shared) && b);
	code_places_end_all(places, 1, clock_now_ns() - 1);
	CHECK(!intel_backend.drain(b, &busy) && code_places_count(places) == 1);
	intel_backend.close(b);
	(void)end();
}

static void records_of_zeros_and_ones_do_no_harm(void)
{
	uint8_t record[BYTES] = {0};
	struct sums sums;

	begin(0x8000ffbe0400);
	CHECK(!sampler_add(s, record, sizeof(record)));
	memset(record, 0xff, sizeof(record));
	CHECK(!sampler_add(s, record, sizeof(record)));
	sums = end();
	CHECK(!sums.of[0] && !sums.of[1] && sums.outside == 10 * 0xff);
}

/* As where two tiles of a GPU are devices of their own, and the GPU is one, too. */
static void code_of_any_of_its_devices_is_found_and_no_others(void)
{
	struct profile_device d = {.uuid = {2}};
	struct code_place place = {
		.address = 0x8000aabe0000, .size = 0x400, .instance = 1, .context = 4};
	struct sums sums;
	uint32_t other = 0;

	begin(0x8000eebe0000);
	CHECK(!profile_add_device(w, &d, &other) && other != device);
	place.device = other;
	place.process = processes[0];
	place.function = functions[0];
	CHECK(!code_places_add(places, &place));
	add(place.address + 16, 5);
	CHECK(!sampler_end_window(s, 2000, UINT64_MAX));
	sampler_add_device(s, other);
	sampler_add_device(s, other);
	add(place.address + 16, 6);
	add(0x8000ffbe0000, 7);
	sums = end();
	CHECK(sums.outside == 5 && sums.of[0] == 13 && !sums.ambiguous);
	CHECK(sums.windows == 2); /* one of each device */
}

int main(void)
{
	close(mkstemp(path));
	RUN(samples_go_to_the_process_whose_code_it_is);
	RUN(what_is_nowhere_or_in_two_processes_is_counted);
	RUN(code_of_any_of_its_devices_is_found_and_no_others);
	RUN(an_address_is_looked_for_on_the_GPU_and_on_its_tile);
	RUN(records_may_come_in_any_pieces);
	RUN(a_stream_that_is_cut_loses_its_last_record_alone);
	RUN(windows_wait_for_news_of_code);
	RUN(further_instructions_are_left_out_and_their_samples_are_not);
	RUN(the_oldest_window_that_waits_is_known);
	RUN(code_that_ended_is_forgotten_when_no_window_needs_it);
	RUN(records_of_zeros_and_ones_do_no_harm);
	unlink(path);
	return tap_end();
}
