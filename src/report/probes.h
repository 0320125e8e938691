/* SPDX-License-Identifier: MIT */
/*
 * What programs in GPU kernels found, as a report shows it. Records are added up where they are of
 * one of our tools, and the first of others are kept; of all it is known how many are of work
 * that was recorded, too, which has the same id.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "probe/recorded/cost.h"
#include "probe/recorded/recorded.h"
#include "probe/tables/table.h"
#include "report/report.h"
#include "view/blocks/late.h"

struct report_probes {
	struct recorded_reading found;
	struct tally tally;
	struct buf lines, json; /* of the first records */
	size_t rows;		/* of other records that are kept */
	uint64_t kept, records;
	struct map grids; /* of records, by process, device and id: how many of them */
	uint64_t joined_grids, joined_records;
	struct late late; /* first blocks */
	struct cost cost;
	const struct profile_reader *reader;
	bool failed; /* memory was short */
};

/* 0 or -errno with error_text. */
int report_probes_read(struct report_probes *p, const struct profile_reader *r, size_t rows);
void report_probes_release(struct report_probes *p);
/* What programs cost each kernel; nothing where it was not measured. */
void report_cost_text(const struct report *r, struct buf *out);
void report_cost_json(const struct report *r, struct json_writer *w);
