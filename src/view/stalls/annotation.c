// SPDX-License-Identifier: MIT
/*
 * Instructions are read from the profile in their order, described or not. A map finds the site of
 * each by (file, line, inline id). Then sites are sorted, so that those of a line, and the lines of
 * a file, lie side by side; and what refers to them is renumbered.
 */
#include "view/stalls/annotation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int hottest_image(const void *left, const void *right)
{
	const struct annotation_image *a = left, *b = right;

	return a->samples != b->samples ? compare_u64(b->samples, a->samples)
					: compare_u64(a->function, b->function);
}

static uint64_t samples_at(const struct kernel_stalls *k, uint32_t instruction)
{
	size_t count;
	const struct stall_count *at = stall_counts_of(&k->seen, instruction, &count);
	uint64_t samples = 0;

	for (size_t i = 0; i < count; i++)
		samples += at[i].samples;
	return samples;
}

static int find_images(struct annotation *a)
{
	uint32_t functions = profile_counts(a->stalls->reader).gpu_functions;

	for (uint32_t f = 1; f <= functions; f++) {
		struct annotation_image image = {.function = f};
		const uint32_t *ids;
		size_t count;

		if (a->stalls->code.kernels[f] != a->kernel + 1)
			continue;
		ids = kernel_instructions(a->stalls, f, &count);
		for (size_t i = 0; i < count; i++)
			image.samples += samples_at(a->stalls, ids[i]);
		if (vec_push(&a->images, image))
			return -ENOMEM;
	}
	if (a->images.count)
		qsort(a->images.items, a->images.count, sizeof(*a->images.items), hottest_image);
	return 0;
}

/* While sites are collected: keys and indices. */
struct finding {
	struct annotation *a;
	struct map lines; /* file << 32 | line -> index of a->lines */
	struct map owns;  /* the same of lines in the function itself -> a number */
	struct map sites; /* inline id << 32 | line in the function itself -> index of a->sites */
};

static int find_line(struct finding *f, uint32_t file, uint32_t line, uint32_t *ret)
{
	uint64_t key = (uint64_t)file << 32 | line, *found = map_get(&f->lines, key);

	*ret = found ? (uint32_t)*found : (uint32_t)f->a->lines.count;
	if (found)
		return 0;
	if (vec_push(&f->a->lines, (struct annotation_line){.file = file, .line = line}))
		return -ENOMEM;
	return map_put(&f->lines, key, *ret);
}

/* A number for the line in the function itself, which is where the outermost inlined function
 * was called. */
static int find_own_line(struct finding *f, const struct profile_instruction *i, uint64_t *ret)
{
	uint64_t key = (uint64_t)i->file << 32 | i->line, *found = map_get(&f->owns, key);

	*ret = found ? *found : f->owns.count;
	return found ? 0 : map_put(&f->owns, key, *ret);
}

/* Notes a line with a call that the latest site was inlined at, unless it is the site's own or
 * noted already. */
static int put_call(struct finding *f, struct annotation_site *site, uint32_t file, uint32_t line)
{
	struct annotation *a = f->a;
	uint32_t index;
	int error;

	if (!file || !line)
		return 0;
	error = find_line(f, file, line, &index);
	if (error || index == site->line)
		return error;
	for (uint32_t i = 0; i < site->calls; i++)
		if (a->calls.items[site->first_call + i] == index)
			return 0;
	site->calls++;
	return vec_push(&a->calls, index);
}

static int put_calls(struct finding *f, struct annotation_site *site)
{
	const struct profile_inline *chain[ANNOTATION_CHAIN_MAX];
	size_t count = annotation_chain(f->a->stalls->reader, site->inlined, chain);
	int error = 0;

	site->first_call = (uint32_t)f->a->calls.count;
	if (count)
		error = put_call(f, site, site->call_file, site->call_line);
	for (size_t i = 0; !error && i + 1 < count; i++)
		error = put_call(f, site, chain[i]->file, chain[i]->line);
	return error;
}

static int find_site(struct finding *f, const struct profile_instruction *i, uint32_t *ret)
{
	const struct profile_inline *inner = profile_inline(f->a->stalls->reader, i->inlined);
	struct annotation_site site = {.inlined = inner ? i->inlined : 0};
	uint32_t file = inner ? inner->file : i->file, line = inner ? inner->line : i->line;
	uint64_t key, *found;

	/* A line without a file is none. */
	if (find_line(f, line ? file : 0, file ? line : 0, &site.line))
		return -ENOMEM;
	if (inner) {
		site.call_file = i->file;
		site.call_line = i->line;
	}
	if (find_own_line(f, i, &key))
		return -ENOMEM;
	key |= (uint64_t)site.inlined << 32;
	found = map_get(&f->sites, key);
	*ret = found ? (uint32_t)*found : (uint32_t)f->a->sites.count;
	if (found)
		return 0;
	if (put_calls(f, &site) || vec_push(&f->a->sites, site))
		return -ENOMEM;
	return map_put(&f->sites, key, *ret);
}

static int count_instruction(struct annotation *a, struct annotation_instruction *row)
{
	const struct kernel_stalls *k = a->stalls;
	struct annotation_site *site = &a->sites.items[row->site];
	uint32_t line = site->line;
	size_t count;
	const struct stall_count *at = stall_counts_of(&k->seen, row->instruction, &count);
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		struct stall_count sum = at[i];
		bool issuing = stall_is_issuing(&k->reasons.items[sum.reason].name);

		row->samples += sum.samples;
		row->latency += sum.latency;
		a->lines.items[line].issuing += issuing ? sum.samples : 0;
		a->issuing += issuing ? sum.samples : 0;
		sum.row = line;
		error = stall_counts_add(&a->line_reasons, &sum);
		sum.row = 0;
		error = error ?: stall_counts_add(&a->reasons, &sum);
	}
	site->samples += row->samples;
	for (uint32_t i = 0; i < site->calls; i++)
		a->lines.items[a->calls.items[site->first_call + i]].called += row->samples;
	a->lines.items[line].samples += row->samples;
	a->lines.items[line].latency += row->latency;
	a->samples += row->samples;
	a->latency += row->latency;
	return error;
}

static int add_image(struct finding *f, uint32_t image)
{
	struct annotation *a = f->a;
	size_t count;
	const uint32_t *ids =
		kernel_instructions(a->stalls, a->images.items[image].function, &count);
	int error = 0;

	for (size_t n = 0; !error && n < count; n++) {
		const struct profile_instruction *i =
			profile_instruction(a->stalls->reader, ids[n]);
		struct annotation_instruction row = {
			.instruction = ids[n], .offset = i->offset, .image = image};

		error = find_site(f, i, &row.site);
		error = error ?: count_instruction(a, &row);
		error = error ?: vec_push(&a->instructions, row);
	}
	return error;
}

static int add_images(struct annotation *a, uint32_t image)
{
	struct finding f = {.a = a};
	int error = 0;

	for (uint32_t i = 0; !error && i < a->images.count; i++)
		if (image == ANNOTATION_ALL || image == i)
			error = add_image(&f, i);
	map_release(&f.lines);
	map_release(&f.owns);
	map_release(&f.sites);
	return error;
}

/* Files by samples, in a list of their own. */
static int hottest_file(const void *left, const void *right)
{
	const struct annotation_file *a = left, *b = right;

	if (!a->file != !b->file)
		return a->file ? -1 : 1;
	return a->samples != b->samples ? compare_u64(b->samples, a->samples)
					: compare_u64(a->file, b->file);
}

static int put_files(struct annotation *a)
{
	struct map index = MAP_INIT; /* file -> index */
	int error = 0;

	vec_foreach (line, &a->lines) {
		uint64_t *found = map_get(&index, line->file);

		if (!found) {
			error = vec_push(&a->files, (struct annotation_file){.file = line->file});
			error = error ?: map_put(&index, line->file, a->files.count - 1);
			found = map_get(&index, line->file);
		}
		if (error)
			break;
		a->files.items[*found].samples += line->samples;
		a->files.items[*found].called |= line->called != 0;
		a->files.items[*found].count++;
	}
	map_release(&index);
	if (!error && a->files.count)
		qsort(a->files.items, a->files.count, sizeof(*a->files.items), hottest_file);
	return error;
}

struct ordering {
	const struct annotation *a;
	const uint32_t *rank; /* of lines: of their files; of sites: of their lines */
};

static int by_file_and_line(const void *left, const void *right, void *context)
{
	const struct ordering *o = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (o->rank[a] != o->rank[b])
		return compare_u64(o->rank[a], o->rank[b]);
	return compare_u64(o->a->lines.items[a].line, o->a->lines.items[b].line);
}

static int by_line_and_samples(const void *left, const void *right, void *context)
{
	const struct ordering *o = context;
	const struct annotation_site *a = &o->a->sites.items[*(const uint32_t *)left];
	const struct annotation_site *b = &o->a->sites.items[*(const uint32_t *)right];

	if (a->line != b->line)
		return compare_u64(a->line, b->line);
	if (a->samples != b->samples)
		return compare_u64(b->samples, a->samples);
	return a->inlined != b->inlined ? compare_u64(a->inlined, b->inlined)
					: compare_u64(a->call_line, b->call_line);
}

/* The items at `order`, in that order: a new array; new_index[old index] is the new one. NULL when
 * memory is short. */
static void *reordered(
	const void *items, size_t size, const uint32_t *order, uint32_t count, uint32_t *new_index)
{
	char *sorted = calloc((size_t)count + 1, size);

	for (uint32_t i = 0; sorted && i < count; i++) {
		memcpy(sorted + i * size, (const char *)items + order[i] * size, size);
		new_index[order[i]] = i;
	}
	return sorted;
}

/* Sorts an array and fills `new_index`, by old index. */
static int sort_items(void **items, size_t size, uint32_t count,
	int (*compare)(const void *, const void *, void *), struct ordering *o, uint32_t *new_index)
{
	uint32_t *order = calloc((size_t)count + 1, sizeof(*order));
	void *sorted = NULL;

	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i;
	if (order) {
		qsort_r(order, count, sizeof(*order), compare, o);
		sorted = reordered(*items, size, order, count, new_index);
	}
	free(order);
	if (!sorted)
		return -ENOMEM;
	free(*items);
	*items = sorted;
	return 0;
}

static int sort_lines(struct annotation *a, uint32_t *new_index)
{
	uint32_t count = (uint32_t)a->lines.count, at = 0;
	uint32_t *rank = calloc((size_t)count + 1, sizeof(*rank));
	struct map ranks = MAP_INIT;
	struct ordering o = {a, rank};
	int error = rank ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < a->files.count; i++) {
		a->files.items[i].first = at;
		at += a->files.items[i].count;
		error = map_put(&ranks, a->files.items[i].file, i);
	}
	for (uint32_t i = 0; !error && i < count; i++)
		rank[i] = (uint32_t)*map_get(&ranks, a->lines.items[i].file);
	error = error
			?: sort_items((void **)&a->lines.items, sizeof(*a->lines.items), count,
				   by_file_and_line, &o, new_index);
	if (!error)
		a->lines.capacity = count;
	map_release(&ranks);
	free(rank);
	return error;
}

static int sort_sites(struct annotation *a, uint32_t *new_index)
{
	uint32_t count = (uint32_t)a->sites.count;
	struct ordering o = {a, NULL};
	int error = sort_items((void **)&a->sites.items, sizeof(*a->sites.items), count,
		by_line_and_samples, &o, new_index);

	if (error)
		return error;
	a->sites.capacity = count;
	for (uint32_t i = 0; i < count; i++) {
		struct annotation_line *line = &a->lines.items[a->sites.items[i].line];

		if (!line->count++)
			line->first = i;
	}
	return 0;
}

/* Instructions by site, in their own order. */
static int list_by_site(struct annotation *a)
{
	uint32_t at = 0;

	a->by_site = calloc(a->instructions.count + 1, sizeof(*a->by_site));
	if (!a->by_site)
		return -ENOMEM;
	vec_foreach (row, &a->instructions)
		a->sites.items[row->site].count++;
	vec_foreach (site, &a->sites) {
		site->first = at;
		at += site->count;
		site->count = 0;
	}
	for (uint32_t i = 0; i < a->instructions.count; i++) {
		struct annotation_site *site = &a->sites.items[a->instructions.items[i].site];

		a->by_site[site->first + site->count++] = i;
	}
	return 0;
}

static int sort_source(struct annotation *a)
{
	uint32_t *line_at = calloc(a->lines.count + 1, sizeof(*line_at));
	uint32_t *site_at = calloc(a->sites.count + 1, sizeof(*site_at));
	int error = line_at && site_at ? put_files(a) : -ENOMEM;

	error = error ?: sort_lines(a, line_at);
	if (!error) {
		vec_foreach (site, &a->sites)
			site->line = line_at[site->line];
		vec_foreach (line, &a->calls)
			*line = line_at[*line];
		for (size_t i = 0; i < a->line_reasons.count; i++)
			a->line_reasons.items[i].row = line_at[a->line_reasons.items[i].row];
		error = sort_sites(a, site_at);
	}
	if (!error) {
		vec_foreach (row, &a->instructions)
			row->site = site_at[row->site];
		error = list_by_site(a);
	}
	free(line_at);
	free(site_at);
	return error;
}

int annotation_make(
	struct annotation *a, const struct kernel_stalls *k, size_t kernel, uint32_t image)
{
	int error;

	a->stalls = k;
	a->kernel = kernel;
	a->image = image;
	error = find_images(a);
	if (!error && image != ANNOTATION_ALL && image >= a->images.count)
		return error_set(-ENOENT, "there is no image %u of this kernel, only %zu",
			image + 1, a->images.count);
	error = error ?: add_images(a, image);
	error = error ?: sort_source(a);
	error = error ?: stall_counts_settle(&a->line_reasons);
	error = error ?: stall_counts_settle(&a->reasons);
	return error ? error_errno(error, "cannot put instructions and lines together") : 0;
}

void annotation_release(struct annotation *a)
{
	vec_release(&a->images);
	vec_release(&a->instructions);
	vec_release(&a->sites);
	vec_release(&a->lines);
	vec_release(&a->files);
	vec_release(&a->calls);
	free(a->by_site);
	stall_counts_release(&a->line_reasons);
	stall_counts_release(&a->reasons);
	*a = (struct annotation){0};
}

const struct stall_count *annotation_reasons(
	const struct annotation *a, uint32_t index, size_t *ret_count)
{
	return stall_counts_of(
		&a->stalls->seen, a->instructions.items[index].instruction, ret_count);
}

bool annotation_has_lines(const struct annotation *a)
{
	return a->files.count > 1 || (a->files.count && a->files.items[0].file);
}

size_t annotation_chain(const struct profile_reader *r, uint32_t inlined,
	const struct profile_inline *ret[ANNOTATION_CHAIN_MAX])
{
	const struct profile_inline *at;
	size_t count = 0;

	/* The innermost ones are kept of a chain that is too long. Callers have lower ids, so
	 * that it ends. */
	while (count < ANNOTATION_CHAIN_MAX && (at = profile_inline(r, inlined))) {
		ret[count++] = at;
		if (at->caller >= inlined)
			break;
		inlined = at->caller;
	}
	for (size_t i = 0; i < count / 2; i++) {
		at = ret[i];
		ret[i] = ret[count - 1 - i];
		ret[count - 1 - i] = at;
	}
	return count;
}

struct hot_order {
	const struct annotation *a;
	uint64_t (*samples_of)(const struct annotation *a, uint32_t index);
};

static uint64_t samples_of_line(const struct annotation *a, uint32_t index)
{
	return a->lines.items[index].samples;
}

static uint64_t samples_of_instruction(const struct annotation *a, uint32_t index)
{
	return a->instructions.items[index].samples;
}

static int hottest_first(const void *left, const void *right, void *context)
{
	const struct hot_order *o = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t of_a = o->samples_of(o->a, a), of_b = o->samples_of(o->a, b);

	return of_a != of_b ? compare_u64(of_b, of_a) : compare_u64(a, b);
}

static int hottest(struct hot_order *o, size_t count, uint32_t **ret, size_t *ret_count)
{
	uint32_t *rows = calloc(count + 1, sizeof(*rows));
	size_t found = 0;

	if (!rows)
		return error_errno(-ENOMEM, "cannot sort the lines of a kernel");
	for (uint32_t i = 0; i < count; i++)
		if (o->samples_of(o->a, i))
			rows[found++] = i;
	qsort_r(rows, found, sizeof(*rows), hottest_first, o);
	*ret = rows;
	*ret_count = found;
	return 0;
}

int annotation_hottest_lines(const struct annotation *a, uint32_t **ret, size_t *ret_count)
{
	struct hot_order o = {a, samples_of_line};

	return hottest(&o, a->lines.count, ret, ret_count);
}

int annotation_hottest_instructions(const struct annotation *a, uint32_t **ret, size_t *ret_count)
{
	struct hot_order o = {a, samples_of_instruction};

	return hottest(&o, a->instructions.count, ret, ret_count);
}
