// SPDX-License-Identifier: MIT
/*
 * The governor over an API of ours, with a program that does nothing but call it: are bursts what
 * they are said to be, and does what they cost stay within the budget? Each case is a process.
 */
#include "inject/bursts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inject/apis.h"
#include "inject/asked.h"
#include "tap.h"

#define SLOTS	    4096
#define BURSTS_MAX  256
#define CALL_NS	    2000
#define RECORDED_NS 5000
#define SECOND_NS   1000000000ull
#define TICK_NS	    1000000

static struct {
	enum inject_follow follow;
	unsigned int wrong_changes, early_ends;
	uint64_t recorded_calls;
	bool graphs; /* calls launch graphs */
	uint32_t graph;
	uint64_t graph_ends_ns; /* 0: none runs */
} program;

static void follow(enum inject_follow what)
{
	static const enum inject_follow before[] = {
		[FOLLOW_NOTHING] = FOLLOW_WORK,
		[FOLLOW_CALLS] = FOLLOW_NOTHING,
		[FOLLOW_WORK] = FOLLOW_CALLS,
	};

	program.wrong_changes += program.follow != before[what];
	program.follow = what;
	program.early_ends += what == FOLLOW_NOTHING && now_ns() < program.graph_ends_ns;
}

static void flush(void)
{
}

/* The graph's work is reported when it has ended. */
static void drain(void)
{
	if (!program.graph_ends_ns || now_ns() < program.graph_ends_ns)
		return;
	program.graph_ends_ns = 0;
	bursts_graph_worked(program.graph);
}

static const struct inject_api api = {.follow = follow, .flush = flush, .drain = drain};

static struct ring_reader reader;

static void begin(uint32_t overhead)
{
	static struct guard guard;
	void *memory = mmap(
		NULL, ring_bytes(SLOTS), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || asked_init())
		exit(2);
	library.guard = &guard;
	library.ring = ring_at(memory, SLOTS);
	library.overhead = overhead;
	apis_add(&api);
	ring_reader_init(&reader, memory, SLOTS);
	bursts_begin();
}

/* What a thread does that calls the API without a pause. */
static void make_calls(uint64_t *since_ns)
{
	bool recorded = library.guard->recording;
	uint64_t each_ns = recorded ? RECORDED_NS : CALL_NS, now = now_ns();

	for (; *since_ns + each_ns <= now; *since_ns += each_ns) {
		if (!recorded && !library.guard->timing)
			continue;
		bursts_time_call(recorded, each_ns);
		program.recorded_calls += recorded;
		if (recorded)
			bursts_count_work();
	}
	if (!recorded || !program.graphs || program.graph_ends_ns)
		return;
	asked_add(++program.graph);
	bursts_graph_launched();
	program.graph_ends_ns = now + 40 * 1000000ull;
}

static bool run(uint64_t length_ns)
{
	uint64_t end_ns = now_ns() + length_ns, since_ns = now_ns();
	bool goes_on = true;

	while (goes_on && now_ns() < end_ns) {
		struct timespec pause = {.tv_nsec = (long)bursts_sleep_ns(TICK_NS)};

		nanosleep(&pause, NULL);
		make_calls(&since_ns);
		goes_on = bursts_round();
	}
	return goes_on;
}

static size_t read_bursts(struct wire_burst bursts[BURSTS_MAX])
{
	_Alignas(8) char record[WIRE_RECORD_SLOTS * WIRE_PAYLOAD_BYTES];
	size_t count = 0;

	if (ring_snapshot(&reader))
		return 0;
	while (count < BURSTS_MAX && ring_read(&reader, record) > 0)
		memcpy(&bursts[count++], record, sizeof(bursts[0]));
	return count;
}

static bool makes_sense(const struct wire_burst *b)
{
	return b->type == WIRE_BURST && b->since_ns <= b->start_ns && b->start_ns <= b->end_ns &&
	       b->end_ns <= b->until_ns;
}

/* A burst is reported before its period is over: the last one's may be cut. */
static bool follows(const struct wire_burst *b, const struct wire_burst *before, bool is_last)
{
	return b->since_ns == before->until_ns ||
	       (is_last && b->since_ns < before->until_ns && b->since_ns >= before->end_ns);
}

static bool are_one_after_the_other(const struct wire_burst *b, size_t count)
{
	for (size_t n = 0; n < count; n++)
		if (!makes_sense(&b[n]) || (n && !follows(&b[n], &b[n - 1], n + 1 == count)))
			return false;
	return true;
}

static uint64_t recorded_ns(const struct wire_burst *b, size_t count)
{
	uint64_t sum = 0;

	for (size_t n = 0; n < count; n++)
		sum += b[n].end_ns - b[n].start_ns;
	return sum;
}

static bool periods_are_whole(void)
{
	struct wire_burst b[BURSTS_MAX];
	uint64_t begin_ns = now_ns(), end_ns;
	size_t count;

	begin(200000);
	if (!run(2 * SECOND_NS))
		return false;
	bursts_end();
	end_ns = now_ns();
	count = read_bursts(b);
	return count > 3 && !program.wrong_changes && are_one_after_the_other(b, count) &&
	       b[0].since_ns - begin_ns < SECOND_NS / 20 &&
	       end_ns - b[count - 1].until_ns < SECOND_NS / 20 && !library.guard->recording;
}

/* What the program lost by being recorded: it knows what calls take. */
static bool costs_stay_within_the_budget(void)
{
	struct wire_burst b[BURSTS_MAX];
	uint64_t lost_ns;
	size_t count;

	begin(100000);
	if (!run(4 * SECOND_NS))
		return false;
	bursts_end();
	count = read_bursts(b);
	lost_ns = program.recorded_calls * (RECORDED_NS - CALL_NS);
	/* of 400 ms; the first burst is of a length that was guessed */
	return lost_ns < 440000000 && lost_ns > 100000000 && recorded_ns(b, count) > lost_ns;
}

static bool begins_are_at_random_places(void)
{
	struct wire_burst b[BURSTS_MAX];
	unsigned int early = 0, late = 0;
	size_t count;

	begin(300000);
	if (!run(3 * SECOND_NS))
		return false;
	bursts_end();
	count = read_bursts(b);
	for (size_t n = 0; n + 1 < count; n++) {
		uint64_t place =
			(b[n].start_ns - b[n].since_ns) * 3 / (b[n].until_ns - b[n].since_ns);

		early += place == 0;
		late += place >= 1;
	}
	return early > 1 && late > 1;
}

/* Records stay on until the graph that was launched last has run. */
static bool graphs_are_waited_for(void)
{
	program.graphs = true;
	begin(200000);
	if (!run(2 * SECOND_NS))
		return false;
	bursts_end();
	/* each runs for longer than a burst lasts */
	return program.graph > 1 && !program.graph_ends_ns && !program.early_ends;
}

/* A millionth of the time: our thread alone costs more. Within a second it cannot be known. */
static bool what_cannot_be_held_is_given_up(void)
{
	uint64_t begin_ns = now_ns();

	struct wire_burst b[BURSTS_MAX];
	size_t count;

	bursts_patience_ns = SECOND_NS;
	begin(1);
	if (run(20 * SECOND_NS) || now_ns() - begin_ns <= SECOND_NS)
		return false;
	bursts_end();
	count = read_bursts(b);
	/* the last one is the rest, which has no burst */
	return count > 1 && are_one_after_the_other(b, count) && !recorded_ns(&b[count - 1], 1);
}

/* They take seconds, so all run at once. */
enum { PERIODS, BUDGET, PLACES, GRAPHS, GIVING_UP, CASES };

static pid_t begin_case(bool (*check)(void))
{
	pid_t pid = fork();

	if (!pid)
		_exit(!check());
	return pid;
}

static pid_t cases[CASES];

static bool holds(int number)
{
	int status;

	return cases[number] > 0 && waitpid(cases[number], &status, 0) == cases[number] && !status;
}

static void periods_follow_each_other(void)
{
	CHECK(holds(PERIODS));
}

static void the_budget_is_kept(void)
{
	CHECK(holds(BUDGET));
}

static void nothing_is_in_step(void)
{
	CHECK(holds(PLACES));
}

static void the_last_graph_ends_before_records_go_off(void)
{
	CHECK(holds(GRAPHS));
}

static void a_budget_that_cannot_be_held_is_given_up(void)
{
	CHECK(holds(GIVING_UP));
}

int main(void)
{
	cases[PERIODS] = begin_case(periods_are_whole);
	cases[BUDGET] = begin_case(costs_stay_within_the_budget);
	cases[PLACES] = begin_case(begins_are_at_random_places);
	cases[GRAPHS] = begin_case(graphs_are_waited_for);
	cases[GIVING_UP] = begin_case(what_cannot_be_held_is_given_up);
	RUN(periods_follow_each_other);
	RUN(the_budget_is_kept);
	RUN(nothing_is_in_step);
	RUN(the_last_graph_ends_before_records_go_off);
	RUN(a_budget_that_cannot_be_held_is_given_up);
	return tap_end();
}
