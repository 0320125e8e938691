// SPDX-License-Identifier: MIT
/*
 * Chunks of tables, losses, metadata and the end mark. Where an events chunk comes, it is only
 * noted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/reader_internal.h"

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
		return profile_reader_fail_memory(r);
	}
	if (!first_id_is_next(r, TABLE_STRINGS, &p, end))
		return profile_reader_stop_damaged(r, "begins with the wrong string");
	while (p < end) {
		if (!decode_bytes(&p, end, &text))
			return profile_reader_stop_damaged(r, "holds a string longer than itself");
		if (vec_push(&r->tables->strings, keep_text(&to, text)))
			return profile_reader_fail_memory(r);
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
		return profile_reader_stop_damaged(r, "begins with the wrong entry");
	while (p < end) {
		if (!decode_entry(r, table, r->tables->counts[table] + 1, &p, end, &entry))
			return profile_reader_stop_damaged(r, "holds an entry that makes no sense");
		if (vec_reserve(entries, entry_bytes))
			return profile_reader_fail_memory(r);
		memcpy(entries->items + entries->count, &entry, entry_bytes);
		entries->count += entry_bytes;
		r->tables->counts[table]++;
	}
	return 0;
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
			return profile_reader_stop_damaged(
				r, "holds an update that makes no sense");
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
			return profile_reader_stop_damaged(r, "ends in the middle of a number");
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
		return profile_reader_fail_memory(r);
	free(r->meta_block);
	r->meta_block = block;
	r->meta.count = 0;
	while (p < end) {
		if (!decode_bytes(&p, end, &key) || !decode_bytes(&p, end, &value))
			return profile_reader_stop_damaged(r, "holds a text longer than itself");
		if (vec_reserve(&r->meta, 2))
			return profile_reader_fail_memory(r);
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
		return profile_reader_stop_damaged(
			r, "is an end mark that does not agree with what was read");
	r->ended = true;
	return 0;
}

static void begin_events(struct profile_reader *r, const uint8_t *p, const uint8_t *end)
{
	r->event = p;
	r->events_end = end;
	event_coder_reset(&r->coder);
}

int profile_reader_read_payload(
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
			       : profile_reader_stop_damaged(
					 r, "holds CPU times that make no sense");
	}
	for (int table = TABLE_STRINGS + 1; table < TABLE_COUNT; table++)
		if (type == entry_formats[table].chunk)
			return read_entries(r, (enum profile_table)table, p, end);
	/* A chunk of a later version that holds nothing this one needs. */
	return 0;
}

void profile_tables_release(struct tables *t)
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

int profile_tables_begin(struct profile_reader *r)
{
	r->tables = calloc(1, sizeof(*r->tables));
	if (!r->tables)
		return -ENOMEM;
	r->tables->readers = 1;
	return 0;
}
