// SPDX-License-Identifier: MIT
/*
 * What the recorder has already: names of kernels, and operations (a kernel with its shape and
 * stream, a kind of copy), so that a piece of work is one number and its times.
 *
 * Both tables are hash tables of fixed size in memory reserved at the start. When one is full both
 * are emptied, the recorder is asked to forget as well, and the numbering begins anew: programs
 * whose shapes never repeat are slower, but nothing is lost.
 *
 * A tracer may use the same pointer for the name in all records of one kernel, so a small cache by
 * pointer comes first. A pointer proves nothing (a module may be unloaded and its memory used
 * again): the text is compared each time.
 *
 * Only our own thread comes here.
 */
#include <errno.h>
#include <sys/mman.h>

#include "base/bare/hash_step.h"
#include "inject/library.h"

#define ARENA_BYTES   (16u << 20)
#define STRING_SLOTS  (2 * WIRE_STRINGS)
#define OP_SLOTS      (2 * WIRE_OPS)
#define POINTER_SLOTS 4096u
#define LONGEST_NAME  32768u

struct string {
	uint64_t hash;
	uint32_t offset;
	uint32_t size;
};

struct pointer {
	const char *text;
	uint32_t id;
};

struct tables {
	uint32_t string_count;
	uint32_t op_count;
	uint32_t arena_used;
	struct string strings[WIRE_STRINGS + 1];
	struct wire_op ops[WIRE_OPS + 1];
	uint32_t string_slots[STRING_SLOTS]; /* ids; 0: free */
	uint32_t op_slots[OP_SLOTS];
	struct pointer pointers[POINTER_SLOTS];
	char arena[ARENA_BYTES];
};

static struct tables *tables;

int tables_init(void)
{
	tables = mmap(NULL, sizeof(*tables), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (tables == MAP_FAILED) {
		tables = NULL;
		return -errno;
	}
	return 0;
}

void tables_release(void)
{
	if (tables)
		munmap(tables, sizeof(*tables));
	tables = NULL;
}

static uint64_t hash_words(const void *data, size_t size)
{
	const char *p = data;
	uint64_t h = size, word;

	for (; size; p += 8) {
		size_t part = size < 8 ? size : 8;

		word = 0;
		memcpy(&word, p, part);
		h = hash_step(h, word);
		h ^= h >> 29;
		size -= part;
	}
	return h ^ h >> 32;
}

/* Empties the tables on both sides; false when that could not be sent to the recorder. */
static bool forget(void)
{
	uint8_t record[WIRE_PAYLOAD_BYTES] = {WIRE_FORGET};

	if (!send_slot(record))
		return false;
	tables->string_count = tables->op_count = tables->arena_used = 0;
	memset(tables->string_slots, 0, sizeof(tables->string_slots));
	memset(tables->op_slots, 0, sizeof(tables->op_slots));
	memset(tables->pointers, 0, sizeof(tables->pointers));
	return true;
}

/* Where this text is, or would go. */
static uint32_t *find_string(const char *text, uint32_t size, uint64_t hash)
{
	uint32_t slot = (uint32_t)hash % STRING_SLOTS;

	for (;; slot = (slot + 1) % STRING_SLOTS) {
		uint32_t id = tables->string_slots[slot];
		const struct string *s = &tables->strings[id];

		if (!id || (s->hash == hash && s->size == size &&
				   !memcmp(tables->arena + s->offset, text, size)))
			return &tables->string_slots[slot];
	}
}

static uint32_t add_string(uint32_t *slot, const char *text, uint32_t size, uint64_t hash)
{
	uint32_t id = tables->string_count + 1;
	struct wire_string record = {.type = WIRE_STRING, .id = id, .size = size};

	if (!send_long(&record, sizeof(record), text, size))
		return 0;
	memcpy(tables->arena + tables->arena_used, text, size);
	tables->arena[tables->arena_used + size] = 0;
	tables->strings[id] = (struct string){hash, tables->arena_used, size};
	tables->arena_used += size + 1;
	tables->string_count = id;
	return *slot = id;
}

static uint32_t string_id(const char *text)
{
	struct pointer *cached = &tables->pointers[((uintptr_t)text >> 3) % POINTER_SLOTS];
	uint32_t *slot, size;
	uint64_t hash;

	if (cached->text == text) {
		const struct string *s = &tables->strings[cached->id];

		if (!strncmp(tables->arena + s->offset, text, LONGEST_NAME))
			return cached->id;
	}
	size = (uint32_t)strnlen(text, LONGEST_NAME);
	hash = hash_words(text, size);
	slot = find_string(text, size, hash);
	if (!*slot && !add_string(slot, text, size, hash))
		return 0;
	*cached = (struct pointer){text, *slot};
	return *slot;
}

/* Where this operation is, or would go. Its id is not part of the comparison. */
static uint32_t *find_op(struct wire_op *op)
{
	uint32_t slot = (uint32_t)hash_words(op, sizeof(*op)) % OP_SLOTS;

	for (;; slot = (slot + 1) % OP_SLOTS) {
		uint32_t id = tables->op_slots[slot];

		op->id = id;
		if (!id || !memcmp(&tables->ops[id], op, sizeof(*op)))
			return &tables->op_slots[slot];
	}
}

static bool is_full(void)
{
	return tables->string_count >= WIRE_STRINGS - 1 || tables->op_count >= WIRE_OPS - 1 ||
	       tables->arena_used > ARENA_BYTES - 2 * LONGEST_NAME;
}

uint32_t table_op(struct wire_op *op, const char *name)
{
	uint32_t *slot;

	if (is_full() && !forget())
		return 0;
	op->type = WIRE_OP;
	op->id = 0;
	op->name = name ? string_id(name) : 0;
	if (name && !op->name)
		return 0;
	slot = find_op(op);
	if (*slot)
		return *slot;
	op->id = tables->op_count + 1;
	if (!send_long(op, sizeof(*op), NULL, 0))
		return 0;
	tables->ops[op->id] = *op;
	tables->op_count = op->id;
	return *slot = op->id;
}

/* There is room for two where the tables are not full. */
bool table_texts(const char *first, const char *second, uint32_t *ret_first, uint32_t *ret_second)
{
	if (is_full() && !forget())
		return false;
	*ret_first = first ? string_id(first) : 0;
	*ret_second = second ? string_id(second) : 0;
	return (!first || *ret_first) && (!second || *ret_second);
}
