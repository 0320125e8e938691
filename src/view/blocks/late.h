/* SPDX-License-Identifier: MIT */
/* How long after the call that asked for it the first block of a kernel began, by kernel. */
#pragma once

#include "view/blocks/blocks.h"

struct late_kernel {
	uint32_t name; /* string: mangled */
	uint64_t count, least_ns, most_ns;
	double sum_ns;
};

struct late {
	struct vec(struct late_kernel) kernels; /* the latest of all first, by sum */
	uint64_t error_ns;			/* how much more it may be, at most */
	uint64_t unknown;			/* first blocks whose work or call is not known */
};

/* 0 or -errno with error_text. */
int late_read(struct late *l, const struct profile_reader *done);
void late_release(struct late *l);
