// SPDX-License-Identifier: MIT
/*
 * The markers are linked into this program as well: an empty BPF program is put on all of them, and
 * the calls are timed. The shortest of a few rounds counts, as anything else that happens only
 * makes a round longer.
 */
#include "capture/marker_cost.h"

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "bpf/empty.skel.h"
#include "capture/own_code.h"
#include "capture/uprobe.h"

#define ROUNDS 8
#define HITS   256 /* in a round */

typedef void (*marker_function)(uint64_t instance, uint64_t correlation, uint64_t kind);

static const marker_function functions[LAUNCH_MARKER_KINDS] = {
	[LAUNCH_MARKER_NOP1] = xpuprof_launch_marker_nop1,
	[LAUNCH_MARKER_NOP5] = xpuprof_launch_marker_nop5,
	[LAUNCH_MARKER_NOP10] = xpuprof_launch_marker_nop10,
};

static uint32_t time_calls(marker_function marker)
{
	uint64_t best_ns = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start_ns = clock_now_ns(), took_ns;

		for (uint64_t i = 0; i < HITS; i++)
			marker(0, i, 0);
		took_ns = clock_now_ns() - start_ns;
		if (took_ns < best_ns)
			best_ns = took_ns;
	}
	/* 0 would mean that there is no probe. */
	return (uint32_t)(best_ns / HITS) + !(best_ns / HITS);
}

/* Puts the program on these markers, all or none, and times each. */
static bool measure(
	struct marker_costs *costs, const struct empty_bpf *bpf, const int *kinds, size_t count)
{
	uint64_t offsets[LAUNCH_MARKER_KINDS];
	struct own_code location = {0};
	struct uprobe probe;

	for (size_t i = 0; i < count; i++) {
		if (!own_code_find(&location, (uintptr_t)functions[kinds[i]]))
			return false;
		offsets[i] = location.offset;
	}
	if (uprobe_attach(&probe, bpf->progs.nothing, location.path, offsets, count))
		return false;
	for (size_t i = 0; i < count; i++)
		costs->ns[kinds[i]] = time_calls(functions[kinds[i]]);
	(void)uprobe_detach(&probe); /* what was measured is measured */
	return true;
}

/*
 * Linux 7 makes a call of a probe on the 10-byte nop. Before, it cannot be probed at all or is
 * single-stepped, which is the most expensive, and finding that out takes a tenth of a second.
 */
static bool knows_nop10(void)
{
	struct utsname u;

	return !uname(&u) && atoi(u.release) >= 7;
}

static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static struct empty_bpf *load(bool multi)
{
	struct empty_bpf *bpf = empty_bpf__open();

	if (bpf && multi)
		uprobe_prepare_multi(bpf->progs.nothing);
	if (bpf && empty_bpf__load(bpf)) {
		empty_bpf__destroy(bpf);
		return NULL;
	}
	return bpf;
}

struct marker_costs marker_costs_measure(void)
{
	static const int kinds[] = {LAUNCH_MARKER_NOP1, LAUNCH_MARKER_NOP5, LAUNCH_MARKER_NOP10};
	size_t count = knows_nop10() ? 3 : 2;
	struct marker_costs costs = {0};
	struct empty_bpf *bpf;

	libbpf_set_print(say_nothing);
	bpf = load(true);
	costs.multi = bpf && uprobe_has_multi(bpf->progs.nothing);
	if (!costs.multi) {
		empty_bpf__destroy(bpf);
		bpf = load(false);
	}
	if (!bpf)
		return costs;
	if (!measure(&costs, bpf, kinds, count))
		for (size_t i = 0; i < count; i++)
			measure(&costs, bpf, &kinds[i], 1);
	empty_bpf__destroy(bpf);
	for (int kind = LAUNCH_MARKER_NOP1; kind < LAUNCH_MARKER_KINDS; kind++)
		if (costs.ns[kind] && (!costs.best || costs.ns[kind] < costs.ns[costs.best]))
			costs.best = (enum launch_marker)kind;
	return costs;
}

enum launch_marker capture_measure_markers(uint32_t ret_cost_ns[LAUNCH_MARKER_KINDS])
{
	struct marker_costs costs = marker_costs_measure();

	memcpy(ret_cost_ns, costs.ns, sizeof(costs.ns));
	return costs.best;
}
