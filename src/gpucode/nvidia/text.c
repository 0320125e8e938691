// SPDX-License-Identifier: MIT
/*
 * nvdisasm gets the code of several functions at a time, since it takes a while to start. It does
 * not get all: it writes nothing before it has read everything, which takes seconds for each MiB
 * (12.5). In batches, the functions of most weight have their text when the time is over. Code for
 * each kind of GPU needs runs of its own.
 */
#include "gpucode/nvidia/text.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/vec.h"
#include "gpucode/nvidia/nvdisasm.h"
#include "gpucode/program.h"

#define BATCH_BYTES ((size_t)512 << 10) /* of code; a larger function is a batch of its own */

struct disassembly {
	const struct gpucode_text_request *r;
	const char *program;
	struct vec(const struct gpucode_wanted *) batch;
	struct vec(struct nvdisasm_code) code; /* of the same */
};

static int visit_text(void *context, size_t function, uint64_t offset, const char *text)
{
	struct disassembly *d = context;

	return d->r->visit(
		d->r->context, (size_t)(d->batch.items[function] - d->r->functions), offset, text);
}

static int run_batch(struct disassembly *d)
{
	uint64_t now_ns = clock_now_ns();
	const struct nvdisasm_request request = {
		.program = d->program,
		.user = d->r->user,
		.sm = d->batch.items[0]->function->target,
		.functions = d->code.items,
		.count = d->code.count,
		.visit = visit_text,
		.context = d,
		.stopped = d->r->stopped,
		.stop_context = d->r->stop_context,
		.limit_ns = d->r->deadline_ns - now_ns,
	};

	return now_ns < d->r->deadline_ns ? nvdisasm_run(&request) : -ETIME;
}

static int add_to_batch(struct disassembly *d, const struct gpucode_wanted *w)
{
	if (vec_push(&d->batch, w))
		return -ENOMEM;
	return vec_push(&d->code, (struct nvdisasm_code){w->function->code, w->function->size});
}

/* By GPU, and those of more weight first. */
static int by_need(const void *left, const void *right)
{
	const struct gpucode_wanted *const *a = left, *const *b = right;

	if ((*a)->function->target != (*b)->function->target)
		return (*a)->function->target < (*b)->function->target ? -1 : 1;
	if ((*a)->weight != (*b)->weight)
		return (*a)->weight > (*b)->weight ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

static int run_batches(
	struct disassembly *d, const struct gpucode_wanted *const *wanted, size_t count)
{
	int error = 0;

	for (size_t next = 0; !error && next < count;) {
		unsigned int target = wanted[next]->function->target;
		size_t bytes = 0;

		d->batch.count = d->code.count = 0;
		do {
			bytes += wanted[next]->function->size;
			error = add_to_batch(d, wanted[next++]);
		} while (!error && next < count && wanted[next]->function->target == target &&
			 bytes + wanted[next]->function->size <= BATCH_BYTES);
		error = error ?: run_batch(d);
	}
	return error;
}

static int run_all(struct disassembly *d)
{
	const struct gpucode_wanted **wanted = calloc(d->r->count, sizeof(*wanted));
	int error;

	if (!wanted)
		return -ENOMEM;
	for (size_t i = 0; i < d->r->count; i++)
		wanted[i] = &d->r->functions[i];
	qsort(wanted, d->r->count, sizeof(*wanted), by_need);
	error = run_batches(d, wanted, d->r->count);
	free(wanted);
	return error;
}

int cubin_text(const struct gpucode_text_request *request)
{
	struct disassembly d = {.r = request};
	struct buf program = BUF_INIT;
	int error = 0;

	if (request->count)
		error = nvdisasm_find(&program, request->user || geteuid());
	if (request->count && !error) {
		d.program = buf_text(&program);
		error = run_all(&d);
	} else if (error == -ENOENT) {
		error = 0;
	}
	if (code_program_is_to_be_told(error))
		buf_puts(request->failure, error_text());
	vec_release(&d.batch);
	vec_release(&d.code);
	buf_release(&program);
	return code_program_is_harmless(error) ? 0 : error;
}
