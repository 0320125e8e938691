// SPDX-License-Identifier: MIT
/* Numbers and names as people read them. */
#include "base/text.h"
#include "tap.h"

static const char *fit(const char *text, unsigned int columns)
{
	static struct buf b;

	buf_reset(&b);
	text_fit(&b, text, columns);
	return buf_text(&b);
}

static void durations_have_three_digits_and_a_unit(void)
{
	char cell[TEXT_CELL];

	CHECK_TEXT(text_duration(cell, 0), "0 ns");
	CHECK_TEXT(text_duration(cell, 999), "999 ns");
	CHECK_TEXT(text_duration(cell, 1000), "1.00 us");
	CHECK_TEXT(text_duration(cell, 12345), "12.3 us");
	CHECK_TEXT(text_duration(cell, 123456), "123 us");
	CHECK_TEXT(text_duration(cell, 999499), "999 us");
	CHECK_TEXT(text_duration(cell, 999500), "1.00 ms");
	CHECK_TEXT(text_duration(cell, 9995000), "10.0 ms");
	CHECK_TEXT(text_duration(cell, 1234567890123), "1235 s");
}

static void times_of_samples_have_as_many_digits_as_these_support(void)
{
	char cell[TEXT_CELL];

	CHECK_TEXT(text_sampled_duration(cell, 0, 0), "0 ns");
	CHECK_TEXT(text_sampled_duration(cell, 10101010, 1), "10 ms");
	CHECK_TEXT(text_sampled_duration(cell, 95959595, 9), "100 ms");
	CHECK_TEXT(text_sampled_duration(cell, 484848480, 48), "480 ms");
	CHECK_TEXT(text_sampled_duration(cell, 995959595, 98), "1.0 s");
	CHECK_TEXT(text_sampled_duration(cell, 2050505030, 203), "2.1 s");
	CHECK_TEXT(text_sampled_duration(cell, 12345678901, 1222), "12.3 s");
	CHECK_TEXT(text_sampled_duration(cell, UINT64_MAX, 12), "18000000000 s");
	CHECK_TEXT(text_sampled_percent(cell, 1, 48, 1), "2 %");
	CHECK_TEXT(text_sampled_percent(cell, 1, 500, 1), "0.2 %");
	CHECK_TEXT(text_sampled_percent(cell, 2, 3, 2), "67 %");
	CHECK_TEXT(text_sampled_percent(cell, 11, 48, 11), "23 %");
	CHECK_TEXT(text_sampled_percent(cell, 48, 900, 48), "5.3 %");
	CHECK_TEXT(text_sampled_percent(cell, 48, 48, 48), "100 %");
	CHECK_TEXT(text_sampled_percent(cell, 1229, 4800, 1229), "25.6 %");
	CHECK_TEXT(text_sampled_percent(cell, 0, 48, 0), "0 %");
	CHECK_TEXT(text_sampled_percent(cell, 0, 0, 0), "-");
}

static void counts_have_their_thousands_apart(void)
{
	char cell[TEXT_CELL];

	CHECK_TEXT(text_count(cell, 0), "0");
	CHECK_TEXT(text_count(cell, 999), "999");
	CHECK_TEXT(text_count(cell, 1000), "1,000");
	CHECK_TEXT(text_count(cell, 12345678), "12,345,678");
	CHECK_TEXT(text_count(cell, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void shares_and_rates_of_nothing_are_a_dash(void)
{
	char cell[TEXT_CELL];

	CHECK_TEXT(text_percent(cell, 1, 8), "12.5 %");
	CHECK_TEXT(text_percent(cell, 0, 0), "-");
	CHECK_TEXT(text_bandwidth(cell, 50000, 2000), "25.0 GB/s");
	CHECK_TEXT(text_bandwidth(cell, 2780, 834000), "3.33 MB/s");
	CHECK_TEXT(text_bandwidth(cell, 50000, 0), "-");
	CHECK_TEXT(text_bytes(cell, 1500000000), "1.50 GB");
	CHECK_TEXT(text_bytes(cell, UINT64_MAX), "18447 PB");
}

static void an_error_and_a_small_share_have_two_digits(void)
{
	char cell[TEXT_CELL];

	CHECK_TEXT(text_share(cell, 21, 1000), "2.1 %");
	CHECK_TEXT(text_share(cell, 21, 10000), "0.21 %");
	CHECK_TEXT(text_share(cell, 996, 10000), "10 %");
	CHECK_TEXT(text_share(cell, 1, 1), "100 %");
	CHECK_TEXT(text_share(cell, 0, 0), "0 %");
	CHECK_TEXT(text_error(cell, 1000, 1031), "+- 3.1 %");
	CHECK_TEXT(text_error(cell, 1000, 1000), "+- 0.0 %");
	CHECK_TEXT(text_error(cell, 1000, 1099), "+- 9.9 %");
	CHECK_TEXT(text_error(cell, 1000, 3000), "+- 200 %");
	CHECK_TEXT(text_error(cell, 1000, UINT64_MAX), "+- ?");
}

static void long_names_are_cut_at_a_character(void)
{
	CHECK_TEXT(fit("short", 5), "short");
	CHECK_TEXT(fit("longer", 5), "lo...");
	CHECK_TEXT(fit("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xe2\x82\xac", 5),
		"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xe2\x82\xac");
	CHECK_TEXT(fit("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xe2\x82\xac", 4), "\xc3\xa4...");
	CHECK_TEXT(fit("longer", 0), "longer");
	CHECK_TEXT(fit("longer", 2), "lo");
	CHECK_TEXT(fit("", 5), "");
}

static void what_a_terminal_would_obey_is_not_printed(void)
{
	CHECK_TEXT(fit("a\x1b[31mb\n", 0), "a\\x1b[31mb\\x0a");
	CHECK_TEXT(fit("a\x1b[31mb", 8), "a\\x1b...");
	CHECK_TEXT(fit("a\x1b[31mb", 7), "a...");
	CHECK_TEXT(fit("a\x1b", 5), "a\\x1b");
	CHECK_TEXT(fit("a\x1b", 3), "a");
	CHECK(text_columns("a\x1b\xc3\xa4") == 6);
}

static void a_command_line_can_be_given_to_a_shell_again(void)
{
	struct buf b = BUF_INIT;

	text_shell_word(&b, "env");
	text_shell_word(&b, "A=1,2");
	text_shell_word(&b, "sh");
	text_shell_word(&b, "echo it's | wc");
	text_shell_word(&b, "");
	text_shell_word(&b, "./gr\xc3\xbc\xc3\x9f"
			    "e");
	text_shell_word(&b, "it's\n\\\x1b");
	CHECK_TEXT(buf_text(&b), "env A=1,2 sh 'echo it'\\''s | wc' '' ./gr\xc3\xbc\xc3\x9f"
				 "e $'it\\'s\\n\\\\\\x1b'");
	buf_release(&b);
}

int main(void)
{
	RUN(durations_have_three_digits_and_a_unit);
	RUN(times_of_samples_have_as_many_digits_as_these_support);
	RUN(counts_have_their_thousands_apart);
	RUN(shares_and_rates_of_nothing_are_a_dash);
	RUN(an_error_and_a_small_share_have_two_digits);
	RUN(long_names_are_cut_at_a_character);
	RUN(what_a_terminal_would_obey_is_not_printed);
	RUN(a_command_line_can_be_given_to_a_shell_again);
	return tap_end();
}
