/* SPDX-License-Identifier: MIT */
/* What idle.c (why GPUs were idle) and gaps.c (the gaps one by one) share. */
#pragma once

#include "report/report.h"
#include "view/names/device.h"

/* Appends a cause, and its call path: "synchronization; at main > fetch". */
void report_gap_cause(const struct report *r, struct buf *b, unsigned int cause, uint32_t stack);
/* Appends "GPU 0". */
void report_gap_device(
	const struct report *r, struct buf *b, const struct device_numbers *numbers, uint32_t id);
/* Whether a time is at least 0.1 % of another, when rounded. */
bool report_is_worth_showing(uint64_t ns, uint64_t whole_ns);
/* The member "gaps" of a device. */
void report_device_gaps_json(
	const struct report *r, struct json_writer *w, const struct gap_device *d);
