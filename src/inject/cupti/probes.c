// SPDX-License-Identifier: MIT
#include "inject/cupti/probes.h"

#include <dlfcn.h>
#include <stddef.h>

#include "inject/cupti/streams.h"

#define STREAMS_MAX 1024 /* it makes no more in the life of a process */

static bool (*is_calling)(void);
static uint64_t streams[STREAMS_MAX]; /* context << 32 | stream; 0: none yet */
static uint32_t stream_count;

void probes_find(void)
{
	*(void **)&is_calling = dlsym(RTLD_DEFAULT, "xpuprof_probe_is_calling");
}

bool probes_are_there(void)
{
	return is_calling;
}

bool probes_are_calling(void)
{
	return is_calling && is_calling();
}

void probes_stream_made(void *context, void *stream)
{
	uint32_t of_context = streams_context(context), number = streams_number(context, stream);
	uint32_t n;

	if (!of_context || !number)
		return;
	n = __atomic_fetch_add(&stream_count, 1, __ATOMIC_RELAXED);
	if (n < STREAMS_MAX)
		__atomic_store_n(
			&streams[n], (uint64_t)of_context << 32 | number, __ATOMIC_RELEASE);
}

bool probes_have_stream(uint32_t context, uint32_t stream)
{
	uint32_t count = __atomic_load_n(&stream_count, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < count && i < STREAMS_MAX; i++)
		if (__atomic_load_n(&streams[i], __ATOMIC_ACQUIRE) ==
			((uint64_t)context << 32 | stream))
			return true;
	return false;
}
