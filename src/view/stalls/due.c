// SPDX-License-Identifier: MIT
#include "view/stalls/due.h"

#define KHZ_PER_GHZ 1e6

int stalls_due_init(struct stalls_due *d, const struct profile_reader *r)
{
	stall_windows_init(&d->windows, r);
	return stall_windows_update(&d->windows);
}

void stalls_due_release(struct stalls_due *d)
{
	stall_windows_release(&d->windows);
}

/* All windows of a context have one period. */
static int find_period(struct stalls_due *d, const struct profile_op *op, uint64_t *ret)
{
	const struct stall_context *context;
	uint32_t number = 0;
	int error =
		stall_windows_context(&d->windows, op->process, op->device, op->context, &number);

	*ret = 0;
	if (error)
		return error;
	context = &d->windows.contexts.items[number];
	if (context->windows.count)
		*ret = profile_window(d->windows.reader, context->windows.items[0])->period_cycles;
	return 0;
}

/* As many as have a block of it, at most. */
static double multiprocessors(const struct profile_op *op, const struct profile_device *device)
{
	double blocks = (double)op->grid[0] * op->grid[1] * op->grid[2];

	return blocks < device->sm_count ? blocks : device->sm_count;
}

int stalls_due(struct stalls_due *d, const struct profile_op *op, uint64_t time_ns, uint64_t *ret)
{
	const struct profile_device *device = profile_device(d->windows.reader, op->device);
	uint64_t period = 0;
	double due = 0;
	int error = find_period(d, op, &period);

	if (period && device)
		due = (double)time_ns * device->clock_khz / KHZ_PER_GHZ / (double)period *
		      multiprocessors(op, device);
	*ret = due < (double)UINT64_MAX ? (uint64_t)due : UINT64_MAX;
	return error;
}
