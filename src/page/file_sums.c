// SPDX-License-Identifier: MIT
/* Whatever slices are tried is one pass over all sums, which adds up by node and only counts the
 * digits. */
#include "page/file_sums.h"

#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "page/file_nodes.h"

#define SUBJECT "the page"

struct node_sum {
	uint64_t time_ns, samples;
};

struct file_sums {
	const struct slice_sums *sums;
	struct file_nodes nodes;
	struct json_writer w;
	struct node_sum *of;	 /* by node: of one slice */
	struct vec(uint32_t) in; /* nodes of that */
};

static int add_up(struct file_sums *f, uint32_t slice)
{
	const struct gather_key *rests = f->sums->all.keys.rests.items.items;
	const uint32_t *node_of = &f->nodes.of[f->nodes.firsts[slice]];

	vec_foreach (sum, &f->sums->items[slice].sums) {
		uint32_t node = *node_of++;
		struct node_sum *of = &f->of[node];

		if (!node || !sum->time_ns)
			continue;
		if (!of->time_ns && vec_push(&f->in, node))
			return error_memory(SUBJECT);
		of->time_ns += sum->time_ns;
		of->samples += rests[sum->pair.rest].event == EVENT_SAMPLE ? sum->count : 0;
	}
	return 0;
}

/* So many slices together; the sums are to be cleared. */
static int add_up_all(struct file_sums *f, uint32_t first, uint32_t count)
{
	int error = 0;

	f->in.count = 0;
	for (uint32_t i = first; !error && i < first + count; i++)
		error = add_up(f, i);
	return error;
}

static void clear(struct file_sums *f)
{
	vec_foreach (node, &f->in)
		f->of[*node] = (struct node_sum){0};
}

static size_t bytes_of(const struct file_sums *f)
{
	size_t bytes = sizeof("[],") - 1;

	vec_foreach (node, &f->in)
		bytes += decimal_size(*node) + decimal_size(f->of[*node].time_ns) +
			 decimal_size(f->of[*node].samples) + 3;
	return bytes;
}

static void write_sums(struct file_sums *f, const char *name)
{
	struct buf *out = f->w.out;

	json_begin(&f->w, name, '[');
	if (!buf_reserve(out, bytes_of(f)))
		return;
	vec_foreach (node, &f->in) {
		char *at = out->data + out->size;

		if (node != f->in.items)
			*at++ = ',';
		at = decimal_put(at, *node);
		*at++ = ',';
		at = decimal_put(at, f->of[*node].time_ns);
		*at++ = ',';
		at = decimal_put(at, f->of[*node].samples);
		out->size = (size_t)(at - out->data);
	}
	json_end(&f->w, ']');
}

static int write_slice(struct file_sums *f, const char *name, uint32_t first, uint32_t count)
{
	int error = add_up_all(f, first, count);

	write_sums(f, name);
	clear(f);
	return error;
}

/* Slices of the recording that the n-th of the page and those that stand with it are. */
static uint32_t slices_of(const struct file_sums *f, const struct file_slices *slices, uint32_t n,
	uint32_t *ret_first)
{
	uint64_t first = 1 + (uint64_t)n * slices->joined, last = f->sums->count - 1;
	uint64_t end = first + (uint64_t)ages_steps(&slices->ages, n) * slices->joined;

	*ret_first = (uint32_t)first;
	return (uint32_t)((end < last ? end : last) - first);
}

static int write_slices(struct file_sums *f, const struct file_slices *slices)
{
	int error = write_slice(f, "before", 0, 1);
	uint32_t first, count;

	json_begin(&f->w, "slices", '[');
	for (uint32_t n = 0; !error && n < slices->ages.count; n += ages_steps(&slices->ages, n)) {
		count = slices_of(f, slices, n, &first);
		error = write_slice(f, NULL, first, count);
	}
	json_end(&f->w, ']');
	return error ?: write_slice(f, "behind", f->sums->count - 1, 1);
}

void file_sums_join(const struct file_sums *f, uint32_t joined, struct file_slices *ret)
{
	uint32_t all = f->sums->count - 2;

	ret->joined = joined;
	ret->ages.count = all / joined + (all % joined > 0);
	ret->ages.width_ns = f->sums->width_ns * joined;
}

static int measure(struct file_sums *f, uint32_t first, uint32_t count, size_t *bytes)
{
	int error = add_up_all(f, first, count);

	*bytes += bytes_of(f);
	clear(f);
	return error;
}

int file_sums_size(struct file_sums *f, const struct file_slices *slices, size_t *ret)
{
	size_t bytes = f->nodes.text.size;
	int error = measure(f, 0, 1, &bytes) ?: measure(f, f->sums->count - 1, 1, &bytes);
	uint32_t first, count;

	for (uint32_t n = 0; !error && n < slices->ages.count; n += ages_steps(&slices->ages, n)) {
		count = slices_of(f, slices, n, &first);
		error = measure(f, first, count, &bytes);
	}
	*ret = bytes;
	return error;
}

int file_sums_json(struct file_sums *f, const struct file_slices *slices, struct buf *out)
{
	int error;

	f->w = (struct json_writer){.out = out};
	json_begin(&f->w, NULL, '{');
	json_number(&f->w, "slice_ns", slices->ages.width_ns);
	json_number(&f->w, "count", slices->ages.count);
	ages_json(&f->w, "ages", &slices->ages);
	buf_putc(out, ',');
	buf_append(out, f->nodes.text.data, f->nodes.text.size);
	error = write_slices(f, slices);
	json_end(&f->w, '}');
	return error;
}

size_t file_sums_nodes_bytes(const struct file_sums *f)
{
	return f->nodes.bytes;
}

int file_sums_new(
	struct file_sums **ret, struct recording_reading *g, const struct view_options *options)
{
	struct file_sums *f = calloc(1, sizeof(*f));
	int error;

	if (!f)
		return error_memory(SUBJECT);
	f->sums = &g->sums;
	error = file_nodes_find(&f->nodes, g, options);
	f->of = error ? NULL : calloc(f->nodes.count, sizeof(*f->of));
	if (!error && !f->of)
		error = error_memory(SUBJECT);
	if (error)
		file_sums_free(f);
	else
		*ret = f;
	return error;
}

void file_sums_free(struct file_sums *f)
{
	if (!f)
		return;
	file_nodes_release(&f->nodes);
	free(f->of);
	vec_release(&f->in);
	free(f);
}
