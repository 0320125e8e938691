// SPDX-License-Identifier: MIT
/*
 * The keys are interned, and the number of a key is that of its union. Unions of processes that are
 * gone are removed many at a time, because that takes a new table of keys.
 */
#include "monitor/busy_times.h"

#include <stdlib.h>
#include <string.h>

#include "base/busy.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/vec.h"

struct busy_time {
	struct busy_key key;
	struct busy busy;
	bool forgotten;
};

/* Each span is in so many unions. */
#define UNIONS 3

struct busy_times {
	const struct monitor *monitor;
	struct interner *keys;
	struct vec(struct busy_time) times; /* number n of the interner at n - 1 */
	size_t forgotten;
	struct busy_key last; /* whose unions these are */
	uint32_t unions[UNIONS];
	bool last_known;
};

/* Enough to sort the intervals of one process. */
#define PROCESS_WINDOW ((size_t)1 << 12)
/* So many unions of processes that are gone may stay. */
#define FORGOTTEN_MAX 256

int busy_times_new(const struct monitor *m, struct busy_times **ret)
{
	struct busy_times *b = calloc(1, sizeof(*b));

	if (!b || interner_new(&b->keys)) {
		free(b);
		return error_memory(NULL);
	}
	b->monitor = m;
	*ret = b;
	return 0;
}

void busy_times_free(struct busy_times *b)
{
	if (!b)
		return;
	vec_foreach (t, &b->times)
		busy_release(&t->busy);
	vec_release(&b->times);
	interner_free(b->keys);
	free(b);
}

/* Without memory for that what is forgotten stays. */
static void close_gaps(struct busy_times *b)
{
	struct interner *keys;
	size_t kept = 0;
	uint32_t id;

	if (interner_new(&keys))
		return;
	vec_foreach (t, &b->times)
		if (!t->forgotten && interner_add(keys, &t->key, sizeof(t->key), &id, NULL)) {
			interner_free(keys);
			return;
		}
	vec_foreach (t, &b->times)
		if (!t->forgotten)
			b->times.items[kept++] = *t;
	b->times.count = kept;
	b->forgotten = 0;
	b->last_known = false;
	interner_free(b->keys);
	b->keys = keys;
}

void busy_times_forget(struct busy_times *b, uint32_t pid)
{
	vec_foreach (t, &b->times)
		if (pid && t->key.pid == pid && !t->forgotten) {
			busy_release(&t->busy);
			t->busy = BUSY_INIT;
			t->busy.window = PROCESS_WINDOW;
			t->forgotten = true;
			b->forgotten++;
		}
	if (b->forgotten > FORGOTTEN_MAX && b->forgotten > b->times.count / 2)
		close_gaps(b);
}

/* The index of a union in b->times. */
static int find_union(struct busy_times *b, const struct busy_key *key, uint32_t *ret)
{
	struct busy_time time = {.key = *key, .busy = BUSY_INIT};
	uint32_t id;
	int added, error = interner_add(b->keys, key, sizeof(*key), &id, &added);

	time.busy.window = key->pid ? PROCESS_WINDOW : 0;
	if (!error && added)
		error = vec_push(&b->times, time);
	if (!error)
		*ret = id - 1;
	return error;
}

/* Those of a ring, of it and a process, and of a process. Most spans are like the last one. */
static int find_unions(struct busy_times *b, const struct busy_key *key)
{
	struct busy_key ring = *key, process = *key;
	int error;

	if (b->last_known && !memcmp(&b->last, key, sizeof(*key)))
		return 0;
	ring.pid = 0;
	memset(process.label, 0, sizeof(process.label));
	b->last_known = false;
	error = find_union(b, &ring, &b->unions[0]);
	if (!error && key->pid)
		error = find_union(b, key, &b->unions[1]);
	if (!error && key->pid)
		error = find_union(b, &process, &b->unions[2]);
	b->last = *key;
	b->last_known = !error;
	return error;
}

static int add_to(struct busy_times *b, uint32_t number, uint64_t start_ns, uint64_t end_ns)
{
	struct busy_time *time = &b->times.items[number];

	/* A pid may come again. */
	b->forgotten -= time->forgotten;
	time->forgotten = false;
	return busy_add(&time->busy, start_ns, end_ns);
}

static int add_span(struct busy_times *b, uint8_t series, uint32_t pid,
	const char label[MONITOR_LABELS][MONITOR_LABEL_BYTES], uint64_t end_ns,
	uint64_t duration_ns)
{
	uint64_t start_ns = duration_ns < end_ns ? end_ns - duration_ns : 0;
	struct busy_key key = {.series = series, .pid = pid};
	int error;

	memcpy(key.label, label, sizeof(key.label));
	error = find_unions(b, &key);
	for (size_t i = 0; !error && i < (pid ? UNIONS : 1); i++)
		error = add_to(b, b->unions[i], start_ns, end_ns);
	return error;
}

/* The count of an event that gives busy time; NULL: none. */
static const struct monitor_count *busy_count(
	const struct monitor *m, unsigned int event, unsigned int count)
{
	const struct monitor_count *c;

	if (event >= monitor_event_count(m) || count >= MONITOR_COUNTS)
		return NULL;
	c = &m->events[event].counts[count];
	return c->value == VALUE_DURATION && m->series[c->series].busy ? c : NULL;
}

int busy_times_add(struct busy_times *b, const struct monitor_span *s)
{
	const struct monitor_count *c = busy_count(b->monitor, s->event, s->count);

	return c ? add_span(b, c->series, s->pid, s->label, s->end_ns, s->duration_ns) : 0;
}

/* A record has the labels of its event, which may be more than those of a count. */
static int add_count_of_record(
	struct busy_times *b, const struct monitor_record *r, uint8_t series, uint64_t duration_ns)
{
	char label[MONITOR_LABELS][MONITOR_LABEL_BYTES] = {0};

	for (size_t i = 0; i < MONITOR_LABELS; i++)
		if (b->monitor->series[series].label[i])
			memcpy(label[i], r->label[i], sizeof(label[i]));
	return add_span(b, series, r->pid, label, r->time_ns, duration_ns);
}

int busy_times_add_record(struct busy_times *b, const struct monitor_record *r)
{
	int error = 0;

	for (unsigned int n = 0; !error && n < MONITOR_COUNTS; n++) {
		const struct monitor_count *c = busy_count(b->monitor, r->event, n);

		if (c && r->count[n] != MONITOR_NO_VALUE)
			error = add_count_of_record(b, r, c->series, r->count[n]);
	}
	return error;
}

int busy_times_each(struct busy_times *b,
	int (*visit)(
		void *context, const struct busy_key *key, uint64_t busy_ns, uint64_t uncertain_ns),
	void *context)
{
	int error = 0;

	vec_foreach (t, &b->times) {
		uint64_t busy_ns, uncertain_ns;

		if (t->forgotten)
			continue;
		error = error ?: busy_total(&t->busy, &busy_ns, &uncertain_ns);
		error = error ?: visit(context, &t->key, busy_ns, uncertain_ns);
	}
	return error;
}
