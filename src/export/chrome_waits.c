// SPDX-License-Identifier: MIT
/*
 * A thread's waits have a row of their own because they are timed by the kernel and calls in the
 * program: by some nanoseconds one may cut the edge of the other, and viewers want the events of a
 * row to nest.
 *
 * The part of a wait in which the thread could have run already is an event of its own behind the
 * other.
 */
#include "export/chrome_waits.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/vec.h"
#include "view/names/internals.h"
#include "view/names/launch_path.h"
#include "view/names/location_text.h"

#define SUBJECT "the waits of the timeline"

/* Ids of rows that cannot be tids, nor those of lanes of streams. */
#define WAITS_TID_BASE 2000000000u

enum { ROW_WAITS = 0, ROW_GPU_WAITS, ROWS };

struct waits {
	const struct profile_reader *done;
	struct output *output;
	struct location_texts texts;
	struct internals internals;
	struct vec(uint8_t) threads; /* by thread id: bits of the rows it has */
	bool *any;
	struct buf text, name;
};

static const struct profile_process *process_of(const struct waits *w, uint32_t thread)
{
	const struct profile_thread *t = profile_thread(w->done, thread);

	return t ? profile_process(w->done, t->process) : NULL;
}

static int mark(struct waits *w, uint32_t thread, unsigned int row)
{
	while (w->threads.count <= thread)
		if (vec_push(&w->threads, 0))
			return error_memory(SUBJECT);
	w->threads.items[thread] |= (uint8_t)(1u << row);
	return 0;
}

static uint32_t row_tid(uint32_t thread, unsigned int row)
{
	return WAITS_TID_BASE + thread * ROWS + row;
}

static void put_text(struct waits *w, const char *name, const char *text)
{
	buf_printf(&w->text, ",\"%s\":", name);
	json_string(&w->text, text, strlen(text));
}

/* The innermost function of the program that the thread was in. */
static void put_function(struct waits *w, uint32_t stack)
{
	uint32_t locations[LAUNCH_PATH_MAX];

	if (!launch_path_functions(&w->internals, stack, PATH_PROGRAM, 1, locations))
		return;
	buf_reset(&w->name);
	(void)location_text(&w->texts, profile_location(w->done, locations[0]), &w->name);
	put_text(w, "function", buf_text(&w->name));
}

static void put_waker(struct waits *w, uint32_t waker)
{
	const struct profile_thread *t = profile_thread(w->done, waker);

	if (!t)
		return;
	put_text(w, "waker", profile_thread_name(w->done, t, NULL));
	buf_printf(&w->text, ",\"wakerTid\":%u", t->tid);
}

/* An event of the args in `text`, which begin with a comma. */
static int write_slice(struct waits *w, uint32_t thread, unsigned int row, const char *name,
	uint64_t start_ns, uint64_t duration_ns)
{
	const struct profile_process *p = process_of(w, thread);
	struct output *o = w->output;
	int error = mark(w, thread, row);

	if (error || w->text.failed)
		return error ?: error_memory(SUBJECT);
	output_puts(o, *w->any ? ",\n" : "\n");
	*w->any = true;
	output_printf(o,
		"{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"Wait\",\"pid\":%u,\"tid\":%u,\"ts\":",
		name, p ? p->pid : 0, row_tid(thread, row));
	output_us(o, start_ns);
	output_puts(o, ",\"dur\":");
	output_us(o, duration_ns);
	output_printf(o, ",\"args\":{%s}}", w->text.size ? w->text.data + 1 : "");
	return output_error(o);
}

static void put_microseconds(struct buf *b, const char *name, uint64_t ns)
{
	buf_printf(b, ",\"%s\":%llu.%03u", name, (unsigned long long)(ns / 1000),
		(unsigned int)(ns % 1000));
}

static int write_wait(struct waits *w, const struct profile_wait *e)
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

static int write_sync(struct waits *w, const struct profile_sync *e)
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

static int name_row(struct waits *w, uint32_t thread, unsigned int row)
{
	const struct profile_thread *t = profile_thread(w->done, thread);
	const struct profile_process *p = process_of(w, thread);
	struct output *o = w->output;

	buf_reset(&w->name);
	buf_printf(&w->name, "%s %u %s", profile_string(w->done, t->name, NULL), t->tid,
		row == ROW_WAITS ? "not running" : "waiting for the GPU");
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

static int name_rows(struct waits *w)
{
	int error = 0;

	for (uint32_t id = 1; !error && id < w->threads.count; id++)
		for (unsigned int row = 0; !error && row < ROWS; row++)
			if (w->threads.items[id] & 1u << row)
				error = name_row(w, id, row);
	return error;
}

static int write_all(struct waits *w, struct profile_reader *r)
{
	struct profile_event e;
	int more, error = 0;

	while (!error && (more = profile_reader_next(r, &e))) {
		if (more < 0)
			error = more;
		else if (e.kind == EVENT_WAIT)
			error = write_wait(w, &e.wait);
		else if (e.kind == EVENT_SYNC)
			error = write_sync(w, &e.sync);
	}
	return error ?: name_rows(w);
}

int chrome_waits(const struct profile_reader *done, struct output *o, bool *any)
{
	struct profile_sums sums = profile_reader_sums(done);
	struct waits w = {.done = done, .output = o, .any = any};
	struct profile_reader *again;
	int error;

	if (!sums.waits && !sums.syncs)
		return 0;
	error = profile_reader_open_again(&again, done);
	if (error)
		return error;
	error = location_texts_init(&w.texts, done, false);
	error = error ?: internals_init(&w.internals, done);
	error = error ?: write_all(&w, again);
	internals_release(&w.internals);
	location_texts_release(&w.texts);
	vec_release(&w.threads);
	buf_release(&w.text);
	buf_release(&w.name);
	profile_reader_close(again);
	return error;
}
