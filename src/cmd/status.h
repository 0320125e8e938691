/* SPDX-License-Identifier: MIT */
/* What a recording prints on stderr: a status line while it runs, a summary at its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/writer.h"
#include "record/session.h"

/* As session_options.progress: rewrites the status line, or removes it. The cursor stays at its
 * start, so that output of the program covers it. */
void status_report(void *context, const struct session_progress *p);
/* Prints what is in a profile, open at `fd`, that could not be written to its end. */
void status_rest(const char *profile_path, int fd);
/* Prints the summary: totals, then every loss by cause. */
void status_summary(const struct profile_totals *t, uint64_t elapsed_ns, const char *profile_path);
