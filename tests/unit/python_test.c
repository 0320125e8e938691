// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "elf/elf_file.h"
#include "elf/named.h"
#include "python/code.h"
#include "python/code_reader.h"
#include "python/interpreter.h"
#include "python/line_table.h"
#include "python/remote.h"
#include "tap.h"

/* A process of our making: one piece of memory that begins at BASE. */
#define BASE 0x7f0000000000ull

static uint8_t image[1 << 21];

static bool read_image(const struct python_memory *m, uint64_t address, void *ret, size_t size)
{
	if (address < BASE || address - BASE > sizeof(image) ||
		size > sizeof(image) - (address - BASE))
		return false;
	memcpy(ret, image + (address - BASE), size);
	return true;
}

static const struct python_memory memory = {.read = read_image};

static void put(uint64_t address, uint64_t word)
{
	memcpy(image + (address - BASE), &word, sizeof(word));
}

static void put_half(uint64_t address, uint32_t half)
{
	memcpy(image + (address - BASE), &half, sizeof(half));
}

static void put_bytes(uint64_t address, const void *bytes, size_t size)
{
	memcpy(image + (address - BASE), bytes, size);
}

/* Where things are in it. Objects have the layout of a 3.14 without GIL: headers of 32 bytes,
 * ob_type at 24. */
enum {
	RUNTIME = 0,
	TYPE_CODE = 0x1000,
	TYPE_STR = 0x1100,
	TYPE_BYTES = 0x1200,
	FILE_NAME = 0x1300,
	FUNCTION = 0x1400,
	LINES = 0x1500,
	CODE = 0x1800,
	COPIES = 0x1a00,
	COPY = 0x1b00,
	TYPE_NAMES = 0x1c00,
	LONG_CODES = 0x10000, /* MANY, LONG_CODE_BYTES each, */
	LONG_LINES = 0x40000, /* that share their line table */
};

#define LONG_CODE_BYTES 0x200
#define LONG_TABLE	0x3f000
#define MANY		300 /* their tables are more than is kept of them */

enum {
	OBJECT_TYPE = 24,
	TYPE_NAME = 40,
	TEXT_LENGTH = 32,
	TEXT_STATE = 48,
	TEXT_ASCII = 56,
	TEXT_COMPACT = 72,
	BYTES_SIZE = 32,
	BYTES_DATA = 48,
	CODE_SIZE = 32,
	CODE_FIRST_LINE = 84,
	CODE_FILE = 128,
	CODE_NAME = 136,
	CODE_QUALNAME = 144,
	CODE_LINES = 152,
	CODE_TRACEABLE = 200,
	CODE_COPIES = 216,
	CODE_BYTECODE = 224,
};

#define KIND(width, compact, ascii) ((uint32_t)((width) | (compact) << 3 | (ascii) << 4) << 8)

/* _Py_DebugOffsets of that build, as far as it is read. */
static void describe(void)
{
	static const struct {
		int word;
		uint64_t value;
	} words[] = {{1, 0x030e00f0}, {2, 1}, {3, 4096}, {4, 800}, {5, 808}, {6, 4096}, {8, 8},
		{9, 16}, {22, 512}, {24, 8}, {25, 16}, {26, 72}, {27, 152}, {31, 88}, {32, 8},
		{33, 0}, {34, 56}, {36, 78}, {39, 256}, {40, CODE_FILE}, {41, CODE_NAME},
		{42, CODE_QUALNAME}, {43, CODE_LINES}, {44, CODE_FIRST_LINE}, {48, CODE_BYTECODE},
		{49, CODE_COPIES}, {50, 32}, {51, OBJECT_TYPE}, {52, 512}, {53, TYPE_NAME},
		{74, 56}, {75, BYTES_SIZE}, {76, BYTES_DATA}, {77, 88}, {78, TEXT_STATE},
		{79, TEXT_LENGTH}, {80, TEXT_ASCII}};

	put_bytes(BASE + RUNTIME, "xdebugpy", 8);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put(BASE + RUNTIME + 8 * (uint64_t)words[i].word, words[i].value);
}

static void put_type(uint64_t at, uint64_t name_at, const char *name)
{
	put(BASE + at + TYPE_NAME, BASE + name_at);
	put_bytes(BASE + name_at, name, strlen(name) + 1);
}

static void put_text(
	uint64_t at, const void *characters, size_t count, unsigned int width, bool ascii)
{
	put(BASE + at + OBJECT_TYPE, BASE + TYPE_STR);
	put(BASE + at + TEXT_LENGTH, count);
	put_half(BASE + at + TEXT_STATE, KIND(width, 1u, ascii));
	put_bytes(BASE + at + (ascii ? TEXT_ASCII : TEXT_COMPACT), characters, count * width);
}

/* Line 10, 2 units; line 12, 1 unit; no line, 1 unit. */
static const uint8_t locations[] = {0x80 | 1, 0x00, 0x80 | 12 << 3 | 0, 0, 0, 0x80 | 15 << 3 | 0};

static void build(void)
{
	memset(image, 0, sizeof(image));
	describe();
	put_type(TYPE_CODE, TYPE_NAMES, "code");
	put_type(TYPE_STR, TYPE_NAMES + 16, "str");
	put_type(TYPE_BYTES, TYPE_NAMES + 32, "bytes");
	put_text(FILE_NAME, "a.py", 4, 1, true);
	put_text(FUNCTION, "f", 1, 1, true);
	put(BASE + LINES + OBJECT_TYPE, BASE + TYPE_BYTES);
	put(BASE + LINES + BYTES_SIZE, sizeof(locations));
	put_bytes(BASE + LINES + BYTES_DATA, locations, sizeof(locations));
	put(BASE + CODE + OBJECT_TYPE, BASE + TYPE_CODE);
	put(BASE + CODE + CODE_SIZE, 4);
	put_half(BASE + CODE + CODE_FIRST_LINE, 10);
	put(BASE + CODE + CODE_FILE, BASE + FILE_NAME);
	put(BASE + CODE + CODE_NAME, BASE + FUNCTION);
	put(BASE + CODE + CODE_QUALNAME, BASE + FUNCTION);
	put(BASE + CODE + CODE_LINES, BASE + LINES);
	put_half(BASE + CODE + CODE_TRACEABLE, 1);
	put(BASE + CODE + CODE_COPIES, BASE + COPIES);
	put(BASE + COPIES, 2);
	put(BASE + COPIES + 8, BASE + CODE + CODE_BYTECODE);
	put(BASE + COPIES + 16, BASE + COPY);
}

static uint64_t frame_code(void)
{
	uint64_t words[4];

	memcpy(words, image + CODE + CODE_FILE, sizeof(words));
	return (BASE + CODE) | walk_python_check(words) << 48;
}

static struct python_code *open_code(void)
{
	struct walk_python p = {
		.version = 0x030e, .runtime = BASE + RUNTIME, .code_check = CODE_FILE};
	struct python_code *c = NULL;

	return python_code_new(&c, &p) ? NULL : c;
}

/* Its line, which is read first if it is not known. */
static int line_of(
	struct python_code *c, const struct walk_python_frame *frame, struct python_line *ret)
{
	if (python_code_want(c, frame))
		CHECK(!python_code_read_here(c, &memory));
	return python_code_line(c, frame, ret);
}

/* Asks for the line at an address, in a new struct python_code. */
static int look_up(uint64_t at, struct python_line *ret, struct python_code **ret_code)
{
	struct walk_python_frame frame = {frame_code(), at};

	*ret_code = open_code();
	return *ret_code ? line_of(*ret_code, &frame, ret) : -1;
}

static uint32_t line_in(enum python_lines format, const uint8_t *bytes, size_t size, uint32_t first,
	uint64_t offset)
{
	struct python_line_table table;
	uint32_t line;

	if (python_line_table_init(&table, format, first, bytes, (uint32_t)size))
		return UINT32_MAX;
	line = python_line_at(&table, offset);
	python_line_table_release(&table);
	return line;
}

static uint32_t lnotab(uint64_t offset)
{
	static const uint8_t table[] = {4, 1, 6, 2, 2, 0xff, 0xff, 0, 1, 10};

	return line_in(PYTHON_LINES_LNOTAB, table, sizeof(table), 100, offset);
}

static void the_table_of_3_9_gives_lines_that_go_back_too(void)
{
	CHECK(lnotab(0) == 100 && lnotab(3) == 100);
	CHECK(lnotab(4) == 101 && lnotab(9) == 101);
	CHECK(lnotab(10) == 103 && lnotab(11) == 103);
	CHECK(lnotab(12) == 102 && lnotab(12 + 255) == 102);
	CHECK(lnotab(12 + 256) == 112 && lnotab(10000) == 112);
}

static uint32_t ranges(uint64_t offset)
{
	static const uint8_t table[] = {4, 0, 2, 0x80, 6, 0xfe, 0, 100, 2, 1};

	return line_in(PYTHON_LINES_RANGES, table, sizeof(table), 50, offset);
}

static void the_table_of_3_10_has_code_without_a_line(void)
{
	CHECK(ranges(0) == 50 && ranges(3) == 50);
	CHECK(ranges(4) == 0 && ranges(5) == 0);
	CHECK(ranges(6) == 48 && ranges(11) == 48);
	CHECK(ranges(12) == 149 && ranges(14) == 0);
}

static uint32_t located(uint64_t offset)
{
	/* Short; one line, 1 later; long, -3 lines; no columns, 100 later; none; short. */
	static const uint8_t table[] = {0x80 | 0 << 3 | 0, 0x23, 0x80 | 11 << 3 | 1, 1, 2,
		0x80 | 14 << 3 | 0, 7, 0, 1, 1, 0x80 | 13 << 3 | 0, 0x48, 0x03, 0x80 | 15 << 3 | 7,
		0x80 | 9 << 3 | 0, 0};

	return line_in(PYTHON_LINES_LOCATIONS, table, sizeof(table), 20, offset);
}

static void the_table_of_3_11_has_entries_of_five_kinds(void)
{
	CHECK(located(0) == 20);
	CHECK(located(2) == 21 && located(5) == 21);
	CHECK(located(6) == 18);
	CHECK(located(8) == 118);
	CHECK(located(10) == 0 && located(25) == 0);
	CHECK(located(26) == 118);
	CHECK(located(28) == 0);
}

/* Whether marks change what is found: without them all of the table is read. */
static bool marks_do_not_show(struct python_line_table *t, uint64_t offset)
{
	uint32_t line = python_line_at(t, offset), all_read;
	size_t marks = t->marks.count;

	t->marks.count = 0;
	all_read = python_line_at(t, offset);
	t->marks.count = marks;
	return line == all_read;
}

/* Of `below` values, and few of them begin an entry. */
static void fill(uint8_t *bytes, size_t size, unsigned int below)
{
	uint32_t random = below;

	for (size_t i = 0; i < size; i++) {
		random = random * 1664525 + 1013904223;
		bytes[i] = (uint8_t)((random >> 24) % below | (random >> 8 & 63 ? 0 : 0x80));
	}
}

static void a_long_table_has_the_same_lines_wherever_reading_begins(void)
{
	static const unsigned int below[] = {256, 128, 32, 4};
	static uint8_t bytes[16384];

	for (int n = 0; n < 4 * PYTHON_LINES_LOCATIONS; n++) {
		struct python_line_table t;
		bool same = true;

		fill(bytes, sizeof(bytes), below[n % 4]);
		CHECK(!python_line_table_init(
			&t, PYTHON_LINES_LNOTAB + n / 4, 100000, bytes, sizeof(bytes)));
		CHECK(t.marks.count > 2);
		for (uint64_t offset = 0; same && offset < 40000; offset += 7)
			same = marks_do_not_show(&t, offset);
		CHECK(same);
		python_line_table_release(&t);
	}
}

static void a_line_is_found_in_the_bytecode_and_in_each_copy_of_it(void)
{
	struct python_code *c;
	struct python_line line;

	build();
	CHECK(look_up(BASE + CODE + CODE_BYTECODE + 2, &line, &c) == 0);
	CHECK(line.line == 10 && line.first_line == 10 && !line.incomplete);
	CHECK_TEXT(line.function, "f");
	CHECK_TEXT(line.file, "a.py");
	python_code_unref(c);
	CHECK(look_up(BASE + COPY + 4, &line, &c) == 0);
	CHECK(line.line == 12);
	python_code_unref(c);
	CHECK(look_up(BASE + COPY + 8, &line, &c) == 0);
	CHECK(line.line == 0);
	python_code_unref(c);
}

static void a_frame_before_its_first_traceable_instruction_is_incomplete(void)
{
	struct python_code *c;
	struct python_line line;

	build();
	CHECK(look_up(BASE + CODE + CODE_BYTECODE, &line, &c) == 0);
	CHECK(line.incomplete);
	python_code_unref(c);
	CHECK(look_up(BASE + CODE + CODE_BYTECODE - 2, &line, &c) == 0);
	CHECK(line.incomplete && line.line == 10);
	python_code_unref(c);
}

static void names_stay_known_when_the_memory_is_gone_and_are_not_mixed_with_a_later_code_object(
	void)
{
	struct walk_python_frame frame;
	struct python_code *c;
	struct python_line line;

	build();
	frame = (struct walk_python_frame){frame_code(), BASE + CODE + CODE_BYTECODE + 2};
	CHECK(look_up(frame.at, &line, &c) == 0);
	put(BASE + CODE + CODE_QUALNAME, BASE + FILE_NAME);
	CHECK(line_of(c, &frame, &line) == 0);
	CHECK_TEXT(line.function, "f");
	frame.code = frame_code();
	CHECK(line_of(c, &frame, &line) == 0);
	CHECK_TEXT(line.function, "a.py");
	memset(image, 0, sizeof(image));
	CHECK(line_of(c, &frame, &line) == 0);
	python_code_unref(c);
}

static void copy_part(struct walk_python_part *ret, void *to, size_t size, uint64_t from)
{
	*ret = (struct walk_python_part){BASE + from, size};
	memcpy(to, image + from, size);
}

/* As the kernel sends it, with so much of the line table. */
static struct walk_python_code copy_of_code(size_t lines)
{
	struct walk_python_code copy = {.code = frame_code()};

	copy_part(&copy.parts[0], copy.header, sizeof(copy.header), CODE);
	copy_part(&copy.parts[1], copy.name, sizeof(copy.name), FUNCTION);
	copy_part(&copy.parts[2], copy.file, 0x100, FILE_NAME);
	copy_part(&copy.parts[3], copy.lines, lines, LINES);
	return copy;
}

/* What is left of the code object is of another, but for its types. */
static int line_of_what_is_gone(const struct walk_python_code *copy, struct python_line *ret)
{
	const struct walk_python_frame frame = {copy->code, BASE + CODE + CODE_BYTECODE + 2};
	struct python_code *c = open_code();
	int error;

	memset(image + FILE_NAME, 0xff, TYPE_NAMES - FILE_NAME);
	CHECK(c && !python_code_offer(c, copy) && !python_code_offer(c, copy));
	error = line_of(c, &frame, ret);
	if (!error) {
		CHECK_TEXT(ret->function, "f");
		CHECK_TEXT(ret->file, "a.py");
		CHECK(ret->first_line == 10);
	}
	python_code_unref(c);
	return error;
}

static void what_is_gone_has_the_names_and_lines_of_its_copy(void)
{
	struct walk_python_code copy;
	struct python_line line;

	build();
	copy = copy_of_code(0x100);
	CHECK(line_of_what_is_gone(&copy, &line) == 0 && line.line == 10);
	build();
	copy = copy_of_code(BYTES_DATA + 1); /* the table goes on */
	CHECK(line_of_what_is_gone(&copy, &line) == 0 && !line.line);
}

static void a_copy_that_makes_no_sense_names_nothing(void)
{
	struct walk_python_code copy;
	struct python_line line;

	for (int part = 0; part < WALK_PYTHON_CODE_PARTS - 1; part++) {
		build();
		copy = copy_of_code(0x100);
		copy.parts[part].size = UINT64_MAX;
		CHECK(line_of_what_is_gone(&copy, &line) == -ENOENT);
		build();
		copy = copy_of_code(0x100);
		copy.parts[part].size = 20;
		CHECK(line_of_what_is_gone(&copy, &line) == -ENOENT);
	}
	build();
	copy = copy_of_code(0x100);
	copy.header[CODE_FILE]++; /* not the one that ran */
	CHECK(line_of_what_is_gone(&copy, &line) == -ENOENT);
}

static void what_a_copy_lacks_is_read_from_a_code_object_that_is_still_there(void)
{
	struct walk_python_frame frame;
	struct walk_python_code copy;
	struct python_code *c;
	struct python_line line;

	build();
	c = open_code();
	copy = copy_of_code(BYTES_DATA + 1);
	frame = (struct walk_python_frame){copy.code, BASE + CODE + CODE_BYTECODE + 2};
	CHECK(c && !python_code_offer(c, &copy));
	CHECK(line_of(c, &frame, &line) == 0 && line.line == 10);
	python_code_unref(c);
}

static void a_code_object_that_was_replaced_is_not_taken_for_the_one_that_ran(void)
{
	struct walk_python_frame frame;
	struct python_code *c;
	struct python_line line;

	build();
	frame = (struct walk_python_frame){frame_code(), BASE + CODE + CODE_BYTECODE + 2};
	put(BASE + CODE + CODE_QUALNAME, BASE + FILE_NAME);
	c = open_code();
	CHECK(line_of(c, &frame, &line) == -ENOENT);
	frame.code &= WALK_PYTHON_ADDRESS; /* its check could not be read */
	CHECK(line_of(c, &frame, &line) == 0);
	python_code_unref(c);
}

static void objects_of_other_types_have_no_names(void)
{
	struct python_code *c;
	struct python_line line;

	build();
	put(BASE + CODE + OBJECT_TYPE, BASE + TYPE_STR);
	CHECK(look_up(BASE + CODE + CODE_BYTECODE, &line, &c) == -ENOENT);
	python_code_unref(c);
	build();
	put(BASE + FUNCTION + OBJECT_TYPE, BASE + TYPE_BYTES);
	CHECK(look_up(BASE + CODE + CODE_BYTECODE, &line, &c) == -ENOENT);
	python_code_unref(c);
}

static void text_of_all_widths_becomes_valid_utf_8(void)
{
	static const uint16_t pairs[] = {'g', 0xf6, 0x65e5, 0xdc80};
	static const uint32_t wide[] = {0x1f600, 'x', 0, 0x110000};
	struct python_code *c;
	struct python_line line;

	build();
	put_text(FUNCTION, pairs, 4, 2, false);
	put_text(FILE_NAME, wide, 4, 4, false);
	CHECK(look_up(BASE + CODE + CODE_BYTECODE, &line, &c) == 0);
	CHECK_TEXT(line.function, "gö日\xef\xbf\xbd");
	CHECK_TEXT(line.file, "\xf0\x9f\x98\x80x\xef\xbf\xbd\xef\xbf\xbd");
	python_code_unref(c);
	put_text(FUNCTION,
		"gr\xf6\xdf"
		"e",
		5, 1, false);
	CHECK(look_up(BASE + CODE + CODE_BYTECODE, &line, &c) == 0);
	CHECK_TEXT(line.function, "größe");
	python_code_unref(c);
}

static void a_damaged_line_table_costs_the_line_and_not_the_name(void)
{
	struct python_code *c;
	struct python_line line;

	build();
	put(BASE + LINES + BYTES_SIZE, UINT64_MAX);
	CHECK(look_up(BASE + CODE + CODE_BYTECODE + 2, &line, &c) == 0);
	CHECK_TEXT(line.function, "f");
	CHECK(line.line == 0 && line.first_line == 10);
	python_code_unref(c);
}

static void build_long(void)
{
	build();
	put(BASE + CODE + CODE_COPIES, 0);
	put(BASE + LONG_LINES + OBJECT_TYPE, BASE + TYPE_BYTES);
	put(BASE + LONG_LINES + BYTES_SIZE, LONG_TABLE);
	put_bytes(BASE + LONG_LINES + BYTES_DATA, locations, sizeof(locations));
	for (uint64_t at = LONG_CODES; at < LONG_CODES + MANY * LONG_CODE_BYTES;
		at += LONG_CODE_BYTES) {
		memcpy(image + at, image + CODE, CODE_BYTECODE);
		put(BASE + at + CODE_LINES, BASE + LONG_LINES);
	}
}

/* At the second instruction of one of them. */
static struct walk_python_frame long_frame(uint64_t n)
{
	uint64_t code = BASE + LONG_CODES + n * LONG_CODE_BYTES, words[4];

	memcpy(words, image + (code - BASE) + CODE_FILE, sizeof(words));
	return (struct walk_python_frame){
		code | walk_python_check(words) << 48, code + CODE_BYTECODE + 2};
}

/* One question, and its answer. */
static void read_once(struct python_code *c)
{
	struct buf request = BUF_INIT, reply = BUF_INIT;

	CHECK(python_code_request(c, &request));
	CHECK(!python_code_read(&memory, request.data, request.size, &reply));
	CHECK(!python_code_answer(c, reply.data, reply.size));
	buf_release(&request);
	buf_release(&reply);
}

static void names_do_not_wait_for_line_tables_that_are_long(void)
{
	struct walk_python_frame other, first;
	struct python_code *c = open_code();
	struct python_line line;

	build_long();
	first = long_frame(0);
	other = (struct walk_python_frame){frame_code(), BASE + CODE + CODE_BYTECODE + 2};
	for (uint64_t n = 0; n < 30; n++) {
		struct walk_python_frame frame = long_frame(n);

		CHECK(python_code_want(c, &frame));
	}
	CHECK(python_code_want(c, &other));
	read_once(c);
	CHECK(!python_code_is_coming(c, &other) && !python_code_line(c, &other, &line));
	CHECK(line.line == 10);
	CHECK(python_code_is_coming(c, &first) && !python_code_line(c, &first, &line));
	CHECK_TEXT(line.function, "f");
	CHECK(line.line == 0 && line.first_line == 10);
	read_once(c);
	CHECK(!python_code_is_coming(c, &first) && !python_code_line(c, &first, &line));
	CHECK(line.line == 10 && python_code_is_wanting(c));
	CHECK(!python_code_read_here(c, &memory) && !python_code_is_wanting(c));
	python_code_unref(c);
}

static void line_tables_that_are_too_long_together_cost_no_names(void)
{
	struct python_code *c = open_code();
	struct walk_python_frame frame;
	struct python_line line;

	build_long();
	for (uint64_t n = 0; n < MANY; n++) {
		frame = long_frame(n);
		CHECK(python_code_want(c, &frame));
	}
	CHECK(!python_code_read_here(c, &memory));
	frame = long_frame(0);
	CHECK(!python_code_line(c, &frame, &line) && line.line == 0);
	CHECK_TEXT(line.function, "f");
	CHECK(line_of(c, &frame, &line) == 0 && line.line == 10);
	python_code_unref(c);
}

static void an_unknown_version_is_unsupported_and_an_interpreter_without_threads_is_not_ready(void)
{
	struct python_file file = {.runtime = RUNTIME};
	struct walk_python p = {0};

	build();
	CHECK(python_find(&memory, &file, BASE, &p) == PYTHON_NOT_YET);
	put(BASE + RUNTIME + 8, 0x031000f0);
	CHECK(python_find(&memory, &file, BASE, &p) == PYTHON_UNSUPPORTED);
	CHECK(p.version == 0x0310);
	put(BASE + RUNTIME + 8, 0x030e00f0);
	put(BASE + RUNTIME + 8 * 22, 16); /* PyThreadState is smaller than its members */
	CHECK(python_find(&memory, &file, BASE, &p) == PYTHON_UNSUPPORTED);
}

#define STATE	 (BASE + 0x4000)
#define ENDING	 (BASE + 0x4800) /* the state that ends the interpreter */
#define FRAME(n) (BASE + 0x5000 + 0x80 * (uint64_t)(n))

static void put_frame(unsigned int n, uint64_t previous, bool entry)
{
	put(FRAME(n), entry ? 0 : BASE + CODE);
	put(FRAME(n) + 8, previous);
	put(FRAME(n) + 72, entry ? 3ull << 48 : 0);
}

static struct python_stack walk(uint32_t layout)
{
	struct walk_python p = {.layout = layout,
		.state_frame = 72,
		.cframe_previous = 8,
		.frame_size = 80,
		.frame_at = 56,
		.frame_at_size = 8,
		.frame_previous = 8,
		.frame_owner = 78,
		.owner_entry = 3,
		.code_check = CODE_FILE};
	struct python_stack s;

	python_remote_walk(&s, &memory, &p, STATE);
	return s;
}

static void a_chain_is_walked_in_groups_to_its_end(void)
{
	struct python_stack s;

	build();
	put(STATE + 72, FRAME(0));
	put_frame(0, FRAME(1), false);
	put_frame(1, FRAME(2), true);
	put_frame(2, FRAME(3), false);
	put_frame(3, FRAME(4), false);
	put_frame(4, FRAME(5), true);
	put_frame(5, 0, true);
	s = walk(WALK_PYTHON_CURRENT);
	CHECK(s.depth == 3 && s.entry_count == 2 && s.complete);
	CHECK(s.entries[0] == FRAME(1) && s.entries[1] == FRAME(4));
	CHECK(s.frames[0].at & WALK_PYTHON_LAST && s.frames[2].at & WALK_PYTHON_LAST);
	CHECK(!(s.frames[1].at & WALK_PYTHON_LAST) && s.frames[1].code == frame_code());
	put_frame(3, 0, false); /* its link was taken away, as when a generator is left */
	s = walk(WALK_PYTHON_CURRENT);
	CHECK(s.depth == 3 && s.entry_count == 1 && !s.complete);
}

/* Another thread begins to end the interpreter when this one has just read its state. */
static bool read_and_end(const struct python_memory *m, uint64_t address, void *ret, size_t size)
{
	bool good = read_image(m, address, ret, size);

	if (address == STATE + 72)
		put(ENDING, STATE + 8);
	return good;
}

static void a_state_that_may_be_gone_by_now_is_not_followed(void)
{
	struct walk_python p = {.layout = WALK_PYTHON_CURRENT,
		.state_frame = 72,
		.frame_size = 80,
		.frame_at = 56,
		.frame_at_size = 8,
		.frame_previous = 8,
		.frame_owner = 78,
		.owner_entry = 3,
		.code_check = CODE_FILE,
		.finalizing_address = ENDING};
	struct python_memory ending = {.read = read_and_end};
	struct python_stack s;

	build();
	put(STATE + 72, FRAME(0));
	put_frame(0, 0, false);
	python_remote_walk(&s, &memory, &p, STATE);
	CHECK(s.depth == 1);
	python_remote_walk(&s, &ending, &p, STATE);
	CHECK(s.depth == 0);
	put(ENDING, STATE); /* by this thread itself */
	python_remote_walk(&s, &memory, &p, STATE);
	CHECK(s.depth == 1);
}

static void a_chain_that_leads_into_itself_is_none(void)
{
	struct python_stack s;

	build();
	put(STATE + 72, FRAME(0));
	put_frame(0, FRAME(0), false);
	s = walk(WALK_PYTHON_CURRENT);
	CHECK(!s.depth && !s.complete);
	for (unsigned int i = 0; i < 7; i++)
		put_frame(i, FRAME(i == 6 ? 2 : i + 1), false);
	s = walk(WALK_PYTHON_CURRENT);
	CHECK(!s.depth && !s.complete);
}

static void a_chain_that_cannot_be_followed_is_as_long_as_it_can_be(void)
{
	struct python_stack s;

	build();
	put(STATE + 72, FRAME(0));
	put_frame(0, FRAME(1), false);
	put_frame(1, 0x10, false);
	s = walk(WALK_PYTHON_CURRENT);
	CHECK(s.depth == 2 && !s.complete);
}

static void of_a_long_chain_the_middle_is_left_out(void)
{
	struct python_stack s;

	build();
	put(STATE + 72, FRAME(0));
	for (unsigned int i = 0; i < WALK_PYTHON_FRAMES_MAX + 20; i++)
		put_frame(i, FRAME(i + 1), i % 1000 == 999);
	put_frame(WALK_PYTHON_FRAMES_MAX + 20, 0, true);
	s = walk(WALK_PYTHON_CURRENT);
	CHECK(s.complete && s.entry_count == 3);
	CHECK(s.depth < WALK_PYTHON_FRAMES_MAX && s.depth > WALK_PYTHON_FRAMES_MAX / 2);
	CHECK(walk_python_is_cut(&s.frames[WALK_PYTHON_CUT_AT]));
	CHECK(s.frames[s.depth - 1].at & WALK_PYTHON_LAST);
	put_frame(0, FRAME(1), false);
	for (unsigned int i = 0; i < WALK_PYTHON_FOLLOWED_MAX + 20; i++)
		put_frame(i, FRAME(i + 1), false);
	s = walk(WALK_PYTHON_CURRENT);
	CHECK(s.depth <= WALK_PYTHON_FRAMES_MAX && !s.complete);
}

static void check_one_frame(void)
{
	struct python_stack s = walk(WALK_PYTHON_CSTACK);

	CHECK(s.depth == 1 && s.complete && s.entry_count == 1 && s.entries[0] == FRAME(1));
}

static void a_loop_without_a_frame_of_its_own_is_passed_over(void)
{
	uint64_t cframe = BASE + 0xa000, outer = BASE + 0xa100;

	build();
	put(STATE + 72, cframe);
	put(cframe + 8, outer);
	put(outer, FRAME(0));
	put_frame(0, FRAME(1), false);
	put_frame(1, 0, true);
	put(cframe, 0x10); /* not there yet */
	check_one_frame();
	put(cframe, FRAME(5)); /* what was there before: a frame that leads into itself */
	put_frame(5, FRAME(5), false);
	check_one_frame();
	put_frame(5, FRAME(6), false); /* or one of a loop that is gone */
	put_frame(6, FRAME(7), true);
	put_frame(7, 0, false);
	check_one_frame();
	put(cframe, FRAME(0)); /* not there any more */
	check_one_frame();
}

static void exported_symbols_are_found_by_name(void)
{
	struct elf_named fopen_at, section;
	struct elf_file *f;
	Dl_info where;

	CHECK(dladdr(dlsym(RTLD_DEFAULT, "fopen"), &where) && where.dli_fname);
	CHECK(elf_file_open(&f, where.dli_fname) == 0);
	CHECK(elf_find_exported(f, "fopen", &fopen_at) == 0);
	CHECK(dlsym(RTLD_DEFAULT, "fopen") == (char *)where.dli_fbase + fopen_at.vaddr);
	CHECK(fopen_at.size > 0);
	CHECK(elf_find_exported(f, "no_such_function", &fopen_at) == -ENOENT);
	CHECK(elf_section_named(f, ".text", &section) == 0 && section.size > 0);
	CHECK(elf_section_named(f, ".no-such", &section) == -ENOENT);
	elf_file_close(f);
}

static void a_file_without_python_is_no_interpreter(void)
{
	struct python_file file = {.runtime = 1};
	struct elf_file *f;

	CHECK(elf_file_open(&f, "/proc/self/exe") == 0);
	CHECK(python_file_inspect(f, &file) == 0 && file.runtime == 0);
	elf_file_close(f);
}

int main(void)
{
	RUN(the_table_of_3_9_gives_lines_that_go_back_too);
	RUN(the_table_of_3_10_has_code_without_a_line);
	RUN(the_table_of_3_11_has_entries_of_five_kinds);
	RUN(a_long_table_has_the_same_lines_wherever_reading_begins);
	RUN(a_line_is_found_in_the_bytecode_and_in_each_copy_of_it);
	RUN(a_frame_before_its_first_traceable_instruction_is_incomplete);
	RUN(names_stay_known_when_the_memory_is_gone_and_are_not_mixed_with_a_later_code_object);
	RUN(what_is_gone_has_the_names_and_lines_of_its_copy);
	RUN(a_copy_that_makes_no_sense_names_nothing);
	RUN(what_a_copy_lacks_is_read_from_a_code_object_that_is_still_there);
	RUN(a_code_object_that_was_replaced_is_not_taken_for_the_one_that_ran);
	RUN(objects_of_other_types_have_no_names);
	RUN(text_of_all_widths_becomes_valid_utf_8);
	RUN(a_damaged_line_table_costs_the_line_and_not_the_name);
	RUN(names_do_not_wait_for_line_tables_that_are_long);
	RUN(line_tables_that_are_too_long_together_cost_no_names);
	RUN(an_unknown_version_is_unsupported_and_an_interpreter_without_threads_is_not_ready);
	RUN(a_chain_is_walked_in_groups_to_its_end);
	RUN(a_state_that_may_be_gone_by_now_is_not_followed);
	RUN(a_chain_that_leads_into_itself_is_none);
	RUN(a_chain_that_cannot_be_followed_is_as_long_as_it_can_be);
	RUN(of_a_long_chain_the_middle_is_left_out);
	RUN(a_loop_without_a_frame_of_its_own_is_passed_over);
	RUN(exported_symbols_are_found_by_name);
	RUN(a_file_without_python_is_no_interpreter);
	return tap_end();
}
