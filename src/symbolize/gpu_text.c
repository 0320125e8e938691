// SPDX-License-Identifier: MIT
/*
 * nvdisasm gets the code of several functions at a time, since it takes a while to start, but not
 * of all: it writes nothing before it has been through everything, which takes it seconds for each
 * MiB (12.5). So those that matter most have their text when the time is over. Code for other GPUs
 * needs runs of its own.
 */
#include "symbolize/gpu_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/vec.h"
#include "gpucode/nvidia/nvdisasm.h"
#include "gpucode/nvidia/sass.h"

#define BATCH_BYTES ((size_t)512 << 10) /* of code; a larger function is a batch of its own */

struct disassembly {
	struct profile_writer *w;
	const struct gpu_text_options *o;
	const char *program;
	uint64_t deadline_ns;
	struct vec(struct gpu_text *) batch;
	struct vec(struct nvdisasm_code) code; /* of the same */
};

void gpu_text_release(struct gpu_text *t)
{
	free(t->ids);
	t->ids = NULL;
}

static int take_text(void *context, size_t function, uint64_t offset, const char *text)
{
	struct disassembly *d = context;
	struct gpu_text *t = d->batch.items[function];
	size_t count = t->size / SASS_INSTRUCTION_BYTES, n = offset / SASS_INSTRUCTION_BYTES;

	if (n >= count)
		return 0;
	if (!t->ids)
		t->ids = calloc(count, sizeof(*t->ids));
	if (!t->ids)
		return -ENOMEM;
	return profile_add_string(d->w, text, strlen(text), &t->ids[n]);
}

static int run_batch(struct disassembly *d)
{
	uint64_t now_ns = clock_now_ns();
	const struct nvdisasm_request request = {
		.program = d->program,
		.user = d->o->user,
		.sm = d->batch.items[0]->sm,
		.functions = d->code.items,
		.count = d->code.count,
		.visit = take_text,
		.context = d,
		.stopped = d->o->stopped,
		.stop_context = d->o->context,
		.limit_ns = d->deadline_ns - now_ns,
	};

	return now_ns < d->deadline_ns ? nvdisasm_run(&request) : -ETIME;
}

static int add_to_batch(struct disassembly *d, struct gpu_text *t)
{
	if (vec_push(&d->batch, t))
		return -ENOMEM;
	return vec_push(&d->code, (struct nvdisasm_code){t->code, t->size});
}

/* By GPU, and those of more weight first. */
static int by_need(const void *left, const void *right)
{
	const struct gpu_text *const *a = left, *const *b = right;

	if ((*a)->sm != (*b)->sm)
		return (*a)->sm < (*b)->sm ? -1 : 1;
	if ((*a)->weight != (*b)->weight)
		return (*a)->weight > (*b)->weight ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

static int disassemble(struct disassembly *d, struct gpu_text *const *texts, size_t count)
{
	int error = 0;

	for (size_t next = 0; !error && next < count;) {
		size_t bytes = 0;
		unsigned int sm = texts[next]->sm;

		d->batch.count = d->code.count = 0;
		do {
			bytes += texts[next]->size;
			error = add_to_batch(d, texts[next++]);
		} while (!error && next < count && texts[next]->sm == sm &&
			 bytes + texts[next]->size <= BATCH_BYTES);
		error = error ?: run_batch(d);
	}
	return error;
}

/* A user may not reach what root has found, and not all of root's rights are everywhere. */
static bool cannot_be_run(int error)
{
	return error == -EACCES || error == -EPERM || error == -ENOENT || error == -ENOEXEC;
}

/* Whether it is nvdisasm's alone, and the rest of the work can go on. */
static bool is_harmless(int error)
{
	return error == -EIO || error == -ETIME || error == -EINTR || cannot_be_run(error);
}

int gpu_text_disassemble(struct profile_writer *w, struct gpu_text *texts, size_t count,
	const struct gpu_text_options *o, struct buf *failure)
{
	struct gpu_text **wanted = calloc(count ? count : 1, sizeof(*wanted));
	struct disassembly d = {.w = w, .o = o, .deadline_ns = clock_now_ns() + o->limit_ns};
	struct buf program = BUF_INIT;
	size_t wanted_count = 0;
	int error = wanted ? 0 : -ENOMEM;

	for (size_t i = 0; wanted && i < count; i++)
		if (texts[i].weight && texts[i].size)
			wanted[wanted_count++] = &texts[i];
	if (!error && wanted_count && o->limit_ns && !nvdisasm_find(&program)) {
		d.program = buf_text(&program);
		qsort(wanted, wanted_count, sizeof(struct gpu_text *), by_need);
		error = disassemble(&d, wanted, wanted_count);
	}
	if (is_harmless(error)) {
		if (error == -EIO || cannot_be_run(error))
			buf_puts(failure, error_text());
		error = 0;
	}
	vec_release(&d.batch);
	vec_release(&d.code);
	buf_release(&program);
	free(wanted);
	return error;
}

int gpu_text_add(struct profile_writer *w, const struct gpu_text *t, uint64_t offset,
	uint32_t *ret_id, bool *ret_decoded)
{
	char text[SASS_TEXT_MAX];
	uint32_t id = t->ids ? t->ids[offset / SASS_INSTRUCTION_BYTES] : 0;

	*ret_decoded = !id;
	*ret_id = id;
	if (id)
		return 0;
	(void)sass_text(t->sm, t->code + offset, text, sizeof(text));
	return profile_add_string(w, text, strlen(text), ret_id);
}
