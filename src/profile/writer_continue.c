// SPDX-License-Identifier: MIT
/*
 * Going on with a profile that is there: a copy of its bytes, and of those tables that names are
 * added to.
 */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/reader.h"
#include "profile/writer_internal.h"

/* Ids stay what they are, so each string must come once, in order. */
static int copy_strings(struct profile_writer *w, const struct profile_reader *r, uint32_t count)
{
	for (uint32_t id = 1; id <= count; id++) {
		uint32_t own;
		size_t size;
		const char *text = profile_string(r, id, &size);

		if (interner_add(w->strings, text, size, &own, NULL))
			return profile_writer_fail_memory(w);
		if (own != id)
			return error_set(
				-EINVAL, "cannot add to '%s': it holds a string twice", w->path);
	}
	w->counts[TABLE_STRINGS] = count;
	return 0;
}

static int copy_entries(struct profile_writer *w, enum profile_table table,
	const struct profile_reader *r, uint32_t count,
	const void *(*get)(const struct profile_reader *r, uint32_t id), size_t key_bytes)
{
	struct table *t = &w->tables[table];

	for (uint32_t id = 1; id <= count; id++) {
		const void *entry = get(r, id);
		uint32_t hash, own;

		(void)table_find(t, entry, key_bytes, &hash);
		if (table_append(t, entry, hash, &own))
			return profile_writer_fail_memory(w);
	}
	w->counts[table] = count;
	return 0;
}

static const void *get_module(const struct profile_reader *r, uint32_t id)
{
	return profile_module(r, id);
}

static const void *get_location(const struct profile_reader *r, uint32_t id)
{
	return profile_location(r, id);
}

static const void *get_inline(const struct profile_reader *r, uint32_t id)
{
	return profile_inline(r, id);
}

static const void *get_segment(const struct profile_reader *r, uint32_t id)
{
	return profile_segment(r, id);
}

static const void *get_gpu_function(const struct profile_reader *r, uint32_t id)
{
	return profile_gpu_function(r, id);
}

static const void *get_instruction(const struct profile_reader *r, uint32_t id)
{
	return profile_instruction(r, id);
}

/* The tables that names are about; of the others the number of entries is all that is needed. */
static int copy_tables(struct profile_writer *w, const struct profile_reader *r)
{
	struct profile_counts counts = profile_counts(r);
	int error = copy_strings(w, r, counts.strings);

	w->counts[TABLE_STACKS] = counts.stack_nodes;
	w->counts[TABLE_PROCESSES] = counts.processes;
	w->counts[TABLE_THREADS] = counts.threads;
	w->counts[TABLE_DEVICES] = counts.devices;
	w->counts[TABLE_OPS] = counts.ops;
	w->counts[TABLE_WINDOWS] = counts.windows;
	w->counts[TABLE_COUNTERS] = counts.counters;
	w->counts[TABLE_BURSTS] = counts.bursts;
	w->counts[TABLE_PROBE_OBJECTS] = counts.probe_objects;
	w->counts[TABLE_PROBE_MAPS] = counts.probe_maps;
	w->counts[TABLE_PROBE_CONTEXTS] = counts.probe_contexts;
	w->counts[TABLE_PROBE_KERNELS] = counts.probe_kernels;
	w->counts[TABLE_PROBE_LINES] = counts.probe_lines;
	w->continued = true;
	error = error
			?: copy_entries(w, TABLE_MODULES, r, counts.modules, get_module,
				   BYTES_THROUGH(profile_module, build_id));
	error = error
			?: copy_entries(w, TABLE_LOCATIONS, r, counts.locations, get_location,
				   BYTES_THROUGH(profile_location, address));
	error = error
			?: copy_entries(w, TABLE_INLINES, r, counts.inlines, get_inline,
				   sizeof(struct profile_inline));
	error = error
			?: copy_entries(w, TABLE_SEGMENTS, r, counts.segments, get_segment,
				   sizeof(struct profile_segment));
	error = error
			?: copy_entries(w, TABLE_GPU_FUNCTIONS, r, counts.gpu_functions,
				   get_gpu_function, sizeof(struct profile_gpu_function));
	return error
		       ?: copy_entries(w, TABLE_INSTRUCTIONS, r, counts.instructions,
				  get_instruction, BYTES_THROUGH(profile_instruction, offset));
}

static int copy_totals(struct profile_writer *w, const struct profile_reader *r)
{
	struct profile_sums sums = profile_reader_sums(r);
	const char *key, *value;
	int error = 0;

	w->totals.samples = sums.samples;
	w->totals.calls = sums.calls;
	w->totals.works = sums.works;
	w->totals.pendings = sums.pendings;
	w->totals.stalls = sums.stalls;
	w->totals.stall_samples = sums.stall_samples;
	w->totals.counts = sums.counts;
	w->totals.drivers = sums.drivers;
	w->totals.waits = sums.waits;
	w->totals.lives = sums.lives;
	w->totals.syncs = sums.syncs;
	w->totals.markers = sums.markers;
	w->totals.founds = sums.founds;
	w->totals.cpu_ns = sums.cpu_ns;
	w->totals.gpu_ns = sums.gpu_ns;
	for (unsigned int loss = 1; loss < LOSS_KINDS; loss++)
		w->totals.losses[loss] = profile_loss_count(r, (enum profile_loss)loss);
	for (size_t n = 0; !error && profile_meta_at(r, n, &key, &value); n++)
		error = profile_set_meta(w, key, value);
	w->meta_changed = false; /* it is in the copy */
	w->no_end = profile_reader_incomplete(r);
	return error;
}

int profile_writer_continue(
	struct profile_writer **ret, const char *path, int fd, struct profile_reader *r)
{
	struct profile_writer *w;
	int error = profile_writer_new(&w, path);

	if (error) {
		close(fd);
		return error;
	}
	w->out.fd = fd;
	error = profile_reader_copy(r, fd);
	error = error ?: copy_tables(w, r);
	error = error ?: copy_totals(w, r);
	error = error ?: profile_writer_start_file(w);
	if (error)
		profile_writer_abort(w);
	else
		*ret = w;
	return error;
}
