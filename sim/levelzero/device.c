// SPDX-License-Identifier: MIT
/*
 * Each immediate list and each queue is a line of work: a command begins when it is asked for, or
 * when the one before it has ended. What becomes of events is written down at once, and happens
 * when that time has come: so an event that is signalled keeps its times until it is signalled
 * again.
 *
 * The timer is set so that it and timestamps wrap soon after the program begins; where it lies, in
 * the middle, since near a wrap many a lie could be true.
 */
#include "device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WRAPS_IN_NS 30000000ull /* of the first zeInit */
#define NS	    1000000000ull
#define BLOCKS_MAX  1024

struct device_object sim_drivers[SIM_DRIVERS_MAX];
struct device_object sim_devices[SIM_DEVICES_MAX];

static struct device_object parts[SIM_DEVICES_MAX][SIM_DEVICES_MAX];
static uint64_t begun_ns, hz, event_ns;
static uint32_t timer_bits, stamp_bits;
static const char *lie;
static bool wraps;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint32_t sim_number(const char *variable, uint32_t otherwise, uint32_t most)
{
	const char *text = getenv(variable);
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	return !n ? otherwise : n < most ? (uint32_t)n : most;
}

bool sim_lies(const char *how)
{
	return lie && !strcmp(lie, how);
}

bool sim_wraps(void)
{
	return wraps;
}

uint64_t sim_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * NS + (uint64_t)ts.tv_nsec;
}

void sim_begin(void)
{
	uint32_t part_count = sim_number("XPUPROF_SIM_ZE_TILES", 0, SIM_DEVICES_MAX);

	if (begun_ns)
		return;
	hz = sim_number("XPUPROF_SIM_ZE_HZ", SIM_LEVELZERO_HZ, 1000000000);
	event_ns = sim_number("XPUPROF_SIM_ZE_EVENT_NS", 0, 1000000);
	timer_bits = sim_number("XPUPROF_SIM_ZE_TIMER_BITS", 36, 64);
	stamp_bits = sim_number("XPUPROF_SIM_ZE_STAMP_BITS", 32, 64);
	lie = getenv("XPUPROF_SIM_ZE_LIE");
	wraps = getenv("XPUPROF_SIM_ZE_WRAP");
	for (uint32_t n = 0; n < SIM_DRIVERS_MAX; n++)
		sim_drivers[n].index = n;
	for (uint32_t n = 0; n < SIM_DEVICES_MAX; n++) {
		sim_devices[n] = (struct device_object){
			.index = n, .part_count = part_count, .parts = parts[n]};
		for (uint32_t m = 0; m < part_count; m++)
			parts[n][m] = (struct device_object){.index = n, .part = m + 1};
	}
	begun_ns = sim_clock_ns();
}

uint64_t sim_hz(void)
{
	return hz;
}

static uint64_t mask(uint32_t bits)
{
	return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

/* Starts a little before both counters wrap, or in the middle. */
uint64_t sim_cycles(void)
{
	uint64_t passed_ns = sim_clock_ns() - begun_ns;
	uint64_t wrap = timer_bits < 62 ? 1ull << (timer_bits + 1) : 1ull << 40;
	uint64_t middle = lie && stamp_bits < 62 ? 1ull << (stamp_bits - 1) : 0;

	return wrap - WRAPS_IN_NS * hz / NS + middle + passed_ns / NS * hz +
	       passed_ns % NS * hz / NS;
}

/* That of each device has a start of its own. */
static uint64_t shift_of(const struct device_object *d)
{
	return d->index * 987654321ull;
}

/* Which may lie, too. */
uint64_t sim_timer(const struct device_object *d)
{
	static uint64_t asked;
	uint64_t cycles = sim_cycles() + shift_of(d);

	if (sim_lies("timer-backwards"))
		cycles -= ++asked * hz;
	else if (sim_lies("timer-random"))
		cycles = ++asked * 0x9e3779b97f4a7c15ull;
	else if (sim_lies("timer-huge"))
		cycles = UINT64_MAX - (1ull << 34); /* not where it wraps, where that is right */
	return cycles & mask(timer_bits);
}

uint64_t sim_stamp(uint64_t cycles)
{
	return cycles & mask(stamp_bits);
}

void sim_wait(uint64_t cycles)
{
	while (sim_cycles() < cycles)
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

/* --- events: under the lock */

static void refresh(struct event_object *e)
{
	uint64_t now = sim_cycles();
	uint32_t n = 0;

	for (; n < e->count && e->changes[n].end <= now; n++) {
		e->is_signalled = e->changes[n].signals;
		if (!e->is_signalled)
			continue;
		e->start = e->changes[n].start;
		e->end = e->changes[n].end;
		e->shift = e->changes[n].shift;
	}
	e->count -= n;
	if (n)
		memmove(e->changes, e->changes + n, e->count * sizeof(*e->changes));
}

static void change(struct event_object *e, const struct change *c)
{
	refresh(e);
	if (e->count == e->room) {
		e->room = e->room ? 2 * e->room : 4;
		e->changes = realloc(e->changes, e->room * sizeof(*e->changes));
	}
	e->changes[e->count++] = *c;
}

static void run(struct line *on, const struct command *c)
{
	uint64_t now = sim_cycles(), start = on->busy_until > now ? on->busy_until : now;

	on->busy_until = start + c->cycles;
	if (c->event)
		change(c->event, &(struct change){.signals = c->kind != SIM_RESET,
					 .start = start,
					 .end = on->busy_until,
					 .shift = shift_of(on->device)});
}

/* --- what programs ask for */

/* What it leaves for who samples instructions, who may be waited for. */
static void leave_records(struct line *on, const struct command *c)
{
	if (c->code)
		sim_code_run(c->code, on->device->part ? on->device->part - 1 : 0);
}

/* So long it takes the thread that asks for the times of a command. */
static void take_time_for_event(const struct command *c)
{
	uint64_t until_ns = sim_clock_ns() + event_ns;

	while (c->event && c->event->has_times && sim_clock_ns() < until_ns)
		;
}

int32_t sim_append(struct list_object *l, const struct command *c)
{
	if (event_ns)
		take_time_for_event(c);
	if (l->immediate)
		leave_records(&l->line, c);
	pthread_mutex_lock(&lock);
	if (l->immediate) {
		run(&l->line, c);
	} else {
		if (l->count == l->room) {
			l->room = l->room ? 2 * l->room : 16;
			l->commands = realloc(l->commands, l->room * sizeof(*l->commands));
		}
		l->commands[l->count++] = *c;
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

static void each_command(struct line *on, const struct list_object *l,
	void (*f)(struct line *, const struct command *))
{
	for (uint32_t n = 0; n < l->count; n++)
		f(on, &l->commands[n]);
}

int32_t sim_execute(struct line *on, uint32_t count, void **lists)
{
	for (uint32_t n = 0; n < count; n++)
		each_command(on, lists[n], leave_records);
	pthread_mutex_lock(&lock);
	for (uint32_t n = 0; n < count; n++)
		each_command(on, lists[n], run);
	pthread_mutex_unlock(&lock);
	return 0;
}

void sim_signal(struct line *on, struct event_object *e)
{
	pthread_mutex_lock(&lock);
	run(on, &(struct command){.kind = SIM_SIGNAL, .event = e});
	pthread_mutex_unlock(&lock);
}

int32_t sim_status(struct event_object *e)
{
	bool is_signalled;

	pthread_mutex_lock(&lock);
	refresh(e);
	is_signalled = e->is_signalled;
	pthread_mutex_unlock(&lock);
	return is_signalled ? 0 : LEVELZERO_NOT_READY;
}

/* Nobody has been asked to signal it; a wait without an end would be one for ever, and is none. */
static int32_t wait_in_vain(struct event_object *e, uint64_t timeout)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (uint64_t ns = 0; timeout != UINT64_MAX && ns < timeout && sim_status(e); ns += 1000000)
		nanosleep(&pause, NULL);
	return sim_status(e);
}

int32_t sim_wait_for_event(struct event_object *e, uint64_t timeout)
{
	uint64_t until;

	if (!sim_status(e))
		return 0;
	pthread_mutex_lock(&lock);
	until = e->count ? e->changes[0].end : 0;
	pthread_mutex_unlock(&lock);
	if (!until || !timeout)
		return wait_in_vain(e, timeout);
	sim_wait(until);
	return sim_wait_for_event(e, timeout);
}

int32_t sim_reset(struct event_object *e)
{
	pthread_mutex_lock(&lock);
	refresh(e);
	e->is_signalled = false;
	pthread_mutex_unlock(&lock);
	return 0;
}

/* The lies are those of tests/cli/levelzero_lies.t. */
int32_t sim_times(struct event_object *e, struct levelzero_timestamps *ret)
{
	uint64_t start, end;

	if (sim_status(e))
		return LEVELZERO_NOT_READY;
	if (!e->has_times || sim_lies("none"))
		return 0x78000004;
	start = sim_lies("zero") ? 0 : sim_lies("huge") ? 1ull << 63 : e->start + e->shift;
	end = sim_lies("zero") ? 0 : sim_lies("huge") ? UINT64_MAX : e->end + e->shift;
	start = sim_lies("begun") ? 1 : start;
	if (sim_lies("backwards")) {
		static uint64_t told;

		start -= ++told * hz;
		end -= told * hz;
	}
	start -= sim_lies("early") ? 10 * hz : 0;
	end -= sim_lies("early") ? 10 * hz : 0;
	start += sim_lies("late") ? 10 * hz : 0;
	end += sim_lies("late") ? 10 * hz : 0;
	ret->start = ret->context_start = sim_stamp(sim_lies("reversed") ? end : start);
	ret->end = ret->context_end = sim_stamp(sim_lies("reversed") ? start : end);
	return 0;
}

/* --- memory */

static struct block {
	uint32_t kind;
	char *at;
	size_t size;
} blocks[BLOCKS_MAX];

int32_t sim_allocate(uint32_t kind, size_t size, void **ret)
{
	int32_t result = 0x70000002;

	pthread_mutex_lock(&lock);
	for (int n = 0; n < BLOCKS_MAX && result; n++) {
		if (blocks[n].at || posix_memalign(ret, 4096, size))
			continue;
		blocks[n] = (struct block){.kind = kind, .at = *ret, .size = size};
		result = 0;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static struct block *block_of(const void *at)
{
	for (struct block *b = blocks; b < blocks + BLOCKS_MAX; b++)
		if (b->at && (const char *)at >= b->at && (const char *)at < b->at + b->size)
			return b;
	return NULL;
}

int32_t sim_free(void *at)
{
	struct block *b;

	pthread_mutex_lock(&lock);
	b = block_of(at);
	if (b) {
		free(b->at);
		*b = (struct block){0};
	}
	pthread_mutex_unlock(&lock);
	return b ? 0 : 0x78000004;
}

uint32_t sim_memory_kind(const void *at)
{
	const struct block *b;
	uint32_t kind;

	pthread_mutex_lock(&lock);
	b = block_of(at);
	kind = b ? b->kind : LEVELZERO_MEMORY_UNKNOWN;
	pthread_mutex_unlock(&lock);
	return kind;
}
