// SPDX-License-Identifier: MIT
/*
 * Fuzz target: any words as unwind tables, any registers and any stack. A walk must end, within
 * what it was given, whether the table is sound or not; and a sound one lets nothing be looked up
 * outside of it.
 */
#include <stdlib.h>
#include <string.h>

#include "unwind/cfi.h"
#include "unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TABLE_AT 16

struct input {
	uint64_t pc;
	uint64_t fp;
	uint64_t register_value;
	uint32_t stack_words;
	uint32_t start_page;
};

static uint8_t *copy(const uint8_t *data, size_t size)
{
	/* Of its own size, so that the sanitizer sees what is beyond. */
	uint8_t *bytes = malloc(size ? size : 1);

	if (!bytes)
		abort();
	if (size)
		memcpy(bytes, data, size);
	return bytes;
}

static void walk(const struct input *in, const uint8_t *stack, size_t stack_size,
	const uint32_t *words, uint64_t word_count)
{
	const struct walk_mapping mappings[] = {
		{.start = 0x10000,
			.end = 0x80000,
			.bias = 0x10000 - ((uint64_t)in->start_page << WALK_PAGE_SHIFT),
			.table = TABLE_AT,
			.kind = WALK_MAPPING_TABLE},
		{.start = 0x80000, .end = 0x90000},
		{.start = 0x90000, .end = 0xa0000, .kind = WALK_MAPPING_PENDING},
	};
	const uint64_t registers[] = {in->register_value, in->register_value};
	struct unwind_start start = {
		.pc = in->pc % 0xb0000,
		.sp = 0x7fff0000,
		.fp = in->fp,
		.exact = true,
		.registers = registers,
		.register_count = 2,
		.stack = stack,
		.stack_size = stack_size,
		.mappings = mappings,
		.mapping_count = 3,
		.words = words,
		.word_count = word_count,
	};
	uint64_t frames[WALK_FRAMES_MAX];
	enum walk_end end;
	uint32_t depth = unwind_walk(&start, frames, &end);

	if (!depth || depth > WALK_FRAMES_MAX || end == WALK_NONE || end >= WALK_ENDS)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in;
	size_t stack_size, table_words;
	uint8_t *stack;
	uint32_t *words;

	if (size < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	data += sizeof(in);
	size -= sizeof(in);
	stack_size = in.stack_words % 512 * 8;
	if (stack_size > size)
		stack_size = size;
	table_words = (size - stack_size) / 4;
	stack = copy(data, stack_size);
	words = calloc(TABLE_AT + table_words, 4);
	if (!words)
		abort();
	if (table_words)
		memcpy(words + TABLE_AT, data + stack_size, table_words * 4);
	/* Else nothing is ever looked up. */
	if (table_words)
		words[TABLE_AT] = WALK_TABLE_MAGIC;
	(void)unwind_table_is_sound(words + TABLE_AT, table_words);
	walk(&in, stack, stack_size, words, TABLE_AT + table_words);
	free(stack);
	free(words);
	return 0;
}
