// SPDX-License-Identifier: MIT
/* Records of perf events as samples and as changes to processes. */
#include "capture/perf_samples.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tap.h"

#define REGISTERS 17

static void add(struct buf *b, uint64_t value)
{
	buf_append(b, &value, sizeof(value));
}

static void begin(struct buf *b, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = {.type = type, .misc = misc};

	buf_append(b, &header, sizeof(header));
}

static void end(struct buf *b)
{
	((struct perf_event_header *)b->data)->size = (uint16_t)b->size;
}

/* Registers 100, 101, ... as the kernel orders them; a copy of so many bytes of which some are
 * good. */
static struct buf make_sample(uint64_t abi, uint64_t copied, uint64_t good)
{
	struct buf b = BUF_INIT;

	begin(&b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	add(&b, 77 | 88ull << 32);
	add(&b, 123456);
	add(&b, abi);
	for (uint64_t i = 0; abi && i < REGISTERS; i++)
		add(&b, 100 + i);
	add(&b, copied);
	for (uint64_t i = 0; i < copied / 8; i++)
		add(&b, i);
	if (copied)
		add(&b, good);
	end(&b);
	return b;
}

static void a_sample_has_its_registers_and_its_stack(void)
{
	struct buf b = make_sample(PERF_SAMPLE_REGS_ABI_64, 64, 48);
	struct perf_sample s;

	CHECK(perf_samples_decode(b.data, b.size, &s));
	CHECK(s.pid == 77 && s.tid == 88 && s.time_ns == 123456);
	CHECK(s.start.pc == 108 && s.start.sp == 107 && s.start.fp == 106 && s.start.exact);
	/* rax, rdx, rcx, rbx, rsi, rdi, then r8 behind the instruction pointer */
	CHECK(s.start.registers[0] == 100 && s.start.registers[1] == 103 &&
		s.start.registers[2] == 102 && s.start.registers[3] == 101);
	CHECK(s.start.registers[4] == 104 && s.start.registers[5] == 105 &&
		s.start.registers[8] == 109 && s.start.registers[15] == 116);
	CHECK(s.memory_size == 48 && !s.cut && !memcmp(s.memory + 8, &(uint64_t){1}, 8));
	buf_release(&b);
	b = make_sample(PERF_SAMPLE_REGS_ABI_64, 64, 64);
	CHECK(perf_samples_decode(b.data, b.size, &s) && s.memory_size == 64 && s.cut);
	buf_release(&b);
}

static void one_without_a_stack_that_can_be_walked_is_a_sample(void)
{
	struct buf b = make_sample(PERF_SAMPLE_REGS_ABI_32, 0, 0);
	struct perf_sample s;

	CHECK(perf_samples_decode(b.data, b.size, &s) && !s.start.pc && !s.memory_size);
	buf_release(&b);
	b = make_sample(PERF_SAMPLE_REGS_ABI_NONE, 0, 0);
	CHECK(perf_samples_decode(b.data, b.size, &s) && !s.start.pc);
	buf_release(&b);
}

static void what_makes_no_sense_is_none(void)
{
	struct buf b = make_sample(PERF_SAMPLE_REGS_ABI_64, 64, 65);
	struct perf_sample s;

	CHECK(!perf_samples_decode(b.data, b.size, &s));
	buf_release(&b);
	b = make_sample(PERF_SAMPLE_REGS_ABI_64, 64, 64);
	CHECK(perf_samples_decode(b.data, b.size, &s));
	for (size_t size = 0; size < b.size; size++)
		CHECK(!perf_samples_decode(b.data, size, &s));
	buf_release(&b);
	b = make_sample(7, 0, 0);
	CHECK(!perf_samples_decode(b.data, b.size, &s));
	buf_release(&b);
}

static struct change decode_change(struct buf *b)
{
	struct changes changes = {0};
	struct change c = {0};
	const struct change *first;
	uint64_t lost = 0;

	end(b);
	CHECK(!perf_samples_decode_change(b->data, b->size, &changes, &lost));
	while ((first = changes_peek(&changes, UINT64_MAX))) {
		c = *first;
		changes_drop(&changes);
	}
	changes_release(&changes);
	buf_release(b);
	return c;
}

static struct change task(uint32_t type, uint32_t pid, uint32_t parent, uint32_t tid)
{
	struct buf b = BUF_INIT;

	begin(&b, type, 0);
	add(&b, pid | (uint64_t)parent << 32);
	add(&b, tid | (uint64_t)parent << 32);
	add(&b, 1000);
	add(&b, 0);
	add(&b, 1000);
	return decode_change(&b);
}

static void processes_and_threads_begin_and_end(void)
{
	struct change c = task(PERF_RECORD_FORK, 5, 4, 5);

	CHECK(c.kind == TASK_FORK && c.pid == 5 && c.parent == 4 && c.time_ns == 1000);
	c = task(PERF_RECORD_FORK, 4, 4, 6);
	CHECK(c.kind == TASK_THREAD && c.pid == 4 && c.tid == 6);
	c = task(PERF_RECORD_EXIT, 4, 4, 6);
	CHECK(c.kind == CHANGE_THREAD_END && c.pid == 4 && c.tid == 6);
}

static struct change ran(uint64_t count)
{
	struct buf b = BUF_INIT;

	begin(&b, PERF_RECORD_READ, 0);
	add(&b, 4 | 6ull << 32);
	add(&b, count);
	add(&b, 4 | 6ull << 32);
	add(&b, 3000);
	return decode_change(&b);
}

static void how_long_a_thread_ran_is_reported_for_each_cpu_that_it_had(void)
{
	struct change c = ran(555);

	CHECK(c.kind == CHANGE_THREAD_RAN && c.tid == 6 && c.run_ns == 555 && c.time_ns == 3000);
	CHECK(!ran(0).kind);
}

static struct change name(uint16_t misc)
{
	struct buf b = BUF_INIT;

	begin(&b, PERF_RECORD_COMM, misc);
	add(&b, 4 | 6ull << 32);
	buf_append(&b, "worker\0", 8);
	add(&b, 4 | 6ull << 32);
	add(&b, 2000);
	return decode_change(&b);
}

static void names_and_programs_change(void)
{
	struct change c = name(0);

	CHECK(c.kind == TASK_RENAME && c.pid == 4 && c.tid == 6 && !strcmp(c.comm, "worker"));
	c = name(PERF_RECORD_MISC_COMM_EXEC);
	CHECK(c.kind == TASK_EXEC && c.time_ns == 2000 && !strcmp(c.comm, "worker"));
}

int main(void)
{
	RUN(a_sample_has_its_registers_and_its_stack);
	RUN(one_without_a_stack_that_can_be_walked_is_a_sample);
	RUN(what_makes_no_sense_is_none);
	RUN(processes_and_threads_begin_and_end);
	RUN(how_long_a_thread_ran_is_reported_for_each_cpu_that_it_had);
	RUN(names_and_programs_change);
	return tap_end();
}
