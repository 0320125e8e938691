// SPDX-License-Identifier: MIT
/* Names of code made at run time, by jitdumps. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/jitdump.h"
#include "elf/limits.h"
#include "tap.h"

enum { LOAD, MOVE, LINES, CLOSE, UNWIND };

static struct buf dump;

static void put(uint64_t value, size_t size)
{
	buf_append(&dump, &value, size);
}

static void begin(uint64_t flags)
{
	buf_reset(&dump);
	put(0x4a695444, 4);
	put(1, 4);
	put(40, 4);
	put(62, 4);
	put(0, 4);
	put(1234, 4);
	put(0, 8);
	put(flags, 8);
}

static void put_record(uint32_t kind, uint64_t time_ns, size_t size)
{
	put(kind, 4);
	put(16 + size, 4);
	put(time_ns, 8);
}

static void load(
	uint64_t time_ns, uint64_t address, uint64_t size, uint64_t number, const char *name)
{
	put_record(LOAD, time_ns, 40 + strlen(name) + 1 + 3);
	put(1234, 4);
	put(1234, 4);
	put(address, 8);
	put(address, 8);
	put(size, 8);
	put(number, 8);
	buf_append(&dump, name, strlen(name) + 1);
	buf_append(&dump, "\x90\x90\xc3", 3);
}

static void move(uint64_t time_ns, uint64_t from, uint64_t to, uint64_t size, uint64_t number)
{
	put_record(MOVE, time_ns, 48);
	put(1234, 4);
	put(1234, 4);
	put(from, 8);
	put(from, 8);
	put(to, 8);
	put(size, 8);
	put(number, 8);
}

static void line(uint64_t address, uint32_t number, const char *file)
{
	put(address, 8);
	put(number, 4);
	put(0, 4);
	buf_append(&dump, file, strlen(file) + 1);
}

/* What is known of a place; "" where nothing is. */
static char found[64][128];
static bool replaced[64], cut;

static int note(void *context, size_t n, const struct jit_name *name)
{
	(void)context;
	if (n >= sizeof(replaced))
		return 0;
	replaced[n] = name->replaced;
	if (name->file)
		snprintf(found[n], sizeof(found[n]), "%.*s %.*s:%u", (int)name->name_length,
			name->name, (int)name->file_length, name->file, name->line);
	else
		snprintf(found[n], sizeof(found[n]), "%.*s", (int)name->name_length, name->name);
	return 0;
}

static int look_up(const struct jit_place *places, size_t count)
{
	const struct jitdump_reader r = {count, note, NULL};
	struct buf answer = BUF_INIT;
	int fd = memfd_create("dump", MFD_CLOEXEC), error;

	memset(found, 0, sizeof(found));
	cut = false;
	CHECK(fd >= 0 && write(fd, dump.data, dump.size) == (ssize_t)dump.size);
	error = jitdump_write(fd, places, count, &answer);
	if (!error) {
		CHECK(!jitdump_read(&r, answer.data, answer.size, &cut));
		/* As of a process that was taken over. */
		CHECK(answer.size < 5 ||
			jitdump_read(&r, answer.data, answer.size - 1, &cut) == -EPROTO);
	}
	buf_release(&answer);
	close(fd);
	return error;
}

static const char *name_at(uint64_t address, uint64_t time_ns)
{
	const struct jit_place place = {address, time_ns};

	return look_up(&place, 1) ? "failed" : found[0];
}

static void code_has_the_name_of_its_load(void)
{
	const struct jit_place places[] = {
		{0xfff, 9}, {0x1000, 9}, {0x10ff, 9}, {0x1100, 9}, {0x2010, 9}};

	begin(0);
	load(1, 0x1000, 0x100, 1, "first");
	put_record(UNWIND, 1, 8);
	put(0, 8);
	load(2, 0x2000, 0x100, 2, "second");
	CHECK(!look_up(places, 5));
	CHECK_TEXT(found[0], "");
	CHECK_TEXT(found[1], "first");
	CHECK_TEXT(found[2], "first");
	CHECK_TEXT(found[3], "");
	CHECK_TEXT(found[4], "second");
}

static void a_place_is_called_as_what_was_there_at_its_time(void)
{
	begin(0);
	load(100, 0x1000, 0x100, 1, "early");
	load(200, 0x1080, 0x100, 2, "late");
	CHECK_TEXT(name_at(0x1090, 150), "early");
	CHECK(replaced[0]);
	CHECK_TEXT(name_at(0x1090, 250), "late");
	CHECK(!replaced[0]);
	CHECK_TEXT(name_at(0x1090, 50), "early"); /* nothing was there: the first that came */
	CHECK_TEXT(name_at(0x1010, 250), "early");
	CHECK(!replaced[0]);
}

static void the_same_function_once_more_replaces_nothing(void)
{
	begin(0);
	load(100, 0x1000, 0x100, 1, "same");
	load(200, 0x1000, 0x100, 2, "same");
	CHECK_TEXT(name_at(0x1010, 150), "same");
	CHECK(!replaced[0]);
}

static void times_of_an_unknown_clock_are_not_compared(void)
{
	begin(1);
	load(1ull << 60, 0x1000, 0x100, 1, "early");
	load(1ull << 61, 0x1000, 0x100, 2, "late");
	CHECK_TEXT(name_at(0x1010, 150), "late");
}

static void code_that_is_moved_keeps_its_name(void)
{
	begin(0);
	load(100, 0x1000, 0x100, 1, "other");
	load(100, 0x2000, 0x100, 2, "moved");
	move(200, 0x2000, 0x1000, 0x100, 2);
	move(200, 0x2000, 0x5000, 0x100, 77); /* of nothing */
	CHECK_TEXT(name_at(0x1010, 150), "other");
	CHECK_TEXT(name_at(0x1010, 250), "moved");
	CHECK_TEXT(name_at(0x5010, 250), "");
}

static void lines_are_those_before_a_place(void)
{
	begin(0);
	put_record(LINES, 1, 16 + 3 * 16 + 5 + 2 + 5);
	put(0x1000, 8);
	put(3, 8);
	line(0x1000, 10, "a.js");
	line(0x1010, 11, "\xff");
	line(0x1020, 7, "b.js");
	load(1, 0x1000, 0x100, 1, "f");
	load(1, 0x2000, 0x100, 2, "g");
	move(5, 0x1000, 0x3000, 0x100, 1);
	CHECK_TEXT(name_at(0x100f, 2), "f a.js:10");
	CHECK_TEXT(name_at(0x1010, 2), "f a.js:11");
	CHECK_TEXT(name_at(0x10ff, 2), "f b.js:7");
	CHECK_TEXT(name_at(0x3012, 9), "f a.js:11");
	CHECK_TEXT(name_at(0x2010, 2), "g");
}

/* As V8 of node 20 has them. */
static void garbage_is_no_line(void)
{
	begin(0);
	put_record(LINES, 1, 16 + 16 + 4 + 16 + 2);
	put(0x1000, 8);
	put(2, 8);
	line(0x1040, 1, "{\xa9\x01");
	line(0x5a4b075afffa480, 1214536056, "[");
	load(1, 0x1000, 0x100, 1, "JS:~f a.js:1");
	CHECK_TEXT(name_at(0x1010, 2), "JS:~f a.js:1");
	begin(0);
	put_record(LINES, 1, 16 + 16 + 5);
	put(0x1000, 8);
	put(1, 8);
	line(0x1050, 8, "a.js");
	load(1, 0x1000, 0x100, 1, "JS:~f a.js:1");
	CHECK_TEXT(name_at(0x1010, 2), "JS:~f a.js:1 a.js:8"); /* V8's are 64 bytes ahead */
	CHECK_TEXT(name_at(0x100f, 2), "JS:~f a.js:1");
}

static void what_is_not_whole_is_left_out(void)
{
	size_t whole;

	begin(0);
	load(1, 0x1000, 0x100, 1, "first");
	whole = dump.size;
	load(2, 0x2000, 0x100, 2, "second");
	for (size_t size = whole; size < whole + 60; size++) {
		dump.size = size;
		CHECK_TEXT(name_at(0x1010, 9), "first");
		CHECK_TEXT(name_at(0x2010, 9), "");
		CHECK(!cut); /* the program went on */
	}
	for (size_t size = 0; size < 40; size++) {
		dump.size = size;
		CHECK_TEXT(name_at(0x1010, 9), "failed");
	}
	begin(0);
	load(1, 0x1000, 0x100, 1, "first");
	put(LOAD, 4);
	put(0, 4); /* would never end */
	put(0, 8);
	CHECK_TEXT(name_at(0x1010, 9), "first");
	CHECK(cut);
}

/* Records that all cover all places, and entries of lines that are all looked at for each. */
static void what_takes_too_long_is_cut(void)
{
	static struct jit_place places[4000];

	for (size_t i = 0; i < 4000; i++)
		places[i] = (struct jit_place){0x1000 + i, 9};
	begin(0);
	for (uint64_t i = 0; i < 20000; i++)
		load(1, 0x1000, 0x1000, i, "name");
	CHECK(!look_up(places, 64) && !cut);
	CHECK(!look_up(places, 4000) && cut);
	begin(0);
	put_record(LINES, 1, 16 + 10000 * 18);
	put(0x1000, 8);
	put(10000, 8);
	for (size_t i = 0; i < 10000; i++)
		line(0x1000, 1, "a");
	load(1, 0x1000, 0x1000, 1, "name");
	CHECK(!look_up(places, 64) && !cut);
	CHECK_TEXT(found[63], "name a:1");
	CHECK(!look_up(places, 4000) && cut);
}

static void no_name_is_longer_than_names_may_be(void)
{
	static char name[ELF_NAME_MAX_BYTES + 2];

	memset(name, 'x', sizeof(name) - 1);
	begin(0);
	load(1, 0x1000, 0x100, 1, name);
	CHECK_TEXT(name_at(0x1010, 9), "");
	name[300] = '\0';
	begin(0);
	load(1, 0x1000, 0x100, 1, name);
	CHECK(strlen(name_at(0x1010, 9)) == sizeof(found[0]) - 1);
}

static void only_paths_as_compilers_choose_them_are_jitdumps(void)
{
	CHECK(jitdump_is_path("/tmp/jit-123.dump"));
	CHECK(jitdump_is_path("/root/.debug/jit/java-jit-20260101.XXabc/jit-7.dump"));
	CHECK(jitdump_is_path("/tmp/jit-123.dump (deleted)"));
	CHECK(!jitdump_is_path("/tmp/jit-.dump") && !jitdump_is_path("/tmp/jit-1.dumps"));
	CHECK(!jitdump_is_path("/tmp/jit-1x.dump") && !jitdump_is_path("jit-1.dump"));
}

int main(void)
{
	RUN(code_has_the_name_of_its_load);
	RUN(a_place_is_called_as_what_was_there_at_its_time);
	RUN(the_same_function_once_more_replaces_nothing);
	RUN(times_of_an_unknown_clock_are_not_compared);
	RUN(code_that_is_moved_keeps_its_name);
	RUN(lines_are_those_before_a_place);
	RUN(garbage_is_no_line);
	RUN(what_is_not_whole_is_left_out);
	RUN(what_takes_too_long_is_cut);
	RUN(no_name_is_longer_than_names_may_be);
	RUN(only_paths_as_compilers_choose_them_are_jitdumps);
	buf_release(&dump);
	return tap_end();
}
