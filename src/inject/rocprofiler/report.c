// SPDX-License-Identifier: MIT
/*
 * Work that has ended, as records. Its times are of one clock for all devices, and are placed as a
 * whole: durations are the device's. Where they are unknown or contradict themselves, it is sent as
 * work that took no time, and counted.
 */
#include "inject/bursts.h"
#include "inject/rocprofiler/rocprofiler.h"

#define LONGEST_NS (1ull << 50)
#define SLACK_NS                                                                                   \
	1000000ull /* the driver converts times of devices by what it measures now and then */

/* As enum profile_copy_kind and enum profile_memory_kind have them. */
enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2, DEVICE_TO_DEVICE = 8, HOST_TO_HOST = 9 };
enum { DEVICE_MEMORY = 3 };

static const struct {
	uint8_t kind, source, target;
} directions[] = {
	[ROCPROFILER_HOST_TO_HOST] = {HOST_TO_HOST, 0, 0},
	[ROCPROFILER_HOST_TO_DEVICE] = {HOST_TO_DEVICE, 0, DEVICE_MEMORY},
	[ROCPROFILER_DEVICE_TO_HOST] = {DEVICE_TO_HOST, DEVICE_MEMORY, 0},
	[ROCPROFILER_DEVICE_TO_DEVICE] = {DEVICE_TO_DEVICE, DEVICE_MEMORY, DEVICE_MEMORY},
};

/* False: they are unknown, or are no times of work that has ended. */
static bool place(const struct ended *p, struct wire_work *ret)
{
	uint64_t now = now_ns(), error_ns;
	int64_t offset_ns;

	if (!p->start_ns || p->start_ns > p->end_ns || p->end_ns - p->start_ns > LONGEST_NS ||
		!clock_offset(&agents_clock, now, &offset_ns, &error_ns) ||
		p->end_ns - (uint64_t)offset_ns > now + error_ns + SLACK_NS)
		return false;
	ret->start_ns = p->start_ns - (uint64_t)offset_ns;
	ret->end_ns = p->end_ns - (uint64_t)offset_ns;
	clock_note_error(error_ns);
	return true;
}

static void add_reported(const struct wire_work *w)
{
	uint64_t *sum = &library.ring.control->reported_ns;

	__atomic_store_n(sum, *sum + (w->end_ns - w->start_ns), __ATOMIC_RELAXED);
}

static const char *describe_kernel(const struct ended *p, struct wire_op *op)
{
	struct kernel k = symbols_get(p->kernel);

	for (int n = 0; n < 3; n++) {
		uint32_t block = p->workgroup[n] ? p->workgroup[n] : 1;

		op->block[n] = block;
		op->grid[n] = p->grid[n] / block + (p->grid[n] % block != 0);
	}
	op->registers = k.registers;
	op->shared_static_bytes = k.group_bytes;
	if (p->group_bytes > k.group_bytes)
		op->shared_dynamic_bytes = p->group_bytes - k.group_bytes;
	return k.name;
}

static void describe_copy(const struct ended *p, struct wire_op *op)
{
	op->copy_kind = directions[p->direction].kind;
	op->source_memory = directions[p->direction].source;
	op->target_memory = directions[p->direction].target;
}

/* Queues have numbers of their own, behind those of streams. */
static uint32_t stream_of(const struct ended *p)
{
	uint32_t stream = id_stream(p->external);

	return stream == STREAM_OF_QUEUE ? (1u << STREAM_BITS) + (uint32_t)(p->queue & 0xffff)
					 : stream;
}

/* Of a call that began before the burst. */
static bool is_of_no_burst(const struct ended *p)
{
	return library.overhead && !id_correlation(p->external);
}

void report_ended(const struct ended *p)
{
	struct wire_work work = {.type = WIRE_WORK,
		.kind = p->kind,
		.correlation = id_correlation(p->external),
		.bytes = p->bytes};
	uint32_t node = tickets_node(id_ticket(p->external), id_correlation(p->external));
	struct wire_op op = {.kind = p->kind, .stream = stream_of(p)};
	const char *name = NULL;
	int device = agents_index(p->agent);

	bursts_count_work();
	if (is_of_no_burst(p))
		return;
	if (device < 0) {
		count(WIRE_UNKNOWN, 1);
		return;
	}
	hip_streams_on_device(op.stream, (uint32_t)device);
	op.device = agents_introduce((uint32_t)device);
	op.context = agents_context((uint32_t)device);
	if (p->kind == WIRE_WORK_KERNEL)
		name = describe_kernel(p, &op);
	else
		describe_copy(p, &op);
	if (!place(p, &work)) {
		work.start_ns = work.end_ns = now_ns();
		count(WIRE_UNTIMED, 1);
	}
	work.graph_node = node ? node_id(node) : 0;
	add_reported(&work);
	work.op = table_op(&op, name);
	if (!work.op || !send_slot(&work))
		count(WIRE_LOST_WORK, 1);
}

/* Sends the bound of all conversions. */
void report_ended_round(void)
{
	clock_measure_systems();
	clock_report_errors();
	if (ring_used(&library.ring) > (library.ring.mask + 1) / 4)
		connection_hurry(&library.connection);
}
