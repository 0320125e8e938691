// SPDX-License-Identifier: MIT
/* Samples of GPU instructions and images of GPU code, as libraries send them to the NVIDIA backend,
 * well and badly. */
#include <fcntl.h>

#include "gpu_client.h"
#include "base/clock.h"
#include "gpu/code_places.h"
#include "gpucode/kept_images.h"
#include "profile/reader.h"
#include "tap.h"
#include "vendor/amd/calls.h"

static const char barrier[] = "smsp__pcsamp_warps_issue_stalled_barrier";

static void put_reason(struct client *c, uint32_t index, const char *name)
{
	struct wire_stall_reason r = {
		.type = WIRE_STALL_REASON, .index = index, .name_size = (uint32_t)strlen(name)};

	ring_put_long(&c->ring, &r, sizeof(r), name, r.name_size);
}

static void put_function(struct client *c, uint32_t id, const char *name)
{
	struct wire_function f = {
		.type = WIRE_FUNCTION,
		.id = id,
		.checksum = 0x1122334455667788,
		.index = 10 + id,
		.name_size = (uint32_t)strlen(name),
	};

	ring_put_long(&c->ring, &f, sizeof(f), name, f.name_size);
}

static struct wire_window a_window(void)
{
	uint64_t now = clock_now_ns();

	return (struct wire_window){
		.type = WIRE_WINDOW,
		.period = 17,
		.context = 3,
		.start_ns = now - 1000,
		.end_ns = now,
		.samples = 100,
		.dropped = 4,
		.without_code = 6,
	};
}

static void put_window(struct client *c, const struct wire_window *w)
{
	ring_put(&c->ring, w);
}

static void put_rows(struct client *c, const struct wire_stall *rows, uint32_t count)
{
	struct wire_stalls_head head = {.type = WIRE_STALLS, .count = count};

	ring_put_long(&c->ring, &head, sizeof(head), rows, count * sizeof(rows[0]));
}

/* A device, two functions, a reason. */
static void introduce(struct client *c)
{
	put_device(c, "Simulated GPU 0");
	put_reason(c, 2, barrier);
	put_function(c, 1, "_Z4axpyv");
	put_function(c, 2, "_Z5scalev");
}

static struct test_recorder *open_recorder(struct kept_images *images)
{
	struct gpu_options o = {
		.target_uid = getuid(),
		.stalls = GPU_STALLS_CONTINUOUS,
		.stall_period = 14,
		.images = images,
	};

	return test_recorder_open(NULL, &o);
}

static struct profile_totals totals_of(const struct test_recorder *r)
{
	struct profile_totals totals;

	profile_writer_totals(r->writer, &totals);
	return totals;
}

static uint64_t invalid(const struct test_recorder *r)
{
	return test_recorder_loss(r, LOSS_GPU_INVALID);
}

/* What has been written so far, read to its end. */
static struct profile_reader *read_back(
	const struct test_recorder *r, struct profile_stall *ret, size_t room, size_t *ret_count)
{
	struct profile_reader *reader;
	struct profile_event event;
	char path[128];

	*ret_count = 0;
	snprintf(path, sizeof(path), "%s/profile.xpu", r->folder);
	if (profile_writer_flush(r->writer) || profile_reader_open(&reader, path))
		return NULL;
	while (profile_reader_next(reader, &event) == 1)
		if (event.kind == EVENT_STALL && *ret_count < room)
			ret[(*ret_count)++] = event.stall;
	return reader;
}

static void samples_reach_the_profile_with_their_window_function_and_reason(void)
{
	struct test_recorder *r = open_recorder(NULL);
	struct wire_window w = a_window();
	const struct wire_stall rows[] = {
		{.function = 1, .offset = 0x90, .reason = 2, .samples = 70},
		{.function = 2, .offset = 0x20, .reason = 2, .samples = 20},
	};
	struct profile_stall stalls[4];
	struct profile_reader *reader;
	const struct profile_window *window;
	const struct profile_instruction *at;
	struct client c;
	size_t count;

	CHECK(join(&c, r));
	CHECK(c.ring.control->stalls == WIRE_STALLS_CONTINUOUS &&
		c.ring.control->stall_period == 14);
	introduce(&c);
	put_window(&c, &w);
	put_rows(&c, rows, 2);
	CHECK(test_recorder_pump(r) == 0);
	reader = read_back(r, stalls, 4, &count);
	CHECK(count == 2 && stalls[0].samples == 70 && stalls[1].samples == 20);
	CHECK(stalls[0].correlation == 0);
	CHECK_TEXT(profile_string(reader, stalls[0].reason, NULL), barrier);
	at = profile_instruction(reader, stalls[0].instruction);
	CHECK(at->offset == 0x90);
	CHECK_TEXT(profile_string(reader, profile_gpu_function(reader, at->function)->name, NULL),
		"_Z4axpyv");
	CHECK(profile_gpu_function(reader, at->function)->index == 11);
	CHECK(profile_module(reader, profile_gpu_function(reader, at->function)->module)->kind ==
		MODULE_GPU_CODE);
	window = profile_window(reader, stalls[0].window);
	CHECK(window->period_cycles == 1 << 17 && window->context == 3 && window->instance == 1);
	CHECK(window->samples == 100 && window->dropped == 4 && window->without_code == 6);
	CHECK(!window->exact && window->device == 1 && window->start_ns == w.start_ns);
	CHECK(test_recorder_loss(r, LOSS_STALLS_DROPPED) == 4 && invalid(r) == 0);
	CHECK_TEXT(profile_meta(reader, META_STALLS), "continuous");
	profile_reader_close(reader);
	leave(&c);
	test_recorder_close(r);
}

static void a_launch_is_named_in_exact_windows_only(void)
{
	struct test_recorder *r = open_recorder(NULL);
	struct wire_window w = a_window();
	const struct wire_stall row = {.function = 1, .reason = 2, .samples = 1, .correlation = 77};
	struct profile_stall stalls[4];
	struct client c;
	size_t count;

	CHECK(join(&c, r));
	introduce(&c);
	put_window(&c, &w);
	put_rows(&c, &row, 1);
	w.exact = 1;
	put_window(&c, &w);
	put_rows(&c, &row, 1);
	CHECK(test_recorder_pump(r) == 0);
	profile_reader_close(read_back(r, stalls, 4, &count));
	CHECK(count == 2 && stalls[0].correlation == 0 && stalls[1].correlation == 77);
	leave(&c);
	test_recorder_close(r);
}

static void a_window_that_cannot_be_is_counted_and_left_out_with_its_rows(void)
{
	struct test_recorder *r = open_recorder(NULL);
	struct wire_window good = a_window(), bad[] = {good, good, good, good};
	const struct wire_stall row = {.function = 1, .reason = 2, .samples = 5};
	struct client c;

	bad[0].end_ns = bad[0].start_ns - 1;
	bad[1].end_ns += 3600 * NS_PER_SECOND;
	bad[2].samples = UINT64_MAX;
	bad[3].period = 32;
	CHECK(join(&c, r));
	introduce(&c);
	for (int n = 0; n < 4; n++) {
		put_window(&c, &bad[n]);
		put_rows(&c, &row, 1);
	}
	put_window(&c, &good);
	put_rows(&c, &row, 1);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(invalid(r) == 4 && totals_of(r).stall_samples == 5);
	CHECK(totals_of(r).window_samples == 100);
	CHECK(test_recorder_loss(r, LOSS_GPU_CORRUPT) == 0);
	leave(&c);
	test_recorder_close(r);
}

static void rows_for_a_reason_that_was_not_sent_are_counted_and_left_out(void)
{
	struct test_recorder *r = open_recorder(NULL);
	struct wire_window w = a_window();
	const struct wire_stall rows[] = {
		{.function = 1, .reason = 9, .samples = 5},
		{.function = 1, .reason = 2, .samples = 0},
		{.function = 1, .reason = 2, .samples = 8},
	};
	struct client c;

	CHECK(join(&c, r));
	introduce(&c);
	put_window(&c, &w);
	put_rows(&c, rows, 3);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(invalid(r) == 2 && totals_of(r).stall_samples == 8);
	leave(&c);
	test_recorder_close(r);
}

/* `spoil` puts something that no library would. */
static bool ends_the_ring(void (*spoil)(struct client *))
{
	struct test_recorder *r = open_recorder(NULL);
	struct client c;
	bool ended;

	CHECK(join(&c, r));
	introduce(&c);
	spoil(&c);
	CHECK(test_recorder_pump(r) == 0);
	ended = test_recorder_loss(r, LOSS_GPU_CORRUPT) == 1 && totals_of(r).stall_samples == 0;
	leave(&c);
	test_recorder_close(r);
	return ended;
}

static void put_good_window(struct client *c)
{
	struct wire_window w = a_window();

	put_window(c, &w);
}

static void rows_before_a_window(struct client *c)
{
	const struct wire_stall row = {.function = 1, .reason = 2, .samples = 1};

	put_rows(c, &row, 1);
}

static void a_row_of_an_unknown_function(struct client *c)
{
	const struct wire_stall row = {.function = 3, .reason = 2, .samples = 1};

	put_good_window(c);
	put_rows(c, &row, 1);
}

static void a_row_of_no_function(struct client *c)
{
	const struct wire_stall row = {.reason = 2, .samples = 1};

	put_good_window(c);
	put_rows(c, &row, 1);
}

static void a_row_of_a_reason_out_of_range(struct client *c)
{
	const struct wire_stall row = {.function = 1, .reason = WIRE_STALL_REASONS, .samples = 1};

	put_good_window(c);
	put_rows(c, &row, 1);
}

static void more_rows_than_the_record_has(struct client *c)
{
	struct {
		struct wire_stalls_head head;
		struct wire_stall row;
	} record = {{.type = WIRE_STALLS, .count = UINT32_MAX}, {.function = 1, .samples = 1}};

	put_good_window(c);
	ring_put_long(&c->ring, &record, sizeof(record), NULL, 0);
}

static void a_function_out_of_its_order(struct client *c)
{
	put_function(c, 7, "late");
}

static void a_function_whose_name_is_longer_than_its_record(struct client *c)
{
	struct wire_function f = {.type = WIRE_FUNCTION, .id = 3, .name_size = 4000};

	ring_put_long(&c->ring, &f, sizeof(f), NULL, 0);
}

static void a_reason_of_a_device_out_of_range(struct client *c)
{
	struct wire_stall_reason s = {
		.type = WIRE_STALL_REASON, .device = WIRE_DEVICES, .name_size = 1};

	ring_put_long(&c->ring, &s, sizeof(s), "x", 1);
}

static void a_reason_whose_name_is_longer_than_its_record(struct client *c)
{
	struct wire_stall_reason s = {.type = WIRE_STALL_REASON, .index = 1, .name_size = 4000};

	ring_put_long(&c->ring, &s, sizeof(s), NULL, 0);
}

static void a_refusal_of_no_kind(struct client *c)
{
	struct wire_stalls_refused s = {.type = WIRE_STALLS_REFUSED, .refusal = 99};

	ring_put(&c->ring, &s);
}

static void what_no_library_would_send_ends_the_ring(void)
{
	CHECK(ends_the_ring(rows_before_a_window));
	CHECK(ends_the_ring(a_row_of_an_unknown_function));
	CHECK(ends_the_ring(a_row_of_no_function));
	CHECK(ends_the_ring(a_row_of_a_reason_out_of_range));
	CHECK(ends_the_ring(more_rows_than_the_record_has));
	CHECK(ends_the_ring(a_function_out_of_its_order));
	CHECK(ends_the_ring(a_function_whose_name_is_longer_than_its_record));
	CHECK(ends_the_ring(a_reason_of_a_device_out_of_range));
	CHECK(ends_the_ring(a_reason_whose_name_is_longer_than_its_record));
	CHECK(ends_the_ring(a_refusal_of_no_kind));
}

static void functions_stay_when_the_library_forgets_its_strings(void)
{
	struct test_recorder *r = open_recorder(NULL);
	uint8_t forget[WIRE_PAYLOAD_BYTES] = {WIRE_FORGET};
	const struct wire_stall row = {.function = 2, .reason = 2, .samples = 3};
	struct client c;

	CHECK(join(&c, r));
	introduce(&c);
	put_good_window(&c);
	ring_put(&c.ring, forget);
	put_rows(&c, &row, 1);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(totals_of(r).stall_samples == 3 && test_recorder_loss(r, LOSS_GPU_CORRUPT) == 0);
	leave(&c);
	test_recorder_close(r);
}

static void a_refusal_is_counted_by_process_and_reported_once_by_kind(void)
{
	struct test_recorder *r = open_recorder(NULL);
	struct wire_stalls_refused s = {
		.type = WIRE_STALLS_REFUSED, .refusal = WIRE_STALLS_RIGHTS, .result = 35};
	struct client c[2];
	struct gpu_stats stats;
	const char *lines;

	for (int n = 0; n < 2; n++) {
		CHECK(join(&c[n], r));
		ring_put(&c[n].ring, &s);
		ring_put(&c[n].ring, &s);
	}
	s.refusal = WIRE_STALLS_BUSY;
	ring_put(&c[1].ring, &s);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(test_recorder_loss(r, LOSS_STALLS_REFUSED) == 2);
	stats = test_recorder_stats(r);
	lines = stats.stalls_refused;
	CHECK(strstr(lines, "NVreg_RestrictProfilingToAdminUsers=0") &&
		strstr(lines, "(CUPTI error 35)\n"));
	CHECK(strchr(lines, '\n') == strrchr(lines, '\n'));
	CHECK(strstr(strchr(lines, '\n'), "another profiler or process"));
	for (int n = 0; n < 2; n++)
		leave(&c[n]);
	test_recorder_close(r);
}

static void a_stranger_s_claim_is_reported_and_nothing_is_lost(void)
{
	struct test_recorder *r = open_recorder(NULL);
	struct wire_stalls_refused s = {.type = WIRE_STALLS_REFUSED,
		.refusal = WIRE_STALLS_STRANGER,
		.holder_pid = 77,
		.holder_uid = 4242};
	struct client c;

	CHECK(join(&c, r));
	ring_put(&c.ring, &s);
	s.refusal = WIRE_STALLS_PROCESS;
	s.holder_uid = 0;
	ring_put(&c.ring, &s);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(strstr(test_recorder_stats(r).stalls_contested, "(user 4242, process 77)"));
	CHECK(strstr(test_recorder_stats(r).stalls_refused, "its samples (process 77)"));
	CHECK(test_recorder_loss(r, LOSS_STALLS_REFUSED) == 1);
	leave(&c);
	test_recorder_close(r);
}

static void how_long_a_program_was_held_is_said(void)
{
	struct test_recorder *r = open_recorder(NULL);
	struct wire_stalls_held h = {.type = WIRE_STALLS_HELD,
		.what = WIRE_STALLS_ON,
		.tries = 3,
		.held_ns = 191500000,
		.steps_ns = {100000000, 500000, 90000000}};
	struct client c;

	CHECK(join(&c, r));
	ring_put(&c.ring, &h);
	h.what = WIRE_STALLS_KEPT;
	ring_put(&c.ring, &h);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(strstr(test_recorder_stats(r).stalls_held,
		"was held for 191.5 ms to begin sampling of instructions (try 3; enabling 100.0, "
		"configuring 0.5, starting 90.0)\n"));
	CHECK(strstr(test_recorder_stats(r).stalls_held, "sampling goes on in process"));
	CHECK(test_recorder_loss(r, LOSS_STALLS_REFUSED) == 0);
	h.what = WIRE_STALLS_SWITCHES;
	ring_put(&c.ring, &h);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(test_recorder_loss(r, LOSS_GPU_CORRUPT) == 1);
	leave(&c);
	test_recorder_close(r);
}

/* A GPU of 100 multiprocessors at 2 GHz, and a kernel that fills it, in context 3. */
static void introduce_kernel(struct client *c)
{
	const struct wire_device d = {
		.type = WIRE_DEVICE, .name_size = 1, .sm_count = 100, .clock_khz = 2000000};
	const struct wire_op op = {
		.type = WIRE_OP, .kind = OP_KERNEL, .id = 1, .context = 3, .grid = {40, 25, 1}};

	ring_put_long(&c->ring, &d, sizeof(d), "G", 1);
	ring_put_long(&c->ring, &op, sizeof(op), NULL, 0);
}

static void put_kernel(struct client *c, uint64_t start_ns, uint64_t duration_ns)
{
	const struct wire_work w = {.type = WIRE_WORK,
		.kind = OP_KERNEL,
		.op = 1,
		.start_ns = start_ns,
		.end_ns = start_ns + duration_ns};

	ring_put(&c->ring, &w);
}

/* What is said in the end of a recording of 3 ms of kernels, of which two run at once for 2 ms. At
 * 2^period cycles 600 million, divided by that, are due. */
static void end_of_kernels(uint8_t period, uint64_t came, enum wire_stalls_refusal refusal,
	uint32_t refused_context, uint8_t api, char ret[512])
{
	const struct wire_function function = {.type = WIRE_FUNCTION, .api = api, .id = 1};
	const struct wire_stalls_refused refused = {.type = WIRE_STALLS_REFUSED,
		.refusal = (uint8_t)refusal,
		.api = api,
		.context = refused_context};
	struct test_recorder *r = open_recorder(NULL);
	uint64_t start_ns = clock_now_ns();
	struct wire_window w = a_window();
	struct client c;

	w.period = period;
	w.safe_period = 14;
	w.samples = came;
	CHECK(join(&c, r));
	introduce_kernel(&c);
	ring_put_long(&c.ring, &function, sizeof(function), NULL, 0);
	put_kernel(&c, start_ns, 1000000);
	put_window(&c, &w);
	put_kernel(&c, start_ns + 1000000, 2000000);
	put_kernel(&c, start_ns + 1000000, 2000000);
	if (refusal)
		ring_put(&c.ring, &refused);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(injected_backend.finish(r->backend) == 0);
	snprintf(ret, 512, "%s", test_recorder_stats(r).stalls_refused);
	CHECK(test_recorder_loss(r, LOSS_STALLS_REFUSED) == (*ret != 0));
	leave(&c);
	test_recorder_close(r);
}

static void samples_that_never_came_are_reported_where_they_came_too_fast(void)
{
	static const char due[] = "samples of GPU instructions came faster than CUPTI hands them "
				  "over: 100,000 of 146,484 that were due came; "
				  "--stalls=16384 is slow enough";
	char said[512];

	end_of_kernels(12, 100000, 0, 0, 0, said);
	CHECK_TEXT(said, due);
	end_of_kernels(12, 140000, 0, 0, 0, said);
	CHECK_TEXT(said, "");
	end_of_kernels(14, 10000, 0, 0, 0, said);
	CHECK_TEXT(said, "");
	end_of_kernels(12, 100000, WIRE_STALLS_CONTEXT, 4, 0, said);
	CHECK(strchr(said, '\n') && !strcmp(strchr(said, '\n') + 1, due));
}

static void samples_that_never_came_are_reported_of_the_tracer_whose_they_are(void)
{
	char said[512];

	end_of_kernels(12, 100000, 0, 0, AMD_API, said);
	CHECK_TEXT(said, "rocprofiler-sdk hands over fewer samples than it should: 100,000 of "
			 "146,484 that were due came; --stalls=16384 is slow enough");
	/* of one kind, of two vendors: each is said */
	end_of_kernels(12, 100000, WIRE_STALLS_RIGHTS, 4, AMD_API, said);
	CHECK(strstr(said, "ROCPROFILER_PC_SAMPLING_BETA_ENABLED") && strstr(said, "were due"));
}

static void refusals_of_one_kind_are_reported_for_each_vendor(void)
{
	struct test_recorder *r = open_recorder(NULL);
	struct wire_stalls_refused s = {.type = WIRE_STALLS_REFUSED, .refusal = WIRE_STALLS_RIGHTS};
	struct client c;

	CHECK(join(&c, r));
	ring_put(&c.ring, &s);
	s.api = AMD_API;
	ring_put(&c.ring, &s);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(strstr(test_recorder_stats(r).stalls_refused, "NVreg_RestrictProfiling"));
	CHECK(strstr(test_recorder_stats(r).stalls_refused, "ROCPROFILER_PC_SAMPLING"));
	leave(&c);
	test_recorder_close(r);
}

/* A record of any kind, whose fields make sense where `api` does not matter. */
static void put_of_api(struct client *c, uint8_t type, uint8_t api)
{
	union {
		uint8_t type;
		uint8_t bytes[WIRE_PAYLOAD_BYTES];
		struct wire_call call;
		struct wire_tracer tracer;
		struct wire_function function;
		struct wire_code code;
		struct wire_stalls_refused refused;
	} u = {.type = type};

	if (type == WIRE_CALL)
		u.call.api = (uint32_t)api << WIRE_API_SHIFT | 1;
	else if (type == WIRE_TRACER)
		u.tracer.api = api;
	else if (type == WIRE_FUNCTION)
		u.function = (struct wire_function){.type = type, .api = api, .id = 1};
	else if (type == WIRE_CODE)
		u.code = (struct wire_code){.type = type, .api = api, .address = 8, .size = 8};
	else if (type == WIRE_STALLS_REFUSED)
		u.refused.refusal = WIRE_STALLS_RIGHTS, u.refused.api = api;
	ring_put(&c->ring, u.bytes);
}

static void records_of_every_kind_and_API_do_no_harm(void)
{
	for (uint8_t type = 0; type <= WIRE_TYPES; type++) {
		for (uint8_t api = 0; api <= WIRE_APIS; api++) {
			struct test_recorder *r = open_recorder(NULL);
			bool refusal = type == WIRE_STALLS_REFUSED;
			struct client c;

			r->shared.places = code_places_new();
			CHECK(join(&c, r));
			if (type != WIRE_DEVICE)
				put_device(&c, "Simulated GPU 0");
			put_of_api(&c, type, api);
			CHECK(test_recorder_pump(r) == 0);
			CHECK(injected_backend.finish(r->backend) == 0);
			if (refusal || type == WIRE_FUNCTION)
				CHECK(test_recorder_loss(r, LOSS_GPU_CORRUPT) ==
					(api != 0 && api != AMD_API));
			CHECK(!refusal || test_recorder_loss(r, LOSS_STALLS_REFUSED) ==
						  (api == 0 || api == AMD_API));
			leave(&c);
			code_places_free(r->shared.places);
			r->shared.places = NULL;
			test_recorder_close(r);
		}
	}
}

static void samples_that_never_came_are_reported_once(void)
{
	static const enum wire_stalls_refusal of_it[] = {
		WIRE_STALLS_DISPLACED, WIRE_STALLS_UNFETCHED, WIRE_STALLS_OVERRUN};
	char said[512];

	for (size_t n = 0; n < sizeof(of_it) / sizeof(of_it[0]); n++) {
		end_of_kernels(12, 100000, of_it[n], 3, 0, said);
		CHECK(*said && !strstr(said, "were due"));
	}
}

static void what_the_library_could_not_send_becomes_losses(void)
{
	struct test_recorder *r = open_recorder(NULL);
	struct client c;

	CHECK(join(&c, r));
	c.ring.control->counts[WIRE_LOST_STALLS] = 1000;
	c.ring.control->counts[WIRE_LOST_IMAGES] = 2;
	CHECK(test_recorder_pump(r) == 0);
	CHECK(test_recorder_loss(r, LOSS_STALLS_RING_FULL) == 1000);
	CHECK(test_recorder_loss(r, LOSS_IMAGES_LOST) == 2);
	leave(&c);
	test_recorder_close(r);
}

static void more_samples_may_be_lost_at_once_than_fit_into_32_bits(void)
{
	struct test_recorder *r = open_recorder(NULL);
	struct client c;

	CHECK(join(&c, r));
	c.ring.control->counts[WIRE_LOST_STALLS] = 1ull << 40;
	CHECK(test_recorder_pump(r) == 0);
	CHECK(test_recorder_loss(r, LOSS_STALLS_RING_FULL) == 1ull << 40);
	CHECK(test_recorder_loss(r, LOSS_GPU_CORRUPT) == 0);
	leave(&c);
	test_recorder_close(r);
}

/* A thread that dies while it writes leaves a record that never comes. */
static void rows_behind_a_record_that_never_came_belong_to_no_window(void)
{
	struct test_recorder *r = open_recorder(NULL);
	const struct wire_stall row = {.function = 1, .reason = 2, .samples = 3};
	uint64_t position;
	struct client c;

	CHECK(join(&c, r));
	introduce(&c);
	put_good_window(&c);
	put_rows(&c, &row, 1);
	CHECK(ring_reserve(&c.ring, 1, &position));
	put_rows(&c, &row, 1);
	put_good_window(&c);
	put_rows(&c, &row, 1);
	leave(&c);
	CHECK(test_recorder_pump(r) == 0 && injected_backend.finish(r->backend) == 0);
	CHECK(test_recorder_loss(r, LOSS_GPU_ABANDONED) == 1 && totals_of(r).stall_samples == 6);
	CHECK(test_recorder_loss(r, LOSS_STALLS_RING_FULL) == 3);
	CHECK(test_recorder_loss(r, LOSS_GPU_CORRUPT) == 0);
	test_recorder_close(r);
}

/* ---- images ---- */

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

static int make_image(const char *text, int seals)
{
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(!seals || !fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

/* Closes the descriptors. */
static void send_image(const struct client *c, uint64_t size, uint64_t checksum, int fd, int other)
{
	struct wire_image image = {.magic = WIRE_MAGIC, .size = size, .checksum = checksum};
	int fds[2] = {fd, other}, count = (fd >= 0) + (other >= 0);
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control = {0};
	struct iovec part = {&image, sizeof(image)};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	if (count) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, (size_t)count * sizeof(int));
	}
	CHECK(sendmsg(c->fd, &m, MSG_NOSIGNAL) == sizeof(image));
	for (int n = 0; n < count; n++)
		close(fds[n]);
}

static void an_image_is_kept_for_the_functions_that_name_its_checksum(void)
{
	struct kept_images *images = kept_images_new(1 << 20);
	struct test_recorder *r = open_recorder(images);
	const struct profile_gpu_function *f;
	const void *kept;
	struct client c;
	size_t size = 0;

	CHECK(join(&c, r));
	send_image(&c, 5, 0x1122334455667788, make_image("cubin", SEALS), -1);
	introduce(&c);
	CHECK(test_recorder_pump(r) == 0);
	f = profile_writer_gpu_function(r->writer, 1);
	kept = kept_images_find(images, f->module, &size);
	CHECK(kept && size == 5 && !memcmp(kept, "cubin", 5));
	CHECK(profile_writer_gpu_function(r->writer, 2)->module == f->module);
	CHECK(test_recorder_loss(r, LOSS_IMAGES_LOST) == 0);
	leave(&c);
	test_recorder_close(r);
	kept_images_free(images);
}

static void an_image_that_can_still_change_or_is_of_another_size_is_not_kept(void)
{
	struct kept_images *images = kept_images_new(1 << 20);
	struct test_recorder *r = open_recorder(images);
	struct client c;
	size_t size;

	CHECK(join(&c, r));
	send_image(&c, 5, 1, make_image("cubin", 0), -1);
	send_image(&c, 5, 2, make_image("cubin", F_SEAL_GROW), -1);
	send_image(&c, 6, 3, make_image("cubin", SEALS), -1);
	send_image(&c, UINT64_MAX, 4, make_image("cubin", SEALS), -1);
	send_image(&c, 5, 5, open("/dev/zero", O_RDONLY | O_CLOEXEC), -1);
	send_image(&c, 5, 6, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), -1);
	CHECK(test_recorder_pump(r) == 0);
	for (uint32_t module = 1; module <= 6; module++)
		CHECK(!kept_images_find(images, module, &size) && kept_images_lost(images, module));
	leave(&c);
	test_recorder_close(r);
	kept_images_free(images);
}

static int open_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void messages_that_are_no_images_are_nothing_and_leave_no_descriptors(void)
{
	struct kept_images *images = kept_images_new(1 << 20);
	struct test_recorder *r = open_recorder(images);
	struct client c;
	int before;

	CHECK(join(&c, r));
	before = open_descriptors();
	send_image(&c, 5, 1, -1, -1);
	send_image(&c, 5, 1, make_image("cubin", SEALS), make_image("cubin", SEALS));
	CHECK(send(c.fd, "", 1, 0) == 1 && send(c.fd, barrier, sizeof(barrier), 0) > 0);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(open_descriptors() == before);
	CHECK(test_recorder_loss(r, LOSS_IMAGES_LOST) == 0);
	leave(&c);
	test_recorder_close(r);
	kept_images_free(images);
}

static void images_that_were_sent_before_the_end_are_all_kept(void)
{
	enum { IMAGES = 200 };
	struct kept_images *images = kept_images_new(1 << 20);
	struct test_recorder *r = open_recorder(images);
	struct client c;
	size_t size;

	CHECK(join(&c, r));
	for (int n = 0; n < IMAGES; n++)
		send_image(&c, 5, (uint64_t)n + 1, make_image("cubin", SEALS), -1);
	c.ring.control->state = WIRE_DONE;
	close(c.fd);
	c.fd = -1;
	CHECK(test_recorder_pump(r) == 0 && r->ended == 1);
	for (uint32_t module = 1; module <= IMAGES; module++)
		CHECK(kept_images_find(images, module, &size));
	leave(&c);
	test_recorder_close(r);
	kept_images_free(images);
}

static void put_code_of(struct client *c, uint32_t device, uint64_t address, uint64_t size,
	uint64_t time_ns, bool gone)
{
	const struct wire_code code = {.type = WIRE_CODE,
		.gone = gone,
		.device = device,
		.address = address,
		.size = size,
		.time_ns = time_ns,
		.checksum = 0x1122334455667788,
		.context = 3,
		.name_size = 4};

	ring_put_long(&c->ring, &code, sizeof(code), "axpy", 4);
}

static void put_code(struct client *c, uint64_t address, uint64_t size, uint64_t time_ns, bool gone)
{
	put_code_of(c, 0, address, size, time_ns, gone);
}

static size_t places_at(struct test_recorder *r, uint64_t address, uint64_t time_ns)
{
	const struct code_place *p = NULL;

	return code_places_find(r->shared.places, 1, address, UINT64_MAX, time_ns, time_ns, &p);
}

static void code_of_kernels_is_known_by_its_place_and_time(void)
{
	struct test_recorder *r = open_recorder(NULL);
	uint64_t now = clock_now_ns();
	struct client c;

	r->shared.places = code_places_new();
	CHECK(join(&c, r));
	put_device(&c, "Simulated GPU 0");
	put_code(&c, 0x8000, 0x100, now - 1000, false);
	put_code(&c, 0x9000, 0, now - 1000, false);
	put_code(&c, 0x9000, 0x100, now + (1ull << 62), false);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(places_at(r, 0x80f8, now) == 1 && !places_at(r, 0x8100, now));
	CHECK(!places_at(r, 0x8000, now - 1001) && !places_at(r, 0x9000, now));
	CHECK(test_recorder_loss(r, LOSS_STALLS_PLACES) == 1 && invalid(r) == 1);
	put_code(&c, 0x8000, 0, now - 500, true);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(places_at(r, 0x8000, now - 600) == 1 && !places_at(r, 0x8000, now));
	code_places_free(r->shared.places);
	r->shared.places = NULL;
	leave(&c);
	test_recorder_close(r);
}

static void code_that_is_gone_is_that_of_its_device(void)
{
	const struct wire_device other = {
		.type = WIRE_DEVICE, .number = 1, .name_size = 1, .uuid = {1}};
	struct test_recorder *r = open_recorder(NULL);
	uint64_t now = clock_now_ns();
	struct client c;

	r->shared.places = code_places_new();
	CHECK(join(&c, r));
	put_device(&c, "Simulated GPU 0");
	ring_put_long(&c.ring, &other, sizeof(other), "O", 1);
	for (uint32_t device = 0; device < 2; device++)
		put_code_of(&c, device, 0x8000, 0x100, now - 1000, false);
	put_code_of(&c, 1, 0x8000, 0, now - 500, true);
	put_code_of(&c, 2, 0x8000, 0, now - 500, true);
	CHECK(test_recorder_pump(r) == 0);
	CHECK(places_at(r, 0x8000, now) == 1 && code_places_count(r->shared.places) == 2);
	CHECK(invalid(r) == 1);
	code_places_free(r->shared.places);
	r->shared.places = NULL;
	leave(&c);
	test_recorder_close(r);
}

/* A drain ends when it has taken long: the rest is for the next. */
static void pump_all(struct test_recorder *r)
{
	for (int n = 0; n < 50; n++)
		CHECK(test_recorder_pump(r) == 0);
}

static void a_program_that_reports_too_many_places_is_told_from_others(void)
{
	struct test_recorder *r = open_recorder(NULL);
	uint64_t now = clock_now_ns();
	struct client c[2];

	r->shared.places = code_places_new();
	for (int n = 0; n < 2; n++) {
		CHECK(join(&c[n], r));
		put_device(&c[n], "Simulated GPU 0");
	}
	for (uint32_t n = 0; n < CODE_PLACES_INSTANCE_MAX + 10; n++) {
		put_code(&c[0], (uint64_t)n << 12, 0x100, now - 1000, false);
		if (n % 500 == 499)
			pump_all(r);
	}
	put_code(&c[0], 0, CODE_PLACE_MAX_BYTES + 1, now - 1000, false);
	put_code(&c[1], 0x8000100, 0x100, now - 1000, false);
	pump_all(r);
	CHECK(code_places_count(r->shared.places) == CODE_PLACES_INSTANCE_MAX + 1);
	CHECK(test_recorder_loss(r, LOSS_STALLS_PLACES) == 11);
	CHECK(places_at(r, 0x8000100, now) == 1);
	for (int n = 0; n < 2; n++)
		leave(&c[n]);
	code_places_free(r->shared.places);
	r->shared.places = NULL;
	test_recorder_close(r);
}

int main(void)
{
	RUN(code_of_kernels_is_known_by_its_place_and_time);
	RUN(code_that_is_gone_is_that_of_its_device);
	RUN(a_program_that_reports_too_many_places_is_told_from_others);
	RUN(samples_reach_the_profile_with_their_window_function_and_reason);
	RUN(a_launch_is_named_in_exact_windows_only);
	RUN(a_window_that_cannot_be_is_counted_and_left_out_with_its_rows);
	RUN(rows_for_a_reason_that_was_not_sent_are_counted_and_left_out);
	RUN(what_no_library_would_send_ends_the_ring);
	RUN(functions_stay_when_the_library_forgets_its_strings);
	RUN(a_refusal_is_counted_by_process_and_reported_once_by_kind);
	RUN(a_stranger_s_claim_is_reported_and_nothing_is_lost);
	RUN(how_long_a_program_was_held_is_said);
	RUN(samples_that_never_came_are_reported_where_they_came_too_fast);
	RUN(samples_that_never_came_are_reported_once);
	RUN(samples_that_never_came_are_reported_of_the_tracer_whose_they_are);
	RUN(refusals_of_one_kind_are_reported_for_each_vendor);
	RUN(records_of_every_kind_and_API_do_no_harm);
	RUN(what_the_library_could_not_send_becomes_losses);
	RUN(more_samples_may_be_lost_at_once_than_fit_into_32_bits);
	RUN(rows_behind_a_record_that_never_came_belong_to_no_window);
	RUN(an_image_is_kept_for_the_functions_that_name_its_checksum);
	RUN(an_image_that_can_still_change_or_is_of_another_size_is_not_kept);
	RUN(messages_that_are_no_images_are_nothing_and_leave_no_descriptors);
	RUN(images_that_were_sent_before_the_end_are_all_kept);
	return tap_end();
}
