// SPDX-License-Identifier: MIT
/*
 * Streams by their handles, from where they are made. The default stream is each device's own:
 * what waits for it waits for that of the thread's current device, which we do not know.
 */
#include <sys/mman.h>

#include "inject/handles.h"
#include "inject/rocprofiler/rocprofiler.h"

#define STREAMS_MAX    (1u << STREAM_BITS)
#define DEFAULT_STREAM 1u /* numbers: handle 0, and 1 */
#define THREAD_STREAM  2u /* the default stream of each thread: handle 2 */
#define FIRST_MADE     3u

static struct handles by_handle;
static uint32_t *devices; /* by numbers: index of the device plus one; 0: not known */
static uint32_t latest = FIRST_MADE - 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int hip_streams_init(void)
{
	void *memory = mmap(NULL, STREAMS_MAX * sizeof(*devices), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -1;
	devices = memory;
	return handles_init(&by_handle);
}

void hip_streams_made(const void *handle)
{
	pthread_mutex_lock(&lock);
	if (latest + 1 < STREAM_OF_QUEUE)
		handles_put(&by_handle, handle, ++latest, NULL);
	else
		handles_put(&by_handle, handle, 0, NULL);
	pthread_mutex_unlock(&lock);
}

uint32_t hip_streams_number(const void *handle)
{
	switch ((uintptr_t)handle) {
	case 0:
	case 1:
		return DEFAULT_STREAM;
	case 2:
		return THREAD_STREAM;
	default:
		return (uint32_t)handles_get(&by_handle, handle);
	}
}

void hip_streams_on_device(uint32_t number, uint32_t device)
{
	if (number >= FIRST_MADE && number < STREAMS_MAX)
		__atomic_store_n(&devices[number], device + 1, __ATOMIC_RELAXED);
}

uint32_t hip_streams_context(uint32_t number)
{
	uint32_t device;

	if (number < FIRST_MADE || number >= STREAMS_MAX)
		return 0;
	device = __atomic_load_n(&devices[number], __ATOMIC_RELAXED);
	return device ? agents_context(device - 1) : 0;
}
