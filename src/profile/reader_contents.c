// SPDX-License-Identifier: MIT
/* What was read: entries of tables by their ids, metadata, losses, sums. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/reader_internal.h"

const char *profile_string(const struct profile_reader *r, uint32_t id, size_t *ret_size)
{
	struct text text = {"", 0};

	if (id && id <= r->tables->counts[TABLE_STRINGS])
		text = r->tables->strings.items[id - 1];
	if (ret_size)
		*ret_size = text.size;
	return text.data;
}

const struct profile_module *profile_module(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_MODULES, id);
}

const struct profile_location *profile_location(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_LOCATIONS, id);
}

const struct profile_stack_node *profile_stack_node(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_STACKS, id);
}

const struct profile_process *profile_process(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_PROCESSES, id);
}

const struct profile_thread *profile_thread(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_THREADS, id);
}

bool profile_is_profiler(const struct profile_reader *r, uint32_t thread)
{
	const struct profile_thread *t = profile_thread(r, thread);

	return t && t->flags & THREAD_PROFILER;
}

const char *profile_thread_name(
	const struct profile_reader *r, const struct profile_thread *t, size_t *ret_size)
{
	static const char profiler[] = "xpuprof (profiler)";

	if (!(t->flags & THREAD_PROFILER))
		return profile_string(r, t->name, ret_size);
	if (ret_size)
		*ret_size = sizeof(profiler) - 1;
	return profiler;
}

const struct profile_account *profile_account(const struct profile_reader *r, uint32_t thread)
{
	const struct cpu_time *a = cpu_times_find(&r->accounts, thread);

	return a ? &a->is : NULL;
}

const struct profile_device *profile_device(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_DEVICES, id);
}

const struct profile_op *profile_op(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_OPS, id);
}

const struct profile_inline *profile_inline(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_INLINES, id);
}

const struct profile_segment *profile_segment(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_SEGMENTS, id);
}

const struct profile_gpu_function *profile_gpu_function(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_GPU_FUNCTIONS, id);
}

const struct profile_instruction *profile_instruction(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_INSTRUCTIONS, id);
}

const struct profile_window *profile_window(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_WINDOWS, id);
}

const struct profile_counter *profile_counter(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_COUNTERS, id);
}

const struct profile_burst *profile_burst(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_BURSTS, id);
}

const struct profile_probe_object *profile_probe_object(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_PROBE_OBJECTS, id);
}

const struct profile_probe_map *profile_probe_map(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_PROBE_MAPS, id);
}

const struct profile_probe_context *profile_probe_context(
	const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_PROBE_CONTEXTS, id);
}

const struct profile_probe_kernel *profile_probe_kernel(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_PROBE_KERNELS, id);
}

const struct profile_probe_line *profile_probe_line(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_PROBE_LINES, id);
}

const struct bursts *profile_bursts(const struct profile_reader *r)
{
	return &r->bursts;
}

bool profile_is_in_bursts(const struct profile_reader *r)
{
	return r->bursts.all.count || r->bursts.without || profile_meta(r, META_OVERHEAD);
}

bool profile_is_drawn(const struct profile_reader *r)
{
	return r->bursts.drawn;
}

uint64_t profile_sort(const struct profile_reader *r, const struct profile_work *w)
{
	const struct profile_op *op = w->stands_for > 1 ? profile_op(r, w->op) : NULL;

	if (!op)
		return 0;
	return (uint64_t)op->process << 33 |
	       (op->kind == OP_KERNEL ? 1ull << 32 | op->name : w->api);
}

bool profile_is_estimated(const struct profile_reader *r)
{
	return profile_is_in_bursts(r) || profile_is_drawn(r);
}

uint64_t profile_reader_passed_ns(const struct profile_reader *r, uint32_t thread)
{
	const struct cpu_time *a = cpu_times_find(&r->accounts, thread);

	return a ? a->passed_ns : 0;
}

struct profile_counts profile_counts(const struct profile_reader *r)
{
	return (struct profile_counts){
		.strings = r->tables->counts[TABLE_STRINGS],
		.modules = r->tables->counts[TABLE_MODULES],
		.locations = r->tables->counts[TABLE_LOCATIONS],
		.stack_nodes = r->tables->counts[TABLE_STACKS],
		.processes = r->tables->counts[TABLE_PROCESSES],
		.threads = r->tables->counts[TABLE_THREADS],
		.devices = r->tables->counts[TABLE_DEVICES],
		.ops = r->tables->counts[TABLE_OPS],
		.inlines = r->tables->counts[TABLE_INLINES],
		.segments = r->tables->counts[TABLE_SEGMENTS],
		.gpu_functions = r->tables->counts[TABLE_GPU_FUNCTIONS],
		.instructions = r->tables->counts[TABLE_INSTRUCTIONS],
		.windows = r->tables->counts[TABLE_WINDOWS],
		.counters = r->tables->counts[TABLE_COUNTERS],
		.bursts = r->tables->counts[TABLE_BURSTS],
		.probe_objects = r->tables->counts[TABLE_PROBE_OBJECTS],
		.probe_maps = r->tables->counts[TABLE_PROBE_MAPS],
		.probe_contexts = r->tables->counts[TABLE_PROBE_CONTEXTS],
		.probe_kernels = r->tables->counts[TABLE_PROBE_KERNELS],
		.probe_lines = r->tables->counts[TABLE_PROBE_LINES],
	};
}

uint64_t profile_loss_count(const struct profile_reader *r, enum profile_loss loss)
{
	return loss < LOSS_KINDS ? r->losses[loss] : 0;
}

bool profile_meta_at(
	const struct profile_reader *r, size_t n, const char **ret_key, const char **ret_value)
{
	if (n >= r->meta.count / 2)
		return false;
	*ret_key = r->meta.items[2 * n].data;
	*ret_value = r->meta.items[2 * n + 1].data;
	return true;
}

const char *profile_meta(const struct profile_reader *r, const char *key)
{
	const char *found, *value;

	for (size_t n = 0; profile_meta_at(r, n, &found, &value); n++)
		if (!strcmp(found, key))
			return value;
	return NULL;
}

uint64_t profile_meta_number(const struct profile_reader *r, const char *key, uint64_t otherwise)
{
	const char *text = profile_meta(r, key);
	unsigned long long number;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return otherwise;
	errno = 0;
	number = strtoull(text, &end, 10);
	return *end || errno ? otherwise : number;
}

struct profile_sums profile_reader_sums(const struct profile_reader *r)
{
	return (struct profile_sums){
		.samples = r->events_of[EVENT_SAMPLE],
		.calls = r->events_of[EVENT_CALL],
		.works = r->events_of[EVENT_WORK],
		.pendings = r->events_of[EVENT_PENDING],
		.stalls = r->events_of[EVENT_STALL],
		.counts = r->events_of[EVENT_COUNT],
		.drivers = r->events_of[EVENT_DRIVER],
		.waits = r->events_of[EVENT_WAIT],
		.lives = r->events_of[EVENT_LIFE],
		.syncs = r->events_of[EVENT_SYNC],
		.markers = r->events_of[EVENT_MARKER],
		.founds = r->events_of[EVENT_FOUND],
		.stall_samples = r->stall_samples,
		.cpu_ns = r->cpu_ns,
		.gpu_ns = r->gpu_ns,
	};
}
