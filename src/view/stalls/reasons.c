// SPDX-License-Identifier: MIT
/*
 * One row a reason, in no order; a vendor's name is that of a row behind one of the prefixes, with
 * or without the mark of latency samples.
 *
 * Sources. The names: libnvperf_host of CUDA 13.0 has these, with either prefix (an H200 tells 40: 20
 * of them, each also with the mark); gmma is only among its counters. What each means: "Warp Stall
 * Reasons" in the metrics reference of NVIDIA's Nsight Compute profiling guide. That counts with the
 * mark are part of those without it: CUPTI's documentation of CUpti_ActivityPCSampling3 (samples
 * include latencySamples), and its sample output of PC sampling (long_scoreboard 42 times, of them 39
 * not issued).
 */
#include "view/stalls/reasons.h"

#include <string.h>

#define LATENCY_MARK "_not_issued"

static const char *const prefixes[] = {
	"smsp__pcsamp_warps_issue_stalled_",
	"smsp__pcsamp_warp_stall_",
};

static const struct stall_reason reasons[] = {
	/* Loads by the texture path as well, which few kernels have today. */
	{"long_scoreboard", "waiting for a global or local memory load", STALL_MEMORY, false},
	{"short_scoreboard", "waiting for shared memory or a special function", STALL_MEMORY, false},
	{"lg_throttle", "queue of global and local memory accesses is full", STALL_MEMORY, false},
	{"mio_throttle", "queue of shared memory and special function accesses is full", STALL_MEMORY, false},
	{"tex_throttle", "queue of texture accesses is full", STALL_MEMORY, false},
	{"imc_miss", "waiting for constant memory that is not in its cache", STALL_MEMORY, false},
	{"drain", "at its exit, waiting for its memory stores", STALL_MEMORY, false},
	{"wait", "waiting out an instruction's fixed latency", STALL_MATH, false},
	{"math_pipe_throttle", "math unit is busy", STALL_MATH, false},
	{"gmma", "waiting for the tensor cores", STALL_MATH, false},
	{"dispatch_stall", "held back by the dispatch unit", STALL_MATH, false},
	{"barrier", "waiting for other warps of its block at a barrier", STALL_SYNC, false},
	{"membar", "waiting at a memory fence", STALL_SYNC, false},
	{"warpgroup_arrive", "waiting for its warpgroup (wgmma)", STALL_SYNC, false},
	{"no_instructions", "waiting for its next instruction to be fetched", STALL_FETCH, false},
	{"branch_resolving", "waiting for the target of a branch", STALL_CONTROL, false},
	{"sleeping", "asleep, or its threads yielded or blocked", STALL_CONTROL, false},
	{"selected", "issuing the instruction", STALL_ISSUING, true},
	{"not_selected", "ready, but another warp was issued", STALL_ISSUING, false},
	{"misc", "another reason", STALL_OTHER, false},
};

static const struct {
	const char *key, *words;
} classes[STALL_CLASSES] = {
	[STALL_MEMORY] = {"memory", "memory"},
	[STALL_MATH] = {"math", "math and fixed latencies"},
	[STALL_SYNC] = {"sync", "barriers and fences"},
	[STALL_FETCH] = {"fetch", "instruction fetch"},
	[STALL_CONTROL] = {"control", "branches and sleep"},
	[STALL_ISSUING] = {"issuing", "issuing or ready to"},
	[STALL_OTHER] = {"other", "other"},
};

#define REASON_COUNT (sizeof(reasons) / sizeof(reasons[0]))

static size_t prefix_size(const char *vendor)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(vendor, prefixes[i], strlen(prefixes[i])))
			return strlen(prefixes[i]);
	return 0;
}

struct stall_name stall_name_parse(const char *vendor)
{
	const size_t mark = strlen(LATENCY_MARK);
	struct stall_name n = {.name = vendor + prefix_size(vendor)};

	n.name_size = strlen(n.name);
	n.latency = n.name_size > mark && !strcmp(n.name + n.name_size - mark, LATENCY_MARK);
	if (n.latency)
		n.name_size -= mark;
	for (size_t i = 0; i < REASON_COUNT && !n.reason; i++)
		if (strlen(reasons[i].name) == n.name_size && !memcmp(reasons[i].name, n.name, n.name_size))
			n.reason = &reasons[i];
	return n;
}

const char *stall_words(const struct stall_name *n)
{
	return n->reason ? n->reason->words : n->name;
}

enum stall_class stall_class_of(const struct stall_name *n)
{
	return n->reason ? n->reason->class : STALL_OTHER;
}

bool stall_is_issuing(const struct stall_name *n)
{
	return n->reason && n->reason->issuing;
}

const struct stall_reason *stall_reason_at(size_t n)
{
	return n < REASON_COUNT ? &reasons[n] : NULL;
}

const char *stall_class_key(enum stall_class class)
{
	return classes[class < STALL_CLASSES ? class : STALL_OTHER].key;
}

const char *stall_class_words(enum stall_class class)
{
	return classes[class < STALL_CLASSES ? class : STALL_OTHER].words;
}
