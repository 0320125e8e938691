// SPDX-License-Identifier: MIT
/*
 * A thread's waits have a row of their own because they are timed by the kernel and calls in the
 * program: by some nanoseconds one may cut the edge of the other, and viewers want the events of a
 * row to nest. So have its samples, which last as long as the time that they stand for.
 *
 * The part of a wait in which the thread could have run already is an event of its own behind the
 * other.
 */
#include "export/chrome_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/vec.h"
#include "export/chrome_lanes.h"
#include "view/names/internals.h"
#include "view/names/label.h"
#include "view/names/launch_path.h"
#include "view/names/location_text.h"

#define SUBJECT "the rows of threads in the timeline"

/* Ids of rows that cannot be tids, nor those of lanes of streams. */
#define WAITS_TID_BASE	 2000000000u
#define SAMPLES_TID_BASE 1500000000u

/* The first two are interleaved. */
enum { ROW_WAITS = 0, ROW_GPU_WAITS, ROW_SAMPLES, ROWS };

struct thread_rows {
	struct lane rows[ROWS]; /* ends at 0: it has no events */
};

struct chrome_threads {
	const struct profile_reader *done;
	struct output *output;
	struct location_texts texts;
	struct internals internals;
	struct vec(struct thread_rows) threads; /* by thread id */
	bool *any;
	struct buf text, name;
};

static const struct profile_process *process_of(const struct chrome_threads *w, uint32_t thread)
{
	const struct profile_thread *t = profile_thread(w->done, thread);

	return t ? profile_process(w->done, t->process) : NULL;
}

static int find_lane(struct chrome_threads *w, uint32_t thread, unsigned int row, struct lane **ret)
{
	while (w->threads.count <= thread)
		if (vec_push(&w->threads, (struct thread_rows){0}))
			return error_memory(SUBJECT);
	*ret = &w->threads.items[thread].rows[row];
	return 0;
}

static uint32_t row_tid(uint32_t thread, unsigned int row)
{
	return row == ROW_SAMPLES ? SAMPLES_TID_BASE + thread
				  : WAITS_TID_BASE + thread * ROW_SAMPLES + row;
}

static void put_text(struct chrome_threads *w, const char *name, const char *text)
{
	buf_printf(&w->text, ",\"%s\":", name);
	json_string(&w->text, text, strlen(text));
}

/* The innermost function of the program that the thread was in. */
static void put_function(struct chrome_threads *w, uint32_t stack)
{
	uint32_t locations[LAUNCH_PATH_MAX];

	if (!launch_path_functions(&w->internals, stack, PATH_PROGRAM, 1, locations))
		return;
	buf_reset(&w->name);
	(void)location_text(&w->texts, profile_location(w->done, locations[0]), &w->name);
	put_text(w, "function", buf_text(&w->name));
}

static void put_waker(struct chrome_threads *w, uint32_t waker)
{
	const struct profile_thread *t = profile_thread(w->done, waker);

	if (!t)
		return;
	put_text(w, "waker", profile_thread_name(w->done, t, NULL));
	buf_printf(&w->text, ",\"wakerTid\":%u", t->tid);
}

/* An event from its name, which is JSON, to its times. */
static int begin_slice(struct chrome_threads *w, uint32_t thread, unsigned int row,
	const char *name, const struct event_span *span)
{
	const struct profile_process *p = process_of(w, thread);
	struct output *o = w->output;
	struct lane *lane = NULL;
	int error = find_lane(w, thread, row, &lane);

	if (error)
		return error;
	output_puts(o, *w->any ? ",\n" : "\n");
	*w->any = true;
	output_puts(o, "{\"ph\":\"X\",\"name\":");
	output_puts(o, name);
	output_printf(o, ",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u",
		row == ROW_SAMPLES ? "CPU" : "Wait", p ? p->pid : 0, row_tid(thread, row));
	lane_put_times(lane, o, span->start_ns, span->duration_ns);
	return 0;
}

/* An event of the args in `text`, which begin with a comma. */
static int write_slice(struct chrome_threads *w, uint32_t thread, unsigned int row,
	const char *name, uint64_t start_ns, uint64_t duration_ns)
{
	const struct event_span span = {start_ns, duration_ns};
	int error;

	if (w->text.failed)
		return error_memory(SUBJECT);
	buf_reset(&w->name);
	json_string(&w->name, name, strlen(name));
	error = w->name.failed ? error_memory(SUBJECT)
			       : begin_slice(w, thread, row, w->name.data, &span);
	if (!error)
		output_printf(w->output, ",\"args\":{%s}}", w->text.size ? w->text.data + 1 : "");
	return error;
}

int chrome_threads_sample(struct chrome_threads *w, uint32_t thread, const struct event_span *span,
	uint32_t stack, const struct tree_frame *leaf)
{
	int error;

	buf_reset(&w->name);
	buf_reset(&w->text);
	tree_label(leaf, &w->name);
	json_string(&w->text, buf_text(&w->name), w->name.size);
	if (w->name.failed || w->text.failed)
		return error_memory(SUBJECT);
	error = begin_slice(w, thread, ROW_SAMPLES, w->text.data, span);
	if (!error)
		output_printf(w->output, ",\"sf\":%u}", stack);
	return error;
}

static void put_microseconds(struct buf *b, const char *name, uint64_t ns)
{
	buf_printf(b, ",\"%s\":%llu.%03u", name, (unsigned long long)(ns / 1000),
		(unsigned int)(ns % 1000));
}

static int write_wait(struct chrome_threads *w, const struct profile_wait *e)
{
	uint64_t queued_ns = e->queued_ns < e->duration_ns ? e->queued_ns : e->duration_ns;
	uint64_t asleep_ns = e->duration_ns - queued_ns;
	char name[64];
	int error = 0;

	if (!profile_thread(w->done, e->thread) || profile_is_profiler(w->done, e->thread))
		return 0;
	buf_reset(&w->text);
	put_function(w, e->stack);
	put_waker(w, e->waker);
	if (e->assumed)
		buf_puts(&w->text, ",\"assumed\":true");
	if (queued_ns)
		put_microseconds(&w->text, "queued", queued_ns);
	if (e->others) {
		buf_printf(&w->text, ",\"others\":%llu", (unsigned long long)e->others);
		put_microseconds(&w->text, "othersTime", e->others_ns);
	}
	snprintf(name, sizeof(name), "waiting: %s", profile_wait_reason_name(e->reason));
	if (asleep_ns)
		error = write_slice(w, e->thread, ROW_WAITS, name, e->start_ns, asleep_ns);
	if (!error && queued_ns)
		error = write_slice(w, e->thread, ROW_WAITS, "waiting: run queue",
			e->start_ns + asleep_ns, queued_ns);
	return error;
}

static int write_sync(struct chrome_threads *w, const struct profile_sync *e)
{
	const struct profile_device *d = profile_device(w->done, e->device);
	char name[96];

	if (!profile_thread(w->done, e->thread))
		return 0;
	if (e->kind == SYNC_CONTEXT)
		snprintf(name, sizeof(name), "waiting for the GPU: context %u", e->context);
	else
		snprintf(name, sizeof(name), "waiting for the GPU: %s stream %u",
			e->kind == SYNC_EVENT ? "event of" : "all of", e->stream);
	buf_reset(&w->text);
	put_text(w, "call", profile_string(w->done, e->api, NULL));
	put_function(w, e->stack);
	buf_printf(&w->text, ",\"contextId\":%u,\"correlationId\":%u", e->context, e->correlation);
	if (d)
		buf_printf(&w->text, ",\"deviceId\":%u", d->ordinal);
	if (e->recorded_ns)
		put_microseconds(&w->text, "recorded", e->recorded_ns);
	return write_slice(w, e->thread, ROW_GPU_WAITS, name, e->start_ns, e->duration_ns);
}

static int name_row(struct chrome_threads *w, uint32_t thread, unsigned int row)
{
	const struct profile_thread *t = profile_thread(w->done, thread);
	const struct profile_process *p = process_of(w, thread);
	static const char *const what[] = {"not running", "waiting for the GPU", "on CPU"};
	struct output *o = w->output;

	buf_reset(&w->name);
	buf_printf(&w->name, "%s %u %s", profile_string(w->done, t->name, NULL), t->tid, what[row]);
	buf_reset(&w->text);
	json_string(&w->text, buf_text(&w->name), w->name.size);
	if (w->text.failed)
		return error_memory(SUBJECT);
	output_printf(o,
		",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{"
		"\"name\":%s}}",
		p ? p->pid : 0, row_tid(thread, row), w->text.data);
	if (p) {
		buf_reset(&w->text);
		json_string(&w->text, profile_string(w->done, p->comm, NULL),
			strlen(profile_string(w->done, p->comm, NULL)));
		output_printf(o,
			",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":%u,\"args\":"
			"{\"name\":%s}}",
			p->pid, row_tid(thread, row), buf_text(&w->text));
	}
	return w->text.failed ? error_memory(SUBJECT) : output_error(o);
}

int chrome_threads_wait(struct chrome_threads *w, const struct profile_event *e)
{
	return e->kind == EVENT_WAIT ? write_wait(w, &e->wait) : write_sync(w, &e->sync);
}

int chrome_threads_name(struct chrome_threads *w)
{
	int error = 0;

	for (uint32_t id = 1; !error && id < w->threads.count; id++)
		for (unsigned int row = 0; !error && row < ROWS; row++)
			if (w->threads.items[id].rows[row].end_ns)
				error = name_row(w, id, row);
	return error;
}

int chrome_threads_new(
	struct chrome_threads **ret, const struct profile_reader *done, struct output *o, bool *any)
{
	struct chrome_threads *w = calloc(1, sizeof(*w));
	int error;

	if (!w)
		return error_memory(SUBJECT);
	w->done = done;
	w->output = o;
	w->any = any;
	error = location_texts_init(&w->texts, done, false);
	error = error ?: internals_init(&w->internals, done);
	if (error)
		chrome_threads_free(w);
	else
		*ret = w;
	return error;
}

void chrome_threads_free(struct chrome_threads *w)
{
	if (!w)
		return;
	internals_release(&w->internals);
	location_texts_release(&w->texts);
	vec_release(&w->threads);
	buf_release(&w->text);
	buf_release(&w->name);
	free(w);
}
