// SPDX-License-Identifier: MIT
/*
 * Events are gathered by ids alone, as names are final after the last one only:
 *
 *	stalls{instruction, reason}   samples
 *	ops[op]                       time of one kind of work
 *
 * Then the vendor's reasons become rows, with and without the mark of latency samples the same; ops
 * and functions of one name become one kernel. The same events go to stalls.h, which counts how
 * many samples a view by launches has to apportion.
 */
#include "view/stalls/kernels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "profile/due.h"
#include "view/stalls/shown.h"
#include "view/stalls/stalls.h"
#include "view/stalls/windows.h"

/* Fewer are too few to miss some. */
#define DUE_MIN 1000

struct op_time {
	double works;
	uint64_t time_ns;
};

struct gathering {
	struct kernel_stalls *k;
	struct profile_reader *r;
	struct map sampled; /* strings: names of functions with samples outside of the part */
	struct map stalls;  /* instruction << 32 | string of the reason -> samples */
	struct map op_index;
	struct vec(struct op_time) ops;
	struct map reasons;	 /* string -> index of k->reasons << 1 | latency */
	struct map reason_names; /* hash of a reason's own name -> index of k->reasons */
	struct map names;	 /* string -> index of k->kernels */
	uint64_t all_samples;
	struct stalls launches;
	const struct profile_clip *clip; /* the part that is counted; NULL: all */
	struct stall_shown shown;	 /* of it */
	struct stall_windows windows;	 /* for the period in each context */
};

static int add_stall(struct gathering *g, const struct profile_stall *e)
{
	uint64_t key = (uint64_t)e->instruction << 32 | e->reason, *sum = map_get(&g->stalls, key);

	/* No smaller sum is too large when that of everything is not. */
	if (__builtin_add_overflow(g->all_samples, e->samples, &g->all_samples))
		return -EOVERFLOW;
	if (!sum)
		return map_put(&g->stalls, key, e->samples);
	*sum += e->samples;
	return 0;
}

static int add_work(struct gathering *g, const struct profile_work *e)
{
	uint64_t *index = map_get(&g->op_index, e->op);
	uint64_t time_ns = profile_work_ns(e);
	struct op_time *op;

	if (__builtin_add_overflow(g->k->gpu_ns, time_ns, &g->k->gpu_ns))
		return -EOVERFLOW;
	if (!index) {
		if (vec_push(&g->ops, (struct op_time){0}) ||
			map_put(&g->op_index, e->op, g->ops.count - 1))
			return -ENOMEM;
		op = &g->ops.items[g->ops.count - 1];
	} else {
		op = &g->ops.items[*index];
	}
	op->works += e->cut.continued ? 0 : e->weight;
	op->time_ns += time_ns;
	return 0;
}

static int add_works(struct gathering *g, const struct profile_event *e)
{
	struct profile_event piece;
	size_t span = 0;
	int error = 0;

	if (!g->clip)
		return add_work(g, &e->work);
	if (!clip_selects(g->clip, g->r, e))
		return 0;
	while (!error && clip_next_piece(g->clip, e, &span, &piece))
		error = add_work(g, &piece.work);
	return error;
}

static int read_events(struct gathering *g)
{
	/* Launches of threads that are shown are others than those of threads that are not. */
	const struct view_options options = {
		.range.thread = g->clip && g->clip->threads ? "" : NULL};
	struct profile_event e;
	int result, error = stalls_init(&g->launches, g->r, &options, g->clip);

	if (error)
		return error;
	while ((result = profile_reader_next(g->r, &e)) > 0) {
		if (e.kind == EVENT_STALL)
			error = add_stall(g, &e.stall);
		else if (e.kind == EVENT_WORK)
			error = add_works(g, &e);
		if (error == -EOVERFLOW)
			return error_set(error,
				"the samples or times of the profile add up to more than 64 bits");
		if (error)
			return error_errno(error, "cannot sum up the samples of instructions");
		error = stalls_event(&g->launches, &e);
		if (error)
			return error;
	}
	if (!result)
		result = stalls_finish(&g->launches);
	if (!result && g->clip)
		result = stall_shown_find(&g->shown, &g->launches);
	g->k->apportioned = g->launches.counts.apportioned;
	return result;
}

static int add_windows(struct gathering *g)
{
	struct kernel_windows *sum = &g->k->windows;
	uint32_t count = profile_counts(g->r).windows;

	for (uint32_t id = 1; id <= count; id++) {
		const struct profile_window *w = profile_window(g->r, id);

		if (!w || !clip_has_time(g->clip, w->start_ns))
			continue;
		sum->count++;
		sum->exact += w->exact;
		if (__builtin_add_overflow(sum->samples, w->samples, &sum->samples) ||
			__builtin_add_overflow(sum->dropped, w->dropped, &sum->dropped) ||
			__builtin_add_overflow(
				sum->without_code, w->without_code, &sum->without_code))
			return error_set(-EOVERFLOW,
				"the samples of the profile add up to more than 64 bits");
		if (w->period_cycles && (!sum->period_min || w->period_cycles < sum->period_min))
			sum->period_min = w->period_cycles;
		if (w->period_cycles > sum->period_max)
			sum->period_max = w->period_cycles;
	}
	return 0;
}

static bool same_reason(const struct stall_name *a, const struct stall_name *b)
{
	return a->name_size == b->name_size && !memcmp(a->name, b->name, a->name_size);
}

/* The row of a reason's own name; another name of the same hash is under the next number. */
static int find_reason_row(
	struct gathering *g, const struct stall_name *name, uint32_t text, size_t *ret)
{
	uint64_t hash = hash_bytes(name->name, name->name_size), *found;

	while ((found = map_get(&g->reason_names, hash)) &&
		!same_reason(&g->k->reasons.items[*found].name, name))
		hash++;
	*ret = found ? *found : g->k->reasons.count;
	if (found)
		return 0;
	if (vec_push(&g->k->reasons, (struct kernel_reason){.name = *name, .text = text}))
		return -ENOMEM;
	return map_put(&g->reason_names, hash, *ret);
}

/* The value of a vendor's name in the map of reasons. */
static int find_reason(struct gathering *g, uint32_t text, uint64_t *ret)
{
	struct stall_name name;
	uint64_t *found = map_get(&g->reasons, text);
	size_t at;

	if (found) {
		*ret = *found;
		return 0;
	}
	name = stall_name_parse(profile_string(g->r, text, NULL));
	if (find_reason_row(g, &name, text, &at))
		return -ENOMEM;
	if (!name.latency)
		g->k->reasons.items[at] = (struct kernel_reason){.name = name, .text = text};
	*ret = (uint64_t)at << 1 | name.latency;
	return map_put(&g->reasons, text, *ret);
}

/* A kernel may have time in the part that is shown, and too little for a sample. */
static int note_sampled(struct gathering *g, uint32_t instruction)
{
	const struct profile_gpu_function *f =
		profile_gpu_function(g->r, profile_instruction(g->r, instruction)->function);

	return f ? map_put(&g->sampled, f->name, 1) : 0;
}

static int by_row_and_reason(struct gathering *g)
{
	int error = 0;

	for (size_t i = 0; !error && g->stalls.slots && i <= g->stalls.mask; i++) {
		const struct map_slot *slot = &g->stalls.slots[i];
		struct stall_count count = {.row = (uint32_t)(slot->key >> 32)};
		uint64_t reason = 0, samples = slot->value;

		if (!slot->used || !profile_instruction(g->r, count.row))
			continue;
		error = find_reason(g, (uint32_t)slot->key, &reason);
		count.reason = (uint32_t)(reason >> 1);
		if (g->clip)
			samples = stall_shown_samples(
				&g->shown, &g->launches, count.row, (uint32_t)slot->key);
		if (g->clip && !samples) {
			error = error ?: note_sampled(g, count.row);
			continue;
		}
		if (reason & 1)
			count.latency = samples;
		else
			count.samples = samples;
		error = error ?: stall_counts_add(&g->k->seen, &count);
	}
	return error ?: stall_counts_settle(&g->k->seen);
}

static int kernel_of_name(struct gathering *g, uint32_t name, size_t *ret)
{
	uint64_t *found = map_get(&g->names, name);

	*ret = found ? *found : g->k->kernels.count;
	if (found)
		return 0;
	if (vec_push(&g->k->kernels, (struct kernel_sum){.name = name}))
		return -ENOMEM;
	return map_put(&g->names, name, *ret);
}

/* 0: its context was not sampled, or its size or the clock are not known. */
static int find_due(
	struct gathering *g, const struct profile_op *op, uint64_t time_ns, uint64_t *ret)
{
	const struct profile_device *device = profile_device(g->r, op->device);
	uint32_t context = 0;
	int error =
		stall_windows_context(&g->windows, op->process, op->device, op->context, &context);
	uint64_t period = error ? 0 : stall_windows_period(&g->windows, context);

	*ret = 0;
	if (period && device)
		*ret = due_samples((double)time_ns * due_cycles_per_ns(op->grid, device->sm_count,
							     device->clock_khz),
			period);
	return error;
}

static int put_op(struct gathering *g, const struct profile_op *op, const struct op_time *time)
{
	struct kernel_sum *kernel;
	uint64_t due = 0;
	size_t at;
	int error = kernel_of_name(g, op->name, &at);

	error = error ?: find_due(g, op, time->time_ns, &due);
	if (error)
		return error;
	kernel = &g->k->kernels.items[at];
	kernel->works += profile_rounded(time->works);
	kernel->time_ns += time->time_ns;
	if (__builtin_add_overflow(kernel->due, due, &kernel->due) ||
		__builtin_add_overflow(g->k->due, due, &g->k->due))
		return -EOVERFLOW;
	return 0;
}

static int put_ops(struct gathering *g)
{
	int error;

	stall_windows_init(&g->windows, g->r);
	error = stall_windows_update(&g->windows);
	for (size_t i = 0; !error && g->op_index.slots && i <= g->op_index.mask; i++) {
		const struct map_slot *slot = &g->op_index.slots[i];
		const struct profile_op *op =
			slot->used ? profile_op(g->r, (uint32_t)slot->key) : NULL;

		if (op && op->kind == OP_KERNEL)
			error = put_op(g, op, &g->ops.items[slot->value]);
	}
	return error;
}

/* Adds what was seen at one instruction to its kernel. */
static int put_instruction(struct gathering *g, const struct stall_count *count)
{
	const struct profile_instruction *i = profile_instruction(g->r, count->row);
	const struct profile_gpu_function *f = profile_gpu_function(g->r, i->function);
	struct kernel_stalls *k = g->k;
	struct stall_count sum = *count;
	struct kernel_sum *kernel;
	size_t at;

	if (!f)
		return 0;
	if (kernel_of_name(g, f->name, &at))
		return -ENOMEM;
	kernel = &k->kernels.items[at];
	if (!k->code.kernels[i->function])
		kernel->images++;
	k->code.kernels[i->function] = (uint32_t)at + 1;
	kernel->samples += count->samples;
	kernel->latency += count->latency;
	if (stall_is_issuing(&k->reasons.items[count->reason].name))
		kernel->issuing += count->samples;
	sum.row = (uint32_t)at;
	return stall_counts_add(&k->by_kernel, &sum);
}

/* Instructions by function, as counting sort has it; those of one function in the order of ids. */
static int sort_by_function(struct gathering *g)
{
	struct profile_counts counts = profile_counts(g->r);
	size_t functions = (size_t)counts.gpu_functions + 2;
	uint32_t *first = calloc(functions + 1, sizeof(*first)), at = 0;

	g->k->code.kernels = calloc(functions, sizeof(uint32_t));
	g->k->code.instructions = calloc((size_t)counts.instructions + 1, sizeof(uint32_t));
	g->k->code.first = first;
	if (!first || !g->k->code.kernels || !g->k->code.instructions)
		return -ENOMEM;
	for (uint32_t id = 1; id <= counts.instructions; id++) {
		const struct profile_instruction *i = profile_instruction(g->r, id);

		if (i && i->function && i->function <= counts.gpu_functions)
			first[i->function + 1]++;
	}
	for (size_t f = 0; f < functions; f++) {
		at += first[f + 1];
		first[f + 1] = at;
	}
	/* Where each begins moves to where it ends meanwhile, which is where the next begins. */
	for (uint32_t id = counts.instructions; id; id--) {
		const struct profile_instruction *i = profile_instruction(g->r, id);

		if (i && i->function && i->function <= counts.gpu_functions)
			g->k->code.instructions[--first[i->function + 1]] = id;
	}
	memmove(first, first + 1, functions * sizeof(*first));
	return 0;
}

static int by_offset(const void *left, const void *right, void *reader)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint32_t of_a = profile_instruction(reader, a)->offset,
		 of_b = profile_instruction(reader, b)->offset;

	return of_a != of_b ? (of_a > of_b) - (of_a < of_b) : (a > b) - (a < b);
}

static bool is_sorted(struct gathering *g, const uint32_t *ids, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (by_offset(&ids[i - 1], &ids[i], g->r) > 0)
			return false;
	return true;
}

/* Most often they come in order. */
static void sort_by_offset(struct gathering *g)
{
	uint32_t functions = profile_counts(g->r).gpu_functions;

	for (uint32_t f = 1; f <= functions; f++) {
		uint32_t *ids = g->k->code.instructions + g->k->code.first[f];
		size_t count = g->k->code.first[f + 1] - g->k->code.first[f];

		if (!is_sorted(g, ids, count))
			qsort_r(ids, count, sizeof(*ids), by_offset, g->r);
	}
}

/* What a row is sorted by: GPU time, or what its samples would be if it were spread over them. */
static double heat(const struct kernel_stalls *k, const struct kernel_sum *sum)
{
	if (sum->works || !k->samples)
		return (double)sum->time_ns;
	return (double)k->gpu_ns * (double)sum->samples / (double)k->samples;
}

static int by_heat(const void *left, const void *right, void *stalls)
{
	const struct kernel_stalls *k = stalls;
	const struct kernel_sum *a = &k->kernels.items[*(const uint32_t *)left];
	const struct kernel_sum *b = &k->kernels.items[*(const uint32_t *)right];
	double of_a = heat(k, a), of_b = heat(k, b);

	if (of_a != of_b)
		return of_a < of_b ? 1 : -1;
	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	return (a->name > b->name) - (a->name < b->name);
}

/* Moves the rows into their order, those without samples to a list of their own; `order` is what
 * they are now. */
static int reorder_rows(struct kernel_stalls *k, const uint32_t *order, uint32_t *new_index)
{
	struct kernel_sum *rows = k->kernels.items;
	size_t count = k->kernels.count;

	k->kernels.items = NULL;
	k->kernels.count = k->kernels.capacity = 0;
	for (size_t i = 0; i < count; i++) {
		const struct kernel_sum *row = &rows[order[i]];
		int error;

		new_index[order[i]] = (uint32_t)k->kernels.count;
		if (row->sampled) {
			error = vec_push(&k->kernels, *row);
		} else {
			error = vec_push(&k->not_sampled, *row);
			k->not_sampled_ns += row->time_ns;
		}
		if (error) {
			free(rows);
			return error;
		}
	}
	free(rows);
	return 0;
}

static int sort_kernels(struct gathering *g)
{
	struct kernel_stalls *k = g->k;
	size_t count = k->kernels.count;
	uint32_t *order = calloc(count + 1, sizeof(*order)),
		 *new_index = calloc(count + 1, sizeof(*new_index));
	int error = order && new_index ? 0 : -ENOMEM;

	for (uint32_t i = 0; !error && i < count; i++)
		order[i] = i;
	if (!error && count)
		qsort_r(order, count, sizeof(*order), by_heat, k);
	error = error ?: reorder_rows(k, order, new_index);
	for (size_t i = 0; !error && i < k->by_kernel.count; i++)
		k->by_kernel.items[i].row = new_index[k->by_kernel.items[i].row];
	for (uint32_t f = 1; !error && f <= profile_counts(g->r).gpu_functions; f++)
		if (k->code.kernels[f])
			k->code.kernels[f] = new_index[k->code.kernels[f] - 1] + 1;
	free(order);
	free(new_index);
	return error;
}

static int put_kernels(struct gathering *g)
{
	struct kernel_stalls *k = g->k;
	int error = put_ops(g);

	for (size_t i = 0; !error && i < k->seen.count; i++)
		error = put_instruction(g, &k->seen.items[i]);
	vec_foreach (kernel, &k->kernels) {
		kernel->sampled =
			kernel->samples || kernel->latency || map_get(&g->sampled, kernel->name);
		k->samples += kernel->samples;
		k->latency += kernel->latency;
		k->issuing += kernel->issuing;
		k->called += kernel->works ? 0 : kernel->samples;
	}
	error = error ?: sort_kernels(g);
	return error ?: stall_counts_settle(&k->by_kernel);
}

static void gathering_release(struct gathering *g)
{
	map_release(&g->stalls);
	map_release(&g->sampled);
	map_release(&g->op_index);
	map_release(&g->reasons);
	map_release(&g->reason_names);
	map_release(&g->names);
	vec_release(&g->ops);
	stalls_release(&g->launches);
	stall_shown_release(&g->shown);
	stall_windows_release(&g->windows);
}

int kernel_stalls_read(struct kernel_stalls *k, struct profile_reader *r)
{
	struct gathering g = {.k = k, .r = r, .clip = profile_reader_clip_of(r)};
	int error;

	profile_reader_clip(r, NULL); /* samples are divided among all launches */
	error = read_events(&g);
	k->reader = r;
	if (error)
		goto out;
	error = add_windows(&g);
	if (error)
		goto out;
	error = by_row_and_reason(&g);
	error = error ?: sort_by_function(&g);
	if (!error) {
		sort_by_offset(&g);
		error = put_kernels(&g);
	}
	if (error)
		error_errno(error, "cannot sum up the samples of instructions");
out:
	gathering_release(&g);
	return error;
}

void kernel_stalls_release(struct kernel_stalls *k)
{
	vec_release(&k->reasons);
	stall_counts_release(&k->seen);
	stall_counts_release(&k->by_kernel);
	vec_release(&k->kernels);
	vec_release(&k->not_sampled);
	free(k->code.kernels);
	free(k->code.first);
	free(k->code.instructions);
	*k = (struct kernel_stalls){0};
}

bool kernel_lacks_samples(const struct kernel_stalls *k, const struct kernel_sum *kernel)
{
	return kernel->due >= DUE_MIN && kernel->samples + k->called < kernel->due / 2;
}

const uint32_t *kernel_instructions(
	const struct kernel_stalls *k, uint32_t function, size_t *ret_count)
{
	if (!function || function > profile_counts(k->reader).gpu_functions) {
		*ret_count = 0;
		return NULL;
	}
	*ret_count = k->code.first[function + 1] - k->code.first[function];
	return k->code.instructions + k->code.first[function];
}
