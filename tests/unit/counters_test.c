// SPDX-License-Identifier: MIT
/* What the sampler of hardware counters sends becomes counts of the profile, and none of it is
 * trusted. */
#include "gpu/nvidia/counters.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu/nvidia/counter_messages.h"
#include "profile/reader.h"
#include "tap.h"

#define SAMPLES 3

struct fixture {
	char path[128];
	struct profile_writer *w;
	struct counters *c;
	uint32_t device;
	uint64_t now_ns;
};

static const uint8_t uuid[16] = {1, 2, 3};

static void begin(struct fixture *f)
{
	struct counters_options options = {.interval_ns = NS_PER_MS};
	struct profile_device device = {.sm_count = 132};

	*f = (struct fixture){0};
	snprintf(f->path, sizeof(f->path), "/tmp/counters_test.%d.xpu", (int)getpid());
	CHECK(!profile_writer_open(&f->w, f->path));
	memcpy(device.uuid, uuid, sizeof(uuid));
	CHECK(!profile_add_device(f->w, &device, &f->device));
	CHECK(!counters_open_without_sampler(&f->c, &options, f->w));
	f->now_ns = clock_now_ns();
}

static int handle(struct fixture *f, const void *message, size_t size)
{
	return counters_handle(f->c, message, size);
}

static void send_device(struct fixture *f, uint32_t number)
{
	struct counter_device m = {.head = {COUNTER_DEVICE, number}};

	memcpy(m.uuid, uuid, sizeof(uuid));
	CHECK(!handle(f, &m, sizeof(m)));
}

static void send_metric(struct fixture *f, uint32_t kind, uint32_t candidate)
{
	struct counter_metric m = {{COUNTER_METRIC, 0}, kind, candidate};

	CHECK(!handle(f, &m, sizeof(m)));
}

static void send_start(struct fixture *f)
{
	struct counter_head m = {COUNTER_STARTED, COUNTER_DEVICES};

	CHECK(!handle(f, &m, sizeof(m)));
}

struct sent_samples {
	struct counter_samples head;
	struct {
		uint64_t times[2];
		double values[2];
	} samples[SAMPLES];
};

static struct sent_samples samples(const struct fixture *f, uint32_t count)
{
	struct sent_samples m = {.head = {{COUNTER_SAMPLES, 0}, count, 2}};

	for (uint32_t n = 0; n < SAMPLES; n++) {
		m.samples[n].times[0] = f->now_ns - (SAMPLES - n) * NS_PER_MS;
		m.samples[n].times[1] = m.samples[n].times[0] + NS_PER_MS;
		m.samples[n].values[0] = n;
		m.samples[n].values[1] = 10.0 * n;
	}
	return m;
}

static size_t size_of(uint32_t count)
{
	return sizeof(struct counter_samples) +
	       count * sizeof(((struct sent_samples *)0)->samples[0]);
}

/* Two counters on device 0, and samples of them. */
static void send_usual(struct fixture *f)
{
	struct sent_samples m = samples(f, SAMPLES);

	send_device(f, 0);
	send_metric(f, 0, 0);
	send_metric(f, 2, 0);
	send_start(f);
	CHECK(!handle(f, &m, size_of(SAMPLES)));
}

/* Closes the profile and counts what is in it. */
static uint64_t end(struct fixture *f, struct profile_reader **ret)
{
	struct profile_event e;
	uint64_t counts = 0;

	counters_close(f->c);
	CHECK(!profile_writer_close(f->w));
	CHECK(!profile_reader_open(ret, f->path));
	unlink(f->path);
	while (profile_reader_next(*ret, &e) == 1)
		counts += e.kind == EVENT_COUNT;
	CHECK(!profile_reader_incomplete(*ret));
	return counts;
}

static uint64_t end_counts(struct fixture *f)
{
	struct profile_reader *r;
	uint64_t counts = end(f, &r);

	profile_reader_close(r);
	return counts;
}

static void samples_of_a_device_that_is_used_are_written(void)
{
	struct profile_reader *r;
	struct fixture f;

	begin(&f);
	CHECK(!counters_use(f.c, uuid, f.device));
	send_usual(&f);
	CHECK(end(&f, &r) == 2 * SAMPLES);
	CHECK(profile_counts(r).counters == 2);
	CHECK(!strcmp(profile_string(r, profile_counter(r, 2)->name, NULL),
		"dram__bytes_read.sum.per_second"));
	CHECK(!strcmp(profile_string(r, profile_counter(r, 2)->unit, NULL), "byte/s"));
	CHECK(profile_meta_number(r, META_COUNTERS, 0) == NS_PER_MS);
	profile_reader_close(r);
}

static void those_from_before_it_was_reported_as_used_are_written_as_well(void)
{
	struct fixture f;

	begin(&f);
	send_usual(&f);
	CHECK(!counters_use(f.c, uuid, f.device));
	CHECK(!counters_use(f.c, uuid, f.device));
	CHECK(end_counts(&f) == 2 * SAMPLES);
}

static void those_of_a_device_that_nobody_uses_are_not(void)
{
	static const uint8_t another[16] = {9};
	struct profile_reader *r;
	struct fixture f;

	begin(&f);
	send_usual(&f);
	CHECK(!counters_use(f.c, another, f.device));
	CHECK(end(&f, &r) == 0);
	CHECK(!profile_meta(r, META_COUNTERS));
	profile_reader_close(r);
}

static void what_is_lost_counts_for_a_device_that_is_used(void)
{
	struct counter_lost lost = {{COUNTER_LOST, 0}, 7};
	struct profile_reader *r;
	struct fixture f;

	begin(&f);
	send_usual(&f);
	CHECK(!handle(&f, &lost, sizeof(lost)));
	CHECK(!counters_use(f.c, uuid, f.device));
	CHECK(!handle(&f, &lost, sizeof(lost)));
	end(&f, &r);
	CHECK(profile_loss_count(r, LOSS_COUNTS_DROPPED) == 14);
	profile_reader_close(r);
}

#define MANY 1000 /* samples in a message */

/* Of what came before a device was used 16 MiB are kept. */
static void early_samples_that_found_no_room_are_counted_when_the_device_is_used(void)
{
	struct {
		struct counter_samples head;
		struct {
			uint64_t times[2];
			double value;
		} samples[MANY];
	} m = {.head = {{COUNTER_SAMPLES, 0}, MANY, 1}};
	struct profile_totals totals;
	struct fixture f;

	begin(&f);
	send_device(&f, 0);
	send_metric(&f, 0, 0);
	send_start(&f);
	for (uint64_t n = 0; n < MANY; n++) {
		m.samples[n].times[0] = f.now_ns + n;
		m.samples[n].times[1] = f.now_ns + n + 1;
	}
	for (int n = 0; n < 1000; n++)
		CHECK(!handle(&f, &m, sizeof(m)));
	CHECK(!counters_use(f.c, uuid, f.device));
	profile_writer_totals(f.w, &totals);
	CHECK(totals.counts >= 300000 && totals.counts < 800000);
	CHECK(totals.counts + totals.losses[LOSS_COUNTS_DROPPED] == 1000 * MANY);
	CHECK(end_counts(&f) == totals.counts);
}

static void a_refusal_is_reported_when_the_device_is_used(void)
{
	struct counter_refused refused = {{COUNTER_REFUSED, 0}, COUNTERS_BUSY, 26};
	struct profile_reader *r;
	struct fixture f;

	begin(&f);
	send_device(&f, 0);
	CHECK(!handle(&f, &refused, sizeof(refused)));
	CHECK(!*counters_refusals(f.c));
	CHECK(!counters_use(f.c, uuid, f.device));
	CHECK(strstr(counters_refusals(f.c), "end other profilers") &&
		strstr(counters_refusals(f.c), "26"));
	end(&f, &r);
	CHECK(profile_meta(r, META_COUNTERS_REFUSED));
	CHECK(profile_loss_count(r, LOSS_COUNTS_REFUSED) == 1);
	profile_reader_close(r);
}

static void one_of_all_devices_is_reported_at_once_and_once(void)
{
	struct counter_refused refused = {{COUNTER_REFUSED, COUNTER_DEVICES}, COUNTERS_NO_CUPTI, 0};
	struct fixture f;

	begin(&f);
	CHECK(!handle(&f, &refused, sizeof(refused)));
	CHECK(!handle(&f, &refused, sizeof(refused)));
	CHECK(strstr(counters_refusals(f.c), "no CUPTI") && !strchr(counters_refusals(f.c), '\n'));
	end_counts(&f);
}

static void samples_with_impossible_times_or_values_are_counted_and_left_out(void)
{
	struct sent_samples m;
	struct profile_reader *r;
	struct fixture f;

	begin(&f);
	CHECK(!counters_use(f.c, uuid, f.device));
	send_usual(&f);
	m = samples(&f, SAMPLES);
	m.samples[0].times[1] = m.samples[0].times[0];
	m.samples[1].times[1] += 3600 * NS_PER_SECOND;
	m.samples[2].values[1] = NAN;
	CHECK(!handle(&f, &m, size_of(SAMPLES)));
	m = samples(&f, 1);
	m.samples[0].times[0] = 0;
	CHECK(!handle(&f, &m, size_of(1)));
	CHECK(end(&f, &r) == 2 * SAMPLES);
	CHECK(profile_loss_count(r, LOSS_GPU_INVALID) == 4);
	profile_reader_close(r);
}

/* Each ends the sampler with a line, and adds nothing. */
static void expect_nonsense(const void *message, size_t size)
{
	struct fixture f;

	begin(&f);
	CHECK(!counters_use(f.c, uuid, f.device));
	send_usual(&f);
	CHECK(!handle(&f, message, size));
	CHECK(strstr(counters_refusals(f.c), "no sense"));
	CHECK(end_counts(&f) == 2 * SAMPLES);
}

static void messages_that_cannot_be_end_the_sampler(void)
{
	struct counter_device device = {.head = {COUNTER_DEVICE, 0}};
	struct counter_metric metric = {{COUNTER_METRIC, 0}, 0, 0};
	struct counter_refused refused = {{COUNTER_REFUSED, 0}, COUNTERS_REFUSALS, 0};
	struct counter_lost lost = {{COUNTER_LOST, 1}, 1};
	struct counter_head head = {99, 0};
	struct sent_samples m;
	struct fixture f;

	begin(&f);
	m = samples(&f, SAMPLES);
	end_counts(&f);
	expect_nonsense(&head, sizeof(head));
	expect_nonsense(&head, 3);
	head.kind = COUNTER_ENDED;
	expect_nonsense(&head, sizeof(head));	  /* before it was asked to end */
	expect_nonsense(&device, sizeof(device)); /* sent twice */
	device.head.device = COUNTER_DEVICES;
	expect_nonsense(&device, sizeof(device));
	expect_nonsense(&metric, sizeof(metric)); /* after the start */
	expect_nonsense(&refused, sizeof(refused));
	expect_nonsense(&lost, sizeof(lost)); /* of a device that was not described */
	lost.head.device = 0;
	lost.samples = UINT64_MAX;
	expect_nonsense(&lost, sizeof(lost));
	expect_nonsense(&m, size_of(SAMPLES) - 8);
	expect_nonsense(&m, size_of(SAMPLES - 1));
	m.head.metrics = 3;
	expect_nonsense(&m, size_of(SAMPLES));
	m.head.metrics = 0;
	expect_nonsense(&m, size_of(SAMPLES));
	m.head.metrics = 2;
	m.head.count = UINT32_MAX;
	expect_nonsense(&m, size_of(SAMPLES));
}

static void every_metric_is_found_by_its_row(void)
{
	size_t rows = 0;

	for (; counter_kind_at(rows); rows++)
		for (const char *const *name = counter_kind_at(rows)->candidates; *name; name++)
			CHECK(counter_kind_of(*name) == (int)rows);
	CHECK(rows >= 10 && rows <= COUNTER_KINDS_MAX);
	CHECK(counter_kind_of("dram__bytes_read.sum.per_secon") == -1 && counter_kind_of("") == -1);
	for (size_t n = 0; n < rows; n++)
		CHECK(strlen(counter_kind_at(n)->heading) <= 9 && *counter_kind_at(n)->words);
}

int main(void)
{
	RUN(samples_of_a_device_that_is_used_are_written);
	RUN(those_from_before_it_was_reported_as_used_are_written_as_well);
	RUN(those_of_a_device_that_nobody_uses_are_not);
	RUN(what_is_lost_counts_for_a_device_that_is_used);
	RUN(early_samples_that_found_no_room_are_counted_when_the_device_is_used);
	RUN(a_refusal_is_reported_when_the_device_is_used);
	RUN(one_of_all_devices_is_reported_at_once_and_once);
	RUN(samples_with_impossible_times_or_values_are_counted_and_left_out);
	RUN(messages_that_cannot_be_end_the_sampler);
	RUN(every_metric_is_found_by_its_row);
	return tap_end();
}
