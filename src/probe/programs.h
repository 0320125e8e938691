/* SPDX-License-Identifier: MIT */
/* The programs that a command line asks for, and the plan that they make. */
#pragma once

#include "base/user.h"
#include "base/vec.h"
#include "probe/plan.h"

#define PROGRAMS_ATTACH_MAX 64

struct programs {
	struct vec(const char *) objects;  /* files, or names of tools */
	struct vec(const char *) settings; /* of plan_set */
	struct vec(const char *) launches; /* of plan_set_launch */
	/* "PROGRAM=FILE:FUNCTION": where programs for the kernel run, PROGRAMS_ATTACH_MAX at most */
	struct vec(const char *) attach;
	struct plan_options plan;
	struct buf only;       /* the text of the plan's */
	const char *assembler; /* the vendor's, for machine code; NULL: that runs without */
};

/* -ENOENT, with its text: where a file or a tool was to be named. */
int programs_not_found(const char *what);

/* Of an option, whose target they are: how long a turn is, in ms (NULL: as usual). 0, or -1 with
 * error_text. */
int programs_parse_turn(void *programs, const char *value);
/* So too, for the plan's `only`, which has each that is given. */
int programs_add_only(void *programs, const char *value);
/* So too, for `attach`. */
int programs_add_attach(void *programs, const char *value);
void programs_release(struct programs *p);
/* Reads files with the rights of `user`, whose they are. Fills a plan that was initialised: 0 or
 * -errno with error_text. */
int programs_plan(const struct programs *p, const struct user *user, struct plan *ret);
