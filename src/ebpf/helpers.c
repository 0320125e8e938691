// SPDX-License-Identifier: MIT
#include "ebpf/helpers.h"

#include <stddef.h>

#define ANY    ARGUMENT_ANY
#define NUMBER ARGUMENT_NUMBER
#define MAP    ARGUMENT_MAP
#define KEY    ARGUMENT_KEY
#define VALUE  ARGUMENT_VALUE
#define DATA   ARGUMENT_DATA
#define SIZE   ARGUMENT_SIZE
#define RESULT ARGUMENT_RESULT
#define RECORD ARGUMENT_RECORD
#define TEXT   ARGUMENT_TEXT

// clang-format off
static const struct ebpf_helper helpers[] = {
	{HELPER_LOOKUP, "bpf_map_lookup_elem", {MAP, KEY}},
	{HELPER_UPDATE, "bpf_map_update_elem", {MAP, KEY, VALUE, NUMBER}},
	{HELPER_DELETE, "bpf_map_delete_elem", {MAP, KEY}},
	{HELPER_KTIME, "bpf_ktime_get_ns", {0}},
	{HELPER_PRINTK, "bpf_trace_printk", {TEXT, SIZE}},
	{HELPER_PROCESSOR, "bpf_get_smp_processor_id", {0}},
	{HELPER_PID_TGID, "bpf_get_current_pid_tgid", {0}},
	{HELPER_PERF_OUTPUT, "bpf_perf_event_output", {ANY, MAP, NUMBER, DATA, SIZE}},
	{HELPER_RING_OUTPUT, "bpf_ringbuf_output", {MAP, DATA, SIZE, NUMBER}},
	{HELPER_RING_RESERVE, "bpf_ringbuf_reserve", {MAP, SIZE, NUMBER}},
	{HELPER_RING_SUBMIT, "bpf_ringbuf_submit", {RECORD, NUMBER}},
	{HELPER_RING_DISCARD, "bpf_ringbuf_discard", {RECORD, NUMBER}},
	{HELPER_PUTS, "puts", {TEXT}},
	{HELPER_TIMER, "globaltimer", {0}},
	{HELPER_BLOCK, "block", {RESULT, RESULT, RESULT}},
	{HELPER_BLOCK_SIZE, "block size", {RESULT, RESULT, RESULT}},
	{HELPER_THREAD, "thread", {RESULT, RESULT, RESULT}},
	{HELPER_FENCE, "fence", {0}},
	{HELPER_EXIT, "exit", {0}},
	{HELPER_GRID_SIZE, "grid size", {RESULT, RESULT, RESULT}},
	{HELPER_SM, "multiprocessor", {0}},
	{HELPER_WARP_SLOT, "warp slot", {0}},
	{HELPER_LANE, "lane", {0}},
	{HELPER_COOKIE, "cookie", {0}},
	{HELPER_LANES, "lanes", {0}},
	{HELPER_ACTIVE_MASK, "active mask", {0}},
	{HELPER_LINES, "lines", {0}},
	{HELPER_GRID_ID, "grid id", {0}},
	{HELPER_KERNEL, "kernel", {0}},
	{HELPER_BLOCK_NUMBER, "block number", {0}},
	{HELPER_THREAD_NUMBER, "thread number", {0}},
	{HELPER_CLOCK, "clock", {0}},
	{HELPER_LOG2, "log2", {NUMBER}},
	{HELPER_OF_ACCESS, "of access", {MAP}},
};
// clang-format on

const struct ebpf_helper *ebpf_helper(int32_t id)
{
	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
		if (helpers[i].id == id)
			return &helpers[i];
	return NULL;
}

const char *ebpf_helper_misplaced(int32_t id, const struct ebpf_site *site)
{
	if (id == HELPER_LINES && !ebpf_where_is_memory(site->where))
		return "only programs for accesses to memory know which lines are accessed";
	if (id == HELPER_OF_ACCESS && !ebpf_where_is_memory(site->where))
		return "only programs for accesses to memory have values by access";
	if (id == HELPER_COOKIE && site->where != EBPF_AT_EXIT)
		return "only exit programs have a cookie";
	if (id == HELPER_EXIT && site->where == EBPF_AT_EXIT)
		return "an exit program cannot end a thread that is ending";
	if (id == HELPER_EXIT && !site->per_thread)
		return "one lane cannot end for its warp; a .thread program can end its thread";
	return NULL;
}
