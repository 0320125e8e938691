// SPDX-License-Identifier: MIT
/*
 * Commands as Intel's programmer's reference manuals have them, and as the driver's own
 * definitions (shared/source/generated/ of compute-runtime) say where they go beyond these.
 *
 * What a command would do that is neither done nor known to have no effect here is not guessed:
 * the batch ends with an error, as one that hangs a GPU does.
 */
#include "commands.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "stalls.h"
#include "told.h"

#define WORDS_MAX     64
#define COMMANDS_MAX  (1u << 20) /* without a wait: more is a loop */
#define LOOK_FOR_STOP 1024	 /* commands, also those of a ring that goes on waiting */
#define DEPTH_MAX     3		 /* of batches that return */
#define POLL_NS	      20000
#define STEP_NS	      10000000
#define GROUPS_MAX    100000000u

/* Bits 29 to 31: whose command it is. */
enum { OF_MEMORY = 0, OF_COPIES = 2, OF_KERNELS = 3 };

/* Bits 23 to 28 of the former. */
enum {
	SET_PREDICATE = 0x01,
	BATCH_END = 0x0a,
	SEMAPHORE_WAIT = 0x1c,
	STORE_DATA = 0x20,
	LOAD_REGISTER = 0x22,
	STORE_REGISTER = 0x24,
	FLUSH = 0x26,
	LOAD_REGISTER_MEMORY = 0x29,
	LOAD_REGISTER_REGISTER = 0x2a,
	ATOMIC = 0x2f,
	BATCH_START = 0x31,
};

/* Bits 16 to 31 of the last. */
enum {
	STATE_BASE_ADDRESS = 0x6101,
	WALKER = 0x7208,
	PIPE_CONTROL = 0x7a00,
};

enum { COPY = 0x5a, FILL = 0x5b }; /* bits 22 to 28 of the second */

struct walk {
	struct streamer *s;
	uint64_t at;
	uint64_t returns[DEPTH_MAX];
	unsigned int depth;
	unsigned int done; /* commands, since the last wait */
	unsigned int in_all;
	bool ended;
};

static int refuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "simulated GPU: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	return -ECANCELED;
}

static uint64_t address_at(const uint32_t *words)
{
	return words[0] | (uint64_t)words[1] << 32;
}

/* Aligned, so that the program never sees half of it. */
static int store(struct streamer *s, uint64_t address, uint64_t value, size_t size)
{
	void *at = memory_at(s->memory, s->vm, address & ~3ull, size);

	if (!at || address & (size - 1) & ~3ull)
		return refuse("a write to %#llx", (unsigned long long)address);
	if (size == 8)
		atomic_store((_Atomic uint64_t *)at, value);
	else
		atomic_store((_Atomic uint32_t *)at, (uint32_t)value);
	return 0;
}

static int load(struct streamer *s, uint64_t address, uint64_t *ret, size_t size)
{
	void *at = memory_at(s->memory, s->vm, address & ~3ull, size);

	if (!at || address & (size - 1) & ~3ull)
		return refuse("a read of %#llx", (unsigned long long)address);
	*ret = size == 8 ? atomic_load((_Atomic uint64_t *)at)
			 : atomic_load((_Atomic uint32_t *)at);
	return 0;
}

/* --- registers */

static uint32_t *find_register(struct streamer *s, uint32_t number)
{
	uint32_t i = 0;

	while (i < s->register_count && s->registers[i].number != number)
		i++;
	if (i == SIM_XE_REGISTERS)
		return NULL;
	if (i == s->register_count)
		s->registers[s->register_count++].number = number;
	return &s->registers[i].value;
}

/* Each engine has its counter at the same place of its own block. */
static uint32_t read_register(struct streamer *s, uint32_t number)
{
	uint32_t *r;

	if ((number & 0xfff) == 0x358)
		return (uint32_t)device_cycles();
	if ((number & 0xfff) == 0x35c)
		return (uint32_t)(device_cycles() >> 32);
	r = find_register(s, number);
	return r ? *r : 0;
}

static int write_register(struct streamer *s, uint32_t number, uint32_t value)
{
	uint32_t *r = find_register(s, number);

	if (!r)
		return refuse("too many registers");
	*r = value;
	return 0;
}

static int load_registers(struct streamer *s, const uint32_t *w, unsigned int count)
{
	int error = 0;

	for (unsigned int i = 1; !error && i + 1 < count; i += 2)
		error = write_register(s, w[i], w[i + 1]);
	return error;
}

static int load_register(struct streamer *s, const uint32_t *w)
{
	uint64_t value;

	return load(s, address_at(w + 2), &value, 4) ?: write_register(s, w[1], (uint32_t)value);
}

/* --- waits and writes */

static bool holds(unsigned int how, uint32_t there, uint32_t wanted)
{
	switch (how) {
	case 0:
		return there > wanted;
	case 1:
		return there >= wanted;
	case 2:
		return there < wanted;
	case 3:
		return there <= wanted;
	case 4:
		return there == wanted;
	case 5:
		return there != wanted;
	default:
		return true;
	}
}

static int wait_for(struct walk *k, const uint32_t *w)
{
	uint64_t value = 0;
	int error;

	if (w[0] >> 16 & 7)
		return refuse("a wait of kind %#x", w[0]);
	for (;;) {
		error = load(k->s, address_at(w + 2), &value, 4);
		if (error || holds(w[0] >> 12 & 7, (uint32_t)value, w[1]))
			break;
		if (atomic_load(&k->s->stop)) {
			k->ended = true;
			break;
		}
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	k->done = 0;
	return error;
}

static int store_data(struct streamer *s, const uint32_t *w)
{
	uint64_t address = address_at(w + 1) & ~3ull;

	return w[0] >> 21 & 1 ? store(s, address, address_at(w + 3), 8)
			      : store(s, address, w[3], 4);
}

static int store_by(struct streamer *s, unsigned int how, uint64_t address, uint64_t value)
{
	if (!how)
		return 0;
	if (how == 2)
		return refuse("a write of kind 2");
	return store(s, address & ~7ull, how == 3 ? device_cycles() : value, 8);
}

/* Sets, counts and adds; what was there before is not asked for. */
static int change(struct streamer *s, const uint32_t *w, unsigned int count)
{
	unsigned int how = w[0] >> 8 & 0x3f;
	size_t size = w[0] >> 19 & 3 ? 8 : 4;
	uint64_t address = address_at(w + 1) & ~3ull, value, by;
	int error = load(s, address, &value, size);

	by = count > 5 ? w[3] | (size == 8 ? (uint64_t)w[5] << 32 : 0) : 0;
	switch (how & 0x1f) { /* 0x20: of 8 bytes */
	case 4:
		value = by;
		break;
	case 5:
		value++;
		break;
	case 6:
		value--;
		break;
	case 7:
		value += by;
		break;
	default:
		return refuse("an atomic change of kind %#x", how);
	}
	return error ?: store(s, address, value, size);
}

/* --- kernels */

/* In steps, so that a queue can end meanwhile. */
static void sleep_until(const struct streamer *s, uint64_t cycles)
{
	uint64_t now;

	while ((now = device_cycles()) < cycles && !atomic_load(&s->stop)) {
		uint64_t ns = (cycles - now) * 1000000000 / SIM_XE_HZ + 1;

		nanosleep(&(struct timespec){.tv_nsec = (long)(ns < STEP_NS ? ns : STEP_NS)}, NULL);
	}
}

static uint64_t cycles_of(const uint32_t *counts)
{
	uint64_t groups = 1;

	for (int i = 0; i < 3; i++)
		groups = groups * counts[i] < GROUPS_MAX ? groups * counts[i] : GROUPS_MAX;
	return 1000 + 10 * groups;
}

/* Context's and own start, context's and own end. */
static int store_stamps(struct streamer *s, uint64_t address, uint64_t from, uint64_t to)
{
	size_t size = s->device->stamp_size;
	int error = 0;

	for (unsigned int i = 0; !error && i < 4; i++)
		error = store(s, address + i * size, i < 2 ? from : to, size);
	return error;
}

static int run_kernel(struct streamer *s, const uint32_t *w, unsigned int count)
{
	unsigned int at = s->device->kernel_at, post = at + 8;
	uint64_t from = device_cycles(), to, start, address;
	const uint8_t *code;

	if (count < post + 5)
		return refuse("a kernel of %u words", count);
	to = from + cycles_of(w + 7);
	start = s->code + (w[at] & ~0x3fu);
	code = memory_at(s->memory, s->vm, start, SIM_STALL_BYTES);
	address = address_at(w + post + 1) & ~7ull;
	if (!code)
		return refuse("a kernel at %#llx", (unsigned long long)start);
	told_kernels++;
	sleep_until(s, to);
	sim_stalls_run(s->tile, s->device->stall_bit, start, code, SIM_STALL_BYTES);
	switch (w[post] & 3) {
	case 1:
		return store(s, address, address_at(w + post + 3), 8);
	case 3:
		return store_stamps(s, address, from, to);
	default:
		return 0;
	}
}

static int run_of_kernels(struct streamer *s, const uint32_t *w, unsigned int count)
{
	switch (w[0] >> 16) {
	case WALKER:
		return run_kernel(s, w, count);
	case PIPE_CONTROL:
		return store_by(s, w[1] >> 14 & 3, address_at(w + 2), address_at(w + 4));
	case STATE_BASE_ADDRESS:
		if (count > 11 && w[10] & 1)
			s->code = address_at(w + 10) & ~0xfffull;
		return 0;
	default: /* state */
		return 0;
	}
}

/* --- copies */

static int copy_rows(struct streamer *s, const uint32_t *w)
{
	bool rows = w[0] >> 17 & 3;
	uint32_t width = (w[1] & 0xffffff) + 1, height = rows ? (w[2] & 0x3ffff) + 1 : 1;
	uint64_t from = address_at(w + 5), to = address_at(w + 7);

	for (uint32_t y = 0; y < height; y++) {
		const void *source = memory_at(
			s->memory, s->vm, from + (uint64_t)y * ((w[3] & 0x3ffff) + 1), width);
		void *target = memory_at(
			s->memory, s->vm, to + (uint64_t)y * ((w[4] & 0x3ffff) + 1), width);

		if (!source || !target)
			return refuse("a copy of %#llx to %#llx", (unsigned long long)from,
				(unsigned long long)to);
		memmove(target, source, width);
	}
	return 0;
}

static int fill_rows(struct streamer *s, const uint32_t *w)
{
	bool rows = w[0] >> 17 & 3;
	uint32_t width = (w[1] & 0xffffff) + 1, height = rows ? (w[2] & 0x3ffff) + 1 : 1;
	uint64_t to = address_at(w + 4);

	for (uint32_t y = 0; y < height; y++) {
		void *target = memory_at(
			s->memory, s->vm, to + (uint64_t)y * ((w[3] & 0x3ffff) + 1), width);

		if (!target)
			return refuse("a fill of %#llx", (unsigned long long)to);
		memset(target, (int)(w[6] >> 24), width);
	}
	return 0;
}

static int run_of_copies(struct streamer *s, const uint32_t *w, unsigned int count)
{
	unsigned int what = w[0] >> 22 & 0x7f;

	if (what == COPY && count >= 10)
		return copy_rows(s, w);
	if (what == FILL && count >= 7)
		return fill_rows(s, w);
	return refuse("a copy of kind %#x", what);
}

/* --- the walk */

/* By its first word. */
static unsigned int words_of(uint32_t head)
{
	unsigned int kind = head >> 29, code = head >> 23 & 0x3f;

	if (kind == OF_MEMORY && code < 0x10)
		return 1;
	if (kind == OF_MEMORY && code == FLUSH)
		return (head & 0x3f) + 2;
	if (kind == OF_KERNELS && (head >> 27 & 3) == 1)
		return 1;
	return (head & 0xff) + 2;
}

static int start_batch(struct walk *k, const uint32_t *w)
{
	if (w[0] >> 15 & 1 || w[0] >> 18 & 1)
		return refuse("a jump of kind %#x", w[0]);
	if (w[0] >> 22 & 1) {
		if (k->depth == DEPTH_MAX)
			return refuse("batches that are too deep");
		k->returns[k->depth++] = k->at;
	}
	k->at = address_at(w + 1) & ~3ull;
	return 0;
}

static void end_batch(struct walk *k)
{
	if (k->depth)
		k->at = k->returns[--k->depth];
	else
		k->ended = true;
}

static int run_of_memory(struct walk *k, const uint32_t *w, unsigned int count)
{
	switch (w[0] >> 23 & 0x3f) {
	case BATCH_END:
		end_batch(k);
		return 0;
	case BATCH_START:
		return start_batch(k, w);
	case SEMAPHORE_WAIT:
		return wait_for(k, w);
	case STORE_DATA:
		return store_data(k->s, w);
	case STORE_REGISTER:
		return store(k->s, address_at(w + 2) & ~3ull, read_register(k->s, w[1]), 4);
	case LOAD_REGISTER:
		return load_registers(k->s, w, count);
	case LOAD_REGISTER_MEMORY:
		return load_register(k->s, w);
	case LOAD_REGISTER_REGISTER:
		return write_register(k->s, w[2], read_register(k->s, w[1]));
	case FLUSH:
		return store_by(k->s, w[0] >> 14 & 3, address_at(w + 1), address_at(w + 3));
	case ATOMIC:
		return change(k->s, w, count);
	case SET_PREDICATE:
		return w[0] & 0x3f ? refuse("a predicate of kind %#x", w[0]) : 0;
	default:
		return count == 1 ? 0 : refuse("a command %#x", w[0]);
	}
}

static int step(struct walk *k)
{
	uint32_t words[WORDS_MAX] = {0};
	const uint32_t *at = memory_at(k->s->memory, k->s->vm, k->at, sizeof(*at));
	unsigned int count;

	if (!at)
		return refuse("commands at %#llx", (unsigned long long)k->at);
	count = words_of(*at);
	at = count <= WORDS_MAX ? memory_at(k->s->memory, k->s->vm, k->at, count * sizeof(*at))
				: NULL;
	if (!at)
		return refuse("a command of %u words", count);
	memcpy(words, at, count * sizeof(*at));
	k->at += count * sizeof(*at);
	switch (words[0] >> 29) {
	case OF_MEMORY:
		return run_of_memory(k, words, count);
	case OF_COPIES:
		return run_of_copies(k->s, words, count);
	case OF_KERNELS:
		return run_of_kernels(k->s, words, count);
	default:
		return refuse("a command %#x", words[0]);
	}
}

int streamer_run(struct streamer *s, uint64_t address)
{
	struct walk k = {.s = s, .at = address};
	int error = 0;

	while (!error && !k.ended) {
		if (k.done++ == COMMANDS_MAX)
			error = refuse("a batch that loops");
		else if (++k.in_all % LOOK_FOR_STOP == 0 && atomic_load(&s->stop))
			k.ended = true;
		else
			error = step(&k);
	}
	return error;
}
