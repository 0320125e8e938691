/* SPDX-License-Identifier: MIT */
/* What a recording prints on stderr: a status line while it runs, a summary at its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/writer.h"
#include "record/session.h"

enum status_form {
	STATUS_NONE = 0, /* nothing, but for lines that say what keeps the user waiting */
	STATUS_LINE,	 /* rewritten where the cursor is: nobody else writes there */
	STATUS_ROW, /* in the last row of the terminal; what the program prints scrolls above */
};

struct status {
	enum status_form form;
	bool shared;	  /* the program may write to our terminal, and leave half a line there */
	bool said;	  /* what the recording waits for */
	unsigned int row; /* the last one, while nothing scrolls there; 0: that is not so */
};

/*
 * Chooses the form. A program that prints to the same terminal would have its lines torn apart, and
 * nobody can see where in a line it stopped: so there is no status line beside it, unless one is
 * `wanted`, and that has a row of its own. `pid`: of the program, if it is not a command of ours.
 */
void status_begin(struct status *s, bool has_command, pid_t pid, bool wanted);
/* Whether there can be a row of its own. */
bool status_is_possible(void);
/* As session_options.progress, with a struct status: rewrites the status, or removes it. */
void status_report(void *context, const struct session_progress *p);
/* Removes it for good; from here on the terminal is ours, from the start of a line on. */
void status_program_ended(struct status *s);
/* Goes to the start of a line, where the program may have left the cursor behind half of one. */
void status_fresh_line(const struct status *s);
/* Prints what is in a profile, open at `fd`, that could not be written to its end. */
void status_rest(const char *profile_path, int fd);
/* Prints the summary: totals, then every loss by cause. */
void status_summary(const struct profile_totals *t, uint64_t elapsed_ns, const char *profile_path);
