// SPDX-License-Identifier: MIT
/* Calls of helpers. Those that only read a register of the GPU's are rows of a table. */
#include <errno.h>
#include <stddef.h>

#include "ebpf/nvidia/emit.h"

static const struct {
	int32_t helper;
	unsigned int width;
	const char *source;
} registers[] = {
	{HELPER_KTIME, 64, "%globaltimer"},
	{HELPER_TIMER, 64, "%globaltimer"},
	{HELPER_CLOCK, 64, "%clock64"},
	{HELPER_GRID_ID, 64, "%gridid"},
	{HELPER_PROCESSOR, 32, "%smid"},
	{HELPER_SM, 32, "%smid"},
	{HELPER_WARP_SLOT, 32, "%warpid"},
	{HELPER_LANE, 32, "%laneid"},
	{HELPER_COOKIE, 64, "%xpu_cookie"},
	{HELPER_KERNEL, 64, "%xpu_kernel"},
	{HELPER_LANES, 32, "%xpu_lanes"},
	{HELPER_ACTIVE_MASK, 32, "%xpu_active"},
	{HELPER_LINES, 32, "%xpu_lines"},
};

static bool emit_register(struct emitter *e, int32_t helper)
{
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		if (registers[i].helper != helper)
			continue;
		if (registers[i].width == 64) {
			emit(e, "mov.u64 %%e0, %s;", registers[i].source);
		} else {
			emit(e, "mov.u32 %%ew0, %s;", registers[i].source);
			emit(e, "cvt.u64.u32 %%e0, %%ew0;");
		}
		return true;
	}
	return false;
}

/* Three numbers to where the arguments point. */
static void emit_three(struct emitter *e, const char *name)
{
	for (unsigned int i = 0; i < 3; i++) {
		emit(e, "mov.u32 %%ew0, %%%s.%c;", name, "xyz"[i]);
		emit(e, "cvt.u64.u32 %%ex0, %%ew0;");
		emit_result(e, i + 1, "%ex0");
	}
	emit(e, "mov.b64 %%e0, 0;");
}

static void send_argument(
	struct emitter *e, unsigned int map, unsigned int data, unsigned int size, int64_t full)
{
	const struct fact *f = fact_now(e);
	uint8_t number = f->arguments[map].which;
	struct sending s = {
		.place = &e->layout->maps[number],
		.address = e->layout->first_address + number,
		.data = data,
		.size = (uint32_t)f->arguments[size].value,
		.full = full,
	};

	emit_send(e, &s);
}

static void submit(struct emitter *e)
{
	uint8_t frame = fact_now(e)->arguments[1].which, map = e->analysis->frame_map[frame];
	struct sending s = {
		.place = &e->layout->maps[map],
		.address = e->layout->first_address + map,
		.data = 1,
		.size = e->analysis->frame_bytes[frame],
	};

	emit_send(e, &s);
}

/* The record begins as zeros. */
static void reserve(struct emitter *e)
{
	uint8_t frame = flow_record_frame(e->flow, step_now(e)->target);

	stack_zero(e, frame);
	if (in_memory(e, frame))
		emit(e, "mov.u64 %%e0, %s;",
			stack_base(frame, -(int64_t)e->analysis->frame_bytes[frame]).text);
}

static unsigned int count_set(const struct fact *f)
{
	unsigned int n = 0;

	while (n < 3 && f->arguments[3 + n].kind == VALUE_NUMBER)
		n++;
	return n;
}

static void print(struct emitter *e, bool has_numbers)
{
	struct sending s = {
		.place = &e->layout->prints,
		.address = ARENA_PRINTS,
		.size = sizeof(struct arena_print),
		.first = 3,
		.count = has_numbers ? count_set(fact_now(e)) : 0,
		.text = fact_now(e)->text,
	};

	emit_send(e, &s);
}

void emit_call(struct emitter *e)
{
	int32_t helper = step_now(e)->insn.imm;

	if (emit_register(e, helper))
		return;
	switch (helper) {
	case HELPER_LOOKUP:
		emit_lookup(e);
		break;
	case HELPER_OF_ACCESS:
		emit_of_access(e);
		break;
	case HELPER_UPDATE:
		emit_update(e);
		break;
	case HELPER_DELETE:
		emit_hash(e, helper);
		break;
	case HELPER_PRINTK:
	case HELPER_PUTS:
		print(e, helper == HELPER_PRINTK);
		break;
	case HELPER_PID_TGID:
		emit(e, "ld.global.u64 %%e0, [%%xpu_arena+%zu];",
			offsetof(struct arena_header, pid_tgid));
		break;
	case HELPER_PERF_OUTPUT:
		/* bpftime's meaning: 2 is full */
		send_argument(e, 2, 4, 5, 2);
		break;
	case HELPER_RING_OUTPUT:
		send_argument(e, 1, 2, 3, -EAGAIN);
		break;
	case HELPER_RING_RESERVE:
		reserve(e);
		break;
	case HELPER_RING_SUBMIT:
		submit(e);
		break;
	case HELPER_RING_DISCARD:
		break;
	case HELPER_BLOCK:
		emit_three(e, "ctaid");
		break;
	case HELPER_BLOCK_SIZE:
		emit_three(e, "ntid");
		break;
	case HELPER_THREAD:
		emit_three(e, "tid");
		break;
	case HELPER_GRID_SIZE:
		emit_three(e, "nctaid");
		break;
	case HELPER_LOG2:
		emit(e, "or.b64 %%ex0, %%e1, 1;");
		emit(e, "bfind.u64 %%ew0, %%ex0;");
		emit(e, "cvt.u64.u32 %%e0, %%ew0;");
		break;
	case HELPER_FENCE:
		emit(e, "fence.acq_rel.sys;");
		emit(e, "mov.b64 %%e0, 0;");
		break;
	case HELPER_EXIT:
		emit(e, "exit;");
		break;
	case HELPER_BLOCK_NUMBER:
		emit_block_number(e);
		emit(e, "mov.b64 %%e0, %%ex0;");
		break;
	case HELPER_THREAD_NUMBER:
		emit_thread_number(e);
		emit(e, "mov.b64 %%e0, %%ex0;");
		break;
	default:
		e->failed = true;
	}
}
