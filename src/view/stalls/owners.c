// SPDX-License-Identifier: MIT
/*
 * The kernels that samples of a function may be of are looked up once for each function and
 * context; the launches of these are found by window, or by correlation id.
 */
#include "view/stalls/owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define SUBJECT "the instruction samples"

void stall_owners_init(struct stall_owners *o, const struct profile_reader *r, bool streams)
{
	*o = (struct stall_owners){.reader = r, .streams = streams};
	stall_windows_init(&o->windows, r);
}

void stall_owners_release(struct stall_owners *o)
{
	stall_windows_release(&o->windows);
	vec_release(&o->ops);
	map_release(&o->kernel_ids);
	map_release(&o->first_ops);
	vec_release(&o->kernels);
	vec_release(&o->launches);
	order_release(&o->by_kernel);
	free(o->first_launch);
	map_release(&o->function_kernels);
	vec_release(&o->lists);
	vec_release(&o->owners);
	*o = (struct stall_owners){0};
}

static int number_kernel(struct stall_owners *o, uint32_t context, uint32_t name, uint32_t *ret)
{
	uint64_t key = (uint64_t)context << 32 | name, number = o->kernels.count;
	const uint64_t *found = map_get(&o->kernel_ids, key);
	struct stall_kernel kernel = {context, name};

	if (found)
		number = *found;
	else if (map_put(&o->kernel_ids, key, number) || vec_push(&o->kernels, kernel))
		return error_memory(SUBJECT);
	*ret = (uint32_t)number;
	return 0;
}

static int fill_op(
	struct stall_owners *o, uint32_t id, const struct profile_op *op, struct stall_op *k)
{
	const uint64_t *first;
	uint64_t key;
	int error = stall_windows_context(
		&o->windows, op->process, op->device, op->context, &k->context);

	error = error ?: number_kernel(o, k->context, op->name, &k->kernel);
	if (error)
		return error;
	key = (uint64_t)k->kernel << 32 | (o->streams ? op->stream : 0);
	first = map_get(&o->first_ops, key);
	k->first = first ? (uint32_t)*first : id;
	if (!first && map_put(&o->first_ops, key, id))
		return error_memory(SUBJECT);
	k->filled = true;
	return 0;
}

int stall_owners_op(struct stall_owners *o, uint32_t id, const struct profile_op *op,
	const struct stall_op **ret)
{
	int error = 0;

	while (o->ops.count <= id)
		if (vec_push(&o->ops, (struct stall_op){0}))
			return error_memory(SUBJECT);
	if (!o->ops.items[id].filled)
		error = fill_op(o, id, op, &o->ops.items[id]);
	*ret = &o->ops.items[id];
	return error;
}

int stall_owners_add_launch(struct stall_owners *o, uint32_t kernel)
{
	struct stall_launch launch = {.kernel = kernel};

	return vec_push(&o->launches, launch) ? error_memory(SUBJECT) : 0;
}

int stall_owners_add_work(struct stall_owners *o, uint32_t launch, const struct profile_work *work)
{
	struct stall_launch *l = &o->launches.items[launch];

	l->time_ns += work->duration_ns;
	return stall_windows_add_work(
		&o->windows, o->kernels.items[l->kernel].context, launch, work);
}

static int sort_launches(struct stall_owners *o)
{
	int error = order_init(&o->by_kernel, o->launches.count);

	o->first_launch = calloc(o->kernels.count + 1, sizeof(*o->first_launch));
	if (error || !o->first_launch)
		return error ?: error_memory(SUBJECT);
	for (size_t i = 0; i < o->launches.count; i++) {
		o->by_kernel.numbers[i] = o->launches.items[i].kernel;
		o->first_launch[o->launches.items[i].kernel + 1]++;
	}
	for (size_t i = 0; i < o->kernels.count; i++)
		o->first_launch[i + 1] += o->first_launch[i];
	order_sort(&o->by_kernel);
	return 0;
}

int stall_owners_finish(struct stall_owners *o)
{
	uint32_t *kernels = calloc(o->launches.count + 1, sizeof(*kernels));
	int error;

	if (!kernels)
		return error_memory(SUBJECT);
	for (size_t i = 0; i < o->launches.count; i++)
		kernels[i] = o->launches.items[i].kernel;
	error = stall_windows_finish(&o->windows, kernels);
	free(kernels);
	return error ?: sort_launches(o);
}

/* The kernel of the context that is called so. */
static const uint64_t *find_kernel(const struct stall_owners *o, uint32_t context, uint32_t name)
{
	return map_get(&o->kernel_ids, (uint64_t)context << 32 | name);
}

/* "$kernel$function" is what the compiler calls a function that it made for one kernel: that
 * kernel, if it ran. */
static int list_namesake(struct stall_owners *o, uint32_t context, const char *name)
{
	size_t size = *name == '$' ? strcspn(name + 1, "$") : 0;

	if (!size || name[1 + size] != '$')
		return 0;
	for (uint32_t i = 0; i < o->kernels.count; i++) {
		size_t length;
		const char *kernel = profile_string(o->reader, o->kernels.items[i].name, &length);

		if (o->kernels.items[i].context == context && length == size &&
			!memcmp(kernel, name + 1, size))
			return vec_push(&o->lists, i) ? error_memory(SUBJECT) : 0;
	}
	return 0;
}

static int list_image(struct stall_owners *o, uint32_t context, uint32_t module)
{
	uint32_t count = profile_counts(o->reader).gpu_functions;

	for (uint32_t id = 1; id <= count; id++) {
		const struct profile_gpu_function *f = profile_gpu_function(o->reader, id);
		const uint64_t *kernel =
			f->module == module ? find_kernel(o, context, f->name) : NULL;

		if (kernel && vec_push(&o->lists, (uint32_t)*kernel))
			return error_memory(SUBJECT);
	}
	return 0;
}

/* Appends the list of the kernels that samples of a function may be of. */
static int list_kernels(
	struct stall_owners *o, uint32_t context, const struct profile_gpu_function *f)
{
	size_t begin = o->lists.count;
	const uint64_t *itself = f ? find_kernel(o, context, f->name) : NULL;
	int error = 0;

	if (vec_push(&o->lists, 0) || (itself && vec_push(&o->lists, (uint32_t)*itself)))
		return error_memory(SUBJECT);
	if (f && !itself)
		error = list_namesake(o, context, profile_string(o->reader, f->name, NULL));
	if (!error && f && o->lists.count == begin + 1)
		error = list_image(o, context, f->module);
	o->lists.items[begin] = (uint32_t)(o->lists.count - begin - 1);
	return error;
}

/* A count, then that many kernels. */
static int kernels_of(
	struct stall_owners *o, uint32_t context, uint32_t function, const uint32_t **ret)
{
	uint64_t key = (uint64_t)context << 32 | function;
	const uint64_t *found = map_get(&o->function_kernels, key);
	size_t begin = found ? *found : o->lists.count;
	int error = 0;

	if (!found) {
		error = list_kernels(o, context, profile_gpu_function(o->reader, function));
		if (!error && map_put(&o->function_kernels, key, begin))
			error = error_memory(SUBJECT);
	}
	if (!error)
		*ret = &o->lists.items[begin];
	return error;
}

static int add_owner(struct stall_owners *o, uint32_t launch, uint64_t weight)
{
	struct stall_owner owner = {launch, weight};

	o->weight += weight;
	return vec_push(&o->owners, owner) ? error_memory(SUBJECT) : 0;
}

static bool is_listed(const uint32_t *kernels, uint32_t kernel)
{
	for (uint32_t i = 1; i <= kernels[0]; i++)
		if (kernels[i] == kernel)
			return true;
	return false;
}

/* What the correlation id names: one work, or those of a graph. */
static int choose_exact(struct stall_owners *o, uint32_t instance, const uint32_t *kernels)
{
	const struct stall_exact *exact;
	size_t count = stall_windows_exact(&o->windows, instance, o->correlation, &exact);
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		if (is_listed(kernels, o->launches.items[exact[i].launch].kernel))
			error = add_owner(o, exact[i].launch, exact[i].time_ns);
	return error;
}

static int choose_window(struct stall_owners *o, uint32_t window, const uint32_t *kernels)
{
	int error = 0;

	for (uint32_t k = 1; window && k <= kernels[0]; k++) {
		const struct stall_cell *cells;
		size_t count = stall_windows_cells(&o->windows, window, kernels[k], &cells);

		for (size_t i = 0; !error && i < count; i++)
			error = add_owner(o, cells[i].launch, cells[i].time_ns);
	}
	return error;
}

static int choose_all(struct stall_owners *o, const uint32_t *kernels)
{
	int error = 0;

	for (uint32_t k = 1; k <= kernels[0]; k++)
		for (uint32_t i = o->first_launch[kernels[k]];
			!error && i < o->first_launch[kernels[k] + 1]; i++) {
			uint32_t launch = o->by_kernel.items[i];
			uint64_t time_ns = o->launches.items[launch].time_ns;

			error = add_owner(o, launch, time_ns ? time_ns : 1);
		}
	return error;
}

static int choose_elsewhere(struct stall_owners *o, const uint32_t *kernels)
{
	int error;

	o->elsewhere = true;
	error = choose_window(o, stall_windows_before(&o->windows, o->window), kernels);
	if (!error && !o->owners.count)
		error = choose_window(o, stall_windows_after(&o->windows, o->window), kernels);
	if (!error && !o->owners.count)
		error = choose_all(o, kernels);
	return error;
}

int stall_owners_choose(
	struct stall_owners *o, uint32_t window, uint32_t function, uint32_t correlation)
{
	const struct profile_window *w = profile_window(o->reader, window);
	const uint32_t *kernels = NULL;
	int error = 0;

	if (o->window == window && o->function == function && o->correlation == correlation)
		return 0;
	o->window = window;
	o->function = function;
	o->correlation = correlation;
	o->owners.count = 0;
	o->weight = 0;
	o->elsewhere = false;
	if (!w)
		return 0;
	error = kernels_of(o, o->windows.context_of.items[window], function, &kernels);
	if (!error && w->exact && correlation)
		error = choose_exact(o, w->instance, kernels);
	if (!error && !o->owners.count)
		error = choose_window(o, window, kernels);
	if (!error && !o->owners.count)
		error = choose_elsewhere(o, kernels);
	return error;
}
