/* SPDX-License-Identifier: MIT */
/*
 * What the recorder publishes to the programs for walking the stacks of processes: which code is
 * mapped where, the unwind tables (walk/table.h), and where the Python interpreter keeps its
 * frames. By pid as the recorder counts.
 *
 * The array of mappings is shared with the recorder, which fills it by plain stores. Tables come in
 * chunks that are maps of their own, because changing the array of these makes the recorder wait
 * for a grace period: once for 4 MiB, not for each table. table_writer.h writes them.
 */
#pragma once

#include "walk/python.h"

/* The words that a rule never crosses: what one look-up in a chunk gives. */
struct table_line {
	uint32_t words[WALK_TABLE_ALIGN];
};

struct table_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, WALK_CHUNK_WORDS / WALK_TABLE_ALIGN);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(struct table_line));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WALK_CHUNKS_MAX);
	__type(key, uint32_t);
	__array(values, struct table_chunk);
} table_chunks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BPF_MAPPINGS_MAX);
	__type(key, uint32_t);
	__type(value, struct walk_mapping);
} mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, uint32_t);
	__type(value, struct bpf_space);
} spaces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, uint32_t);
	__type(value, struct walk_python);
} pythons SEC(".maps");

/* When a process last mapped code: only mappings that the recorder may not have published matter,
 * so the oldest may go. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, uint32_t);
	__type(value, uint64_t);
} mapped SEC(".maps");

/* Whether a process may have mapped code after what is published, perhaps where other code was. */
static __always_inline bool is_outdated(const struct bpf_space *space, uint32_t pid)
{
	const uint64_t *mapped_ns = bpf_map_lookup_elem(&mapped, &pid);

	return space->unsteady || (mapped_ns && *mapped_ns > space->mapped_ns);
}

static __always_inline void drop_space(uint32_t pid)
{
	bpf_map_delete_elem(&spaces, &pid);
	bpf_map_delete_elem(&pythons, &pid);
	bpf_map_delete_elem(&mapped, &pid);
}

/* A child's memory is like its parent's, before it has run. What may be left of an earlier process
 * goes. */
static __always_inline void copy_space(uint32_t parent, uint32_t child)
{
	const struct bpf_space *space = bpf_map_lookup_elem(&spaces, &parent);
	const struct walk_python *python = bpf_map_lookup_elem(&pythons, &parent);
	const uint64_t *mapped_ns = bpf_map_lookup_elem(&mapped, &parent);

	if (!space || bpf_map_update_elem(&spaces, &child, space, BPF_ANY))
		bpf_map_delete_elem(&spaces, &child);
	if (!python || bpf_map_update_elem(&pythons, &child, python, BPF_ANY))
		bpf_map_delete_elem(&pythons, &child);
	if (!mapped_ns || bpf_map_update_elem(&mapped, &child, mapped_ns, BPF_ANY))
		bpf_map_delete_elem(&mapped, &child);
}
