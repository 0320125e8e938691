// SPDX-License-Identifier: MIT
/*
 * Prints what is in a profile about waits for the GPU, as one JSON object a line:
 *
 *	{"type": "sync", "kind": "stream", "api": ..., "thread": tid, "start_ns": ..., "duration_ns": ..., "recorded_ns": ...,
 *		"stack": id, "call_start_ns": ..., "call_end_ns": ..., "device": id, "context": ..., "stream": ...}
 *	{"type": "work", "name": ..., "start_ns": ..., "end_ns": ..., "launch_ns": ..., "device": id, "context": ...,
 *		"stream": ..., "in_graph": ..., "graph_context": ..., "graph_stream": ...}
 *	{"type": "loss", "name": ..., "count": ...}
 *
 * The call's times are those of its CALL event; 0 where there is none.
 *
 * usage: profile_syncs FILE
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/map.h"
#include "profile/reader.h"

struct calls {
	struct map starts, ends; /* by instance and correlation */
};

static uint64_t key_of(uint32_t instance, uint32_t correlation)
{
	return (uint64_t)instance << 32 | correlation;
}

static uint64_t number(const struct map *m, uint64_t key)
{
	const uint64_t *value = map_get(m, key);

	return value ? *value : 0;
}

static void print_sync(
	const struct profile_reader *r, const struct profile_sync *s, const struct calls *calls)
{
	static const char *const kinds[SYNC_KINDS] = {
		[SYNC_STREAM] = "stream", [SYNC_EVENT] = "event", [SYNC_CONTEXT] = "context"};
	const struct profile_thread *t = profile_thread(r, s->thread);
	uint64_t key = key_of(s->instance, s->correlation);

	printf("{\"type\": \"sync\", \"kind\": \"%s\", \"api\": \"%s\", \"thread\": %u, "
	       "\"start_ns\": %" PRIu64 ", \"duration_ns\": %" PRIu64 ", \"recorded_ns\": %" PRIu64
	       ", \"stack\": %u"
	       ", \"call_start_ns\": %" PRIu64 ", \"call_end_ns\": %" PRIu64
	       ", \"device\": %u, \"context\": %u, \"stream\": %u}\n",
		kinds[s->kind], profile_string(r, s->api, NULL), t ? t->tid : 0, s->start_ns,
		s->duration_ns, s->recorded_ns, s->stack, number(&calls->starts, key),
		number(&calls->ends, key), s->device, s->context, s->stream);
}

static void print_work(const struct profile_reader *r, const struct profile_work *w)
{
	const struct profile_op *op = profile_op(r, w->op);

	printf("{\"type\": \"work\", \"name\": \"%s\", \"start_ns\": %" PRIu64
	       ", \"end_ns\": %" PRIu64 ", \"launch_ns\": %" PRIu64
	       ", \"device\": %u, \"context\": %u, \"stream\": %u"
	       ", \"in_graph\": %s, \"graph_context\": %u, \"graph_stream\": %u}\n",
		profile_string(r, op->name, NULL), w->start_ns, w->start_ns + w->duration_ns,
		w->launch_ns, op->device, op->context, op->stream, w->graph_node ? "true" : "false",
		w->graph_context, w->graph_stream);
}

/* Calls first, as waits may be written before theirs. */
static int read_calls(const char *path, struct calls *calls)
{
	struct profile_reader *r;
	struct profile_event e;
	int error = profile_reader_open(&r, path);

	if (error)
		return error;
	while ((error = profile_reader_next(r, &e)) > 0) {
		uint64_t key = key_of(e.call.instance, e.call.correlation);

		if (e.kind == EVENT_CALL &&
			(map_put(&calls->starts, key, e.call.start_ns) ||
				map_put(&calls->ends, key, e.call.start_ns + e.call.duration_ns)))
			error = error_set(-1, "out of memory");
	}
	profile_reader_close(r);
	return error;
}

static int print_all(const char *path, const struct calls *calls)
{
	struct profile_reader *r;
	struct profile_event e;
	int error = profile_reader_open(&r, path);

	if (error)
		return error;
	while ((error = profile_reader_next(r, &e)) > 0) {
		if (e.kind == EVENT_SYNC)
			print_sync(r, &e.sync, calls);
		else if (e.kind == EVENT_WORK)
			print_work(r, &e.work);
	}
	for (unsigned int loss = 1; loss < LOSS_KINDS; loss++)
		if (profile_loss_count(r, loss))
			printf("{\"type\": \"loss\", \"name\": \"%s\", \"count\": %" PRIu64 "}\n",
				profile_loss_key(loss), profile_loss_count(r, loss));
	profile_reader_close(r);
	return error;
}

int main(int argc, char **argv)
{
	struct calls calls = {0};
	int error;

	if (argc != 2) {
		fprintf(stderr, "usage: profile_syncs FILE\n");
		return 2;
	}
	error = read_calls(argv[1], &calls);
	error = error ?: print_all(argv[1], &calls);
	map_release(&calls.starts);
	map_release(&calls.ends);
	if (error)
		fprintf(stderr, "profile_syncs: %s\n", error_text());
	return error ? 1 : 0;
}
