/* SPDX-License-Identifier: MIT */
/*
 * The fields of an event, read to where the plan wants them: numbers to state.field, strings to
 * state.string.
 *
 * Fields of a record are read by instructions of their own, one each. Where the field is and how
 * large is only known when the object is opened: the loader writes it into the instructions
 * (LOAD_FIELD). Only strings of any length take a call. Fields of functions are registers.
 */
#pragma once

#include <linux/ptrace.h>
#include <bpf/bpf_tracing.h>

#include "bpf/monitor_state.h"

/* From what was read, with zeros above its size. */
static __always_inline uint64_t worth(uint64_t raw, uint32_t i)
{
	uint8_t read = plan.field[i].read;

	if (read == READ_SIGNED || read == READ_ARGUMENT_SIGNED || read == READ_RESULT_SIGNED) {
		if (plan.field[i].size == 4)
			raw = (int64_t)(int32_t)raw;
		else if (plan.field[i].size == 2)
			raw = (int64_t)(int16_t)raw;
		else if (plan.field[i].size == 1)
			raw = (int64_t)(signed char)raw;
	}
	if (plan.field[i].subtract)
		raw -= (int64_t)plan.field[i].subtract;
	if (plan.field[i].shift && !is_none(raw))
		raw <<= plan.field[i].shift & 63;
	return raw;
}

static __always_inline uint64_t lowest(uint64_t raw, uint8_t size)
{
	if (size == 4)
		return (uint32_t)raw;
	if (size == 2)
		return (uint16_t)raw;
	return size == 1 ? (uint8_t)raw : raw;
}

/* A string of at most `size` bytes with its end, if it has one. `to` has MONITOR_STRING_BYTES. */
static __noinline int read_string(struct state *s, char *to, uint64_t address, uint64_t size)
{
	zero_words(to, MONITOR_STRING_BYTES / 8);
	asm volatile("" : "+r"(size));
	if (size > MONITOR_STRING_BYTES)
		size = MONITOR_STRING_BYTES;
	if (size && bpf_probe_read_kernel_str(to, size, (const void *)address) < 0)
		s->lost.unread++;
	return 0;
}

/* "__data_loc" and "__rel_loc". */
static __always_inline void read_located(
	struct state *s, uint32_t i, char *to, void *ctx, uint64_t located)
{
	uint64_t offset = located & 0xffff, size = located >> 16 & 0xffff;

	if (plan.field[i].read == READ_REL_LOC)
		offset += plan.field[i].offset + sizeof(uint32_t);
	if (offset < sizeof(uint64_t) || offset + size > MONITOR_EVENT_BYTES) {
		s->lost.unread++;
		size = 0;
	}
	read_string(s, to, (uint64_t)ctx + offset, size);
}

/* An array need not have an end: one byte more is read, and made to be it. */
static __always_inline void read_chars(struct state *s, uint32_t i, char *to, void *ctx)
{
	uint8_t size = plan.field[i].size;

	read_string(s, to, (uint64_t)ctx + plan.field[i].offset, (uint64_t)size + 1);
	if (size < MONITOR_STRING_BYTES)
		to[size] = '\0';
}

static __always_inline void keep_string(struct state *s, uint32_t i, void *ctx, uint64_t raw)
{
	uint8_t read = plan.field[i].read;
	char *to = s->string[plan.field[i].string];

	if (read == READ_DATA_LOC || read == READ_REL_LOC)
		read_located(s, i, to, ctx, raw);
	else if (read == READ_CHARS)
		read_chars(s, i, to, ctx);
	else
		read_string(s, to, raw, MONITOR_STRING_BYTES);
}

/* The bytes before the first that is 0. */
static __always_inline uint64_t up_to_end(uint64_t word)
{
	uint64_t ends = (word - 0x0101010101010101ull) & ~word & 0x8080808080808080ull;

	return ends ? word & (((ends & -ends) >> 7) - 1) : word;
}

/* The instructions that the loader makes others of; see MONITOR_LOADS. */
#define LOAD_FIELD(ctx, i) (*(volatile uint64_t *)((char *)(ctx) + MONITOR_LOADS + (i)*8))
#define LOAD_NAME(ctx, i, n)                                                                       \
	((uint64_t) * (volatile uint32_t *)((char *)(ctx) + MONITOR_NAME_LOADS +                   \
					    (i)*MONITOR_NAME_BYTES + (n)*4))

/* What is behind it in `to` is zero: nothing else is put there. */
static __always_inline void load_name(uint64_t *to, void *ctx, uint32_t i)
{
	uint64_t first = LOAD_NAME(ctx, i, 0) | LOAD_NAME(ctx, i, 1) << 32;
	uint64_t second = LOAD_NAME(ctx, i, 2) | LOAD_NAME(ctx, i, 3) << 32;

	to[0] = up_to_end(first);
	to[1] = first == to[0] && first >> 56 ? up_to_end(second) : 0;
}

static __always_inline void keep_field(struct state *s, uint32_t i, void *ctx, uint64_t raw)
{
	uint8_t read = plan.field[i].read;

	if (read == READ_NOTHING)
		return; /* it is 0 or empty as it was made */
	if (plan.field[i].string < MONITOR_STRINGS)
		keep_string(s, i, ctx, raw);
	else if (read == READ_THREAD)
		s->field[i] = (uint32_t)bpf_get_current_pid_tgid();
	else
		s->field[i] = worth(raw, i);
}

static __always_inline void read_record(struct state *s, void *ctx)
{
	uint8_t count = plan_counts.fields;
	uint32_t names = plan_counts.names;

	unrolled
	for (uint32_t i = 0; i < MONITOR_FIELDS; i++) {
		if (names & 1u << i)
			load_name((uint64_t *)s->string[plan.field[i].string], ctx, i);
		else if (i < count)
			keep_field(s, i, ctx, plan.field[i].size ? LOAD_FIELD(ctx, i) : 0);
	}
}

struct registers {
	uint64_t argument[5], result;
};

/* Hides a value from the compiler: it must not merge several loads into one at a variable offset,
 * which verifiers refuse. */
static __always_inline uint64_t as_it_is(uint64_t value)
{
	asm volatile("" : "+r"(value));
	return value;
}

static __always_inline uint64_t argument(const struct registers *r, uint16_t number)
{
	if (number == 0)
		return r->argument[0];
	if (number == 1)
		return r->argument[1];
	if (number == 2)
		return r->argument[2];
	if (number == 3)
		return r->argument[3];
	return number == 4 ? r->argument[4] : 0;
}

static __always_inline uint64_t read_register(const struct registers *r, uint32_t i)
{
	uint8_t read = plan.field[i].read;
	uint64_t raw = read == READ_RESULT || read == READ_RESULT_SIGNED
			       ? r->result
			       : argument(r, plan.field[i].offset);

	return lowest(raw, plan.field[i].size);
}

static __always_inline void read_registers(struct state *s, struct pt_regs *ctx)
{
	const struct registers r = {
		.argument = {as_it_is(PT_REGS_PARM1(ctx)), as_it_is(PT_REGS_PARM2(ctx)),
			as_it_is(PT_REGS_PARM3(ctx)), as_it_is(PT_REGS_PARM4(ctx)),
			as_it_is(PT_REGS_PARM5(ctx))},
		.result = as_it_is(PT_REGS_RC(ctx)),
	};
	uint8_t count = plan_counts.fields;

	unrolled
	for (uint32_t i = 0; i < MONITOR_FIELDS; i++)
		if (i < count)
			keep_field(s, i, ctx,
				plan.field[i].read != READ_NOTHING ? read_register(&r, i) : 0);
}

/* ------------------------------------------------------------------ processes in texts */

#define PID_MAX	       0x7fffffff
#define PID_DIGITS_MAX 10

/* The character at `at`, which may be behind the end. */
static __always_inline char character(const char *text, uint32_t at)
{
	asm volatile("" : "+r"(at));
	return text[at & (MONITOR_STRING_BYTES - 1)];
}

/* Up to a comma. */
static __always_inline void copy_name(struct state *s, const char *from)
{
	char *comm = s->named.comm;
	bool ended;

	if (bpf_probe_read_kernel(comm, MONITOR_COMM_BYTES, from))
		s->lost.unread++;
	comm[MONITOR_COMM_BYTES - 1] = '\0';
	ended = comm[0] == '<'; /* "<unknown>" */
	unrolled
	for (uint32_t i = 0; i < MONITOR_COMM_BYTES; i++) {
		ended |= comm[i] == ',' || !comm[i];
		if (ended)
			comm[i] = '\0';
	}
}

/*
 * "pid=1234, name=x, ...", "pid='1234', name=x, ..."; anything else names nobody. A string has its
 * end within its MONITOR_STRING_BYTES.
 */
static __noinline int read_named(struct state *s, const char *text)
{
	uint32_t at = text[4] == '\'' ? 5 : 4;
	uint64_t pid = 0;
	char next = 0;

	zero_words(&s->named, sizeof(s->named) / 8);
	if (text[0] != 'p' || text[1] != 'i' || text[2] != 'd' || text[3] != '=')
		return 0;
	unrolled
	for (uint32_t i = 0; i <= PID_DIGITS_MAX; i++) {
		next = character(text, at);
		if (next < '0' || next > '9')
			break;
		pid = pid * 10 + (next - '0');
		at++;
	}
	if ((next != ',' && next != '\'') || !pid || pid > PID_MAX)
		return 0;
	s->named.pid = pid;
	s->named.tid = pid;
	at += next == '\'' ? 2 : 1;
	if (character(text, at) == ' ' && character(text, at + 1) == 'n' &&
		character(text, at + 2) == 'a' && character(text, at + 3) == 'm' &&
		character(text, at + 4) == 'e' && character(text, at + 5) == '=')
		copy_name(s, text + ((at + 6) & (MONITOR_STRING_BYTES - 1)));
	return 0;
}
