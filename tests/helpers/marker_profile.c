// SPDX-License-Identifier: MIT
/*
 * Writes a recording with markers and metrics of a known course, for tests of the time axis.
 *
 *	marker_profile FILE [hostile]
 *
 * Ten seconds of two threads, each sampled a hundred times a second in a function of its own. The
 * trainer has a step in each second:
 *
 *	step      |================================|		800 ms
 *	forward   |==========|					300 ms
 *	attention    |===|					100 ms, 100 ms later
 *	backward                |===============|		400 ms, 350 ms later
 *
 * and at 4.5 s a moment, "checkpoint", and at 7.95 s the range "tiny" of a microsecond. The loader
 * has two ranges that overlap, "request A" (1 s to 3 s) and "request B" (2 s to 4 s), and "epoch" of
 * the domain "data", from 5 s on, which has not ended. The metric "loss" has a value a second.
 *
 * With "hostile": a name of a megabyte, one that is markup and changes its direction, and 200
 * ranges that lie in one another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer.h"

#define MS	 1000000ull
#define SECOND	 (1000 * MS)
#define START_NS (1000 * SECOND)
#define SECONDS	 10
#define LONG	 1000000
#define DEEP	 200

struct made {
	struct profile_writer *w;
	uint32_t process, trainer, loader;
};

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "marker_profile: %s\n", error_text());
	exit(1);
}

static uint32_t string(struct made *m, const char *text)
{
	uint32_t id = 0;

	check(profile_add_string(m->w, text, strlen(text), &id));
	return id;
}

static uint32_t stack_of(struct made *m, const char *function)
{
	struct profile_location l = {.kind = FRAME_PYTHON,
		.name = string(m, function),
		.file = string(m, "app.py"),
		.line = 1};
	uint32_t location = 0, stack = 0;

	check(profile_add_location(m->w, &l, &location));
	check(profile_add_stack_node(m->w, 0, location, &stack));
	return stack;
}

static void add_threads(struct made *m)
{
	struct profile_process p = {.pid = 200, .start_ns = START_NS, .comm = string(m, "app")};
	struct profile_thread trainer = {.tid = 200, .name = string(m, "trainer")},
			      loader = {.tid = 201, .name = string(m, "loader")};

	check(profile_add_process(m->w, &p, &m->process));
	trainer.process = loader.process = m->process;
	check(profile_add_thread(m->w, &trainer, &m->trainer));
	check(profile_add_thread(m->w, &loader, &m->loader));
}

static void write_samples(struct made *m, uint32_t thread, const char *function)
{
	uint32_t stack = stack_of(m, function);

	for (uint64_t n = 0; n < SECONDS * 100; n++) {
		struct profile_sample s = {.time_ns = START_NS + n * 10 * MS,
			.period_ns = 10 * MS,
			.thread = thread,
			.stack = stack};

		check(profile_write_sample(m->w, &s));
	}
}

static void range(
	struct made *m, uint32_t thread, const char *name, uint64_t from_ns, uint64_t length_ns)
{
	struct profile_marker k = {.start_ns = START_NS + from_ns,
		.duration_ns = length_ns,
		.thread = thread,
		.name = string(m, name),
		.kind = MARKER_RANGE};

	check(profile_write_marker(m->w, &k));
}

/* As they end. */
static void write_steps(struct made *m)
{
	for (uint64_t at_ns = 0; at_ns < SECONDS * SECOND; at_ns += SECOND) {
		range(m, m->trainer, "attention", at_ns + 100 * MS, 100 * MS);
		range(m, m->trainer, "forward", at_ns, 300 * MS);
		if (at_ns == 4 * SECOND) {
			struct profile_marker k = {.start_ns = START_NS + at_ns + 500 * MS,
				.thread = m->trainer,
				.name = string(m, "checkpoint"),
				.kind = MARKER_MOMENT};

			check(profile_write_marker(m->w, &k));
		}
		range(m, m->trainer, "backward", at_ns + 350 * MS, 400 * MS);
		range(m, m->trainer, "step", at_ns, 800 * MS);
		if (at_ns == 7 * SECOND)
			range(m, m->trainer, "tiny", at_ns + 950 * MS, 1000);
	}
}

static void write_requests(struct made *m)
{
	struct profile_marker k = {.start_ns = START_NS + 5 * SECOND,
		.duration_ns = 5 * SECOND,
		.thread = m->loader,
		.name = string(m, "epoch"),
		.domain = string(m, "data"),
		.kind = MARKER_RANGE,
		.unfinished = true};

	range(m, m->loader, "request A", SECOND, 2 * SECOND);
	range(m, m->loader, "request B", 2 * SECOND, 2 * SECOND);
	check(profile_write_marker(m->w, &k));
}

static void write_metric(struct made *m)
{
	struct profile_counter c = {.name = string(m, "loss")};
	uint32_t id = 0;

	check(profile_add_counter(m->w, &c, &id));
	for (uint64_t n = 0; n < SECONDS; n++) {
		struct profile_count v = {.start_ns = START_NS + n * SECOND,
			.duration_ns = SECOND,
			.counter = id,
			.value = 10 - (double)n};

		check(profile_write_count(m->w, &v));
	}
}

static void write_hostile(struct made *m)
{
	char *name = malloc(LONG + 1);

	if (!name)
		exit(1);
	memset(name, 'x', LONG);
	name[LONG] = '\0';
	range(m, m->loader, name, SECOND, SECOND);
	free(name);
	range(m, m->loader, "<img src=x onerror=alert(1)>\xe2\x80\xae\x1b[31m", 3 * SECOND, SECOND);
	for (uint64_t n = DEEP; n > 0; n--)
		range(m, m->trainer, "deep", n * MS, 9 * SECOND - 2 * n * MS);
}

static void set_number(struct made *m, const char *key, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	check(profile_set_meta(m->w, key, text));
}

int main(int argc, char **argv)
{
	struct made m = {0};

	if (argc < 2) {
		fprintf(stderr, "usage: marker_profile FILE [hostile]\n");
		return 2;
	}
	check(profile_writer_open(&m.w, argv[1]));
	set_number(&m, META_START_NS, START_NS);
	set_number(&m, META_END_NS, START_NS + SECONDS * SECOND);
	check(profile_set_meta(m.w, META_SAMPLE_HZ, "100"));
	check(profile_set_meta(m.w, META_COMMAND, "app"));
	add_threads(&m);
	write_samples(&m, m.trainer, "train");
	write_samples(&m, m.loader, "load");
	if (argc > 2) {
		write_hostile(&m);
	} else {
		write_steps(&m);
		write_requests(&m);
		write_metric(&m);
	}
	check(profile_writer_end(m.w));
	return profile_writer_close(m.w) != 0;
}
