/* SPDX-License-Identifier: MIT */
/*
 * The GPU work of all devices in the order of time. The work of each device is in that order
 * already (events.h), so the next piece is the first one left of some device. There are few
 * devices.
 */
#pragma once

#include "view/gaps/events.h"

/* Of one device: indices of works. */
struct gap_works_device {
	size_t first, end;
	size_t next;
	uint64_t next_ns; /* when that begins; UINT64_MAX: none is left */
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
