// SPDX-License-Identifier: MIT
/*
 * Going on with a profile that is there: a copy of its bytes, and of those tables that names are
 * added to.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "profile/reader_internal.h"
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
	return 0;
}

/* The tables that names are about, and what makes their entries what they are. */
static const struct {
	enum profile_table table;
	size_t key_bytes;
} named[] = {
	{TABLE_MODULES, BYTES_THROUGH(profile_module, build_id)},
	{TABLE_LOCATIONS, BYTES_THROUGH(profile_location, address)},
	{TABLE_INLINES, sizeof(struct profile_inline)},
	{TABLE_SEGMENTS, sizeof(struct profile_segment)},
	{TABLE_GPU_FUNCTIONS, sizeof(struct profile_gpu_function)},
	{TABLE_INSTRUCTIONS, BYTES_THROUGH(profile_instruction, offset)},
};

static int copy_entries(struct profile_writer *w, const struct profile_reader *r,
	enum profile_table table, size_t key_bytes)
{
	struct table *t = &w->tables[table];

	for (uint32_t id = 1; id <= r->tables->counts[table]; id++) {
		const void *entry = entry_at(r, table, id);
		uint32_t hash, own;

		(void)table_find(t, entry, key_bytes, &hash);
		if (table_append(t, entry, hash, &own))
			return profile_writer_fail_memory(w);
	}
	return 0;
}

/* Of the other tables the number of entries is all that is needed. */
static int copy_tables(struct profile_writer *w, const struct profile_reader *r)
{
	int error = copy_strings(w, r, r->tables->counts[TABLE_STRINGS]);

	memcpy(w->counts, r->tables->counts, sizeof(w->counts));
	w->continued = true;
	for (size_t n = 0; !error && n < sizeof(named) / sizeof(*named); n++)
		error = copy_entries(w, r, named[n].table, named[n].key_bytes);
	return error;
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
