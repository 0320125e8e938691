// SPDX-License-Identifier: MIT
/* What may be printed, and what stands for the rest. */
#include "base/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "random.h"
#include "tap.h"

/* RFC 3629, section 4: what is well-formed, byte by byte. */
static void utf8_is_what_rfc_3629_says(void)
{
	static const struct {
		const char *bytes;
		size_t size, length;
	} cases[] = {
		{"a", 1, 1},
		{"\0", 1, 1},
		{"", 0, 0},
		{"\x7f", 1, 1},
		{"\x80", 1, 0},
		{"\xc1\xbf", 2, 0}, /* overlong */
		{"\xc2\x80", 2, 2},
		{"\xc2\x7f", 2, 0},
		{"\xdf\xbf", 2, 2},
		{"\xe0\x9f\xbf", 3, 0}, /* overlong */
		{"\xe0\xa0\x80", 3, 3},
		{"\xed\x9f\xbf", 3, 3},
		{"\xed\xa0\x80", 3, 0}, /* a surrogate */
		{"\xee\x80\x80", 3, 3},
		{"\xef\xbf\xbf", 3, 3},
		{"\xef\xbf", 2, 0},	    /* cut short */
		{"\xf0\x8f\xbf\xbf", 4, 0}, /* overlong */
		{"\xf0\x90\x80\x80", 4, 4},
		{"\xf4\x8f\xbf\xbf", 4, 4},
		{"\xf4\x90\x80\x80", 4, 0}, /* above U+10FFFF */
		{"\xf8\x88\x80\x80\x80", 5, 0},
		{"\xff", 1, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (utf8_sequence(cases[i].bytes, cases[i].size) != cases[i].length) {
			printf("# case %zu\n", i);
			CHECK(!"the length RFC 3629 gives");
		}
}

static void check(const char *text, size_t size, const char *expected)
{
	struct buf b = BUF_INIT;

	printable_put(&b, text, size);
	CHECK_TEXT(buf_text(&b), expected);
	buf_release(&b);
}

static void names_as_people_write_them_stay(void)
{
	check("void f<char>(std::vector<int>&) [clone .cold]", 45,
		"void f<char>(std::vector<int>&) [clone .cold]");
	check("gr\xc3\xbc\xc3\x9f\xe6\xbc\xa2\xf0\x9f\x94\xa5", 13,
		"gr\xc3\xbc\xc3\x9f\xe6\xbc\xa2\xf0\x9f\x94\xa5");
	check("a\xe2\x80\x8d\xc2\xa0z", 7, "a\xe2\x80\x8d\xc2\xa0z"); /* joiner, no-break space */
	check("C:\\x1b", 6, "C:\\x1b");
	check("", 0, "");
}

static void what_a_terminal_obeys_is_shown_as_bytes(void)
{
	check("a\x1b[31mb", 7, "a\\x1b[31mb");
	check("\0\t\n\r\x7f", 5, "\\x00\\x09\\x0a\\x0d\\x7f");
	check("\xc2\x80-\xc2\x9b-\xc2\x9f", 8, "\\xc2\\x80-\\xc2\\x9b-\\xc2\\x9f");
}

static void what_turns_or_hides_text_is_shown_as_bytes(void)
{
	check("\xe2\x80\xae!", 4, "\\xe2\\x80\\xae!"); /* U+202E */
	check("\xd8\x9c\xe2\x80\x8e\xe2\x81\xa9", 8, "\\xd8\\x9c\\xe2\\x80\\x8e\\xe2\\x81\\xa9");
	check("\xe2\x80\xa8\xe2\x80\xa9", 6, "\\xe2\\x80\\xa8\\xe2\\x80\\xa9");
	check("\xef\xbb\xbf\xef\xbf\xbf", 6, "\\xef\\xbb\\xbf\\xef\\xbf\\xbf");
	check("\xf3\xa0\x81\x81\xf0\x9f\xbf\xbe", 8,
		"\\xf3\\xa0\\x81\\x81\\xf0\\x9f\\xbf\\xbe"); /* a tag, U+1FFFE */
}

static void what_is_not_utf8_is_shown_as_bytes(void)
{
	check("\xff\xc0\xaf!", 4, "\\xff\\xc0\\xaf!");
	check("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");
	check("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80");
	check("\xe2\x82", 2, "\\xe2\\x82");
	check("\xc3(", 2, "\\xc3(");
}

static bool is_plain(const struct buf *b)
{
	return printable_span(buf_text(b), b->size) == b->size;
}

/* Of any bytes; those that stand for others, many times. */
static void what_was_made_printable_stays_so(void)
{
	static const char common[] = "\xe2\x80\xae\xf0\x9f\xc2\x9b\xed\\x\x1b";
	struct buf once = BUF_INIT, twice = BUF_INIT;

	for (int round = 0; round < 20000; round++) {
		char text[24];
		size_t size = random_below(sizeof(text));

		for (size_t i = 0; i < size; i++)
			text[i] = random_below(3) ? common[random_below(sizeof(common))]
						  : (char)random_u64();
		buf_reset(&once);
		buf_reset(&twice);
		printable_put(&once, text, size);
		printable_put(&twice, buf_text(&once), once.size);
		if (!is_plain(&once) || once.size != twice.size ||
			memcmp(buf_text(&once), buf_text(&twice), once.size))
			CHECK(!"the same again");
	}
	buf_release(&once);
	buf_release(&twice);
}

static void line_ends_stay_where_there_are_lines(void)
{
	struct buf b = BUF_INIT;

	printable_lines(&b, "a\x1b\n\nb\tc\n", 8);
	printable_lines(&b, "d", 1);
	printable_lines(&b, "", 0);
	CHECK_TEXT(buf_text(&b), "a\\x1b\n\nb\\x09c\nd");
	buf_release(&b);
}

int main(void)
{
	RUN(utf8_is_what_rfc_3629_says);
	RUN(names_as_people_write_them_stay);
	RUN(what_a_terminal_obeys_is_shown_as_bytes);
	RUN(what_turns_or_hides_text_is_shown_as_bytes);
	RUN(what_is_not_utf8_is_shown_as_bytes);
	RUN(what_was_made_printable_stays_so);
	RUN(line_ends_stay_where_there_are_lines);
	return tap_end();
}
