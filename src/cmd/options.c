// SPDX-License-Identifier: MIT
#include "cmd/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/completion.h"

static void print_spec(const struct option_spec *s)
{
	char left[64];
	int n = 0;

	if (s->letter)
		n = snprintf(left, sizeof(left), "-%c%s%s", s->letter, s->name ? ", " : "",
			s->name || !s->argument ? "" : " ");
	else
		n = snprintf(left, sizeof(left), "    ");
	if (s->name)
		n += snprintf(left + n, sizeof(left) - (size_t)n, "--%s%s", s->name,
			s->argument && s->type != OPTION_TYPE_MAYBE ? " " : "");
	if (s->argument)
		snprintf(left + n, sizeof(left) - (size_t)n,
			s->type == OPTION_TYPE_MAYBE ? "[=%s]" : "%s", s->argument);
	if (strlen(left) > 26)
		printf("  %s\n  %-26s %s\n", left, "", s->help);
	else
		printf("  %-26s %s\n", left, s->help);
}

static void print_help(const struct option_usage *usage, const struct option_spec *specs)
{
	printf("usage: xpuprof %s %s\n\n%s\n\noptions:\n", usage->command, usage->synopsis,
		usage->summary);
	for (const struct option_spec *s = specs; s->type != OPTION_TYPE_END; s++)
		print_spec(s);
	printf("  %-26s %s\n", "-h, --help", "show this help");
	if (usage->examples)
		printf("\nexamples:\n%s", usage->examples);
}

int options_wrong(const struct option_usage *usage, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	cmd_error("%s (see 'xpuprof %s --help')", text, usage->command);
	return EXIT_USAGE;
}

static const struct option_spec *find_letter(const struct option_spec *specs, char letter)
{
	for (; specs->type != OPTION_TYPE_END; specs++)
		if (specs->letter == letter)
			return specs;
	return NULL;
}

static const struct option_spec *find_name(
	const struct option_spec *specs, const char *name, size_t length)
{
	for (; specs->type != OPTION_TYPE_END; specs++)
		if (specs->name && strlen(specs->name) == length &&
			!strncmp(specs->name, name, length))
			return specs;
	return NULL;
}

static int store_number(const struct option_spec *s, const char *value)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(value, &end, 10);
	if (!isdigit((unsigned char)*value) || *end || errno || number < s->minimum ||
		number > s->maximum)
		return error_set(-1, "takes a number from %lu to %lu, not '%s'", s->minimum,
			s->maximum, value);
	*(unsigned long *)s->target = number;
	return 0;
}

static int store_seconds(const struct option_spec *s, const char *value)
{
	double seconds;
	char *end;

	errno = 0;
	seconds = strtod(value, &end);
	if (end == value || *end || errno || !(seconds > 0) || seconds > 1e9)
		return error_set(-1, "takes a number of seconds above 0, not '%s'", value);
	*(double *)s->target = seconds;
	return 0;
}

static int store(const struct option_spec *s, const char *value)
{
	switch (s->type) {
	case OPTION_TYPE_FLAG:
		*(bool *)s->target = true;
		return 0;
	case OPTION_TYPE_STRING:
		*(const char **)s->target = value;
		return 0;
	case OPTION_TYPE_NUMBER:
		return store_number(s, value);
	case OPTION_TYPE_SECONDS:
		return store_seconds(s, value);
	case OPTION_TYPE_CALL:
	case OPTION_TYPE_MAYBE:
		return s->call(s->target, value);
	case OPTION_TYPE_END:
		break;
	}
	return 0;
}

struct parser {
	const struct option_usage *usage;
	const struct option_spec *specs;
	int argc, next;
	char **argv;
};

/* Stores one option; `shown` is how the user wrote it, `value` what was attached to it or NULL. */
static int set_option(
	struct parser *p, const struct option_spec *s, const char *shown, const char *value)
{
	if (s->argument && !value && s->type != OPTION_TYPE_MAYBE) {
		if (p->next >= p->argc) {
			options_wrong(
				p->usage, "option '%s' needs a value: %s", shown, s->argument);
			return OPTIONS_WRONG;
		}
		value = p->argv[p->next++];
	}
	if (store(s, value)) {
		options_wrong(p->usage, "option '%s' %s", shown, error_text());
		return OPTIONS_WRONG;
	}
	return 0;
}

/* Whether a name is written so but for its hyphens, or begins so. */
static bool is_near(const char *name, const char *text, size_t length)
{
	const char *end = text + length;

	if (length > 1 && !strncmp(name, text, length))
		return true;
	while (*name == '-' || (*name && text < end && *text == *name) ||
		(text < end && *text == '-'))
		if (*name == '-')
			name++;
		else if (*text++ != '-')
			name++;
	return !*name && text == end;
}

/* The option that may be meant: the only one that is near. */
static const struct option_spec *find_near(
	const struct option_spec *specs, const char *text, size_t length)
{
	const struct option_spec *found = NULL;

	for (; specs->type != OPTION_TYPE_END; specs++) {
		if (!specs->name || !is_near(specs->name, text, length))
			continue;
		if (found)
			return NULL;
		found = specs;
	}
	return found;
}

static void unknown_option(
	const struct parser *p, const char *text, size_t length, const char *shown)
{
	const struct option_spec *near = find_near(p->specs, text, length);

	if (near)
		options_wrong(p->usage, "unknown option '%s': there is '--%s'", shown, near->name);
	else
		options_wrong(p->usage, "unknown option '%s'", shown);
}

static int parse_long(struct parser *p, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t length = equals ? (size_t)(equals - text) : strlen(text);
	const struct option_spec *s = find_name(p->specs, text, length);
	char shown[128];

	if (!strcmp(text, "help")) {
		print_help(p->usage, p->specs);
		return OPTIONS_HELP;
	}
	if (equals && length == strlen(COMPLETION_OPTION) &&
		!strncmp(text, COMPLETION_OPTION, length)) {
		if (!completion_of(equals + 1, p->usage, p->specs))
			return OPTIONS_HELP;
		options_wrong(p->usage, "option '--" COMPLETION_OPTION "' %s", error_text());
		return OPTIONS_WRONG;
	}
	snprintf(shown, sizeof(shown), "--%.*s", (int)(length < 100 ? length : 100), text);
	if (!s) {
		unknown_option(p, text, length, shown);
		return OPTIONS_WRONG;
	}
	if (equals && !s->argument) {
		options_wrong(p->usage, "option '%s' takes no value", shown);
		return OPTIONS_WRONG;
	}
	return set_option(p, s, shown, equals ? equals + 1 : NULL);
}

static int parse_letters(struct parser *p, const char *letters)
{
	for (; *letters; letters++) {
		const struct option_spec *s = find_letter(p->specs, *letters);
		char shown[3] = {'-', *letters, '\0'};
		int result;

		if (*letters == 'h' && !s) {
			print_help(p->usage, p->specs);
			return OPTIONS_HELP;
		}
		if (!s) {
			options_wrong(p->usage, "unknown option '%s'", shown);
			return OPTIONS_WRONG;
		}
		result = set_option(p, s, shown, s->argument && letters[1] ? letters + 1 : NULL);
		if (result || s->argument)
			return result;
	}
	return 0;
}

/* Moves argv[from] behind the `count` operands that end at `from`, keeping all orders. */
static void move_before(char **argv, int to, int from)
{
	char *moved = argv[from];

	memmove(argv + to + 1, argv + to, (size_t)(from - to) * sizeof(*argv));
	argv[to] = moved;
}

int options_parse(
	const struct option_usage *usage, const struct option_spec *specs, int argc, char **argv)
{
	struct parser p = {.usage = usage, .specs = specs, .argc = argc, .next = 1, .argv = argv};
	int operands = 0;

	while (p.next < argc) {
		int start = p.next, result;
		char *text = argv[p.next];

		if (!strcmp(text, "--")) {
			move_before(argv, start - operands, start);
			p.next++;
			break;
		}
		if (text[0] != '-' || !text[1]) {
			if (usage->stop_at_operand)
				break;
			operands++;
			p.next++;
			continue;
		}
		p.next++;
		result = text[1] == '-' ? parse_long(&p, text + 2) : parse_letters(&p, text + 1);
		if (result)
			return result;
		for (int i = start; i < p.next; i++)
			move_before(argv, i - operands, i);
	}
	return p.next - operands;
}

int options_status(int result)
{
	return result == OPTIONS_HELP ? EXIT_OK : EXIT_USAGE;
}
