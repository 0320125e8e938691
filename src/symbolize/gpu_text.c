// SPDX-License-Identifier: MIT
#include "symbolize/gpu_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "symbolize/text_process.h"

/* What is wanted of one format. */
struct reading {
	struct profile_writer *w;
	struct vec(struct gpucode_wanted) wanted;
	struct vec(struct gpu_text *) texts; /* of the same */
};

void gpu_text_release(struct gpu_text *t)
{
	free(t->ids);
	t->ids = NULL;
}

static int add_text(void *context, size_t function, uint64_t offset, const char *text)
{
	struct reading *g = context;
	struct gpu_text *t = g->texts.items[function];
	size_t count = t->function.size / t->format->instruction_bytes,
	       n = offset / t->format->instruction_bytes;

	if (n >= count)
		return 0;
	if (!t->ids)
		t->ids = calloc(count, sizeof(*t->ids));
	if (!t->ids)
		return -ENOMEM;
	return profile_add_string(g->w, text, strlen(text), &t->ids[n]);
}

static int gather(struct reading *g, const struct gpucode_format *format, struct gpu_text *texts,
	size_t count)
{
	int error = 0;

	g->wanted.count = g->texts.count = 0;
	for (struct gpu_text *t = texts; !error && t < texts + count; t++) {
		if (t->format != format || !t->weight || !t->function.size)
			continue;
		error = vec_push(&g->wanted, (struct gpucode_wanted){&t->function, t->weight});
		error = error ?: vec_push(&g->texts, t);
	}
	return error;
}

/* With a process for its writer, if it has one. */
static int ask_format(const struct gpucode_format *format, struct gpucode_text_request *request,
	const char *program)
{
	struct text_process process = {.program = program,
		.format = format,
		.stopped = request->stopped,
		.stop_context = request->stop_context};
	int error;

	request->ask = format->writer && program ? text_process_ask : NULL;
	request->ask_context = &process;
	error = format->text(request);
	text_process_release(&process);
	return error;
}

int gpu_text_read(struct profile_writer *w, struct gpu_text *texts, size_t count,
	const struct gpu_text_options *o, struct buf *failure)
{
	struct gpucode_text_request request = {
		.user = o->user,
		.deadline_ns = clock_now_ns() + o->limit_ns,
		.visit = add_text,
		.stopped = o->stopped,
		.stop_context = o->context,
		.failure = failure,
	};
	struct reading g = {.w = w};
	int error = 0;

	request.context = &g;
	for (size_t i = 0; !error && o->limit_ns && gpucode_formats[i]; i++) {
		if (!gpucode_formats[i]->text)
			continue;
		error = gather(&g, gpucode_formats[i], texts, count);
		request.functions = g.wanted.items;
		request.count = g.wanted.count;
		if (!error && request.count)
			error = ask_format(gpucode_formats[i], &request, o->program);
	}
	vec_release(&g.wanted);
	vec_release(&g.texts);
	return error;
}

int gpu_text_add(struct profile_writer *w, const struct gpu_text *t, uint64_t offset,
	uint32_t *ret_id, bool *ret_decoded)
{
	char text[GPUCODE_NAME_MAX];
	uint32_t id = t->ids ? t->ids[offset / t->format->instruction_bytes] : 0;

	*ret_decoded = !id;
	*ret_id = id;
	if (id)
		return 0;
	t->format->instruction_name(&t->function, offset, text, sizeof(text));
	return profile_add_string(w, text, strlen(text), ret_id);
}
