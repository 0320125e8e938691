// SPDX-License-Identifier: MIT
/*
 * A code object is read once, as soon as a stack has it: its header in one read, then its name, its
 * file's name and its line table. The table stays in memory, and each look-up goes through it.
 *
 * Builds without a GIL keep a copy of the bytecode for each thread (co_tlbc, from 3.14 on), and an
 * instruction's address can be in any of them; new ones appear, so they are read when an address is
 * in none of what is known.
 *
 * Both what is kept and what is read at once are bounded. When there are too many code objects all
 * are forgotten, and those still in use are read again; the names stay, since callers hold them.
 */
#include "python/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "python/line_table.h"
#include "python/objects.h"

#define CODES_MAX   (1u << 16)
#define TABLES_MAX  ((size_t)64 << 20) /* bytes of line tables */
#define NAMES_MAX   ((size_t)64 << 20) /* bytes of names */
#define HEADER_MAX  512		       /* bytes of a code object before its bytecode */
#define COPIES_MAX  4096	       /* of bytecode: threads */
#define UNIT	    2		       /* bytes of an instruction or of a cache entry of it */
#define CHECK_BYTES 32

struct code_object {
	const char *function;
	const char *file;
	uint8_t *table;
	uint32_t table_size;
	uint32_t first_line;
	uint32_t first_traceable; /* units */
	uint64_t bytecode;
	uint64_t bytecode_size;
	uint64_t copies; /* address of the array of copies; 0: none */
	uint64_t copy;	 /* the latest used; 0: none */
};

struct python_code {
	struct python_objects objects;
	uint32_t code_check;
	struct interner *names;
	size_t name_bytes;
	struct map by_frame; /* walk_python_frame.code to an index */
	struct vec(struct code_object) codes;
	size_t table_bytes;
	struct buf scratch;
};

int python_code_new(
	struct python_code **ret, const struct python_memory *m, const struct walk_python *python)
{
	struct python_code *c = calloc(1, sizeof(*c));
	int error;

	if (!c)
		return -ENOMEM;
	c->objects.memory = *m;
	c->code_check = python->code_check;
	error = python_layout_load(&c->objects.layout, m, python->runtime, python->version);
	if (!error && c->code_check + CHECK_BYTES > HEADER_MAX)
		error = -ENOTSUP;
	error = error ?: interner_new(&c->names);
	if (error) {
		python_code_free(c);
		return error;
	}
	*ret = c;
	return 0;
}

static void forget_codes(struct python_code *c)
{
	vec_foreach (o, &c->codes)
		free(o->table);
	vec_release(&c->codes);
	map_release(&c->by_frame);
	c->by_frame = MAP_INIT;
	c->table_bytes = 0;
}

void python_code_free(struct python_code *c)
{
	if (!c)
		return;
	forget_codes(c);
	interner_free(c->names);
	buf_release(&c->scratch);
	free(c);
}

/* The header of a code object, as far as a member of it reaches. */
struct header {
	uint8_t bytes[HEADER_MAX];
	uint32_t size;
};

static uint32_t header_size(const struct python_code *c)
{
	const struct python_layout *l = &c->objects.layout;
	const uint32_t ends[] = {l->code_filename + 8, l->code_name + 8, l->code_qualname + 8,
		l->code_linetable + 8, l->code_firstlineno + 4, l->code_firsttraceable + 4,
		l->code_tlbc + 8, l->object_type + 16, c->code_check + CHECK_BYTES};
	uint32_t size = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (ends[i] > size)
			size = ends[i];
	return size;
}

static uint64_t word_at(const struct header *h, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, h->bytes + offset, sizeof(word));
	return word;
}

static uint32_t half_at(const struct header *h, uint32_t offset)
{
	uint32_t half;

	memcpy(&half, h->bytes + offset, sizeof(half));
	return half;
}

/* Reads the header of the code object that the frame had: 0 or -ENOENT. */
static int read_header(struct python_code *c, uint64_t frame_code, struct header *ret)
{
	uint64_t address = frame_code & WALK_PYTHON_ADDRESS, check[4];

	ret->size = header_size(c);
	if (ret->size > sizeof(ret->bytes) ||
		!python_read(&c->objects.memory, address, ret->bytes, ret->size))
		return -ENOENT;
	memcpy(check, ret->bytes + c->code_check, sizeof(check));
	if (frame_code >> 48 && frame_code >> 48 != walk_python_check(check))
		return -ENOENT;
	return python_is_type(&c->objects, address, "code", &c->objects.type_code) ? 0 : -ENOENT;
}

/* The text of a str as a kept name. */
static int keep_name(struct python_code *c, uint64_t object, const char **ret)
{
	uint32_t id;
	int added = 0;

	buf_reset(&c->scratch);
	if (!python_append_text(&c->objects, object, &c->scratch))
		return c->scratch.failed ? -ENOMEM : -ENOENT;
	if (c->name_bytes + c->scratch.size > NAMES_MAX &&
		!interner_find(c->names, buf_text(&c->scratch), c->scratch.size))
		return -ENOSPC;
	if (interner_add(c->names, buf_text(&c->scratch), c->scratch.size, &id, &added))
		return -ENOMEM;
	if (added)
		c->name_bytes += c->scratch.size;
	*ret = interner_get(c->names, id, NULL);
	return 0;
}

/* The line table as an own copy. Without one (a damaged object) the lines are unknown and the names
 * are good. */
static int keep_table(struct python_code *c, uint64_t object, struct code_object *o)
{
	buf_reset(&c->scratch);
	if (!python_append_bytes(&c->objects, object, &c->scratch) || !c->scratch.size)
		return c->scratch.failed ? -ENOMEM : 0;
	o->table = malloc(c->scratch.size);
	if (!o->table)
		return -ENOMEM;
	memcpy(o->table, c->scratch.data, c->scratch.size);
	o->table_size = (uint32_t)c->scratch.size;
	return 0;
}

static int read_code(struct python_code *c, uint64_t frame_code, struct code_object *ret)
{
	const struct python_layout *l = &c->objects.layout;
	struct code_object o = {0};
	struct header h;
	int error = read_header(c, frame_code, &h);

	error = error ?: keep_name(c, word_at(&h, l->code_filename), &o.file);
	error = error
			?: keep_name(c,
				   word_at(&h, l->code_qualname ? l->code_qualname : l->code_name),
				   &o.function);
	error = error ?: keep_table(c, word_at(&h, l->code_linetable), &o);
	if (error)
		return error;
	o.first_line = half_at(&h, l->code_firstlineno);
	if (l->code_bytecode) {
		o.first_traceable = half_at(&h, l->code_firsttraceable);
		o.bytecode = (frame_code & WALK_PYTHON_ADDRESS) + l->code_bytecode;
		o.bytecode_size = (word_at(&h, l->object_type + 8) & INT32_MAX) * UNIT;
		o.copies = l->code_tlbc ? word_at(&h, l->code_tlbc) : 0;
	}
	*ret = o;
	return 0;
}

static int keep_code(struct python_code *c, uint64_t frame_code, const struct code_object *o)
{
	if (c->codes.count >= CODES_MAX || c->table_bytes + o->table_size > TABLES_MAX)
		forget_codes(c);
	if (vec_push(&c->codes, *o))
		return -ENOMEM;
	if (map_put(&c->by_frame, frame_code, c->codes.count - 1)) {
		c->codes.count--;
		return -ENOMEM;
	}
	c->table_bytes += o->table_size;
	return 0;
}

/* Looks for the copy of the bytecode that `at` is in. */
static bool find_copy(struct python_code *c, struct code_object *o, uint64_t at)
{
	uint64_t starts[COPIES_MAX], count;

	if (!python_read_word(&c->objects.memory, o->copies, &count))
		return false;
	count = count < COPIES_MAX ? count : COPIES_MAX;
	if (!python_read(&c->objects.memory, o->copies + 8, starts, count * sizeof(*starts)))
		return false;
	for (uint64_t i = 0; i < count; i++) {
		if (!starts[i] || at - starts[i] >= o->bytecode_size)
			continue;
		o->copy = starts[i];
		return true;
	}
	return false;
}

/* How far into the code the frame is, in bytes: false when this cannot be determined. Before the
 * first instruction it is less than 0. */
static bool offset_of(struct python_code *c, struct code_object *o, uint64_t at, int64_t *ret)
{
	uint32_t lines = c->objects.layout.lines;

	at &= WALK_PYTHON_ADDRESS;
	if (lines != PYTHON_LINES_LOCATIONS) {
		*ret = (int64_t)(int32_t)at * (lines == PYTHON_LINES_RANGES ? UNIT : 1);
		return true;
	}
	if (at + UNIT - o->bytecode < o->bytecode_size + UNIT)
		*ret = (int64_t)(at - o->bytecode);
	else if (o->copy && at - o->copy < o->bytecode_size)
		*ret = (int64_t)(at - o->copy);
	else if (o->copies && find_copy(c, o, at))
		*ret = (int64_t)(at - o->copy);
	else
		return false;
	return true;
}

static void answer(
	struct python_code *c, struct code_object *o, uint64_t at, struct python_line *ret)
{
	int64_t offset;

	*ret = (struct python_line){
		.function = o->function, .file = o->file, .first_line = o->first_line};
	if (!offset_of(c, o, at, &offset))
		return;
	ret->incomplete = o->bytecode && offset < (int64_t)o->first_traceable * UNIT;
	if (offset < 0)
		ret->line = o->first_line;
	else
		ret->line = python_line_at(c->objects.layout.lines, o->table, o->table_size,
			o->first_line, (uint64_t)offset);
}

int python_code_line(
	struct python_code *c, const struct walk_python_frame *frame, struct python_line *ret)
{
	const uint64_t *kept = map_get(&c->by_frame, frame->code);
	struct code_object o;
	int error;

	if (kept) {
		answer(c, &c->codes.items[*kept], frame->at, ret);
		return 0;
	}
	error = read_code(c, frame->code, &o);
	if (error)
		return error;
	answer(c, &o, frame->at, ret);
	/* Without a check, a later object at this address would not be noticed. */
	error = frame->code >> 48 ? keep_code(c, frame->code, &o) : 0;
	if (error || !(frame->code >> 48))
		free(o.table);
	return error;
}
