/* SPDX-License-Identifier: MIT */
/*
 * Command-line options from a table, which also is the help text.
 *
 *	static const struct option_spec specs[] = {
 *		OPTION_STRING('o', "output", "FILE", &output, "write to FILE"),
 *		OPTION_FLAG(0, "json", &json, "print JSON"),
 *		OPTION_END,
 *	};
 *	int first = options_parse(&usage, specs, argc, argv);   // index of the first operand
 *	if (first < 0)
 *		return options_status(first);
 *
 * `--name value`, `--name=value` (only this where the value is optional), `-x value`, `-xvalue` and
 * clustered flags are understood. `--` ends the options; with `stop_at_operand` so does the first
 * operand (for commands that run a command). Wrong input is reported on stderr with a hint at
 * --help; --help prints the help on stdout.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum option_type {
	OPTION_TYPE_END = 0,
	OPTION_TYPE_FLAG,    /* bool * */
	OPTION_TYPE_STRING,  /* const char **; the last one wins */
	OPTION_TYPE_NUMBER,  /* unsigned long *, at least `minimum` */
	OPTION_TYPE_SECONDS, /* double *, more than 0 */
	OPTION_TYPE_CALL,    /* calls `call(target, value)`: 0, or -1 with error_text */
	OPTION_TYPE_MAYBE,   /* the same; `value` is NULL when none is attached with "=" */
};

struct option_spec {
	enum option_type type;
	char letter;	      /* 0: none */
	const char *name;     /* without dashes */
	const char *argument; /* its name in the help; NULL for flags */
	void *target;
	const char *help;
	unsigned long minimum;
	unsigned long maximum;
	int (*call)(void *target, const char *value);
	const char *values; /* the words that `call` takes, for completion; NULL: any */
};

#define OPTION_FLAG(l, n, t, h)                                                                    \
	{                                                                                          \
		.type = OPTION_TYPE_FLAG, .letter = (l), .name = (n), .target = (t), .help = (h)   \
	}
#define OPTION_STRING(l, n, a, t, h)                                                               \
	{                                                                                          \
		.type = OPTION_TYPE_STRING, .letter = (l), .name = (n), .argument = (a),           \
		.target = (t), .help = (h)                                                         \
	}
#define OPTION_NUMBER(l, n, a, t, lo, hi, h)                                                       \
	{                                                                                          \
		.type = OPTION_TYPE_NUMBER, .letter = (l), .name = (n), .argument = (a),           \
		.target = (t), .help = (h), .minimum = (lo), .maximum = (hi)                       \
	}
#define OPTION_SECONDS(l, n, a, t, h)                                                              \
	{                                                                                          \
		.type = OPTION_TYPE_SECONDS, .letter = (l), .name = (n), .argument = (a),          \
		.target = (t), .help = (h)                                                         \
	}
#define OPTION_CALL(l, n, a, f, t, h)                                                              \
	{                                                                                          \
		.type = OPTION_TYPE_CALL, .letter = (l), .name = (n), .argument = (a),             \
		.call = (f), .target = (t), .help = (h)                                            \
	}
/* One of the words of `v`. */
#define OPTION_WORD(l, n, a, v, f, t, h)                                                           \
	{                                                                                          \
		.type = OPTION_TYPE_CALL, .letter = (l), .name = (n), .argument = (a),             \
		.values = (v), .call = (f), .target = (t), .help = (h)                             \
	}
#define OPTION_MAYBE(n, a, f, t, h)                                                                \
	{                                                                                          \
		.type = OPTION_TYPE_MAYBE, .name = (n), .argument = (a), .call = (f),              \
		.target = (t), .help = (h)                                                         \
	}
#define OPTION_END                                                                                 \
	{                                                                                          \
		.type = OPTION_TYPE_END                                                            \
	}

struct option_usage {
	const char *command;  /* "flame" */
	const char *synopsis; /* "[options] [FILE]" */
	const char *summary;  /* one sentence */
	const char *examples; /* lines at the end of the help; NULL: none */
	/* FILE, COMMAND, or the words that there are; NULL: none */
	const char *operands;
	/* Words of which one may stand before a COMMAND, for completion; NULL: none. */
	const char *tools;
	bool stop_at_operand;
};

enum {
	OPTIONS_HELP = -1,
	OPTIONS_WRONG = -2,
};

/*
 * Parses argv[1..]; operands are moved to the end of argv in their order. The index of the first
 * operand (argc when there is none), OPTIONS_HELP after printing the help, OPTIONS_WRONG after
 * reporting what is wrong.
 */
int options_parse(
	const struct option_usage *usage, const struct option_spec *specs, int argc, char **argv);
/* The exit status for a negative options_parse result. */
int options_status(int result);
/* Reports a wrong use that the table cannot see ("more than one file"); returns EXIT_USAGE. */
int options_wrong(const struct option_usage *usage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
