/* SPDX-License-Identifier: MIT */
/*
 * Rows of a timeline on which events may overlap: viewers want the events of a row to nest, so
 * there are as many lanes as it takes, and an event goes to the first that is free when it begins.
 *
 * Events often begin where the one before them ended. Readers that calculate with floating point
 * (speedscope) then find the first a little longer than the second's begin allows. So an event
 * that touches the one before it begins 0.4 ns later, which others round away. Where the
 * numbers are so large that they have no such digits (after 25 days of CLOCK_MONOTONIC), it is some
 * nanoseconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "export/output.h"

#define LANES_MAX 64

struct lane {
	uint64_t end_ns; /* of its last event; 0: it had none */
	uint32_t tid;
};

struct lanes {
	struct lane lane[LANES_MAX];
	unsigned int count;
};

/* The lane for an event from `start_ns` on. *tids is the last that was given to a lane. */
struct lane *lanes_find(struct lanes *lanes, uint64_t start_ns, uint32_t *tids);
/* Puts an event on a lane and writes its times, ",\"ts\":7000.000,\"dur\":2.500". */
void lane_put_times(struct lane *lane, struct output *o, uint64_t start_ns, uint64_t duration_ns);
