/* SPDX-License-Identifier: MIT */
/*
 * The GPU work of all devices in the order of time. Each device has its own in that order already (gap_events.h), so the next
 * piece is always the first that is left of some device; there are few.
 */
#pragma once

#include "view/gaps/events.h"

/* Of one device: indices of works. */
struct gap_works_device {
	size_t first, end;
	size_t next;
};

struct gap_works {
	const struct gap_work *works;
	struct vec(struct gap_works_device) devices;
};

/* 0 or -ENOMEM; release it in either case. */
int gap_works_init(struct gap_works *w, const struct gap_events *e);
void gap_works_release(struct gap_works *w);

/* The next piece, and which of the devices has it; false: none is left. */
bool gap_works_next(struct gap_works *w, size_t *ret_work, size_t *ret_device);
