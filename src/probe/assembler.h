/* SPDX-License-Identifier: MIT */
/*
 * The vendor's assembler makes functions for machine code of the plan's programs: once for each
 * kind of GPU that it knows, before the command runs, as nobody knows then which of them the
 * command will use.
 *
 * It runs as the user whose command that is.
 */
#pragma once

#include "base/user.h"
#include "probe/plan.h"

/* Adds them to a plan that is not sealed. 0, also where no program can be such a function; or
 * -errno with error_text: -ENOEXEC, the assembler makes none, and why; -ETIME. */
int assembler_add_patches(struct plan *p, const char *assembler, const struct user *u);
