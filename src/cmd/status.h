/* SPDX-License-Identifier: MIT */
/* What a recording says on stderr: a status line while it runs, a summary at its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/writer.h"

/* Rewrites the status line. The cursor stays at its start, so that output of the program covers
 * it. */
void status_show(const struct profile_totals *t, uint64_t elapsed_ns, uint64_t outstanding);
/* Whether the program reads single keys from the terminal, as editors and shells do: it draws there itself. */
bool status_is_in_the_way(void);
/* Says something else there. */
void status_text(const char *text);
/* Removes it. */
void status_clear(void);
/* Prints the summary: totals, then every loss by cause. */
void status_summary(const struct profile_totals *t, uint64_t elapsed_ns, const char *profile_path);
