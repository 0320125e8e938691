// SPDX-License-Identifier: MIT
/*
 * A code object's header is read at once, then its name, its file's name and its line table. Where
 * there is a copy of it, from when it ran, they are read from there; what the copy lacks is read
 * from the process if the code object is still there.
 *
 * Builds without a GIL keep a copy of the bytecode for each thread (co_tlbc, from 3.14 on).
 */
#include "python/code_reader.h"

#include <errno.h>
#include <string.h>

#include "walk/python.h"

#define UNIT 2 /* bytes of an instruction or of a cache entry of it */

struct code_reader {
	struct python_objects objects;
	uint32_t code_check;
	struct python_memory process;
	const struct walk_python_code *copy; /* of what is being read; NULL: none */
	size_t table_most;		     /* bytes of its line table; a longer one is left */
};

/* The header of a code object, as far as a member of it reaches. */
struct header {
	uint8_t bytes[PYTHON_CODE_HEADER_MAX];
	uint32_t size;
};

static uint32_t header_size(const struct code_reader *c)
{
	const struct python_layout *l = &c->objects.layout;
	const uint32_t ends[] = {l->code_filename + 8, l->code_name + 8, l->code_qualname + 8,
		l->code_linetable + 8, l->code_firstlineno + 4, l->code_firsttraceable + 4,
		l->code_tlbc + 8, l->object_type + 16, c->code_check + PYTHON_CHECK_BYTES};
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

/* Reads the header of the code object that the frame had. */
static bool read_header(struct code_reader *c, uint64_t frame_code, struct header *ret)
{
	uint64_t address = frame_code & WALK_PYTHON_ADDRESS, check[4];

	ret->size = header_size(c);
	if (ret->size > sizeof(ret->bytes) ||
		!python_read(&c->objects.memory, address, ret->bytes, ret->size))
		return false;
	memcpy(check, ret->bytes + c->code_check, sizeof(check));
	if (frame_code >> 48 && frame_code >> 48 != walk_python_check(check))
		return false;
	return python_is_type(&c->objects, address, "code", &c->objects.type_code);
}

static bool append_name(struct code_reader *c, uint64_t object, struct buf *b, uint32_t *ret_size)
{
	size_t before = b->size;

	if (!python_append_text(&c->objects, object, b))
		return false;
	*ret_size = (uint32_t)(b->size - before);
	return true;
}

/* Without a line table (a damaged object) the lines are unknown and the names are good. */
static void append_table(
	struct code_reader *c, uint64_t object, struct buf *b, struct python_code_found *ret)
{
	size_t before = b->size;
	int error = python_append_bytes(&c->objects, object, c->table_most, b);

	ret->table_size = (uint32_t)(b->size - before);
	ret->table_left = error == -E2BIG;
}

static void append_copies(struct code_reader *c, uint64_t array, struct buf *b, uint32_t *ret_count)
{
	uint64_t count;

	if (!python_read_word(&c->objects.memory, array, &count))
		return;
	count = count < PYTHON_COPIES_MAX ? count : PYTHON_COPIES_MAX;
	if (!buf_reserve(b, count * sizeof(uint64_t) + 1) ||
		!python_read(
			&c->objects.memory, array + 8, b->data + b->size, count * sizeof(uint64_t)))
		return;
	b->size += count * sizeof(uint64_t);
	*ret_count = (uint32_t)count;
}

/* False: nothing of it is good. */
static bool append_code(
	struct code_reader *c, uint64_t frame_code, struct buf *b, struct python_code_found *ret)
{
	const struct python_layout *l = &c->objects.layout;
	uint64_t copies;
	struct header h;

	if (!read_header(c, frame_code, &h) ||
		!append_name(c, word_at(&h, l->code_qualname ? l->code_qualname : l->code_name), b,
			&ret->function_size) ||
		!append_name(c, word_at(&h, l->code_filename), b, &ret->file_size))
		return false;
	append_table(c, word_at(&h, l->code_linetable), b, ret);
	ret->first_line = half_at(&h, l->code_firstlineno);
	if (!l->code_bytecode)
		return true;
	ret->first_traceable = half_at(&h, l->code_firsttraceable);
	ret->bytecode = (frame_code & WALK_PYTHON_ADDRESS) + l->code_bytecode;
	ret->bytecode_size = (word_at(&h, l->object_type + 8) & INT32_MAX) * UNIT;
	copies = l->code_tlbc ? word_at(&h, l->code_tlbc) : 0;
	ret->has_copies = copies != 0;
	if (copies)
		append_copies(c, copies, b, &ret->copy_count);
	return true;
}

/* --- copies ----------------------------------------------------------------------------------- */

static const struct {
	size_t offset, size;
} copied[WALK_PYTHON_CODE_PARTS] = {
	{offsetof(struct walk_python_code, header), WALK_PYTHON_CODE_HEADER},
	{offsetof(struct walk_python_code, name), WALK_PYTHON_CODE_NAME},
	{offsetof(struct walk_python_code, file), WALK_PYTHON_CODE_FILE},
	{offsetof(struct walk_python_code, lines), WALK_PYTHON_CODE_LINES},
};

/* Parts of the code object as they were copied, all else from the process: types, which stay. */
static bool read_with_copy(const struct python_memory *m, uint64_t address, void *ret, size_t size)
{
	const struct code_reader *c = m->context;

	for (int i = 0; i < WALK_PYTHON_CODE_PARTS; i++) {
		uint64_t offset = address - c->copy->parts[i].address;
		size_t room = c->copy->parts[i].size;

		if (room > copied[i].size)
			return false;
		if (offset >= room)
			continue;
		if (size > room - offset)
			return false;
		memcpy(ret, (const uint8_t *)c->copy + copied[i].offset + offset, size);
		return true;
	}
	return python_read(&c->process, address, ret, size);
}

/* Reads from the copy, or (NULL) from the process. False: nothing of it is good. */
static bool read_from(struct code_reader *c, const struct walk_python_code *copy,
	uint64_t frame_code, size_t at, struct buf *reply, struct python_code_found *ret)
{
	c->copy = copy;
	c->objects.memory =
		copy ? (struct python_memory){.read = read_with_copy, .context = c} : c->process;
	*ret = (struct python_code_found){0};
	reply->size = at;
	return append_code(c, frame_code, reply, ret);
}

/* `copy`: of it, or NULL. */
static int read_code(struct code_reader *c, const struct python_code_wanted *wanted,
	const struct walk_python_code *copy, struct buf *reply)
{
	struct python_code_found found = {0};
	size_t begin = reply->size, at = begin + sizeof(found);
	uint64_t code = wanted->code;

	c->table_most = wanted->long_table ? PYTHON_BYTES_MAX : PYTHON_TABLE_SHORT;
	buf_append(reply, &found, sizeof(found));
	if (!(copy && read_from(c, copy, code, at, reply, &found) &&
		    (found.table_size || found.table_left)) &&
		!read_from(c, NULL, code, at, reply, &found) &&
		!(copy && read_from(c, copy, code, at, reply, &found))) {
		found = (struct python_code_found){.error = -ENOENT};
		reply->size = at;
	}
	if (reply->failed)
		return -ENOMEM;
	memcpy(reply->data + begin, &found, sizeof(found));
	return 0;
}

/* --- requests --------------------------------------------------------------------------------- */

/* The next code object of a request, and its copy, if it has one: how many bytes that is. 0: there
 * is none further, or it makes no sense. */
static size_t next_wanted(const uint8_t *at, size_t left, struct python_code_wanted *ret,
	struct walk_python_code *ret_copy)
{
	size_t size = sizeof(*ret);

	if (left < size)
		return 0;
	memcpy(ret, at, sizeof(*ret));
	if (!ret->has_copy)
		return size;
	if (left - size < sizeof(*ret_copy))
		return 0;
	memcpy(ret_copy, at + size, sizeof(*ret_copy));
	return size + sizeof(*ret_copy);
}

int python_code_read(
	const struct python_memory *m, const void *request, size_t size, struct buf *reply)
{
	struct code_reader c = {.process = *m};
	struct python_code_wanted wanted;
	struct python_code_request r;
	struct walk_python_code copy;
	const uint8_t *at = request, *end = at + size;
	size_t step;
	int error;

	if (size < sizeof(r) || size > PYTHON_REQUEST_BYTES)
		return -EINVAL;
	memcpy(&r, request, sizeof(r));
	at += sizeof(r);
	c.code_check = r.code_check;
	error = python_layout_load(&c.objects.layout, m, r.runtime, r.version);
	if (!error && r.code_check > PYTHON_CODE_HEADER_MAX - PYTHON_CHECK_BYTES)
		error = -ENOTSUP;
	while (!error && reply->size < PYTHON_CODES_BYTES &&
		(step = next_wanted(at, (size_t)(end - at), &wanted, &copy))) {
		error = read_code(&c, &wanted, wanted.has_copy ? &copy : NULL, reply);
		at += step;
	}
	return error;
}
