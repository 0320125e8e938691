/* SPDX-License-Identifier: MIT */
/*
 * Gives each distinct gather_key a small number, from 0 on: for events that are kept for a while,
 * and many of which are alike.
 */
#pragma once

#include "base/vec.h"
#include "view/fold/gather.h"

struct keys {
	struct vec(struct gather_key) items; /* by number */
	uint32_t *index;		     /* number + 1; open addressing, at most 2/3 full */
	size_t mask;
};

void keys_release(struct keys *k);
/* 0 or -ENOMEM with error_text. */
int keys_add(struct keys *k, const struct gather_key *key, uint32_t *ret);
