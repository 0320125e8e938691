/* SPDX-License-Identifier: MIT */
/*
 * Why a GPU warp did not go on, in words of people who write kernels.
 *
 * A profile keeps the vendor's name of a reason ("..._stalled_long_scoreboard"). The tables of
 * src/vendor/ have words for it, and a class by which reasons are grouped and coloured. A reason
 * that is in no table is shown by the vendor's name, in class `other`. All of it is constant: any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "vendor/stall_reason.h"

/* What is in a vendor's name. */
struct stall_name {
	const struct stall_reason *reason; /* NULL: not in the table */
	/* the reason's part of the name, `name_size` bytes of the vendor's own text */
	const char *name;
	size_t name_size;
	/* The scheduler issued nothing at all in that cycle, from any warp: nothing hid the
	 * stall. These samples are also counted without this mark, under the same reason: they
	 * are a part of those, not more of them. */
	bool latency;
	const struct stall_names *names; /* the vendor's; NULL: not known whose it is */
};

/* Never fails; the text has to outlive the result. */
struct stall_name stall_name_parse(const char *text);
/* The words; of a reason that is not in the table what the vendor calls it, the mark of latency
 * samples included. */
const char *stall_words(const struct stall_name *n);
enum stall_class stall_class_of(const struct stall_name *n);
bool stall_is_issuing(const struct stall_name *n);

/* The n-th row of all vendors' tables; NULL past the last. */
const struct stall_reason *stall_reason_at(size_t n);
/* "memory", "math", ...: a key for machines, and the words of a legend. */
const char *stall_class_key(enum stall_class class);
const char *stall_class_words(enum stall_class class);
