// SPDX-License-Identifier: MIT
#include "profile/entries.h"

#include <string.h>

#include "profile/format.h"
#include "profile/varint.h"

#define FIELD(type, member)                                                                        \
	.offset = offsetof(struct type, member), .bytes = sizeof(((struct type *)0)->member)
// clang-format off
#define NUMBER(type, member)             {FIELD(type, member)}
#define ADDED(type, member)              {FIELD(type, member), .added = true}
#define RAW(type, member)                {FIELD(type, member), .raw = true}
#define LIMITED(type, member, low, high) {FIELD(type, member), .minimum = (low), .maximum = (high)}
#define ID(type, member, table)          {FIELD(type, member), .refers = (table)}
#define ADDED_ID(type, member, table)    {FIELD(type, member), .refers = (table), .added = true}
#define REQUIRED_ID(type, member, table) {FIELD(type, member), .refers = (table), .minimum = 1}
// clang-format on

static const struct entry_field module_fields[] = {
	LIMITED(profile_module, kind, MODULE_FILE, MODULE_GPU_CODE),
	ID(profile_module, path, TABLE_STRINGS),
	LIMITED(profile_module, build_id_size, 0, BUILD_ID_MAX),
	RAW(profile_module, build_id),
	ADDED(profile_module, flags),
};

static const struct entry_field location_fields[] = {
	LIMITED(profile_location, kind, FRAME_USER, FRAME_NOTE),
	ID(profile_location, module, TABLE_MODULES),
	NUMBER(profile_location, address),
	ID(profile_location, name, TABLE_STRINGS),
	ID(profile_location, file, TABLE_STRINGS),
	NUMBER(profile_location, line),
	ADDED_ID(profile_location, inlined, TABLE_INLINES),
	ADDED(profile_location, function),
};

static const struct entry_field stack_fields[] = {
	ID(profile_stack_node, parent, TABLE_STACKS),
	REQUIRED_ID(profile_stack_node, location, TABLE_LOCATIONS),
};

static const struct entry_field process_fields[] = {
	NUMBER(profile_process, pid),
	ID(profile_process, parent, TABLE_PROCESSES),
	NUMBER(profile_process, start_ns),
	ID(profile_process, comm, TABLE_STRINGS),
	ID(profile_process, cmdline, TABLE_STRINGS),
};

static const struct entry_field thread_fields[] = {
	ID(profile_thread, process, TABLE_PROCESSES),
	NUMBER(profile_thread, tid),
	ID(profile_thread, name, TABLE_STRINGS),
	ADDED(profile_thread, flags),
};

static const struct entry_field device_fields[] = {
	RAW(profile_device, uuid),
	NUMBER(profile_device, ordinal),
	ID(profile_device, name, TABLE_STRINGS),
	NUMBER(profile_device, sm_count),
	NUMBER(profile_device, memory_bytes),
	ADDED(profile_device, clock_khz),
};

static const struct entry_field op_fields[] = {
	LIMITED(profile_op, kind, OP_KERNEL, OP_SET),
	ID(profile_op, process, TABLE_PROCESSES),
	ID(profile_op, device, TABLE_DEVICES),
	NUMBER(profile_op, context),
	NUMBER(profile_op, stream),
	ID(profile_op, name, TABLE_STRINGS),
	NUMBER(profile_op, grid[0]),
	NUMBER(profile_op, grid[1]),
	NUMBER(profile_op, grid[2]),
	NUMBER(profile_op, block[0]),
	NUMBER(profile_op, block[1]),
	NUMBER(profile_op, block[2]),
	NUMBER(profile_op, registers),
	NUMBER(profile_op, shared_static_bytes),
	NUMBER(profile_op, shared_dynamic_bytes),
	LIMITED(profile_op, copy_kind, 0, COPY_KINDS - 1),
	LIMITED(profile_op, source_memory, 0, MEMORY_KINDS - 1),
	LIMITED(profile_op, target_memory, 0, MEMORY_KINDS - 1),
};

static const struct entry_field inline_fields[] = {
	ID(profile_inline, caller, TABLE_INLINES),
	ID(profile_inline, name, TABLE_STRINGS),
	ID(profile_inline, file, TABLE_STRINGS),
	NUMBER(profile_inline, line),
};

static const struct entry_field segment_fields[] = {
	REQUIRED_ID(profile_segment, module, TABLE_MODULES),
	NUMBER(profile_segment, offset),
	NUMBER(profile_segment, size),
	NUMBER(profile_segment, vaddr),
};

static const struct entry_field gpu_function_fields[] = {
	REQUIRED_ID(profile_gpu_function, module, TABLE_MODULES),
	ID(profile_gpu_function, name, TABLE_STRINGS),
	NUMBER(profile_gpu_function, index),
};

/* When most of them are written, only function and offset are known. */
static const struct entry_field instruction_fields[] = {
	REQUIRED_ID(profile_instruction, function, TABLE_GPU_FUNCTIONS),
	NUMBER(profile_instruction, offset),
	ADDED_ID(profile_instruction, text, TABLE_STRINGS),
	ADDED_ID(profile_instruction, file, TABLE_STRINGS),
	ADDED(profile_instruction, line),
	ADDED_ID(profile_instruction, inlined, TABLE_INLINES),
};

static const struct entry_field window_fields[] = {
	ID(profile_window, process, TABLE_PROCESSES),
	NUMBER(profile_window, instance),
	ID(profile_window, device, TABLE_DEVICES),
	NUMBER(profile_window, context),
	NUMBER(profile_window, start_ns),
	NUMBER(profile_window, end_ns),
	NUMBER(profile_window, period_cycles),
	NUMBER(profile_window, samples),
	NUMBER(profile_window, dropped),
	NUMBER(profile_window, without_code),
	LIMITED(profile_window, exact, 0, 1),
};

static const struct entry_field counter_fields[] = {
	REQUIRED_ID(profile_counter, name, TABLE_STRINGS),
	ID(profile_counter, unit, TABLE_STRINGS),
};

static const struct entry_field burst_fields[] = {
	ID(profile_burst, process, TABLE_PROCESSES),
	NUMBER(profile_burst, instance),
	NUMBER(profile_burst, since_ns),
	NUMBER(profile_burst, until_ns),
	NUMBER(profile_burst, start_ns),
	NUMBER(profile_burst, end_ns),
};

static const struct entry_field probe_object_fields[] = {
	ID(profile_probe_object, name, TABLE_STRINGS),
	ID(profile_probe_object, tool, TABLE_STRINGS),
	ID(profile_probe_object, file, TABLE_STRINGS),
};

static const struct entry_field probe_map_fields[] = {
	REQUIRED_ID(profile_probe_map, object, TABLE_PROBE_OBJECTS),
	NUMBER(profile_probe_map, number),
	ID(profile_probe_map, name, TABLE_STRINGS),
};

static const struct entry_field probe_context_fields[] = {
	ID(profile_probe_context, process, TABLE_PROCESSES),
	ID(profile_probe_context, device, TABLE_DEVICES),
};

static const struct entry_field probe_kernel_fields[] = {
	NUMBER(profile_probe_kernel, hash),
	ID(profile_probe_kernel, name, TABLE_STRINGS),
	NUMBER(profile_probe_kernel, programs),
	NUMBER(profile_probe_kernel, returns),
	NUMBER(profile_probe_kernel, accesses),
	NUMBER(profile_probe_kernel, images),
	NUMBER(profile_probe_kernel, size[0]),
	NUMBER(profile_probe_kernel, size[1]),
	NUMBER(profile_probe_kernel, size[2]),
	NUMBER(profile_probe_kernel, size[3]),
	NUMBER(profile_probe_kernel, size[4]),
	NUMBER(profile_probe_kernel, size[5]),
	ADDED_ID(profile_probe_kernel, about, TABLE_STRINGS),
	ADDED(profile_probe_kernel, module),
	ADDED(profile_probe_kernel, bound),
};

static const struct entry_field probe_line_fields[] = {
	NUMBER(profile_probe_line, kernel),
	NUMBER(profile_probe_line, insn),
	ID(profile_probe_line, file, TABLE_STRINGS),
	NUMBER(profile_probe_line, line),
	NUMBER(profile_probe_line, bytes),
	NUMBER(profile_probe_line, kind),
};

#define FORMAT(text, type, may_update, struct_name, list)                                          \
	{                                                                                          \
		.name = (text), .chunk = (type), .updates = (may_update),                          \
		.entry_bytes = sizeof(struct struct_name),                                         \
		.field_count = sizeof(list) / sizeof((list)[0]), .fields = (list)                  \
	}

const struct entry_format entry_formats[TABLE_COUNT] = {
	[TABLE_STRINGS] = {.name = "string", .chunk = CHUNK_STRINGS},
	[TABLE_MODULES] = FORMAT("module", CHUNK_MODULES, false, profile_module, module_fields),
	[TABLE_LOCATIONS] =
		FORMAT("location", CHUNK_LOCATIONS, true, profile_location, location_fields),
	[TABLE_STACKS] = FORMAT("stack", CHUNK_STACKS, false, profile_stack_node, stack_fields),
	[TABLE_PROCESSES] =
		FORMAT("process", CHUNK_PROCESSES, true, profile_process, process_fields),
	[TABLE_THREADS] = FORMAT("thread", CHUNK_THREADS, true, profile_thread, thread_fields),
	[TABLE_DEVICES] = FORMAT("device", CHUNK_DEVICES, false, profile_device, device_fields),
	[TABLE_OPS] = FORMAT("op", CHUNK_OPS, false, profile_op, op_fields),
	[TABLE_INLINES] =
		FORMAT("inlined function", CHUNK_INLINES, false, profile_inline, inline_fields),
	[TABLE_SEGMENTS] =
		FORMAT("segment", CHUNK_SEGMENTS, false, profile_segment, segment_fields),
	[TABLE_GPU_FUNCTIONS] = FORMAT("GPU function", CHUNK_GPU_FUNCTIONS, false,
		profile_gpu_function, gpu_function_fields),
	[TABLE_INSTRUCTIONS] = FORMAT(
		"instruction", CHUNK_INSTRUCTIONS, true, profile_instruction, instruction_fields),
	[TABLE_WINDOWS] = FORMAT("window", CHUNK_WINDOWS, false, profile_window, window_fields),
	[TABLE_COUNTERS] =
		FORMAT("counter", CHUNK_COUNTERS, false, profile_counter, counter_fields),
	[TABLE_BURSTS] = FORMAT("burst", CHUNK_BURSTS, false, profile_burst, burst_fields),
	[TABLE_PROBE_OBJECTS] = FORMAT("object of probes", CHUNK_PROBE_OBJECTS, false,
		profile_probe_object, probe_object_fields),
	[TABLE_PROBE_MAPS] = FORMAT(
		"map of probes", CHUNK_PROBE_MAPS, false, profile_probe_map, probe_map_fields),
	[TABLE_PROBE_CONTEXTS] = FORMAT("context of probes", CHUNK_PROBE_CONTEXTS, false,
		profile_probe_context, probe_context_fields),
	[TABLE_PROBE_KERNELS] = FORMAT("kernel with probes", CHUNK_PROBE_KERNELS, false,
		profile_probe_kernel, probe_kernel_fields),
	[TABLE_PROBE_LINES] = FORMAT("access with probes", CHUNK_PROBE_LINES, false,
		profile_probe_line, probe_line_fields),
};

_Static_assert(
	sizeof(op_fields) / sizeof(op_fields[0]) * 5 <= ENTRY_MAX_BYTES &&
		sizeof(device_fields) / sizeof(device_fields[0]) * 10 + 16 <= ENTRY_MAX_BYTES &&
		sizeof(window_fields) / sizeof(window_fields[0]) * 10 <= ENTRY_MAX_BYTES,
	"an entry may be longer than ENTRY_MAX_BYTES");

static uint64_t load(const void *entry, const struct entry_field *field)
{
	const char *at = (const char *)entry + field->offset;
	uint32_t narrow;
	uint64_t wide;

	switch (field->bytes) {
	case 1:
		return *(const uint8_t *)at;
	case 4:
		memcpy(&narrow, at, 4);
		return narrow;
	default:
		memcpy(&wide, at, 8);
		return wide;
	}
}

static void store(void *entry, const struct entry_field *field, uint64_t value)
{
	char *at = (char *)entry + field->offset;
	uint32_t narrow = (uint32_t)value;

	switch (field->bytes) {
	case 1:
		*(uint8_t *)at = (uint8_t)value;
		break;
	case 4:
		memcpy(at, &narrow, 4);
		break;
	default:
		memcpy(at, &value, 8);
	}
}

static bool field_is_valid(enum profile_table table, const struct entry_field *field,
	uint64_t value, uint32_t own_id, const uint32_t counts[TABLE_COUNT])
{
	if (value < field->minimum)
		return false;
	if (field->refers == table)
		return value < own_id;
	if (field->refers)
		return value <= counts[field->refers];
	return !field->maximum || value <= field->maximum;
}

bool entry_is_valid(enum profile_table table, const void *entry, uint32_t own_id,
	const uint32_t counts[TABLE_COUNT])
{
	const struct entry_format *format = &entry_formats[table];

	for (size_t i = 0; i < format->field_count; i++) {
		const struct entry_field *field = &format->fields[i];

		if (!field->raw &&
			!field_is_valid(table, field, load(entry, field), own_id, counts))
			return false;
	}
	return true;
}

uint8_t *entry_encode(enum profile_table table, const void *entry, uint8_t *p)
{
	const struct entry_format *format = &entry_formats[table];
	size_t count = format->field_count;

	while (format->fields[count - 1].added && !load(entry, &format->fields[count - 1]))
		count--;
	for (size_t i = 0; i < count; i++) {
		const struct entry_field *field = &format->fields[i];

		if (field->raw) {
			memcpy(p, (const char *)entry + field->offset, field->bytes);
			p += field->bytes;
		} else {
			p = varint_put(p, load(entry, field));
		}
	}
	return p;
}

bool entry_decode(enum profile_table table, const uint8_t **p, const uint8_t *end, void *ret_entry)
{
	const struct entry_format *format = &entry_formats[table];

	memset(ret_entry, 0, format->entry_bytes);
	for (size_t i = 0; i < format->field_count; i++) {
		const struct entry_field *field = &format->fields[i];
		uint64_t value;

		if (field->added && *p >= end)
			break;
		if (field->raw) {
			memcpy((char *)ret_entry + field->offset, *p, field->bytes);
			*p += field->bytes;
			continue;
		}
		value = varint_get(p);
		if (field->bytes < 8 && value >> (8 * field->bytes))
			return false;
		store(ret_entry, field, value);
	}
	return true;
}
