/* SPDX-License-Identifier: MIT */
/*
 * Completion scripts for shells, printed from the tables of commands and of options, so that they
 * know what the program knows. `xpuprof completion SHELL` prints one: its begin, what each command
 * prints of its own options (options_parse has it print that), and its end.
 */
#pragma once

#include "cmd/options.h"

/* What options_parse knows it by, with "=SHELL". No command has such an option for people. */
#define COMPLETION_OPTION "print-completion"

struct completion_command {
	const char *name, *summary;
};

/* The begin of a script and its end, for commands up to the one without a name; false: it is no
 * shell that has one. */
bool completion_begin(const char *shell, const struct completion_command *commands);
void completion_end(const char *shell);
/* The part of one command; 0, or -1 with error_text. */
int completion_of(
	const char *shell, const struct option_usage *usage, const struct option_spec *specs);
