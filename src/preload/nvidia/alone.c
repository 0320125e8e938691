// SPDX-License-Identifier: MIT
/*
 * A module of empty kernels, one for each program, which is its body: spliced, compiled and given
 * the arena like any other.
 */
#include "preload/nvidia/alone.h"

#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "guest/futex.h"
#include "preload/link.h"
#include "preload/nvidia/arenas.h"
#include "preload/nvidia/driver.h"
#include "preload/nvidia/hooks.h"
#include "preload/nvidia/images.h"

#define OLDEST_SM   70 /* that needs to run them: newer ones compile it, too */
#define PATIENCE_NS 2000000000ull
#define PAUSE_NS    100000

static const struct probe_body *body(uint32_t i)
{
	return (const struct probe_body *)link_in_plan(link_to_xpuprof.plan->bodies_at) + i;
}

static const char *name(uint32_t i)
{
	return link_in_plan(body(i)->kernels_at);
}

bool alone_is_wanted(void)
{
	for (uint32_t i = 0; i < link_to_xpuprof.plan->body_count; i++)
		if (body(i)->is_alone)
			return true;
	return false;
}

/* Of all that are alone: 0 or -errno with error_text. */
static int make_text(struct ptx_spliced *ret)
{
	static struct ptx_body bodies[PROBE_BODIES_MAX]; /* with the lock */
	struct ptx_probes all = {.bodies = bodies};
	struct buf text = BUF_INIT;
	unsigned int sm = OLDEST_SM, version = 0;
	int error;

	for (uint32_t i = 0; i < link_to_xpuprof.plan->body_count; i++) {
		const struct probe_body *b = body(i);

		if (!b->is_alone)
			continue;
		sm = b->sm > sm ? b->sm : sm;
		version = b->version > version ? b->version : version;
		bodies[all.body_count++] = (struct ptx_body){.site = PTX_AT_ENTRY,
			.once_per_warp = b->once_per_warp,
			.pair = PTX_NO_PAIR,
			.kernels = name(i),
			.text = link_in_plan(b->text_at),
			.version = b->version,
			.sm = b->sm};
	}
	buf_printf(&text, ".version %u.%u\n.target sm_%u\n.address_size 64\n", version / 10,
		version % 10, sm);
	for (size_t i = 0; i < all.body_count; i++)
		buf_printf(&text, ".visible .entry %s()\n{\n\tret;\n}\n", bodies[i].kernels);
	error = text.failed ? -ENOMEM : ptx_splice(text.data, text.size, &all, ret);
	if (!error) {
		buf_putc(&ret->text, 0);
		error = ret->text.failed ? -ENOMEM : 0;
	}
	buf_release(&text);
	return error;
}

/* Nothing of the module runs yet, so both words can come at once. */
static cu_result set_words(struct arena *a, cu_module module)
{
	const struct ptx_words words = {.arena = a->at, .on = 1};
	cu_address at = 0;
	size_t bytes = 0;
	cu_result result = driver.cuModuleGetGlobal_v2(&at, &bytes, module, PTX_WORDS);

	if (result)
		return result;
	return bytes == sizeof(words) ? arena_copy_to(a, at, &words, sizeof(words)) : CU_NOT_FOUND;
}

static cu_result launch(struct arena *a, cu_module module, uint32_t i)
{
	const struct probe_body *b = body(i);
	void *function = NULL;
	cu_result result = driver.cuModuleGetFunction(&function, module, name(i));

	return result ? result
		      : driver.cuLaunchKernel(function, b->grid[0], b->grid[1], b->grid[2],
				b->block[0], b->block[1], b->block[2], 0, a->alone, NULL, NULL);
}

static cu_result launch_all(struct arena *a, const struct ptx_spliced *s)
{
	cu_module module = NULL;
	cu_result result = REAL(cuModuleLoadData) ? REAL(cuModuleLoadData)(&module, s->text.data)
						  : CU_NOT_FOUND;

	if (!result)
		result = set_words(a, module);
	if (!result)
		result = driver.cuStreamCreate(&a->alone, CU_NON_BLOCKING);
	for (uint32_t i = 0; !result && i < link_to_xpuprof.plan->body_count; i++)
		if (body(i)->is_alone)
			result = launch(a, module, i);
	return result;
}

void alone_run(struct arena *a)
{
	struct image i = {0};
	char why[64];
	cu_result result;

	if (a->alone_has_run || a->off || !alone_is_wanted())
		return;
	a->alone_has_run = true;
	if (make_text(&i.spliced)) {
		link_send_fate(PROBE_FATE_UNREADABLE, 1, error_text());
		return;
	}
	result = launch_all(a, &i.spliced);
	if (result) {
		snprintf(why, sizeof(why), "programs that are kernels: error %d of the driver",
			result);
		link_send_fate(PROBE_FATE_REFUSED, 1, why);
	} else {
		image_send(&i);
	}
	image_release(&i);
}

/* The program's own kernels may leave no room for them. */
void alone_end(struct arena *a)
{
	cu_result result;

	if (!a->alone)
		return;
	for (uint64_t end_ns = now_ns() + PATIENCE_NS;
		(result = driver.cuStreamQuery(a->alone)) == CU_NOT_READY && now_ns() < end_ns;)
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	if (result == CU_NOT_READY)
		link_send_fate(PROBE_FATE_REFUSED, (uint64_t)result,
			"programs that are kernels had not ended");
	(void)driver.cuStreamDestroy_v2(a->alone);
	a->alone = NULL;
}
