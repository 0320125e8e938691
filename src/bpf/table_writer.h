/* SPDX-License-Identifier: MIT */
/*
 * How the recorder writes unwind tables: by a program that it runs itself. The chunks are frozen,
 * so nobody writes to them by their descriptors any more, the recorder neither, and programs still
 * can (BPF_MAP_FREEZE in include/uapi/linux/bpf.h). So injected libraries can be given the chunks
 * that walkers of all users share.
 *
 * Included once, by capture.bpf.c.
 */
#pragma once

#include "bpf/events.h"
#include "bpf/spaces.h"

/* What is to be written next: the recorder's alone. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BPF_STAGED_LINES);
	__type(key, uint32_t);
	__type(value, struct table_line);
} staged_lines SEC(".maps");

/* Run with a line's number in all chunks, and how many lines of that chunk come from staged_lines.
 * Returns how many were written. */
SEC("raw_tp")
int write_lines(struct bpf_raw_tracepoint_args *ctx)
{
	const uint32_t per_chunk = WALK_CHUNK_WORDS / WALK_TABLE_ALIGN;
	uint64_t first = ctx->args[0], count = ctx->args[1];
	uint32_t chunk = first / per_chunk, at = first % per_chunk, i;
	void *lines = bpf_map_lookup_elem(&table_chunks, &chunk);

	if (!lines)
		return 0;
	for (i = 0; i < BPF_STAGED_LINES && i < count; i++) {
		uint32_t from = i, to = at + i;
		const struct table_line *source = bpf_map_lookup_elem(&staged_lines, &from);
		struct table_line *target = bpf_map_lookup_elem(lines, &to);

		if (!source || !target)
			break;
		*target = *source;
	}
	return i;
}
