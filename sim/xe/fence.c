// SPDX-License-Identifier: MIT
#include "fence.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#define POLL_NS 20000

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool holds(unsigned int how, uint64_t there, uint64_t wanted)
{
	switch (how) {
	case 0:
		return there == wanted;
	case 1:
		return there != wanted;
	case 2:
		return there > wanted;
	case 3:
		return there >= wanted;
	case 4:
		return there < wanted;
	default:
		return there <= wanted;
	}
}

int fence_wait(const struct xe_wait *w)
{
	const _Atomic uint64_t *at = (const void *)(uintptr_t)w->address;
	bool for_ever = w->timeout_ns < 0 && !(w->flags & XE_WAIT_UNTIL);
	int64_t until_ns = w->timeout_ns, begun_ns = now_ns();

	if (!at || w->address % sizeof(*at) || w->op > 5)
		return -EINVAL;
	if (!(w->flags & XE_WAIT_UNTIL) && __builtin_add_overflow(begun_ns, until_ns, &until_ns))
		for_ever = true;
	while (!holds(w->op, atomic_load(at) & w->mask, w->value & w->mask)) {
		if (!for_ever && now_ns() >= until_ns)
			return -ETIME;
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	return 0;
}

int fence_signal(const struct xe_sync *syncs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (syncs[i].type != XE_FENCE)
			return -EOPNOTSUPP;
		atomic_store((_Atomic uint64_t *)(uintptr_t)syncs[i].address, syncs[i].value);
	}
	return 0;
}
