// SPDX-License-Identifier: MIT
/*
 * From CUPTI's activity records to ours, in our own thread.
 *
 * Only a prefix of each record is read (abi.h explains why that is safe), and only after a check
 * that the buffer holds it. Times that make no sense are sent, too: the recorder checks them, once,
 * for all libraries. Records that we do not understand are counted. The times that do make sense
 * are also added up here, so that the recorder can check whether all of them arrived.
 */
#include "inject/cupti/cupti.h"
#include "inject/asked.h"
#include "inject/bursts.h"
#include "inject/cupti/probes.h"
#include "inject/launches.h"
#include "inject/library.h"

static const uint32_t kinds[] = {
	CUPTI_KIND_CONCURRENT_KERNEL,
	CUPTI_KIND_MEMCPY,
	CUPTI_KIND_MEMCPY_PEER,
	CUPTI_KIND_MEMSET,
};

int enable_records(void)
{
	int result = 0;

	for (size_t i = 0; !result && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		result = cupti.ActivityEnable(kinds[i]);
	return result;
}

void disable_records(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cupti.ActivityDisable(kinds[i]);
}

void enable_markers(void)
{
	if (!library.markers)
		return;
	if (cupti.SetThreadIdType)
		cupti.SetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
	cupti.ActivityEnable(CUPTI_KIND_MARKER);
}

void disable_markers(void)
{
	if (library.markers)
		cupti.ActivityDisable(CUPTI_KIND_MARKER);
}

static uint64_t our_time(uint64_t cupti_ns)
{
	return cupti_ns ? cupti_ns - (uint64_t)cupti.clock_offset_ns : 0;
}

static void get_uuid(int device, uint8_t ret[16])
{
	const struct cuda_driver *d = &cuda_driver;

	if (d->cuDeviceGetUuid_v2)
		d->cuDeviceGetUuid_v2(ret, device);
	else if (d->cuDeviceGetUuid)
		d->cuDeviceGetUuid(ret, device);
}

void device_uuid(uint32_t ordinal, uint8_t ret[16])
{
	const struct cuda_driver *d = &cuda_driver;
	int device;

	memset(ret, 0, 16);
	if (d->cuDeviceGet && !d->cuDeviceGet(&device, (int)ordinal))
		get_uuid(device, ret);
}

/* Sends name, size and identity of a device, as far as the driver reports them: false when that
 * failed. */
static bool describe_device(uint32_t ordinal)
{
	const struct cuda_driver *d = &cuda_driver;
	struct wire_device record = {.type = WIRE_DEVICE, .number = ordinal};
	char name[256] = "";
	size_t bytes = 0;
	int device, sms = 0, khz = 0;

	if (d->cuDeviceGet && !d->cuDeviceGet(&device, (int)ordinal)) {
		if (d->cuDeviceGetName)
			d->cuDeviceGetName(name, sizeof(name) - 1, device);
		if (d->cuDeviceGetAttribute) {
			d->cuDeviceGetAttribute(&sms, CUDA_ATTRIBUTE_SM_COUNT, device);
			d->cuDeviceGetAttribute(&khz, CUDA_ATTRIBUTE_CLOCK_KHZ, device);
		}
		if (d->cuDeviceTotalMem_v2)
			d->cuDeviceTotalMem_v2(&bytes, device);
		get_uuid(device, record.uuid);
	}
	record.sm_count = (uint32_t)sms;
	record.clock_khz = (uint32_t)khz;
	record.memory_bytes = bytes;
	record.name_size = (uint32_t)strnlen(name, sizeof(name));
	return send_long(&record, sizeof(record), name, record.name_size);
}

/* Before the first operation of a device, and before its samples, which another thread may send.
 * Then a device may be sent twice, which does no harm, while a lock might. */
void introduce_device(uint32_t ordinal)
{
	static uint8_t introduced[WIRE_DEVICES];

	if (ordinal >= WIRE_DEVICES || __atomic_load_n(&introduced[ordinal], __ATOMIC_ACQUIRE))
		return;
	if (describe_device(ordinal))
		__atomic_store_n(&introduced[ordinal], 1, __ATOMIC_RELEASE);
}

/* Only our thread writes this. */
static void add_reported(uint64_t start_ns, uint64_t end_ns)
{
	uint64_t *sum = &library.ring.control->reported_ns;

	if (start_ns && start_ns <= end_ns)
		__atomic_store_n(sum, *sum + (end_ns - start_ns), __ATOMIC_RELAXED);
}

/* Of a call that we have not reported. */
static bool is_of_no_call(uint32_t correlation)
{
	if (library.overhead)
		return !asked_for(correlation);
	return is_from_before(correlation) || is_from_after(correlation);
}

static void send_work(struct wire_op *op, const char *name, struct wire_work *work)
{
	if (op->kind != WIRE_WORK_KERNEL && probes_have_stream(op->context, op->stream))
		return;
	bursts_count_work();
	if (is_of_no_call(work->correlation))
		return;
	if (library.overhead && work->graph_node)
		bursts_graph_worked(work->correlation);
	add_reported(work->start_ns, work->end_ns);
	introduce_device(op->device);
	work->op = table_op(op, name);
	work->type = WIRE_WORK;
	work->kind = op->kind;
	work->start_ns = our_time(work->start_ns);
	work->end_ns = our_time(work->end_ns);
	if (!work->op || !send_slot(work))
		count(WIRE_LOST_WORK, 1);
}

static void convert_kernel(const struct cupti_kernel *k)
{
	struct wire_work work = {
		.correlation = k->correlation,
		.start_ns = k->start,
		.end_ns = k->end,
		.graph_node = k->graph_node,
		.queued_ns = our_time(k->queued),
		.submitted_ns = our_time(k->submitted),
		.flags = (uint16_t)((uint64_t)k->grid_id >> 32 << WIRE_WORK_GRID_SHIFT |
				    WIRE_WORK_HAS_GRID),
		.grid = (uint32_t)k->grid_id,
	};
	struct wire_op op = {
		.kind = WIRE_WORK_KERNEL,
		.device = k->device,
		.context = k->context,
		.stream = k->stream,
		.registers = k->registers,
		.shared_static_bytes = (uint32_t)k->shared_static,
		.shared_dynamic_bytes = (uint32_t)k->shared_dynamic,
	};

	for (int i = 0; i < 3; i++) {
		op.grid[i] = (uint32_t)k->grid[i];
		op.block[i] = (uint32_t)k->block[i];
	}
	send_work(&op, k->name ? k->name : "", &work);
}

static void convert_memcpy(const struct cupti_memcpy *m)
{
	struct wire_work work = {
		.correlation = m->correlation,
		.start_ns = m->start,
		.end_ns = m->end,
		.graph_node = m->graph_node,
		.bytes = m->bytes,
	};
	struct wire_op op = {
		.kind = WIRE_WORK_COPY,
		.copy_kind = m->copy_kind,
		.source_memory = m->source_kind,
		.target_memory = m->target_kind,
		.device = m->device,
		.context = m->context,
		.stream = m->stream,
	};

	send_work(&op, NULL, &work);
}

static void convert_peer(const struct cupti_memcpy_peer *m)
{
	struct wire_work work = {
		.correlation = m->correlation,
		.start_ns = m->start,
		.end_ns = m->end,
		.graph_node = m->graph_node,
		.bytes = m->bytes,
	};
	struct wire_op op = {
		.kind = WIRE_WORK_COPY,
		.copy_kind = m->copy_kind,
		.source_memory = m->source_kind,
		.target_memory = m->target_kind,
		.device = m->device,
		.context = m->context,
		.stream = m->stream,
	};

	send_work(&op, NULL, &work);
}

static void convert_memset(const struct cupti_memset *m)
{
	struct wire_work work = {
		.correlation = m->correlation,
		.start_ns = m->start,
		.end_ns = m->end,
		.graph_node = m->graph_node,
		.bytes = m->bytes,
	};
	struct wire_op op = {
		.kind = WIRE_WORK_SET,
		.target_memory = (uint8_t)m->memory_kind,
		.device = m->device,
		.context = m->context,
		.stream = m->stream,
	};

	send_work(&op, NULL, &work);
}

/* Those of synchronization objects are none. */
static uint8_t marker_kind(uint32_t flags)
{
	return flags & CUPTI_MARKER_INSTANTANEOUS ? WIRE_MARKER_MOMENT
	       : flags & CUPTI_MARKER_START	  ? WIRE_MARKER_BEGIN
	       : flags & CUPTI_MARKER_END	  ? WIRE_MARKER_END
						  : 0;
}

static void convert_marker(const struct cupti_marker *m)
{
	struct wire_marker record = {.type = WIRE_MARKER,
		.kind = marker_kind(m->flags),
		.number = m->id,
		.tid = m->object_kind == CUPTI_OBJECT_THREAD ? m->thread : 0,
		.time_ns = our_time(m->timestamp)};

	if (!record.kind)
		return;
	if (!table_texts(m->name, m->domain, &record.name, &record.domain) || !send_slot(&record))
		count(WIRE_LOST_MARKERS, 1);
}

/* `room` bytes of the buffer begin at the record. False: its kind or size is not one of ours. */
static bool convert_record(const struct cupti_record *record, size_t room)
{
	switch (record->kind) {
	case CUPTI_KIND_KERNEL:
	case CUPTI_KIND_CONCURRENT_KERNEL:
		if (room < sizeof(struct cupti_kernel))
			return false;
		convert_kernel((const struct cupti_kernel *)record);
		return true;
	case CUPTI_KIND_MEMCPY:
		if (room < sizeof(struct cupti_memcpy))
			return false;
		convert_memcpy((const struct cupti_memcpy *)record);
		return true;
	case CUPTI_KIND_MEMCPY_PEER:
		if (room < sizeof(struct cupti_memcpy_peer))
			return false;
		convert_peer((const struct cupti_memcpy_peer *)record);
		return true;
	case CUPTI_KIND_MEMSET:
		if (room < sizeof(struct cupti_memset))
			return false;
		convert_memset((const struct cupti_memset *)record);
		return true;
	case CUPTI_KIND_MARKER:
		if (room < sizeof(struct cupti_marker))
			return false;
		convert_marker((const struct cupti_marker *)record);
		return true;
	default:
		return false;
	}
}

void convert_buffer(uint8_t *buffer, size_t valid_size)
{
	struct cupti_record *record = NULL;
	int result;

	while (!(result = cupti.ActivityGetNextRecord(buffer, valid_size, &record))) {
		size_t offset = (size_t)((uint8_t *)record - buffer);

		if (offset + sizeof(*record) > valid_size ||
			!convert_record(record, valid_size - offset))
			count(WIRE_UNKNOWN, 1);
	}
	if (result != CUPTI_MAX_LIMIT_REACHED)
		count(WIRE_UNKNOWN, 1); /* the rest of the buffer: an unknown number */
	if (ring_used(&library.ring) > (library.ring.mask + 1) / 4)
		connection_hurry(&library.connection);
}
