// SPDX-License-Identifier: MIT
/*
 * One buffer holds a stretch of the file that is at least the present chunk. A chunk is looked at
 * only when it is whole and its checksum is right. Tables are read as they come; an events chunk
 * is decoded event by event, straight from the buffer. Decoding may run past the end of a damaged
 * entry or event before that is noticed, hence READ_PAST bytes of zeros behind the data.
 *
 * The first thing that makes no sense ends the reading: what was read before it stands.
 */
#include "profile/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/vec.h"
#include "profile/bursts.h"
#include "profile/chunk_times.h"
#include "profile/clip.h"
#include "profile/cpu_times.h"
#include "profile/crc32c.h"
#include "profile/entries.h"
#include "profile/events.h"
#include "profile/format.h"
#include "profile/varint.h"

#define BUFFER_BYTES ((size_t)512 << 10) /* at first; grows to the largest chunk */
#define READ_PAST    EVENT_READ_PAST
_Static_assert(READ_PAST >= ENTRY_MAX_BYTES + VARINT_MAX_BYTES, "READ_PAST is too small");

struct text {
	const char *data;
	size_t size;
};

struct entry_vec vec(char);

/* Of one reader, or of those that read the same part of a file once more. */
struct tables {
	size_t readers;
	struct vec(struct text) strings;
	struct vec(char *) blocks;	       /* bytes of strings, one block a chunk */
	struct entry_vec entries[TABLE_COUNT]; /* counted in bytes; all but TABLE_STRINGS */
	uint32_t counts[TABLE_COUNT];
};

struct profile_reader {
	int fd;
	char *path;

	char *buffer; /* `capacity` bytes and READ_PAST more */
	size_t capacity;
	size_t used;	/* bytes in the buffer */
	size_t at;	/* of these, read */
	uint64_t start; /* where in the file the present chunk begins */
	uint64_t next;	/* and the one after it */

	const uint8_t *event, *events_end; /* what is left of an events chunk */
	struct event_coder coder;

	struct tables *tables;
	bool filled;			     /* they were, by an earlier reader */
	uint32_t counts_before[TABLE_COUNT]; /* the present chunk */

	uint64_t losses[LOSS_KINDS];
	struct vec(struct text) meta; /* key, value, key, value ... */
	char *meta_block;

	uint64_t events_of[EVENT_LAST + 1]; /* read so far, by kind */
	uint64_t cpu_ns, gpu_ns, stall_samples;

	struct cpu_times accounts;
	uint64_t unsampled; /* see unsampled_at */
	struct bursts bursts;

	uint64_t until; /* no chunk that begins there, or behind it, is read */

	bool (*skips)(const void *arg, uint64_t chunk); /* NULL: all is read */
	const void *skips_arg;
	bool skipped; /* some events were left out */

	const struct profile_clip *clip; /* NULL: the whole recording */
	struct profile_event whole;	 /* the last event that it selects */
	bool in_pieces;			 /* there may be more pieces of it */
	size_t span;			 /* where to look for the next */

	bool ended; /* the last chunk was an end mark */
	bool done;  /* nothing more will be read */
	char incomplete[200];
	char until_incomplete[200]; /* why nothing behind `until` is read */
};

/* Ends the reading for this reason; returns 0, as this is no error. */
static int __attribute__((format(printf, 2, 3)))
stop(struct profile_reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->incomplete, sizeof(r->incomplete), format, args);
	va_end(args);
	r->done = true;
	r->event = r->events_end = NULL;
	return 0;
}

static int stop_damaged(struct profile_reader *r, const char *what)
{
	return stop(r, "is damaged: the chunk at byte %llu %s", (unsigned long long)r->start, what);
}

static int fail_memory(struct profile_reader *r)
{
	r->done = true;
	return error_errno(-ENOMEM, "cannot read '%s'", r->path);
}

static int grow_buffer(struct profile_reader *r, size_t need)
{
	char *buffer;

	if (need <= r->capacity)
		return 0;
	buffer = realloc(r->buffer, need + READ_PAST);
	if (!buffer)
		return -ENOMEM;
	memset(buffer + need, 0, READ_PAST);
	r->buffer = buffer;
	r->capacity = need;
	return 0;
}

/* Makes `need` bytes from r->at on available: 1, or 0 when the file ends before, or -errno. More is
 * read with them where all is wanted. */
static int want(struct profile_reader *r, size_t need)
{
	size_t most;
	ssize_t n;

	if (r->used - r->at >= need)
		return 1;
	memmove(r->buffer, r->buffer + r->at, r->used - r->at);
	r->used -= r->at;
	r->at = 0;
	if (grow_buffer(r, need))
		return fail_memory(r);
	most = r->skips || (r->clip && r->clip->chunks) ? need : r->capacity;
	n = io_read_full(r->fd, r->buffer + r->used, most - r->used);
	if (n < 0) {
		r->done = true;
		return error_errno((int)n, "cannot read '%s'", r->path);
	}
	r->used += (size_t)n;
	return r->used >= need;
}

/* A run of bytes within a chunk: size, then the bytes. False when the chunk ends before. */
static bool decode_bytes(const uint8_t **p, const uint8_t *end, struct text *ret)
{
	uint64_t size;

	if (*p >= end)
		return false;
	size = varint_get(p);
	if (*p > end || size > (uint64_t)(end - *p))
		return false;
	*ret = (struct text){(const char *)*p, (size_t)size};
	*p += size;
	return true;
}

/* Copies text to *to, with a NUL behind it, and moves *to along. */
static struct text keep_text(char **to, struct text text)
{
	struct text kept = {*to, text.size};

	memcpy(*to, text.data, text.size);
	(*to)[text.size] = '\0';
	*to += text.size + 1;
	return kept;
}

/* The id that a chunk of entries begins with must be the next one. */
static bool first_id_is_next(
	struct profile_reader *r, enum profile_table table, const uint8_t **p, const uint8_t *end)
{
	return varint_get(p) == (uint64_t)r->tables->counts[table] + 1 && *p <= end;
}

static int read_strings(struct profile_reader *r, const uint8_t *p, const uint8_t *end)
{
	/* Each text loses its size, at least one byte, and gets a NUL. */
	char *block = malloc((size_t)(end - p) + 1), *to = block;
	struct text text;

	if (!block || vec_push(&r->tables->blocks, block)) {
		free(block);
		return fail_memory(r);
	}
	if (!first_id_is_next(r, TABLE_STRINGS, &p, end))
		return stop_damaged(r, "begins with the wrong string");
	while (p < end) {
		if (!decode_bytes(&p, end, &text))
			return stop_damaged(r, "holds a string longer than itself");
		if (vec_push(&r->tables->strings, keep_text(&to, text)))
			return fail_memory(r);
		r->tables->counts[TABLE_STRINGS]++;
	}
	return 0;
}

/* Decodes one entry, whose id is to be `id`: 1, or 0 when it makes no sense. */
static int decode_entry(struct profile_reader *r, enum profile_table table, uint32_t id,
	const uint8_t **p, const uint8_t *end, void *ret_entry)
{
	struct text text;
	const uint8_t *at;

	if (!decode_bytes(p, end, &text))
		return 0;
	at = (const uint8_t *)text.data;
	/* More bytes than the fields known here need are fields of a later version. */
	return entry_decode(table, &at, *p, ret_entry) && at <= *p &&
	       entry_is_valid(table, ret_entry, id, r->tables->counts);
}

union any_entry {
	struct profile_module module;
	struct profile_location location;
	struct profile_stack_node stack_node;
	struct profile_process process;
	struct profile_thread thread;
	struct profile_device device;
	struct profile_op op;
	struct profile_inline inlined;
	struct profile_segment segment;
	struct profile_gpu_function gpu_function;
	struct profile_instruction instruction;
	struct profile_window window;
	struct profile_counter counter;
	struct profile_burst burst;
	struct profile_probe_object probe_object;
	struct profile_probe_map probe_map;
	struct profile_probe_context probe_context;
	struct profile_probe_kernel probe_kernel;
	struct profile_probe_line probe_line;
};

static int read_entries(
	struct profile_reader *r, enum profile_table table, const uint8_t *p, const uint8_t *end)
{
	size_t entry_bytes = entry_formats[table].entry_bytes;
	struct entry_vec *entries = &r->tables->entries[table];
	union any_entry entry;

	if (!first_id_is_next(r, table, &p, end))
		return stop_damaged(r, "begins with the wrong entry");
	while (p < end) {
		if (!decode_entry(r, table, r->tables->counts[table] + 1, &p, end, &entry))
			return stop_damaged(r, "holds an entry that makes no sense");
		if (vec_reserve(entries, entry_bytes))
			return fail_memory(r);
		memcpy(entries->items + entries->count, &entry, entry_bytes);
		entries->count += entry_bytes;
		r->tables->counts[table]++;
	}
	return 0;
}

static void *entry_at(const struct profile_reader *r, enum profile_table table, uint32_t id)
{
	if (!id || id > r->tables->counts[table])
		return NULL;
	return r->tables->entries[table].items +
	       (size_t)(id - 1) * entry_formats[table].entry_bytes;
}

static int read_updates(struct profile_reader *r, const uint8_t *p, const uint8_t *end)
{
	union any_entry entry;
	uint64_t table, id;

	while (p < end) {
		table = varint_get(&p);
		id = varint_get(&p);
		if (p > end || table >= TABLE_COUNT || !entry_formats[table].updates || !id ||
			id > r->tables->counts[table] ||
			!decode_entry(r, (enum profile_table)table, (uint32_t)id, &p, end, &entry))
			return stop_damaged(r, "holds an update that makes no sense");
		memcpy(entry_at(r, (enum profile_table)table, (uint32_t)id), &entry,
			entry_formats[table].entry_bytes);
	}
	return 0;
}

static int read_losses(struct profile_reader *r, const uint8_t *p, const uint8_t *end)
{
	uint64_t losses[LOSS_KINDS] = {0}, loss, count;

	while (p < end) {
		loss = varint_get(&p);
		count = varint_get(&p);
		if (p > end)
			return stop_damaged(r, "ends in the middle of a number");
		if (loss < LOSS_KINDS)
			losses[loss] = count;
	}
	memcpy(r->losses, losses, sizeof(losses));
	return 0;
}

static int read_meta(struct profile_reader *r, const uint8_t *p, const uint8_t *end)
{
	char *block = malloc((size_t)(end - p) + 1), *to = block;
	struct text key, value;

	if (!block)
		return fail_memory(r);
	free(r->meta_block);
	r->meta_block = block;
	r->meta.count = 0;
	while (p < end) {
		if (!decode_bytes(&p, end, &key) || !decode_bytes(&p, end, &value))
			return stop_damaged(r, "holds a text longer than itself");
		if (vec_reserve(&r->meta, 2))
			return fail_memory(r);
		r->meta.items[r->meta.count++] = keep_text(&to, key);
		r->meta.items[r->meta.count++] = keep_text(&to, value);
	}
	return 0;
}

/* Numbers at the end of an end mark are left out where they are 0. */
static uint64_t get_late(const uint8_t **p, const uint8_t *end)
{
	return *p < end ? varint_get(p) : 0;
}

/* The end mark lists what the file should hold; its events can be compared with what was read if
 * none were left out. */
static int read_end(struct profile_reader *r, const uint8_t *p, const uint8_t *end)
{
	bool same = true, same_events = true;

	for (int kind = EVENT_SAMPLE; kind <= EVENT_PENDING; kind++)
		same_events &= varint_get(&p) == r->events_of[kind];
	same_events &= varint_get(&p) == r->cpu_ns;
	same_events &= varint_get(&p) == r->gpu_ns;
	for (int table = TABLE_STRINGS; table < TABLE_BURSTS; table++)
		same &= (table > TABLE_OPS ? get_late(&p, end) : varint_get(&p)) ==
			r->tables->counts[table];
	same_events &= get_late(&p, end) == r->events_of[EVENT_STALL];
	same_events &= get_late(&p, end) == r->stall_samples;
	same_events &= get_late(&p, end) == r->events_of[EVENT_COUNT];
	for (int kind = EVENT_DRIVER; kind <= EVENT_SYNC; kind++)
		same_events &= get_late(&p, end) == r->events_of[kind];
	same &= get_late(&p, end) == r->tables->counts[TABLE_BURSTS];
	same_events &= get_late(&p, end) == r->events_of[EVENT_MARKER];
	for (int table = TABLE_BURSTS + 1; table < TABLE_COUNT; table++)
		same &= get_late(&p, end) == r->tables->counts[table];
	same_events &= get_late(&p, end) == r->events_of[EVENT_FOUND];
	if (!same || (!same_events && !r->skipped) || p > end)
		return stop_damaged(r, "is an end mark that does not agree with what was read");
	r->ended = true;
	return 0;
}

static void begin_events(struct profile_reader *r, const uint8_t *p, const uint8_t *end)
{
	r->event = p;
	r->events_end = end;
	event_coder_reset(&r->coder);
}

static int read_payload(
	struct profile_reader *r, uint32_t type, const uint8_t *p, const uint8_t *end)
{
	r->ended = false;
	switch (type) {
	case CHUNK_STRINGS:
		return read_strings(r, p, end);
	case CHUNK_UPDATES:
		return read_updates(r, p, end);
	case CHUNK_LOSSES:
		return read_losses(r, p, end);
	case CHUNK_META:
		return read_meta(r, p, end);
	case CHUNK_END:
		return read_end(r, p, end);
	case CHUNK_EVENTS:
		begin_events(r, p, end);
		return 0;
	case CHUNK_ACCOUNTS:
		return cpu_times_decode(p, end, r->tables->counts[TABLE_THREADS], NULL)
			       ? 0
			       : stop_damaged(r, "holds CPU times that make no sense");
	}
	for (int table = TABLE_STRINGS + 1; table < TABLE_COUNT; table++)
		if (type == entry_formats[table].chunk)
			return read_entries(r, (enum profile_table)table, p, end);
	/* A chunk of a later version that holds nothing this one needs. */
	return 0;
}

/* At the end of the file, with `left` bytes that are not a whole chunk. */
static int stop_at_end(struct profile_reader *r, size_t left)
{
	r->done = true; /* also when all is well */
	if (left)
		return stop(r, "ends in the middle of the chunk at byte %llu",
			(unsigned long long)r->start);
	if (!r->ended)
		return stop(r,
			"ends at byte %llu without an end mark: the recording goes on, or was cut "
			"short",
			(unsigned long long)r->start);
	return 0;
}

/* Goes on behind the present chunk without looking into it: 0 or -errno. */
static int pass_over(struct profile_reader *r, size_t size)
{
	size_t here = r->used - r->at;

	r->ended = false;
	r->next = r->start + size;
	if (here >= size) {
		r->at += size;
		return 0;
	}
	r->at = r->used = 0;
	if (lseek(r->fd, (off_t)(size - here), SEEK_CUR) >= 0)
		return 0;
	r->done = true;
	return error_errno(-errno, "cannot read '%s'", r->path);
}

/* Samples that are passed over have had their turns. */
static void pass_turns(struct profile_reader *r)
{
	const struct chunk_times *chunks = r->clip->chunks;
	const struct chunk_time *t = chunk_times_find(chunks, r->start);
	const struct chunk_turn *turns;
	size_t count;

	if (!t || t->begin != r->start)
		return;
	count = chunk_times_turns(chunks, t, &turns);
	for (size_t i = 0; i < count; i++) {
		struct cpu_time *a = cpu_times_find(&r->accounts, turns[i].thread);

		if (a)
			a->passed_ns = turns[i].passed_ns;
	}
}

static bool passes_over(struct profile_reader *r)
{
	if (r->skips && r->skips(r->skips_arg, r->start))
		return true;
	if (!r->clip || !clip_skips_chunk(r->clip, r->start))
		return false;
	pass_turns(r);
	return true;
}

static bool is_of_tables(uint32_t type)
{
	for (int table = TABLE_STRINGS + 1; table < TABLE_COUNT; table++)
		if (type == entry_formats[table].chunk)
			return true;
	return type == CHUNK_STRINGS || type == CHUNK_UPDATES;
}

/* Takes the next chunk, whatever it is: 0 or -errno. */
static int next_chunk(struct profile_reader *r)
{
	const uint8_t *header;
	uint32_t type, size, crc;
	int got;

	r->start = r->next;
	if (r->next >= r->until) {
		r->done = true;
		memcpy(r->incomplete, r->until_incomplete, sizeof(r->incomplete));
		return 0;
	}
	got = want(r, CHUNK_HEADER_BYTES);
	memcpy(r->counts_before, r->tables->counts, sizeof(r->tables->counts));
	if (got <= 0)
		return got < 0 ? got : stop_at_end(r, r->used - r->at);
	type = get_u32((uint8_t *)r->buffer + r->at);
	size = get_u32((uint8_t *)r->buffer + r->at + 4);
	if (size > CHUNK_MAX_BYTES)
		return stop_damaged(r, "is too large to be one");
	if (r->filled && is_of_tables(type))
		return pass_over(r, CHUNK_HEADER_BYTES + (size_t)size);
	if (type == CHUNK_EVENTS && passes_over(r)) {
		r->skipped = true;
		return pass_over(r, CHUNK_HEADER_BYTES + (size_t)size);
	}
	got = want(r, CHUNK_HEADER_BYTES + (size_t)size);
	if (got <= 0)
		return got < 0 ? got : stop_at_end(r, r->used - r->at);
	header = (uint8_t *)r->buffer + r->at;
	crc = crc32c(crc32c(0, header, 8), header + CHUNK_HEADER_BYTES, size);
	if (crc != get_u32(header + 8))
		return stop_damaged(r, "does not match its checksum");
	got = read_payload(
		r, type, header + CHUNK_HEADER_BYTES, header + CHUNK_HEADER_BYTES + size);
	r->at += CHUNK_HEADER_BYTES + (size_t)size;
	r->next = r->start + CHUNK_HEADER_BYTES + size;
	return got;
}

static void count_event(struct profile_reader *r, const struct profile_event *e)
{
	r->events_of[e->kind]++;
	if (e->kind == EVENT_SAMPLE)
		r->cpu_ns += e->sample.period_ns;
	else if (e->kind == EVENT_WORK)
		r->gpu_ns += e->work.duration_ns;
	else if (e->kind == EVENT_STALL)
		r->stall_samples += e->stall.samples;
}

/* Divides the thread's account, and of a part of the recording its time in the kernel, too: as
 * large a part of it as the samples there have. */
static void weigh_sample(const struct profile_reader *r, struct profile_sample *s)
{
	struct cpu_time *a = cpu_times_find(&r->accounts, s->thread);

	s->kernel_ns = 0;
	if (!a)
		return;
	if (r->clip)
		s->kernel_ns = cpu_time_next_kernel_part(
			a, s->period_ns, clip_has_time(r->clip, s->time_ns));
	a->kept_kernel_ns += s->kernel_ns;
	s->period_ns =
		r->skips ? cpu_time_part(a, s->period_ns) : cpu_time_next_part(a, s->period_ns);
}

static void weigh_work(const struct profile_reader *r, struct profile_work *w)
{
	w->burst = bursts_find(&r->bursts, w->instance, w->launch_ns ? w->launch_ns : w->start_ns);
	w->weight = bursts_weight(&r->bursts, w->burst) * (w->stands_for ?: 1);
	w->cut = (struct profile_cut){0};
}

static void weigh_call(const struct profile_reader *r, struct profile_call *c)
{
	c->burst = bursts_find(&r->bursts, c->instance, c->start_ns);
	c->weight = bursts_weight(&r->bursts, c->burst);
	c->cut = (struct profile_cut){0};
}

static void weigh_pending(const struct profile_reader *r, struct profile_pending *p)
{
	p->weight = bursts_weight(&r->bursts, bursts_find(&r->bursts, p->instance, p->start_ns));
}

static void weigh(const struct profile_reader *r, struct profile_event *e)
{
	if (e->kind == EVENT_SAMPLE)
		weigh_sample(r, &e->sample);
	else if (e->kind == EVENT_WORK)
		weigh_work(r, &e->work);
	else if (e->kind == EVENT_CALL)
		weigh_call(r, &e->call);
	else if (e->kind == EVENT_PENDING)
		weigh_pending(r, &e->pending);
	else if (e->kind == EVENT_DRIVER)
		e->driver.cut = (struct profile_cut){0};
	else if (e->kind == EVENT_WAIT)
		e->wait.cut = (struct profile_cut){0};
	else if (e->kind == EVENT_SYNC)
		e->sync.cut = (struct profile_cut){0};
	else if (e->kind == EVENT_MARKER)
		e->marker.cut = (struct profile_cut){0};
}

/* How much of such a time is in the part of the recording that is read. Where it was is not known:
 * of a thread without samples it is spread over the time until the thread ended. */
static uint64_t unsampled_inside(
	const struct profile_reader *r, const struct cpu_time *a, const struct profile_sample *s)
{
	if (!r->clip)
		return s->period_ns;
	if (!clip_has_thread(r->clip, s->thread) || r->clip->devices)
		return 0;
	if (a->periods_ns)
		return a->kept_kernel_ns;
	return clip_share(r->clip, profile_meta_number(r, META_START_NS, s->time_ns), s->time_ns,
		s->period_ns);
}

/* Time that no sample stands for, behind all events. The n-th is of thread n / 2. */
static bool unsampled_at(const struct profile_reader *r, uint64_t n, struct profile_sample *ret)
{
	const struct cpu_time *a = cpu_times_find(&r->accounts, (uint32_t)(n / 2));
	bool kernel = n % 2;

	if (!a || (!kernel && a->periods_ns))
		return false;
	*ret = (struct profile_sample){
		.time_ns = a->is.end_ns,
		.period_ns = kernel ? a->is.kernel_ns : a->is.run_ns - a->is.kernel_ns,
		.thread = (uint32_t)(n / 2),
		.kind = kernel ? SAMPLE_KERNEL : SAMPLE_ABSENT,
	};
	ret->period_ns = unsampled_inside(r, a, ret);
	return ret->period_ns;
}

static int next_unsampled(struct profile_reader *r, struct profile_event *ret)
{
	uint64_t threads = r->tables->counts[TABLE_THREADS];

	ret->kind = EVENT_SAMPLE;
	while (r->unsampled / 2 < r->accounts.count && r->unsampled / 2 <= threads)
		if (unsampled_at(r, r->unsampled++, &ret->sample))
			return 1;
	return 0;
}

/* The next event of the whole recording. */
static int next_event(struct profile_reader *r, struct profile_event *ret)
{
	int got;

	for (;;) {
		while (r->event < r->events_end) {
			got = event_decode(&r->coder, &r->event, r->events_end, ret);
			if (got < 0 || (got > 0 && !event_is_valid(ret, r->tables->counts)))
				return stop_damaged(r, "holds an event that makes no sense");
			if (got) {
				count_event(r, ret);
				weigh(r, ret);
				return 1;
			}
		}
		if (r->done)
			return next_unsampled(r, ret);
		got = next_chunk(r);
		if (got < 0)
			return got;
	}
}

static bool is_unsampled(const struct profile_event *e)
{
	return e->kind == EVENT_SAMPLE && e->sample.kind != SAMPLE_SEEN;
}

static int next_piece(struct profile_reader *r, struct profile_event *ret)
{
	for (;;) {
		int got;

		if (r->in_pieces && clip_next_piece(r->clip, &r->whole, &r->span, ret))
			return 1;
		r->in_pieces = false;
		got = next_event(r, &r->whole);
		if (got <= 0)
			return got;
		if (is_unsampled(&r->whole) || r->clip->uncut) {
			*ret = r->whole;
			return 1;
		}
		r->in_pieces = clip_selects(r->clip, r, &r->whole);
		r->span = 0;
	}
}

int profile_reader_next(struct profile_reader *r, struct profile_event *ret)
{
	return r->clip ? next_piece(r, ret) : next_event(r, ret);
}

void profile_reader_clip(struct profile_reader *r, const struct profile_clip *clip)
{
	r->clip = clip;
}

const struct profile_clip *profile_reader_clip_of(const struct profile_reader *r)
{
	return r->clip;
}

uint64_t profile_reader_chunk(const struct profile_reader *r)
{
	return r->start;
}

void profile_reader_skip(
	struct profile_reader *r, bool (*skips)(const void *arg, uint64_t chunk), const void *arg)
{
	r->skips = skips;
	r->skips_arg = arg;
}

static int check_header(struct profile_reader *r)
{
	const uint8_t *header;
	uint32_t version;
	int got = want(r, FILE_HEADER_BYTES);

	if (got < 0)
		return got;
	header = (const uint8_t *)r->buffer;
	if (!r->used)
		return error_set(-EINVAL, "cannot read '%s': it is empty", r->path);
	if (!got || memcmp(header, FILE_MAGIC, FILE_MAGIC_BYTES))
		return error_set(
			-EINVAL, "cannot read '%s': it is not an xpuprof profile", r->path);
	version = get_u32(header + FILE_MAGIC_BYTES);
	if (get_u32(header + 12) != crc32c(0, header, 12))
		return error_set(-EINVAL, "cannot read '%s': its header is damaged", r->path);
	if (version < FILE_VERSION_MIN || version > FILE_VERSION)
		return error_set(-EINVAL,
			"cannot read '%s': its format is version %u, this xpuprof reads %u to %u",
			r->path, version, FILE_VERSION_MIN, FILE_VERSION);
	r->at = r->next = FILE_HEADER_BYTES;
	return 0;
}

static void read_accounts(
	struct profile_reader *r, const uint8_t *payload, uint32_t size, uint64_t file_bytes)
{
	uint64_t most = file_bytes / 5; /* a thread's entry has as many bytes, at least */

	(void)cpu_times_decode(payload, payload + size,
		most < UINT32_MAX ? (uint32_t)most : UINT32_MAX, &r->accounts);
}

static void read_bursts(struct profile_reader *r, const uint8_t *payload, uint32_t size)
{
	const uint8_t *p = payload, *end = payload + size, *at;
	struct profile_burst burst;
	struct text text;

	(void)varint_get(&p); /* the first one's id */
	while (p < end && decode_bytes(&p, end, &text)) {
		at = (const uint8_t *)text.data;
		if (!entry_decode(TABLE_BURSTS, &at, p, &burst) || bursts_add(&r->bursts, &burst))
			return;
	}
}

/* Whether works are drawn has to be known before the first of them. */
static void look_at_meta(struct profile_reader *r, const uint8_t *payload, uint32_t size)
{
	const uint8_t *p = payload, *end = payload + size;
	struct text key, value;

	while (p < end && decode_bytes(&p, end, &key) && decode_bytes(&p, end, &value))
		r->bursts.drawn |= key.size == strlen(META_OPENCL_TIMES) &&
				   !memcmp(key.data, META_OPENCL_TIMES, key.size);
}

/* Reads a chunk ahead, whose header this is. One that makes no sense ends the reading when it is
 * its turn. */
static void read_ahead(
	struct profile_reader *r, const uint8_t *header, uint64_t at, uint64_t file_bytes)
{
	uint32_t size = get_u32(header + 4);
	uint8_t *payload = calloc(1, (size_t)size + READ_PAST);

	if (payload && io_pread_full(r->fd, (char *)payload, size, (off_t)at) == (ssize_t)size &&
		crc32c(crc32c(0, header, 8), payload, size) == get_u32(header + 8)) {
		if (get_u32(header) == CHUNK_ACCOUNTS)
			read_accounts(r, payload, size, file_bytes);
		else if (get_u32(header) == CHUNK_META)
			look_at_meta(r, payload, size);
		else
			read_bursts(r, payload, size);
	}
	free(payload);
}

/* Accounts are at the end of a file, bursts behind what they are of, and events are weighed by
 * them, and by whether they were drawn: they are looked for before all else. A file that cannot be
 * read twice has none. */
static int look_ahead(struct profile_reader *r)
{
	uint8_t header[CHUNK_HEADER_BYTES];
	uint64_t at = FILE_HEADER_BYTES;
	struct stat file;

	if (fstat(r->fd, &file))
		return 0;
	while (io_pread_full(r->fd, (char *)header, sizeof(header), (off_t)at) == sizeof(header)) {
		uint32_t type = get_u32(header), size = get_u32(header + 4);

		at += sizeof(header);
		if (size > CHUNK_MAX_BYTES)
			break;
		if (type == CHUNK_ACCOUNTS || type == CHUNK_BURSTS || type == CHUNK_META)
			read_ahead(r, header, at, (uint64_t)file.st_size);
		at += size;
	}
	return bursts_weigh(&r->bursts) ? error_memory("the bursts") : 0;
}

static int open_file(struct profile_reader *r)
{
	int error;

	r->fd = open(r->path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0)
		return error_errno(-errno, "cannot open '%s'", r->path);
	error = check_header(r);
	return error ?: look_ahead(r);
}

static void tables_release(struct tables *t)
{
	if (!t || --t->readers)
		return;
	vec_foreach (block, &t->blocks)
		free(*block);
	vec_release(&t->blocks);
	vec_release(&t->strings);
	for (int table = 0; table < TABLE_COUNT; table++)
		vec_release(&t->entries[table]);
	free(t);
}

static int begin_tables(struct profile_reader *r)
{
	r->tables = calloc(1, sizeof(*r->tables));
	if (!r->tables)
		return -ENOMEM;
	r->tables->readers = 1;
	return 0;
}

int profile_reader_open(struct profile_reader **ret, const char *path)
{
	struct profile_reader *r = calloc(1, sizeof(*r));
	int error = -ENOMEM;

	if (!r)
		return error_errno(-ENOMEM, "cannot open '%s'", path);
	r->fd = -1;
	r->until = UINT64_MAX;
	r->path = strdup(path);
	if (!r->path || begin_tables(r) || grow_buffer(r, BUFFER_BYTES))
		error_errno(-ENOMEM, "cannot open '%s'", path);
	else
		error = open_file(r);
	if (error) {
		profile_reader_close(r);
		return error;
	}
	*ret = r;
	return 0;
}

static bool is_same_file(const struct profile_reader *a, const struct profile_reader *b)
{
	struct stat x, y;

	return !fstat(a->fd, &x) && !fstat(b->fd, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

int profile_reader_open_beside(struct profile_reader **ret, const struct profile_reader *other)
{
	struct profile_reader *r;
	int error = profile_reader_open(&r, other->path);

	if (error)
		return error;
	if (!is_same_file(r, other)) {
		profile_reader_close(r);
		return error_set(
			-ESTALE, "cannot read '%s' once more: it is another file now", other->path);
	}
	*ret = r;
	return 0;
}

int profile_reader_open_again(struct profile_reader **ret, const struct profile_reader *done)
{
	struct profile_reader *r;
	int error = profile_reader_open_beside(&r, done);

	if (error)
		return error;
	r->until = done->next;
	r->clip = done->clip;
	memcpy(r->until_incomplete, done->incomplete, sizeof(r->until_incomplete));
	if (!done->accounts.count)
		cpu_times_release(&r->accounts);
	if (bursts_copy(&r->bursts, &done->bursts)) {
		profile_reader_close(r);
		return error_memory("the bursts");
	}
	tables_release(r->tables);
	r->tables = done->tables;
	r->tables->readers++;
	r->filled = true;
	*ret = r;
	return 0;
}

void profile_reader_close(struct profile_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	tables_release(r->tables);
	cpu_times_release(&r->accounts);
	bursts_release(&r->bursts);
	vec_release(&r->meta);
	free(r->meta_block);
	free(r->buffer);
	free(r->path);
	free(r);
}

const char *profile_reader_incomplete(const struct profile_reader *r)
{
	return r->incomplete[0] ? r->incomplete : NULL;
}

const char *profile_string(const struct profile_reader *r, uint32_t id, size_t *ret_size)
{
	struct text text = {"", 0};

	if (id && id <= r->tables->counts[TABLE_STRINGS])
		text = r->tables->strings.items[id - 1];
	if (ret_size)
		*ret_size = text.size;
	return text.data;
}

const struct profile_module *profile_module(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_MODULES, id);
}

const struct profile_location *profile_location(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_LOCATIONS, id);
}

const struct profile_stack_node *profile_stack_node(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_STACKS, id);
}

const struct profile_process *profile_process(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_PROCESSES, id);
}

const struct profile_thread *profile_thread(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_THREADS, id);
}

bool profile_is_profiler(const struct profile_reader *r, uint32_t thread)
{
	const struct profile_thread *t = profile_thread(r, thread);

	return t && t->flags & THREAD_PROFILER;
}

const char *profile_thread_name(
	const struct profile_reader *r, const struct profile_thread *t, size_t *ret_size)
{
	static const char profiler[] = "xpuprof (profiler)";

	if (!(t->flags & THREAD_PROFILER))
		return profile_string(r, t->name, ret_size);
	if (ret_size)
		*ret_size = sizeof(profiler) - 1;
	return profiler;
}

const struct profile_account *profile_account(const struct profile_reader *r, uint32_t thread)
{
	const struct cpu_time *a = cpu_times_find(&r->accounts, thread);

	return a ? &a->is : NULL;
}

const struct profile_device *profile_device(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_DEVICES, id);
}

const struct profile_op *profile_op(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_OPS, id);
}

const struct profile_inline *profile_inline(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_INLINES, id);
}

const struct profile_segment *profile_segment(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_SEGMENTS, id);
}

const struct profile_gpu_function *profile_gpu_function(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_GPU_FUNCTIONS, id);
}

const struct profile_instruction *profile_instruction(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_INSTRUCTIONS, id);
}

const struct profile_window *profile_window(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_WINDOWS, id);
}

const struct profile_counter *profile_counter(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_COUNTERS, id);
}

const struct profile_burst *profile_burst(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_BURSTS, id);
}

const struct profile_probe_object *profile_probe_object(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_PROBE_OBJECTS, id);
}

const struct profile_probe_map *profile_probe_map(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_PROBE_MAPS, id);
}

const struct profile_probe_context *profile_probe_context(
	const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_PROBE_CONTEXTS, id);
}

const struct profile_probe_kernel *profile_probe_kernel(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_PROBE_KERNELS, id);
}

const struct profile_probe_line *profile_probe_line(const struct profile_reader *r, uint32_t id)
{
	return entry_at(r, TABLE_PROBE_LINES, id);
}

const struct bursts *profile_bursts(const struct profile_reader *r)
{
	return &r->bursts;
}

bool profile_is_in_bursts(const struct profile_reader *r)
{
	return r->bursts.all.count || r->bursts.without || profile_meta(r, META_OVERHEAD);
}

bool profile_is_drawn(const struct profile_reader *r)
{
	return r->bursts.drawn;
}

uint64_t profile_sort(const struct profile_reader *r, const struct profile_work *w)
{
	const struct profile_op *op = w->stands_for > 1 ? profile_op(r, w->op) : NULL;

	if (!op)
		return 0;
	return (uint64_t)op->process << 33 |
	       (op->kind == OP_KERNEL ? 1ull << 32 | op->name : w->api);
}

bool profile_is_estimated(const struct profile_reader *r)
{
	return profile_is_in_bursts(r) || profile_is_drawn(r);
}

uint64_t profile_reader_passed_ns(const struct profile_reader *r, uint32_t thread)
{
	const struct cpu_time *a = cpu_times_find(&r->accounts, thread);

	return a ? a->passed_ns : 0;
}

struct profile_counts profile_counts(const struct profile_reader *r)
{
	return (struct profile_counts){
		.strings = r->tables->counts[TABLE_STRINGS],
		.modules = r->tables->counts[TABLE_MODULES],
		.locations = r->tables->counts[TABLE_LOCATIONS],
		.stack_nodes = r->tables->counts[TABLE_STACKS],
		.processes = r->tables->counts[TABLE_PROCESSES],
		.threads = r->tables->counts[TABLE_THREADS],
		.devices = r->tables->counts[TABLE_DEVICES],
		.ops = r->tables->counts[TABLE_OPS],
		.inlines = r->tables->counts[TABLE_INLINES],
		.segments = r->tables->counts[TABLE_SEGMENTS],
		.gpu_functions = r->tables->counts[TABLE_GPU_FUNCTIONS],
		.instructions = r->tables->counts[TABLE_INSTRUCTIONS],
		.windows = r->tables->counts[TABLE_WINDOWS],
		.counters = r->tables->counts[TABLE_COUNTERS],
		.bursts = r->tables->counts[TABLE_BURSTS],
		.probe_objects = r->tables->counts[TABLE_PROBE_OBJECTS],
		.probe_maps = r->tables->counts[TABLE_PROBE_MAPS],
		.probe_contexts = r->tables->counts[TABLE_PROBE_CONTEXTS],
		.probe_kernels = r->tables->counts[TABLE_PROBE_KERNELS],
		.probe_lines = r->tables->counts[TABLE_PROBE_LINES],
	};
}

uint64_t profile_loss_count(const struct profile_reader *r, enum profile_loss loss)
{
	return loss < LOSS_KINDS ? r->losses[loss] : 0;
}

bool profile_meta_at(
	const struct profile_reader *r, size_t n, const char **ret_key, const char **ret_value)
{
	if (n >= r->meta.count / 2)
		return false;
	*ret_key = r->meta.items[2 * n].data;
	*ret_value = r->meta.items[2 * n + 1].data;
	return true;
}

const char *profile_meta(const struct profile_reader *r, const char *key)
{
	const char *found, *value;

	for (size_t n = 0; profile_meta_at(r, n, &found, &value); n++)
		if (!strcmp(found, key))
			return value;
	return NULL;
}

uint64_t profile_meta_number(const struct profile_reader *r, const char *key, uint64_t otherwise)
{
	const char *text = profile_meta(r, key);
	unsigned long long number;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return otherwise;
	errno = 0;
	number = strtoull(text, &end, 10);
	return *end || errno ? otherwise : number;
}

struct profile_sums profile_reader_sums(const struct profile_reader *r)
{
	return (struct profile_sums){
		.samples = r->events_of[EVENT_SAMPLE],
		.calls = r->events_of[EVENT_CALL],
		.works = r->events_of[EVENT_WORK],
		.pendings = r->events_of[EVENT_PENDING],
		.stalls = r->events_of[EVENT_STALL],
		.counts = r->events_of[EVENT_COUNT],
		.drivers = r->events_of[EVENT_DRIVER],
		.waits = r->events_of[EVENT_WAIT],
		.lives = r->events_of[EVENT_LIFE],
		.syncs = r->events_of[EVENT_SYNC],
		.markers = r->events_of[EVENT_MARKER],
		.founds = r->events_of[EVENT_FOUND],
		.stall_samples = r->stall_samples,
		.cpu_ns = r->cpu_ns,
		.gpu_ns = r->gpu_ns,
	};
}

/* The present chunk is the one that made no sense, or begins where the file ends. */
int profile_reader_copy(struct profile_reader *r, int to)
{
	uint64_t at = 0;

	if (memcmp(r->tables->counts, r->counts_before, sizeof(r->tables->counts)))
		return error_set(-EINVAL, "cannot copy '%s': the chunk at byte %llu makes no sense",
			r->path, (unsigned long long)r->start);
	while (at < r->start) {
		size_t piece = r->start - at < r->capacity ? (size_t)(r->start - at) : r->capacity;
		ssize_t got = io_pread_full(r->fd, r->buffer, piece, (off_t)at);
		int error = got < 0 ? (int)got : got != (ssize_t)piece ? -EIO : 0;

		if (error)
			return error_errno(error, "cannot read '%s'", r->path);
		error = io_write_all(to, r->buffer, piece);
		if (error)
			return error_errno(error, "cannot copy '%s'", r->path);
		at += piece;
	}
	return 0;
}
