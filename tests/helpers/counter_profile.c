// SPDX-License-Identifier: MIT
/*
 * Writes profiles with hardware counters, for tests of what shows them.
 *
 *	counter_profile small FILE     below
 *	counter_profile hostile FILE   names that try to break out, counts of nothing, values and times
 *	                               of all sizes
 *	counter_profile refused FILE   a kernel, and why no counters were sampled
 *	counter_profile none FILE      a kernel, nobody asked for counters
 *
 * "small": samples every ms, from 10 ms on, two GPUs (the second is sampled for 3 ms and has no
 * work):
 *
 *	10 .. 14 ms   copy_rows runs all the time   SM 100 %   DRAM read 2 TB/s   L2 hit rate 25 %
 *	15 .. 16 ms   nothing                       0          0                  0
 *	17 ms         copy_rows, and gemm           80 %       1 TB/s             40 %
 *	18 .. 19 ms   gemm, 950 us of each          90 %, 70 % 0.5 TB/s           60 %
 *	20 ms         gemm, the first half          50 %       0.25 TB/s          60 %
 *	21 ms         lost
 *	22 ms         gemm, and a copy              40 %       0.1 TB/s           60 %
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
	uint32_t process, thread, devices[2];
	uint32_t sm, read, l2;
};

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "counter_profile: %s\n", error_text());
	exit(1);
}

static uint32_t string(struct made *m, const char *text)
{
	uint32_t id = 0;

	check(profile_add_string(m->w, text, strlen(text), &id));
	return id;
}

static uint32_t counter(struct made *m, const char *name, const char *unit)
{
	struct profile_counter c = {.name = string(m, name), .unit = *unit ? string(m, unit) : 0};
	uint32_t id;

	check(profile_add_counter(m->w, &c, &id));
	return id;
}

static void work(struct made *m, enum profile_op_kind kind, const char *name, uint64_t start_ns,
	uint64_t duration_ns)
{
	struct profile_op op = {.kind = kind,
		.process = m->process,
		.device = m->devices[0],
		.context = 1,
		.stream = 7,
		.copy_kind = kind == OP_COPY ? COPY_HTOD : 0,
		.name = name ? string(m, name) : 0,
		.grid = {1, 1, 1},
		.block = {32, 1, 1}};
	struct profile_work w = {.start_ns = start_ns,
		.duration_ns = duration_ns,
		.thread = m->thread,
		.join = JOIN_NO_CPU_SIDE};

	check(profile_add_op(m->w, &op, &w.op));
	check(profile_write_work(m->w, &w));
}

static void count(struct made *m, unsigned int device, uint32_t id, uint64_t ms, double value)
{
	struct profile_count c = {.start_ns = ms * MS,
		.duration_ns = MS,
		.device = m->devices[device],
		.counter = id,
		.value = value};

	check(profile_write_count(m->w, &c));
}

static void sample(struct made *m, uint64_t ms, double sm, double read, double l2)
{
	count(m, 0, m->sm, ms, sm);
	count(m, 0, m->read, ms, read);
	count(m, 0, m->l2, ms, l2);
}

static void begin(struct made *m, const char *path, const char *device_name)
{
	struct profile_process p = {.pid = 100};
	struct profile_thread t = {.tid = 100};
	struct profile_device d = {.uuid = {1}, .sm_count = 132};

	check(profile_writer_open(&m->w, path));
	p.comm = string(m, "app");
	check(profile_add_process(m->w, &p, &m->process));
	t.process = m->process;
	t.name = string(m, "app");
	check(profile_add_thread(m->w, &t, &m->thread));
	for (uint32_t n = 0; n < 2; n++) {
		d.name = string(m, device_name);
		d.ordinal = n;
		d.uuid[1] = (uint8_t)n;
		check(profile_add_device(m->w, &d, &m->devices[n]));
	}
	check(profile_set_meta(m->w, META_START_NS, "10000000"));
	check(profile_set_meta(m->w, META_END_NS, "24000000"));
}

static void write_small(struct made *m)
{
	check(profile_set_meta(m->w, META_COUNTERS, "1000000"));
	check(profile_count_loss(m->w, LOSS_COUNTS_DROPPED, 1));
	m->read = counter(m, "dram__bytes_read.sum.per_second", "byte/s");
	m->sm = counter(
		m, "TPC.TriageCompute.sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "%");
	m->l2 = counter(m, "LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct", "%");
	for (uint64_t ms = 10; ms < 15; ms++)
		sample(m, ms, 100, 2e12, 25);
	for (uint64_t ms = 15; ms < 17; ms++)
		sample(m, ms, 0, 0, 0);
	work(m, OP_KERNEL, "_Z9copy_rowsPKfPf", 10 * MS, 5 * MS);
	work(m, OP_KERNEL, "_Z9copy_rowsPKfPf", 17 * MS, 100 * US);
	work(m, OP_KERNEL, "gemm", 17 * MS + 200 * US, 800 * US);
	sample(m, 17, 80, 1e12, 40);
	sample(m, 18, 90, 5e11, 60);
	sample(m, 19, 70, 5e11, 60);
	sample(m, 20, 50, 2.5e11, 60);
	sample(m, 22, 40, 1e11, 60);
	for (uint64_t ms = 10; ms < 13; ms++)
		count(m, 1, m->sm, ms, 7);
	work(m, OP_KERNEL, "gemm", 18 * MS, 950 * US);
	work(m, OP_KERNEL, "gemm", 19 * MS + 50 * US, 950 * US);
	work(m, OP_KERNEL, "gemm", 20 * MS, 500 * US);
	work(m, OP_KERNEL, "gemm", 22 * MS, MS);
	work(m, OP_COPY, NULL, 22 * MS + 500 * US, 10 * US);
}

/* Counters that are not known, units that are no unit, intervals that overlap, end before they
 * begin or never. */
static void write_hostile(struct made *m)
{
	uint32_t wild = counter(m, "</script>\"\\\033[31m\n", "\"}],\"a\":[{");
	struct profile_count c = {
		.start_ns = UINT64_MAX - 5, .duration_ns = 4, .device = 1, .counter = wild};

	check(profile_set_meta(m->w, META_COUNTERS, "0"));
	m->sm = counter(
		m, "TPC.TriageCompute.sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "%");
	m->read = counter(m, "dram__bytes_read.sum.per_second", "byte/s");
	m->l2 = wild;
	sample(m, 10, 1e308, -1e308, 1e-300);
	sample(m, 10, -1, 1e30, 0);
	c.value = 1;
	check(profile_write_count(m->w, &c));
	c.start_ns = 10 * MS + 1;
	c.duration_ns = UINT32_MAX;
	check(profile_write_count(m->w, &c));
	c.duration_ns = 1ull << 60;
	check(profile_write_count(m->w, &c));
	work(m, OP_KERNEL, "_Z3badI\033", 0, 1ull << 62);
	work(m, OP_KERNEL, "", 10 * MS, 2 * MS);
}

int main(int argc, char **argv)
{
	struct made m = {0};

	if (argc != 3)
		return 2;
	begin(&m, argv[2], strcmp(argv[1], "hostile") ? "Example GPU" : "\033]0;GPU\007");
	if (!strcmp(argv[1], "small"))
		write_small(&m);
	else if (!strcmp(argv[1], "hostile"))
		write_hostile(&m);
	else
		work(&m, OP_KERNEL, "gemm", 10 * MS, MS);
	if (!strcmp(argv[1], "refused"))
		check(profile_set_meta(m.w, META_COUNTERS_REFUSED,
			"the driver lets only administrators sample hardware counters"));
	check(profile_writer_close(m.w));
	return 0;
}
