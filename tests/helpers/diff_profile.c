// SPDX-License-Identifier: MIT
/*
 * Writes recordings of one program, each of another run, for tests that compare them.
 *
 *	diff_profile FILE SEED SECONDS [GROWN [SLOW]]
 *
 * A thread repeats an iteration of about 50 ms: 12 functions under 3 callers, each with its share
 * of the time, give or take a fifth, and GPU work with the same jitter. Samples come a thousand
 * times a second. A second thread runs so seldom that it has no sample, or not at all. GROWN is how
 * many points the share of function3, 15 % of the time, has more; the others have less, in
 * proportion. With GROWN, function12 is called, too, for 3 % of the time, and function11 is not.
 * With SLOW each iteration is a marker "step", and in each SLOW-th of them function12 is called for
 * 100 ms.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/writer.h"
#include "random.h"

#define MS	  1000000ull
#define START_NS  (77 * MS)
#define FUNCTIONS 13

static const double shares[FUNCTIONS] = {
	0.20, 0.12, 0.10, 0.15, 0.09, 0.08, 0.07, 0.06, 0.05, 0.03, 0.02, 0.03, 0};

struct made {
	struct profile_writer *w;
	uint32_t thread, stack[FUNCTIONS], op, api;
	double share[FUNCTIONS];
	uint64_t at_ns, end_ns, next_sample_ns;
	uint32_t correlation;
	unsigned long slow, iterations;
};

static void check(int error)
{
	if (!error)
		return;
	fprintf(stderr, "diff_profile: %s\n", error_text());
	exit(1);
}

static uint32_t string(struct made *m, const char *text)
{
	uint32_t id = 0;

	check(profile_add_string(m->w, text, strlen(text), &id));
	return id;
}

static uint32_t stack(struct made *m, const char *format, unsigned int n, uint32_t parent)
{
	struct profile_location l = {.kind = FRAME_PYTHON, .file = string(m, "app.py")};
	uint32_t location = 0, id = 0;
	char name[32];

	snprintf(name, sizeof(name), format, n);
	l.name = string(m, name);
	check(profile_add_location(m->w, &l, &location));
	check(profile_add_stack_node(m->w, parent, location, &id));
	return id;
}

static void set_shares(struct made *m, double grown)
{
	double rest = 1 - shares[3] - shares[11];
	double left = rest - grown;

	for (size_t n = 0; n < FUNCTIONS; n++)
		m->share[n] = grown > 0 ? shares[n] * left / rest : shares[n];
	if (grown <= 0)
		return;
	m->share[3] = shares[3] + grown;
	m->share[11] = 0;
	m->share[12] = shares[11];
}

static void add_tables(struct made *m)
{
	struct profile_process p = {.pid = 100 + random_below(30000), .comm = string(m, "app")};
	struct profile_thread t = {.name = p.comm};
	struct profile_device d = {.name = string(m, "Example GPU"), .uuid = {1}};
	struct profile_op op = {.kind = OP_KERNEL, .name = string(m, "kernel"), .grid = {1, 1, 1}};
	uint32_t root;

	check(profile_add_process(m->w, &p, &t.process));
	t.tid = p.pid;
	check(profile_add_thread(m->w, &t, &m->thread));
	op.process = t.process;
	check(profile_add_device(m->w, &d, &op.device));
	check(profile_add_op(m->w, &op, &m->op));
	m->api = string(m, "cudaLaunchKernel");
	root = stack(m, "main", 0, 0);
	for (unsigned int n = 0; n < FUNCTIONS; n++)
		m->stack[n] = stack(m, "function%u", n, stack(m, "caller%u", n % 3, root));
}

/* A function runs so long, where it is sampled. */
static void spend(struct made *m, uint32_t n, uint64_t ns)
{
	m->at_ns += ns;
	for (; m->next_sample_ns < m->at_ns; m->next_sample_ns += MS - 50000 + random_below(100000))
		check(profile_write_sample(
			m->w, &(struct profile_sample){.time_ns = m->next_sample_ns,
				      .period_ns = MS,
				      .thread = m->thread,
				      .stack = m->stack[n]}));
}

/* A thread of which the scheduler alone knows that it ran, for up to 1 % of the time. */
static void add_unsampled(struct made *m)
{
	struct profile_account a = {
		.run_ns = (m->at_ns - START_NS) / 1000 * random_below(10), .end_ns = m->at_ns};
	struct profile_process p = {.pid = 100, .comm = string(m, "helper")};
	struct profile_thread t = {.tid = 100, .name = p.comm};
	uint32_t thread;

	check(profile_add_process(m->w, &p, &t.process));
	check(profile_add_thread(m->w, &t, &thread));
	check(profile_add_account(m->w, thread, &a));
}

static uint64_t about(double ns)
{
	return (uint64_t)(ns * (0.8 + (double)random_below(1000) / 2500));
}

static void iterate(struct made *m)
{
	double length_ns = (double)(40 * MS + random_below(20 * MS));
	uint64_t start_ns = m->at_ns;
	struct profile_work w = {.start_ns = m->at_ns,
		.duration_ns = about(0.3 * length_ns),
		.launch_ns = m->at_ns,
		.op = m->op,
		.thread = m->thread,
		.stack = m->stack[0],
		.api = m->api,
		.instance = 1,
		.correlation = ++m->correlation};

	check(profile_write_work(m->w, &w));
	for (uint32_t n = 0; n < FUNCTIONS; n++)
		spend(m, n, about(m->share[n] * length_ns));
	if (!m->slow)
		return;
	if (++m->iterations % m->slow == 0)
		spend(m, 12, 100 * MS);
	check(profile_write_marker(m->w, &(struct profile_marker){.kind = MARKER_RANGE,
						 .thread = m->thread,
						 .name = string(m, "step"),
						 .start_ns = start_ns,
						 .duration_ns = m->at_ns - start_ns}));
}

static void set_number(struct made *m, const char *key, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	check(profile_set_meta(m->w, key, text));
}

int main(int argc, char **argv)
{
	struct made m = {.at_ns = START_NS, .next_sample_ns = START_NS};

	if (argc < 4) {
		fprintf(stderr, "usage: diff_profile FILE SEED SECONDS [GROWN [SLOW]]\n");
		return 2;
	}
	random_state += strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull;
	m.end_ns = START_NS + strtoull(argv[3], NULL, 10) * 1000 * MS;
	set_shares(&m, argc > 4 ? strtod(argv[4], NULL) / 100 : 0);
	m.slow = argc > 5 ? strtoul(argv[5], NULL, 10) : 0;
	check(profile_writer_open(&m.w, argv[1]));
	add_tables(&m);
	while (m.at_ns < m.end_ns)
		iterate(&m);
	add_unsampled(&m);
	set_number(&m, META_START_NS, START_NS);
	set_number(&m, META_END_NS, m.at_ns);
	check(profile_set_meta(m.w, META_SAMPLE_HZ, "1000"));
	check(profile_writer_end(m.w));
	return profile_writer_close(m.w) != 0;
}
