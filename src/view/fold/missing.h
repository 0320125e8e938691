/* SPDX-License-Identifier: MIT */
/*
 * What a view of GPU work lacks, and has to report: launches without work, work without a stack,
 * and all that the recording lost.
 */
#pragma once

#include "profile/reader.h"
#include "view/fold/gather.h"
#include "view/fold/result.h"

struct missing {
	uint64_t joins[JOIN_REASONS];
	uint64_t pendings[PENDING_REASONS];
};

/* Counts `works` pieces of work with this key, if it has no stack. */
void missing_count_work(struct missing *m, const struct gather_key *key, uint64_t works);
/* Counts launches without work. False: nothing is missing, as they became graph nodes or asked for
 * nothing. */
bool missing_count_pendings(
	struct missing *m, enum profile_pending_reason reason, uint64_t launches);
/* Adds the remarks: 0 or -ENOMEM with error_text. */
int missing_remarks(const struct missing *m, const struct profile_reader *r, struct view_result *v);
