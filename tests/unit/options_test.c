// SPDX-License-Identifier: MIT
/* The option parser: what it understands, and what it says about the rest. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "tap.h"

#define MAX_ARGUMENTS 16

static char said[4096]; /* what the last parse wrote on stdout and stderr */

struct parsed {
	const char *output;
	bool json, verbose;
	unsigned long hz;
	double seconds;
	char called[64];
	int first;
	int argc;
	char *argv[MAX_ARGUMENTS];
};

static int take_form(void *target, const char *value)
{
	if (!strcmp(value, "bad"))
		return error_set(-1, "knows no form 'bad'");
	strcat(target, value);
	strcat(target, ";");
	return 0;
}

static void split(struct parsed *p, char *line)
{
	static char name[] = "draw";
	char *word;

	p->argv[p->argc++] = name;
	while ((word = strsep(&line, " ")) && p->argc < MAX_ARGUMENTS - 1)
		if (*word)
			p->argv[p->argc++] = word;
	p->argv[p->argc] = NULL;
}

static int call_parser(struct parsed *p, bool stop_at_operand)
{
	const struct option_usage usage = {
		.command = "draw",
		.synopsis = "[options] [FILE]",
		.summary = "Draws.",
		.stop_at_operand = stop_at_operand,
	};
	const struct option_spec specs[] = {
		OPTION_STRING('o', "output", "FILE", &p->output, "write to FILE"),
		OPTION_FLAG('j', "json", &p->json, "print JSON"),
		OPTION_FLAG('v', NULL, &p->verbose, "say more"),
		OPTION_NUMBER('F', "freq", "HZ", &p->hz, 1, 1000, "samples a second"),
		OPTION_SECONDS('d', "duration", "SECONDS", &p->seconds, "stop after SECONDS"),
		OPTION_CALL(0, "form", "FORM", take_form, p->called, "also write FORM"),
		OPTION_END,
	};

	return options_parse(&usage, specs, p->argc, p->argv);
}

/* Parses a line of words while stdout and stderr go to `said`. */
static struct parsed parse_line(const char *line, bool stop_at_operand)
{
	static char words[512];
	struct parsed p = {.hz = 99};
	int capture = memfd_create("said", 0), out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	ssize_t n;

	snprintf(words, sizeof(words), "%s", line);
	split(&p, words);
	fflush(stdout);
	dup2(capture, STDOUT_FILENO);
	dup2(capture, STDERR_FILENO);
	p.first = call_parser(&p, stop_at_operand);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	n = io_pread_full(capture, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	close(capture);
	close(out);
	close(err);
	return p;
}

static struct parsed parse(const char *line)
{
	return parse_line(line, false);
}

static void check_operands(const struct parsed *p, const char *expected)
{
	char got[256] = "";

	if (p->first < 0) {
		CHECK(!"a parse without an error");
		return;
	}
	for (int i = p->first; i < p->argc; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s ", p->argv[i]);
	CHECK_TEXT(got, expected);
	CHECK_TEXT(said, "");
}

static void check_wrong(const char *line, const char *expected)
{
	struct parsed p = parse(line);
	char text[512];

	CHECK(p.first == OPTIONS_WRONG);
	CHECK(options_status(p.first) == EXIT_USAGE);
	snprintf(text, sizeof(text), "xpuprof: %s (see 'xpuprof draw --help')\n", expected);
	CHECK_TEXT(said, text);
}

static void an_option_takes_its_value_in_four_ways(void)
{
	static const char *const lines[] = {"-o x", "-ox", "--output x", "--output=x"};

	for (size_t i = 0; i < 4; i++) {
		struct parsed p = parse(lines[i]);

		CHECK(p.output && !strcmp(p.output, "x"));
		check_operands(&p, "");
	}
}

static void an_attached_value_may_be_empty_or_hold_an_equals_sign(void)
{
	struct parsed p = parse("--output= --form=a=b");

	CHECK(p.output && !*p.output);
	CHECK_TEXT(p.called, "a=b;");
}

static void flags_may_be_clustered_and_end_with_an_option_that_takes_a_value(void)
{
	struct parsed p = parse("-jvF7 a");

	CHECK(p.json && p.verbose && p.hz == 7);
	check_operands(&p, "a ");
	p = parse("-vo x a");
	CHECK(p.verbose && !strcmp(p.output, "x"));
	check_operands(&p, "a ");
}

static void what_is_not_given_keeps_its_default(void)
{
	struct parsed p = parse("");

	CHECK(!p.output && !p.json && !p.verbose && p.hz == 99);
	check_operands(&p, "");
}

static void operands_keep_their_order_among_options(void)
{
	struct parsed p = parse("a -j b -o x c --freq 5 -");

	CHECK(p.json && p.hz == 5 && !strcmp(p.output, "x"));
	check_operands(&p, "a b c - ");
}

static void two_dashes_end_the_options(void)
{
	struct parsed p = parse("a -j -- -v --nope");

	CHECK(p.json && !p.verbose);
	check_operands(&p, "a -v --nope ");
	p = parse("--");
	check_operands(&p, "");
}

static void the_first_operand_ends_the_options_of_a_command_that_runs_a_command(void)
{
	struct parsed p = parse_line("-j ls -v -- x", true);

	CHECK(p.json && !p.verbose);
	check_operands(&p, "ls -v -- x ");
	p = parse_line("-j -- -v x", true);
	CHECK(p.json && !p.verbose);
	check_operands(&p, "-v x ");
}

static void the_last_of_two_values_wins_and_a_call_gets_both(void)
{
	struct parsed p = parse("-o a -o b --form x --form y");

	CHECK_TEXT(p.output, "b");
	CHECK_TEXT(p.called, "x;y;");
}

static void unknown_options_are_named(void)
{
	check_wrong("--nope", "unknown option '--nope'");
	check_wrong("--nope=3", "unknown option '--nope'");
	check_wrong("--outpu x", "unknown option '--outpu': there is '--output'");
	check_wrong("--out-put=x", "unknown option '--out-put': there is '--output'");
	check_wrong("--o", "unknown option '--o'");
	check_wrong("--outputs", "unknown option '--outputs'");
	check_wrong("-x", "unknown option '-x'");
	check_wrong("-jx", "unknown option '-x'");
}

static void a_missing_value_is_named_with_what_it_is(void)
{
	check_wrong("-o", "option '-o' needs a value: FILE");
	check_wrong("a --freq", "option '--freq' needs a value: HZ");
	check_wrong("-jF", "option '-F' needs a value: HZ");
}

static void a_flag_with_a_value_is_refused(void)
{
	check_wrong("--json=yes", "option '--json' takes no value");
}

static void numbers_are_whole_and_inside_their_range(void)
{
	static const char *const bad[] = {
		"0", "1001", "-5", "+5", "5x", "0x10", "", "1e3", "99999999999999999999999"};
	char line[64], expected[128];
	struct parsed p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "--freq=%s", bad[i]);
		snprintf(expected, sizeof(expected),
			"option '--freq' takes a number from 1 to 1000, not '%s'", bad[i]);
		check_wrong(line, expected);
	}
	p = parse("-F 1");
	CHECK(p.hz == 1);
	p = parse("-F 1000");
	CHECK(p.hz == 1000);
}

static void seconds_may_be_fractions_above_zero(void)
{
	static const char *const bad[] = {"0", "-1", "x", "1s", "", "nan", "inf", "1e300"};
	char line[64], expected[128];
	struct parsed p = parse("-d 0.25");

	CHECK(p.seconds == 0.25);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "--duration=%s", bad[i]);
		snprintf(expected, sizeof(expected),
			"option '--duration' takes a number of seconds above 0, not '%s'", bad[i]);
		check_wrong(line, expected);
	}
}

static void a_callback_says_what_is_wrong_in_its_own_words(void)
{
	check_wrong("--form bad", "option '--form' knows no form 'bad'");
}

static void the_help_names_every_option_once(void)
{
	static const char *const parts[] = {"usage: xpuprof draw [options] [FILE]\n", "\nDraws.\n",
		"  -o, --output FILE ", "  -j, --json ", "  -v ", "  -F, --freq HZ ",
		"  -d, --duration SECONDS ", "      --form FORM ", "  -h, --help "};
	static const char *const lines[] = {"--help", "-h", "-jh", "a --help --nope"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct parsed p = parse(lines[i]);

		CHECK(p.first == OPTIONS_HELP);
		CHECK(options_status(p.first) == EXIT_OK);
		for (size_t j = 0; j < sizeof(parts) / sizeof(parts[0]); j++) {
			const char *found = strstr(said, parts[j]);

			if (!found || strstr(found + 1, parts[j])) {
				printf("# '%s'\n", parts[j]);
				CHECK(!"once in the help");
			}
		}
	}
}

int main(void)
{
	RUN(an_option_takes_its_value_in_four_ways);
	RUN(an_attached_value_may_be_empty_or_hold_an_equals_sign);
	RUN(flags_may_be_clustered_and_end_with_an_option_that_takes_a_value);
	RUN(what_is_not_given_keeps_its_default);
	RUN(operands_keep_their_order_among_options);
	RUN(two_dashes_end_the_options);
	RUN(the_first_operand_ends_the_options_of_a_command_that_runs_a_command);
	RUN(the_last_of_two_values_wins_and_a_call_gets_both);
	RUN(unknown_options_are_named);
	RUN(a_missing_value_is_named_with_what_it_is);
	RUN(a_flag_with_a_value_is_refused);
	RUN(numbers_are_whole_and_inside_their_range);
	RUN(seconds_may_be_fractions_above_zero);
	RUN(a_callback_says_what_is_wrong_in_its_own_words);
	RUN(the_help_names_every_option_once);
	return tap_end();
}
