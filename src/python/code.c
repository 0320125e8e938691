// SPDX-License-Identifier: MIT
/*
 * A code object is read once, as soon as a stack has it. Its line table stays in memory. Long line
 * tables are read only when nothing else is wanted, so that they keep no names waiting.
 *
 * Where threads have copies of the bytecode, an instruction's address can be in any of them; new
 * ones appear, so the object is read again when an address is in none of what is known. So is one
 * without a check each time, as a later object at its address would not be noticed.
 *
 * What is kept is bounded, and so is what is wanted. When there are too many code objects all are
 * forgotten, and those still in use are read again; the names stay, since callers hold them. Where
 * line tables are too long together, they alone are forgotten.
 */
#include "python/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "python/code_reader.h"
#include "python/line_table.h"

#define CODES_MAX  (1u << 16)
#define TABLES_MAX ((size_t)64 << 20) /* bytes of line tables and addresses of copies */
#define NAMES_MAX  ((size_t)64 << 20) /* bytes of names */
#define WANTED_MAX 4096
#define OFFERS_MAX 1024 /* copies of code objects */
#define FLOOD	   1024 /* when more are wanted, requests have no room for copies */
#define UNIT	   2	/* bytes of an instruction or of a cache entry of it */

struct code_object {
	const char *function;
	const char *file;
	struct python_line_table table;
	bool has_table;	  /* false: it was not read so far, or was forgotten */
	uint64_t *copies; /* where copies of the bytecode begin; 0: none there */
	uint32_t copy_count;
	bool has_copies;
	uint32_t first_traceable; /* units */
	uint64_t bytecode;
	uint64_t bytecode_size;
};

/* walk_python_frame.code of each */
struct wanted_codes vec(uint64_t);

/* In the order of their reading. */
enum want {
	WANT_NAMES, /* and line tables that are short */
	WANT_TABLES,
	WANTS
};

struct python_code {
	uint32_t references;
	struct python_code_request where;
	uint32_t lines; /* enum python_lines */
	struct interner *names;
	size_t name_bytes;
	struct map by_frame; /* walk_python_frame.code to an index */
	struct vec(struct code_object) codes;
	size_t table_bytes;
	struct wanted_codes wanted[WANTS];
	struct map coming;  /* what is in there */
	struct map offered; /* walk_python_frame.code to a struct walk_python_code of ours */
	enum want asked_of; /* of these, */
	size_t asked;	    /* so many, from the first on, are being read */
};

int python_code_new(struct python_code **ret, const struct walk_python *python)
{
	struct python_code *c;
	int error;

	if (!python_lines_of(python->version) ||
		python->code_check > PYTHON_CODE_HEADER_MAX - PYTHON_CHECK_BYTES)
		return -ENOTSUP;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->references = 1;
	c->lines = python_lines_of(python->version);
	c->where =
		(struct python_code_request){python->version, python->code_check, python->runtime};
	error = interner_new(&c->names);
	if (error) {
		python_code_unref(c);
		return error;
	}
	*ret = c;
	return 0;
}

static size_t bytes_of(const struct code_object *o)
{
	return python_line_table_bytes(&o->table) + o->copy_count * sizeof(*o->copies);
}

static void release_code(struct code_object *o)
{
	python_line_table_release(&o->table);
	free(o->copies);
}

static void forget_tables(struct python_code *c)
{
	vec_foreach (o, &c->codes) {
		uint32_t first_line = o->table.first_line;

		release_code(o);
		o->table.first_line = first_line;
		o->has_table = false;
		o->copies = NULL;
		o->copy_count = 0;
	}
	c->table_bytes = 0;
}

static void forget_codes(struct python_code *c)
{
	vec_foreach (o, &c->codes)
		release_code(o);
	vec_release(&c->codes);
	map_release(&c->by_frame);
	c->by_frame = MAP_INIT;
	c->table_bytes = 0;
}

static const struct walk_python_code *find_offer(const struct python_code *c, uint64_t frame_code)
{
	const uint64_t *at = map_get(&c->offered, frame_code);

	return at ? (const struct walk_python_code *)(uintptr_t)*at : NULL;
}

static void forget_offer(struct python_code *c, uint64_t frame_code)
{
	uint64_t copy;

	if (map_remove(&c->offered, frame_code, &copy))
		free((void *)(uintptr_t)copy);
}

static void forget_offers(struct python_code *c)
{
	for (size_t i = 0; c->offered.count && i <= c->offered.mask; i++)
		if (c->offered.slots[i].used)
			free((void *)(uintptr_t)c->offered.slots[i].value);
	map_release(&c->offered);
	c->offered = MAP_INIT;
}

struct python_code *python_code_ref(struct python_code *c)
{
	c->references++;
	return c;
}

void python_code_unref(struct python_code *c)
{
	if (!c || --c->references)
		return;
	forget_codes(c);
	interner_free(c->names);
	for (int want = 0; want < WANTS; want++)
		vec_release(&c->wanted[want]);
	map_release(&c->coming);
	forget_offers(c);
	free(c);
}

bool python_code_is_shared(const struct python_code *c)
{
	return c->references > 1;
}

static struct code_object *find_code(const struct python_code *c, uint64_t frame_code)
{
	const uint64_t *at = map_get(&c->by_frame, frame_code);

	return at ? &c->codes.items[*at] : NULL;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The copy of the bytecode that `at` is in; 0: none that is known. */
static uint64_t find_copy(const struct code_object *o, uint64_t at)
{
	for (uint32_t i = 0; i < o->copy_count; i++)
		if (o->copies[i] && at - o->copies[i] < o->bytecode_size)
			return o->copies[i];
	return 0;
}

/* How far into the code the frame is, in bytes: false when this cannot be determined. Before the
 * first instruction it is less than 0. */
static bool offset_of(
	const struct python_code *c, const struct code_object *o, uint64_t at, int64_t *ret)
{
	uint64_t copy;

	at &= WALK_PYTHON_ADDRESS;
	if (c->lines != PYTHON_LINES_LOCATIONS) {
		*ret = (int64_t)(int32_t)at * (c->lines == PYTHON_LINES_RANGES ? UNIT : 1);
		return true;
	}
	if (at + UNIT - o->bytecode < o->bytecode_size + UNIT) {
		*ret = (int64_t)(at - o->bytecode);
		return true;
	}
	copy = find_copy(o, at);
	*ret = (int64_t)(at - copy);
	return copy;
}

static void answer(const struct python_code *c, const struct code_object *o, uint64_t at,
	struct python_line *ret)
{
	int64_t offset;

	*ret = (struct python_line){
		.function = o->function, .file = o->file, .first_line = o->table.first_line};
	if (!offset_of(c, o, at, &offset))
		return;
	ret->incomplete = o->bytecode && offset < (int64_t)o->first_traceable * UNIT;
	if (offset < 0)
		ret->line = o->table.first_line;
	else if (o->has_table)
		ret->line = python_line_at(&o->table, (uint64_t)offset);
}

int python_code_line(
	struct python_code *c, const struct walk_python_frame *frame, struct python_line *ret)
{
	const struct code_object *o = find_code(c, frame->code);

	if (!o)
		return python_code_is_coming(c, frame) ? -EAGAIN : -ENOENT;
	answer(c, o, frame->at, ret);
	return 0;
}

/* --- what is wanted --------------------------------------------------------------------------- */

bool python_code_is_coming(const struct python_code *c, const struct walk_python_frame *frame)
{
	return c->coming.count && map_get(&c->coming, frame->code);
}

bool python_code_is_wanting(const struct python_code *c)
{
	return c->wanted[WANT_NAMES].count || c->wanted[WANT_TABLES].count;
}

static bool is_known(const struct python_code *c, const struct walk_python_frame *frame)
{
	const struct code_object *o = find_code(c, frame->code);
	int64_t offset;

	return o && o->has_table && frame->code >> 48 &&
	       (!o->has_copies || offset_of(c, o, frame->at, &offset));
}

bool python_code_want(struct python_code *c, const struct walk_python_frame *frame)
{
	if (python_code_is_coming(c, frame))
		return true;
	if (is_known(c, frame) || c->coming.count >= WANTED_MAX) {
		forget_offer(c, frame->code);
		return false;
	}
	if (map_put(&c->coming, frame->code, 1))
		return false;
	if (vec_push(&c->wanted[WANT_NAMES], frame->code)) {
		(void)map_remove(&c->coming, frame->code, NULL);
		return false;
	}
	return true;
}

int python_code_offer(struct python_code *c, const struct walk_python_code *copy)
{
	struct walk_python_code *kept;

	if (find_code(c, copy->code) || find_offer(c, copy->code))
		return 0;
	if (c->offered.count >= OFFERS_MAX)
		forget_offers(c);
	kept = malloc(sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	*kept = *copy;
	if (!map_put(&c->offered, kept->code, (uintptr_t)kept))
		return 0;
	free(kept);
	return -ENOMEM;
}

static void append_wanted(const struct python_code *c, uint64_t frame_code, struct buf *b)
{
	const struct walk_python_code *copy =
		c->coming.count <= FLOOD ? find_offer(c, frame_code) : NULL;
	const struct python_code_wanted wanted = {.code = frame_code,
		.has_copy = copy != NULL,
		.long_table = c->asked_of == WANT_TABLES};

	buf_append(b, &wanted, sizeof(wanted));
	if (copy)
		buf_append(b, copy, sizeof(*copy));
}

bool python_code_request(struct python_code *c, struct buf *ret)
{
	const size_t largest = sizeof(struct python_code_wanted) + sizeof(struct walk_python_code);
	enum want want = c->wanted[WANT_NAMES].count ? WANT_NAMES : WANT_TABLES;
	const struct wanted_codes *wanted = &c->wanted[want];
	size_t begin = ret->size;

	_Static_assert(sizeof(c->where) + sizeof(struct python_code_wanted) +
				       sizeof(struct walk_python_code) <=
			       PYTHON_REQUEST_BYTES,
		"one has room");
	if (c->asked || !wanted->count)
		return false;
	c->asked_of = want;
	buf_append(ret, &c->where, sizeof(c->where));
	while (c->asked < wanted->count && c->asked < PYTHON_CODES_MAX &&
		ret->size - begin <= PYTHON_REQUEST_BYTES - largest)
		append_wanted(c, wanted->items[c->asked++], ret);
	return true;
}

/* True when the names are known of one whose line table is to be read later. */
static bool want_table(struct python_code *c, uint64_t frame_code)
{
	const struct code_object *o = find_code(c, frame_code);

	return o && !o->has_table && !vec_push(&c->wanted[WANT_TABLES], frame_code);
}

/* The first `count` are not wanted any more, but for line tables that were left. */
static void settle(struct python_code *c, enum want want, size_t count)
{
	struct wanted_codes *wanted = &c->wanted[want];

	for (size_t i = 0; i < count; i++) {
		if (want == WANT_NAMES && want_table(c, wanted->items[i]))
			continue;
		(void)map_remove(&c->coming, wanted->items[i], NULL);
		forget_offer(c, wanted->items[i]);
	}
	wanted->count -= count;
	if (count)
		memmove(wanted->items, wanted->items + count,
			wanted->count * sizeof(*wanted->items));
	c->asked = 0;
}

void python_code_ask_again(struct python_code *c)
{
	c->asked = 0;
}

void python_code_give_up(struct python_code *c, bool all)
{
	settle(c, c->asked_of, c->asked);
	for (int want = 0; all && want < WANTS; want++)
		settle(c, want, c->wanted[want].count);
}

/* --- replies ---------------------------------------------------------------------------------- */

static int keep_name(struct python_code *c, const void *text, size_t size, const char **ret)
{
	uint32_t id;
	int added = 0;

	if (c->name_bytes + size > NAMES_MAX && !interner_find(c->names, text, size))
		return -ENOSPC;
	if (interner_add(c->names, text, size, &id, &added))
		return -ENOMEM;
	if (added)
		c->name_bytes += size;
	*ret = interner_get(c->names, id, NULL);
	return 0;
}

static int keep_copies(struct code_object *o, const uint8_t *copies)
{
	size_t size = o->copy_count * sizeof(*o->copies);

	if (!size)
		return 0;
	o->copies = malloc(size);
	if (!o->copies)
		return -ENOMEM;
	memcpy(o->copies, copies, size);
	return 0;
}

/* In the place of what was known by this code, if anything was. */
static int put_code(struct python_code *c, uint64_t frame_code, const struct code_object *o)
{
	struct code_object *known = find_code(c, frame_code);

	if (!known && c->codes.count >= CODES_MAX)
		forget_codes(c);
	if (c->table_bytes + bytes_of(o) > TABLES_MAX)
		forget_tables(c);
	if (known) {
		c->table_bytes -= bytes_of(known);
		release_code(known);
		*known = *o;
	} else if (vec_push(&c->codes, *o)) {
		return -ENOMEM;
	} else if (map_put(&c->by_frame, frame_code, c->codes.count - 1)) {
		c->codes.count--;
		return -ENOMEM;
	}
	c->table_bytes += bytes_of(o);
	return 0;
}

static int keep_code(struct python_code *c, uint64_t frame_code,
	const struct python_code_found *found, const uint8_t *parts)
{
	const uint8_t *file = parts + found->function_size, *table = file + found->file_size;
	struct code_object o = {.copy_count = found->copy_count,
		.has_table = !found->table_left || c->asked_of == WANT_TABLES,
		.has_copies = found->has_copies,
		.first_traceable = found->first_traceable,
		.bytecode = found->bytecode,
		.bytecode_size = found->bytecode_size};
	int error = keep_name(c, parts, found->function_size, &o.function);

	error = error ?: keep_name(c, file, found->file_size, &o.file);
	error = error
			?: python_line_table_init(
				   &o.table, c->lines, found->first_line, table, found->table_size);
	error = error ?: keep_copies(&o, table + found->table_size);
	error = error ?: put_code(c, frame_code, &o);
	if (error)
		release_code(&o);
	return error == -ENOSPC ? 0 : error;
}

/* How many bytes follow; SIZE_MAX: it makes no sense. */
static size_t size_of_parts(const struct python_code_found *f)
{
	if (f->error)
		return 0;
	if (f->function_size > PYTHON_NAME_MAX || f->file_size > PYTHON_NAME_MAX ||
		f->table_size > PYTHON_BYTES_MAX || f->copy_count > PYTHON_COPIES_MAX)
		return SIZE_MAX;
	return (size_t)f->function_size + f->file_size + f->table_size +
	       f->copy_count * sizeof(uint64_t);
}

int python_code_answer(struct python_code *c, const void *reply, size_t size)
{
	struct python_code_found found;
	const uint8_t *at = reply, *end = at + size;
	const struct wanted_codes *wanted = &c->wanted[c->asked_of];
	size_t count = 0;
	int error = 0;

	if (!c->asked)
		return 0;
	while (!error && count < c->asked && at < end) {
		size_t parts = SIZE_MAX, left = (size_t)(end - at);

		if (left >= sizeof(found)) {
			memcpy(&found, at, sizeof(found));
			parts = size_of_parts(&found);
		}
		if (parts == SIZE_MAX || parts > left - sizeof(found)) {
			error = -EPROTO;
			break;
		}
		at += sizeof(found);
		if (!found.error)
			error = keep_code(c, wanted->items[count], &found, at);
		at += parts;
		count++;
	}
	if (!error && !count)
		error = -EPROTO;
	settle(c, c->asked_of, error ? c->asked : count);
	return error;
}

int python_code_read_here(struct python_code *c, const struct python_memory *m)
{
	struct buf request = BUF_INIT, reply = BUF_INIT;
	int error = 0;

	while (!error && python_code_request(c, &request)) {
		if (request.failed || python_code_read(m, request.data, request.size, &reply))
			python_code_give_up(c, false);
		else
			error = python_code_answer(c, reply.data, reply.size);
		buf_reset(&request);
		buf_reset(&reply);
	}
	buf_release(&request);
	buf_release(&reply);
	return error == -ENOMEM ? error : 0;
}
