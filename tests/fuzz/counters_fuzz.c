// SPDX-License-Identifier: MIT
/*
 * What the process that samples hardware counters sends: NVIDIA's libraries run in it, so it may be
 * anything. The input is a list of messages, each with its size, and of devices that the program
 * uses meanwhile.
 */
#include <string.h>

#include "base/clock.h"
#include "fuzz.h"
#include "gpu/nvidia/counter_messages.h"
#include "gpu/nvidia/counters.h"

#define RUNS_EACH 256 /* with one profile; its tables would else grow for ever */

static struct profile_writer *writer;
static unsigned int runs;
static uint32_t device;

static void open_profile(void)
{
	struct profile_device d = {.sm_count = 1};

	if (writer)
		profile_writer_abort(writer);
	require(!profile_writer_open(&writer, "/dev/null"));
	require(!profile_add_device(writer, &d, &device));
}

/* Samples of now, as the others would be left out for their times. */
static void handle_samples(struct counters *c, struct bytes *b)
{
	struct {
		struct counter_samples head;
		uint64_t times[2];
		double values[COUNTER_KINDS_MAX];
	} m = {.head = {.head = {COUNTER_SAMPLES, take(b, 4)}, .count = 1, .metrics = take(b, 8)}};

	m.times[1] = clock_now_ns();
	m.times[0] = m.times[1] - take(b, 256);
	for (uint32_t n = 0; n < m.head.metrics && n < COUNTER_KINDS_MAX; n++)
		m.values[n] = take(b, 256);
	require(!counters_handle(
		c, &m, sizeof(m.head) + sizeof(m.times) + m.head.metrics * sizeof(m.values[0])));
}

static void handle_metric(struct counters *c, struct bytes *b)
{
	struct counter_metric m = {
		.head = {COUNTER_METRIC, take(b, 4)}, .kind = take(b, 32), .candidate = take(b, 3)};

	require(!counters_handle(c, &m, sizeof(m)));
}

static void handle_device(struct counters *c, struct bytes *b)
{
	struct counter_device m = {
		.head = {COUNTER_DEVICE, take(b, 4)}, .uuid = {(uint8_t)take(b, 4)}};

	require(!counters_handle(c, &m, sizeof(m)));
}

static void handle_any(struct counters *c, struct bytes *b)
{
	uint8_t message[256];
	size_t size = take(b, sizeof(message));

	if (size > b->size)
		size = b->size;
	memcpy(message, b->data, size);
	b->data += size;
	b->size -= size;
	require(!counters_handle(c, message, size));
}

static void do_step(struct counters *c, struct bytes *b)
{
	uint8_t uuid[16] = {0};

	switch (take(b, 5)) {
	case 0:
		handle_device(c, b);
		break;
	case 1:
		handle_metric(c, b);
		break;
	case 2:
		handle_samples(c, b);
		break;
	case 3:
		uuid[0] = (uint8_t)take(b, 4);
		require(!counters_use(c, uuid, device));
		break;
	default:
		handle_any(c, b);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct counters_options options = {.interval_ns = 1000000};
	struct bytes b = {data, size};
	struct counters *c;

	if (runs++ % RUNS_EACH == 0)
		open_profile();
	require(!counters_open_without_sampler(&c, &options, writer));
	while (b.size)
		do_step(c, &b);
	counters_close(c);
	/* What is on its way to the file could be taken for lost memory. */
	require(!profile_writer_flush(writer));
	return 0;
}
