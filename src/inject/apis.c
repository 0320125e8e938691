// SPDX-License-Identifier: MIT
#include "inject/apis.h"

#include <stddef.h>

static const struct inject_api *apis[WIRE_APIS];
static uint32_t count;

static uint32_t count_now(void)
{
	return __atomic_load_n(&count, __ATOMIC_ACQUIRE);
}

#define apis_foreach(a)                                                                            \
	for (const struct inject_api **a = apis, **end = apis + count_now(); a < end; a++)

void apis_add(const struct inject_api *api)
{
	uint32_t n = count_now();

	if (n == WIRE_APIS)
		return;
	apis[n] = api;
	__atomic_store_n(&count, n + 1, __ATOMIC_RELEASE);
}

bool apis_has(const struct inject_api *api)
{
	apis_foreach(a) if (*a == api) return true;
	return false;
}

void apis_follow(enum inject_follow what)
{
	apis_foreach(a) if ((*a)->follow)(*a)->follow(what);
}

void apis_tick(void)
{
	apis_foreach(a) if ((*a)->tick)(*a)->tick();
}

uint64_t apis_sleep_ns(uint64_t most_ns)
{
	apis_foreach(a) if ((*a)->sleep_ns) most_ns = (*a)->sleep_ns(most_ns);
	return most_ns;
}

void apis_flush(void)
{
	apis_foreach(a) if ((*a)->flush)(*a)->flush();
}

void apis_drain(void)
{
	apis_foreach(a)(*a)->drain();
}

void apis_stop(void)
{
	apis_foreach(a)(*a)->stop();
}

void apis_finish(bool program_goes_on)
{
	apis_foreach(a)(*a)->finish(program_goes_on);
}

void apis_discard(void)
{
	apis_foreach(a)(*a)->discard();
}

enum wire_finalized apis_finalize(void)
{
	apis_foreach(a) if ((*a)->finalize) return (*a)->finalize();
	return WIRE_FINALIZE_NONE;
}

void apis_leave(void)
{
	apis_foreach(a)(*a)->leave();
}

void apis_forget(void)
{
	apis_foreach(a) if ((*a)->forget)(*a)->forget();
}
