// SPDX-License-Identifier: MIT
#include "preload/nvidia/probes.h"

#include <pthread.h>

#include "preload/link.h"

static struct ptx_body bodies[PROBE_BODIES_MAX];
static struct ptx_probes all = {.bodies = bodies};

static void make(void)
{
	const struct probe_plan *plan = link_to_xpuprof.plan;
	const struct probe_body *b = link_in_plan(plan->bodies_at);

	for (uint32_t i = 0; i < plan->body_count; i++) {
		if (b[i].site > PTX_AT_ACCESS || b[i].is_alone)
			continue;
		bodies[all.body_count++] = (struct ptx_body){
			.site = (enum ptx_site)b[i].site,
			.once_per_warp = b[i].once_per_warp,
			.pair = b[i].pair,
			.kernels = link_in_plan(b[i].kernels_at),
			.text = link_in_plan(b[i].text_at),
			.site_copies = b[i].site_copies,
			.site_stride = b[i].site_stride,
			.version = b[i].version,
			.sm = b[i].sm,
		};
	}
	if (plan->only_at)
		all.only = link_in_plan(plan->only_at);
}

const struct ptx_probes *probes(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make);
	return &all;
}
