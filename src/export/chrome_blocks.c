// SPDX-License-Identifier: MIT
/* A multiprocessor runs several blocks at once: it has as many lanes as that takes. */
#include "export/chrome_blocks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "export/chrome_lanes.h"
#include "view/blocks/blocks.h"

#define SUBJECT "the rows of multiprocessors in the timeline"

/* Ids of rows that are neither tids nor those of other rows. */
#define BLOCKS_TID_BASE 1700000000u

struct sm_row {
	uint32_t pid, sm;
	struct lanes lanes;
};

struct chrome_blocks {
	const struct profile_reader *done;
	struct output *output;
	struct blocks blocks;
	struct vec(struct sm_row *) rows;
	struct map row_of; /* of pid and multiprocessor: index */
	uint32_t tid;	   /* the last that was given */
	bool *any;
};

int chrome_blocks_new(
	struct chrome_blocks **ret, const struct profile_reader *done, struct output *o, bool *any)
{
	struct chrome_blocks *b = calloc(1, sizeof(*b));
	int error;

	if (!b)
		return error_memory(SUBJECT);
	b->done = done;
	b->output = o;
	b->any = any;
	b->tid = BLOCKS_TID_BASE;
	error = blocks_read(&b->blocks, done, BLOCKS_ALL);
	*ret = b;
	return error;
}

void chrome_blocks_free(struct chrome_blocks *b)
{
	if (!b)
		return;
	vec_foreach (row, &b->rows)
		free(*row);
	vec_release(&b->rows);
	map_release(&b->row_of);
	blocks_release(&b->blocks);
	free(b);
}

static int find_row(struct chrome_blocks *b, uint32_t pid, uint32_t sm, struct sm_row **ret)
{
	uint64_t key = (uint64_t)pid << 32 | sm, *found = map_get(&b->row_of, key);
	struct sm_row *row;

	if (found) {
		*ret = b->rows.items[*found];
		return 0;
	}
	row = calloc(1, sizeof(*row));
	if (!row || map_put(&b->row_of, key, b->rows.count) || vec_push(&b->rows, row)) {
		free(row);
		return error_memory(SUBJECT);
	}
	row->pid = pid;
	row->sm = sm;
	*ret = row;
	return 0;
}

static void separate(struct chrome_blocks *b)
{
	output_puts(b->output, *b->any ? ",\n" : "\n");
	*b->any = true;
}

static int put_block(struct chrome_blocks *b, const struct block *block,
	const struct profile_work *w, uint32_t pid, uint64_t error_ns)
{
	struct output *o = b->output;
	struct sm_row *row = NULL;
	struct lane *lane;
	int error = find_row(b, pid, block->sm, &row);

	if (error)
		return error;
	lane = lanes_find(&row->lanes, block->start_ns, &b->tid);
	separate(b);
	output_printf(o,
		"{\"ph\":\"X\",\"name\":\"block %" PRIu64
		"\",\"cat\":\"GPU_Block\",\"pid\":%u,\"tid\":%u",
		block->number, pid, lane->tid);
	lane_put_times(lane, o, block->start_ns, block->duration_ns);
	output_printf(o,
		",\"args\":{\"correlationId\":%u,\"gridId\":%" PRIu64
		",\"sm\":%u,\"timeErrorNs\":%" PRIu64 "}}",
		w->correlation, w->grid, block->sm, error_ns);
	return 0;
}

int chrome_blocks_work(struct chrome_blocks *b, const struct profile_work *w, uint32_t pid)
{
	const struct profile_op *op = w->grid ? profile_op(b->done, w->op) : NULL;
	const struct block_run *run = op ? blocks_of(&b->blocks, op, w) : NULL;
	int error = 0;

	for (uint32_t i = 0; run && !error && i < run->count; i++)
		error = put_block(b, &b->blocks.items.items[run->first + i], w, pid, run->error_ns);
	return error;
}

void chrome_blocks_name(struct chrome_blocks *b)
{
	vec_foreach (at, &b->rows) {
		const struct sm_row *row = *at;

		for (unsigned int i = 0; i < row->lanes.count; i++) {
			separate(b);
			output_printf(b->output,
				"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,"
				"\"args\":"
				"{\"name\":\"SM %u blocks",
				row->pid, row->lanes.lane[i].tid, row->sm);
			if (i)
				output_printf(b->output, " overlap %u", i);
			output_puts(b->output, "\"}}");
		}
	}
}

uint64_t chrome_blocks_missing(const struct chrome_blocks *b)
{
	return b->blocks.left_out + b->blocks.unplaced;
}
