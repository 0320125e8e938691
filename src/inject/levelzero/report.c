// SPDX-License-Identifier: MIT
/*
 * Work that has ended, as records. Where its times are unknown or contradict themselves, it is sent
 * as work that took no time, when its call returned, and counted.
 */
#include "inject/bursts.h"
#include "inject/levelzero/levelzero.h"

#define LONGEST_NS (1ull << 50)
#define SLACK_NS   1000ull

/* False: they cannot have been in the call, or after it. */
static bool place(struct device *d, const struct piece *p, struct wire_work *ret)
{
	uint8_t bits = d->kernel_bits;
	uint64_t cycles = p->end - p->start, end_ns, error_ns, slack_ns;
	int64_t offset_ns;

	if (bits < 64)
		cycles &= (1ull << bits) - 1;
	if (!p->has_times || !(p->start | p->end) || gpu_ns(d, cycles) > LONGEST_NS ||
		!clock_offset(&d->clock, p->returned_ns, &offset_ns, &error_ns))
		return false;
	end_ns = gpu_ns(d, gpus_unwrap(d, p->end)) - (uint64_t)offset_ns;
	slack_ns = error_ns + 1000000000ull / d->hz + SLACK_NS;
	if (gpu_ns(d, cycles) > end_ns ||
		end_ns - gpu_ns(d, cycles) + slack_ns < p->open.start_ns ||
		end_ns > now_ns() + slack_ns)
		return false;
	ret->end_ns = end_ns;
	ret->start_ns = end_ns - gpu_ns(d, cycles);
	clock_note_error(error_ns);
	return true;
}

static void add_reported(const struct wire_work *w)
{
	uint64_t *sum = &library.ring.control->reported_ns;

	__atomic_store_n(sum, *sum + (w->end_ns - w->start_ns), __ATOMIC_RELAXED);
}

void report_piece(struct piece *p)
{
	struct device *d = &gpus[p->place.device];
	struct wire_work work = {.type = WIRE_WORK,
		.kind = p->work.kind,
		.correlation = p->open.correlation,
		.graph_node = p->node,
		.start_ns = p->returned_ns,
		.end_ns = p->returned_ns};
	struct wire_op op = {.kind = p->work.kind,
		.copy_kind = p->work.copy_kind,
		.source_memory = p->work.source_memory,
		.target_memory = p->work.target_memory,
		.device = d->record.number,
		.context = p->place.context,
		.stream = p->place.stream};

	if (!p->work.kind)
		return;
	memcpy(op.grid, p->work.grid, sizeof(op.grid));
	memcpy(op.block, p->work.block, sizeof(op.block));
	if (work.kind != WIRE_WORK_KERNEL)
		work.bytes = p->work.bytes;
	gpus_ask(d);
	if (!place(d, p, &work))
		count(WIRE_UNTIMED, 1);
	bursts_count_work();
	add_reported(&work);
	gpus_introduce(d);
	work.op = table_op(&op, p->work.name);
	if (!work.op || !send_slot(&work))
		count(WIRE_LOST_WORK, 1);
}

/* Sends the bound of all conversions. */
void report_end_round(void)
{
	clock_measure_systems();
	clock_report_errors();
}
