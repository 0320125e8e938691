// SPDX-License-Identifier: MIT
/*
 * A trace for Perfetto in its own format (perfetto_packets.h): calls, GPU work, waits, what GPU
 * drivers did and hardware counters on tracks (perfetto_tracks.h), and CPU samples with their
 * stacks.
 *
 * Packets are written as events come, in the order in which they began; of what has a duration the
 * end follows the begin at once, as the reader sorts by time. Memory is for the distinct stacks
 * and names.
 *
 * Perfetto's samples have no weight. So there is a counter beside them, for each CPU: the CPU time
 * that the samples there stand for, added up ("CPU time", the time base of samples).
 */
#include <stdio.h>

#include "base/error.h"
#include "base/protobuf.h"
#include "export/exporter.h"
#include "export/perfetto_slices.h"
#include "view/events/places.h"

#define SUBJECT "the trace for Perfetto"

/* Numbers of CPUs beyond this are damage. */
#define CPUS_MAX 65536

enum { PACKET_SAMPLE = 66 };
enum { SAMPLE_CPU = 1, SAMPLE_PID, SAMPLE_TID, SAMPLE_STACK, SAMPLE_TIME = 6 };
enum { EVENT_DOUBLE = 44 };

/* The last value of a counter of a device. */
struct last_count {
	double value;
	uint64_t end_ns;
};

struct perfetto {
	const struct profile_reader *reader;
	struct event_places places;
	struct event_rows rows;
	struct packets packets;
	struct tracks tracks;
	struct slices slices;
	struct vec(uint64_t) cpu_ns; /* by CPU */
	struct map counts;	     /* by track: index of `last` */
	struct vec(struct last_count) last;
};

/* Samples. */

static int add_cpu_time(struct perfetto *p, const struct profile_sample *s, uint64_t *ret)
{
	uint32_t cpu = s->cpu < CPUS_MAX ? s->cpu : CPUS_MAX - 1;

	while (p->cpu_ns.count <= cpu)
		if (vec_push(&p->cpu_ns, 0))
			return error_memory(SUBJECT);
	p->cpu_ns.items[cpu] += s->period_ns;
	*ret = p->cpu_ns.items[cpu];
	return 0;
}

static int write_sample(struct perfetto *p, const struct profile_sample *s, uint32_t stack)
{
	const struct profile_thread *t = profile_thread(p->reader, s->thread);
	const struct profile_process *process = profile_process(p->reader, t ? t->process : 0);
	struct buf *b = &p->packets.block;
	uint64_t track, cpu_ns = 0;
	size_t mark;
	int error = t ? track_of_thread(&p->tracks, t, &track) : 0;

	error = error ?: add_cpu_time(p, s, &cpu_ns);
	if (error)
		return error;
	packet_begin(&p->packets, s->time_ns);
	packet_need_stack(&p->packets, stack);
	mark = protobuf_begin(b, PACKET_SAMPLE);
	protobuf_number(b, SAMPLE_CPU, s->cpu);
	protobuf_number(b, SAMPLE_PID, process ? process->pid : 0);
	protobuf_number(b, SAMPLE_TID, t ? t->tid : 0);
	protobuf_number(b, SAMPLE_STACK, stack);
	protobuf_number(b, SAMPLE_TIME, cpu_ns);
	protobuf_end(b, mark);
	p->slices.any = true;
	return packet_write(&p->packets);
}

/* Hardware counters, and drivers. */

/* A value holds until the next: true when it has to be said. */
static int keep_count(
	struct perfetto *p, uint64_t track, const struct profile_count *c, bool *ret_changed)
{
	const struct last_count last = {c->value, c->start_ns + c->duration_ns};
	const uint64_t *index = map_get(&p->counts, track);
	struct last_count *before = index ? &p->last.items[*index] : NULL;

	*ret_changed = !before || before->value != c->value ||
		       before->end_ns + c->duration_ns < c->start_ns;
	if (before) {
		*before = last;
		return 0;
	}
	return map_put(&p->counts, track, p->last.count) || vec_push(&p->last, last)
		       ? error_memory(SUBJECT)
		       : 0;
}

static int write_count(struct perfetto *p, const struct profile_count *c)
{
	uint64_t track = 0;
	bool changed = false;
	int error = track_of_counter(&p->tracks, c->device, c->counter, &track);

	error = error ?: keep_count(p, track, c, &changed);
	if (error || !changed)
		return error;
	packet_begin(&p->packets, c->start_ns);
	packet_event_begin(&p->packets, EVENT_COUNTER, track);
	protobuf_double(&p->packets.block, EVENT_DOUBLE, c->value);
	packet_event_end(&p->packets);
	p->slices.any = true;
	return packet_write(&p->packets);
}

static int write_stacked(
	struct perfetto *p, const struct profile_event *e, const struct event_span *span)
{
	uint32_t stack = 0;
	int error = event_places_find(&p->places, e, &stack);

	if (error)
		return error;
	switch (e->kind) {
	case EVENT_SAMPLE:
		return write_sample(p, &e->sample, stack);
	case EVENT_CALL:
		return slices_call(&p->slices, e, span, stack);
	case EVENT_WORK:
		return slices_work(&p->slices, e, span, stack);
	case EVENT_WAIT:
		return slices_wait(&p->slices, e, span, stack);
	default:
		return slices_sync(&p->slices, e, span, stack);
	}
}

static int write_event(void *arg, const struct profile_event *e, const struct event_span *span)
{
	struct perfetto *p = arg;

	if (e->kind != EVENT_MARKER && !event_is_shown(e, p->slices.shows))
		return 0;
	if (e->kind == EVENT_COUNT)
		return write_count(p, &e->count);
	if (e->kind == EVENT_DRIVER)
		return slices_driver(&p->slices, e, span);
	if (e->kind == EVENT_MARKER)
		return slices_marker(&p->slices, e, span);
	return write_stacked(p, e, span);
}

static void expect_event(void *arg, const struct profile_event *e)
{
	const struct perfetto *p = arg;

	event_places_expect(&p->places, e);
}

/* The recording's metadata, and what it lost. */
static int write_facts(struct perfetto *p, uint64_t start_ns)
{
	const char *key, *value;
	char count[32];
	uint64_t track = 0;
	int error = track_of_facts(&p->tracks, &track);

	if (error)
		return error;
	packet_begin(&p->packets, start_ns);
	packet_event_begin(&p->packets, EVENT_INSTANT, track);
	packet_event_name(&p->packets, PACKET_FACTS, slices_name(&p->slices, "recording"));
	if (view_is_simulated(p->reader))
		packet_fact(&p->packets, "gpu", "simulated GPU");
	for (size_t i = 0; profile_meta_at(p->reader, i, &key, &value); i++)
		packet_fact(&p->packets, key, value);
	for (unsigned int i = 1; i < LOSS_KINDS; i++) {
		if (!profile_loss_count(p->reader, i))
			continue;
		snprintf(count, sizeof(count), "%llu",
			(unsigned long long)profile_loss_count(p->reader, i));
		packet_fact(&p->packets, profile_loss_key(i), count);
	}
	packet_event_end(&p->packets);
	return packet_write(&p->packets);
}

static int write_all(struct perfetto *p)
{
	uint64_t start_ns = profile_meta_number(p->reader, META_START_NS, 0),
		 realtime_ns = profile_meta_number(p->reader, META_REALTIME_NS, 0);
	int error = packets_begin(&p->packets, start_ns, realtime_ns);

	error = error ?: write_facts(p, start_ns);
	error = error ?: events_in_order_expected(p->reader, write_event, expect_event, p);
	return error ?: packets_flush(&p->packets);
}

static int begin(struct perfetto *p, const struct export_options *options, struct output *o)
{
	int error = event_places_init(&p->places, p->reader, &options->view);

	error = error ?: event_rows_init(&p->rows, p->reader);
	return error ?: packets_init(&p->packets, o, p->places.tree);
}

static void release(struct perfetto *p)
{
	slices_release(&p->slices);
	vec_release(&p->cpu_ns);
	map_release(&p->counts);
	vec_release(&p->last);
	tracks_release(&p->tracks);
	packets_release(&p->packets);
	event_rows_release(&p->rows);
	event_places_release(&p->places);
}

int export_perfetto(const char *path, const struct export_options *options, struct output *o,
	struct export_result *ret)
{
	struct perfetto p = {0};
	struct export_input input;
	int error = export_open(&input, path, options);

	if (error)
		return error;
	p.reader = input.reader;
	p.tracks = (struct tracks){.packets = &p.packets, .rows = &p.rows};
	p.slices = (struct slices){.reader = p.reader,
		.rows = &p.rows,
		.tracks = &p.tracks,
		.packets = &p.packets,
		.shows = view_of(&options->view)->shows};
	error = export_read_all(&input, ret);
	error = error ?: begin(&p, options, o);
	error = error ?: write_all(&p);
	ret->empty = !p.slices.any;
	release(&p);
	export_close(&input);
	return error;
}
