// SPDX-License-Identifier: MIT
/*
 * Writes profiles with events of GPU drivers, for tests of what shows them.
 *
 *	driver_profile small FILE     below
 *	driver_profile hostile FILE   names that try to break out, more kinds than are listed, times of all sizes
 *
 * "small": 100 ms, in which two processes use two rings; `game` was recorded, `browser` was not.
 *
 *	gfx     game: 10 jobs from 10 ms on, one every 2 ms, queued for 500 us and run for 1 ms;
 *	        the first three are queued at the same time
 *	        browser: one job from 40 ms on, queued for 10 ms and run for 5 ms
 *	        game: a job from 90 ms on that does not end
 *	sdma0   game: one that waits 200 us for gfx, and runs 100 us
 *	        game: buffers of 1 MiB and 3 MiB are made
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer.h"

#define MS 1000000ull
#define US 1000ull

struct made {
	struct profile_writer *w;
	uint32_t game, browser; /* threads */
	uint64_t jobs;
};

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "driver_profile: %s\n", error_text());
	exit(1);
}

static uint32_t string(struct made *m, const char *text)
{
	uint32_t id = 0;

	check(profile_add_string(m->w, text, strlen(text), &id));
	return id;
}

static uint32_t thread(struct made *m, uint32_t pid, const char *name)
{
	struct profile_process p = {.pid = pid, .comm = string(m, name)};
	struct profile_thread t = {.tid = pid, .name = p.comm};
	uint32_t id;

	check(profile_add_process(m->w, &p, &t.process));
	check(profile_add_thread(m->w, &t, &id));
	return id;
}

static void write_driver(
	struct made *m, struct profile_driver e, const char *ring, const char *name)
{
	e.source = string(m, "drm");
	e.ring = *ring ? string(m, ring) : 0;
	e.name = string(m, name);
	e.foreign = e.thread == m->browser;
	check(profile_write_driver(m->w, &e));
}

static void job(struct made *m, uint32_t of, const char *ring, uint64_t start_ns,
	uint64_t queued_ns, uint64_t run_ns)
{
	struct profile_driver e = {.start_ns = start_ns,
		.duration_ns = queued_ns,
		.job = ++m->jobs,
		.thread = of,
		.kind = DRIVER_QUEUED};

	if (queued_ns)
		write_driver(m, e, ring, "queued");
	e.start_ns += queued_ns;
	e.duration_ns = run_ns;
	e.kind = DRIVER_RUN;
	write_driver(m, e, ring, "run");
}

static void buffer(struct made *m, uint64_t time_ns, uint64_t bytes)
{
	write_driver(m,
		(struct profile_driver){.start_ns = time_ns,
			.bytes = bytes,
			.thread = m->game,
			.kind = DRIVER_MOMENT},
		"", "BO_CREATE");
}

static void write_small(struct made *m)
{
	buffer(m, 5 * MS, 1 << 20);
	buffer(m, 6 * MS, 3 << 20);
	for (uint64_t n = 0; n < 10; n++) {
		uint64_t runs = 12 * MS + n * 2 * MS, queued = n < 3 ? runs - 10 * MS : 500 * US;

		job(m, m->game, "gfx", runs - queued, queued, MS);
	}
	write_driver(m,
		(struct profile_driver){.start_ns = 33 * MS,
			.duration_ns = 200 * US,
			.thread = m->game,
			.kind = DRIVER_WAIT,
			.job = m->jobs + 1},
		"sdma0", "wait for gfx");
	job(m, m->game, "sdma0", 33 * MS + 200 * US, 0, 100 * US);
	job(m, m->browser, "gfx", 40 * MS, 10 * MS, 5 * MS);
	write_driver(m,
		(struct profile_driver){.start_ns = 90 * MS,
			.duration_ns = 10 * MS,
			.thread = m->game,
			.kind = DRIVER_RUN,
			.job = m->jobs + 1,
			.unfinished = true},
		"gfx", "run");
}

static void write_hostile(struct made *m)
{
	for (unsigned int n = 0; n < 5000; n++) {
		char name[64];

		snprintf(name, sizeof(name), "\033[31m\"},{\n%u", n);
		job(m, m->browser, name, n ? n : UINT64_MAX, n % 3, n % 7 ? n : 1ull << 40);
		write_driver(m,
			(struct profile_driver){
				.start_ns = n, .kind = DRIVER_MOMENT, .bytes = 1ull << 40},
			name, name);
	}
}

int main(int argc, char **argv)
{
	struct made m = {0};

	if (argc != 3)
		return 2;
	check(profile_writer_open(&m.w, argv[2]));
	m.game = thread(&m, 100, "game");
	m.browser = thread(&m, 200, strcmp(argv[1], "hostile") ? "browser" : "\033[2J\"");
	check(profile_set_meta(m.w, META_START_NS, "1"));
	check(profile_set_meta(m.w, META_END_NS, "100000001"));
	check(profile_set_meta(m.w, META_DRIVERS, "drm"));
	if (!strcmp(argv[1], "small"))
		write_small(&m);
	else
		write_hostile(&m);
	check(profile_count_loss(m.w, LOSS_DRIVER_RING_FULL, 3));
	check(profile_writer_close(m.w));
	return 0;
}
