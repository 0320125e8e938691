// SPDX-License-Identifier: MIT
#include "preload/nvidia/arenas.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/futex.h"
#include "preload/link.h"
#include "preload/nvidia/alone.h"
#include "preload/nvidia/driver.h"

#define CONTEXTS_MAX 1024 /* in the life of a process */
#define LOST_MAX     256  /* contexts without a slot that are told from others */

struct arena arenas[PROBE_ARENAS_MAX];

static const struct probe_plan *plan(void)
{
	return link_to_xpuprof.plan;
}

static _Thread_local unsigned int calling __attribute__((tls_model("initial-exec")));

bool xpuprof_probe_is_calling(void)
{
	return calling;
}

void calls_begin(struct calls *c)
{
	calling++;
	c->mode = CU_RELAXED;
	if (driver.cuThreadExchangeStreamCaptureMode(&c->mode))
		c->mode = CU_RELAXED;
}

void calls_end(struct calls *c)
{
	(void)driver.cuThreadExchangeStreamCaptureMode(&c->mode);
	calling--;
}

static const struct probe_outside *outside(uint32_t i)
{
	return (const struct probe_outside *)link_in_plan(plan()->outsides_at) + i;
}

static uint32_t ring_count(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan()->outside_count; i++)
		count += outside(i)->is_ring != 0;
	return count;
}

bool arena_enter(struct arena *a)
{
	return !driver.cuCtxPushCurrent_v2(a->context);
}

void arena_leave(void)
{
	cu_context ignored;

	(void)driver.cuCtxPopCurrent_v2(&ignored);
}

cu_result arena_copy_to(struct arena *a, cu_address to, const void *from, size_t bytes)
{
	cu_result result = driver.cuMemcpyHtoDAsync_v2(to, from, bytes, a->stream);

	return result ? result : driver.cuStreamSynchronize(a->stream);
}

static uint32_t attribute(cu_device device, int which)
{
	int n = 0;

	return !driver.cuDeviceGetAttribute(&n, which, device) && n > 0 ? (uint32_t)n : 0;
}

static void describe(struct probe_arena *m, cu_device device)
{
	size_t bytes = 0;

	m->sms = attribute(device, CU_MULTIPROCESSORS);
	m->clock_khz = attribute(device, CU_CLOCK_KHZ);
	if (driver.cuDeviceGetName(m->name, sizeof(m->name), device))
		m->name[0] = 0;
	if (driver.cuDeviceTotalMem_v2 && !driver.cuDeviceTotalMem_v2(&bytes, device))
		m->memory_bytes = bytes;
	if (driver.cuDeviceGetUuid_v2)
		(void)driver.cuDeviceGetUuid_v2(m->uuid, device);
	else if (driver.cuDeviceGetUuid)
		(void)driver.cuDeviceGetUuid(m->uuid, device);
}

/* All that are sent are taken, so that the next answer is that to the next question. */
static int receive_maps(struct arena *a)
{
	uint32_t n = 0;
	int error = 0;

	for (uint32_t i = 0; i < plan()->outside_count; i++) {
		int one;

		if (!outside(i)->is_shared)
			continue;
		one = link_receive_map(outside(i)->bytes, &a->maps[n++]);
		error = error ?: one;
	}
	return error;
}

/* The memory that xpuprof has, too. */
static int ask_shared(struct arena *a)
{
	static uint32_t contexts;
	struct probe_arena m = {
		.message = PROBE_ARENA, .device = (uint32_t)a->device, .context = a->id};
	int error;
	void *memory;

	if (contexts++ == CONTEXTS_MAX)
		return -ENOSPC;
	describe(&m, a->device);
	error = link_ask_memory(&m, &memory);
	if (error)
		return error;
	a->shared = memory;
	a->shared->magic = PROBE_MAGIC;
	a->shared->version = PROBE_VERSION;
	return receive_maps(a);
}

/* The next array of the kernel's. */
static cu_result map_shared(
	struct arena *a, const struct probe_outside *o, struct arena_header *header)
{
	void *map = a->maps[a->maps_registered];
	cu_address at = 0;
	cu_result result = driver.cuMemHostRegister_v2(map, o->bytes, CU_DEVICE_MAP);

	if (result)
		return result;
	a->maps_registered++;
	result = driver.cuMemHostGetDevicePointer_v2(&at, map, 0);
	header->addresses[o->address] = at;
	return result;
}

/* Where programs on the GPU find memory of the host. */
static cu_result map_outsides(struct arena *a, struct arena_header *header)
{
	char *shared = (char *)a->shared;
	cu_result result = CU_OK;

	if (plan()->shared_bytes > plan()->outside_at) {
		result = driver.cuMemHostRegister_v2(shared + plan()->outside_at,
			plan()->shared_bytes - plan()->outside_at, CU_DEVICE_MAP);
		a->is_registered = !result;
	}
	for (uint32_t i = 0; !result && i < plan()->outside_count; i++) {
		const struct probe_outside *o = outside(i);
		cu_address at = 0;

		if (o->is_shared) {
			result = map_shared(a, o, header);
			continue;
		}
		result = driver.cuMemHostGetDevicePointer_v2(&at, shared + o->at, 0);
		header->addresses[o->address] = at;
	}
	return result;
}

/* What does not begin as zeros. */
static cu_result copy_initials(struct arena *a)
{
	const struct probe_initial *n = link_in_plan(plan()->initials_at);
	cu_result result = CU_OK;

	for (uint32_t i = 0; !result && i < plan()->initial_count; i++) {
		const void *data = link_in_plan(n[i].data_at);

		if (n[i].is_outside)
			memcpy((char *)a->shared + n[i].at, data, n[i].bytes);
		else
			result = driver.cuMemcpyHtoDAsync_v2(
				a->at + n[i].at, data, n[i].bytes, a->stream);
	}
	return result;
}

static cu_result fill(struct arena *a)
{
	struct arena_header header = {
		.magic = ARENA_MAGIC,
		.version = ARENA_VERSION,
		.map_count = plan()->map_count,
		.size = plan()->arena_bytes,
		.pid_tgid = (uint64_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid),
	};
	cu_result result = map_outsides(a, &header);

	if (!result)
		result = driver.cuMemsetD8Async(a->at, 0, plan()->arena_bytes, a->stream);
	if (!result)
		result = copy_initials(a);
	return result ? result : arena_copy_to(a, a->at, &header, sizeof(header));
}

static void release(struct arena *a)
{
	if (a->shared)
		munmap(a->shared, plan()->shared_bytes);
	if (a->tails)
		munmap(a->tails, ring_count() * ARENA_SMS * 8);
	for (uint32_t i = 0, n = 0; i < plan()->outside_count; i++) {
		if (!outside(i)->is_shared)
			continue;
		if (a->maps[n])
			munmap(a->maps[n], outside(i)->bytes);
		a->maps[n++] = NULL;
	}
	a->shared = NULL;
	a->tails = NULL;
}

/* While its context lives. */
static void free_on_device(struct arena *a)
{
	if (a->at)
		(void)driver.cuMemFree_v2(a->at);
	if (a->is_registered)
		(void)driver.cuMemHostUnregister((char *)a->shared + plan()->outside_at);
	while (a->maps_registered)
		(void)driver.cuMemHostUnregister(a->maps[--a->maps_registered]);
	if (a->stream)
		(void)driver.cuStreamDestroy_v2(a->stream);
	a->at = 0;
	a->stream = NULL;
}

static int make_tails(struct arena *a)
{
	size_t bytes = ring_count() * ARENA_SMS * 8;
	void *at;

	if (!bytes)
		return 0;
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	a->tails = at;
	return 0;
}

static cu_result make_on_device(struct arena *a)
{
	cu_result result = driver.cuStreamCreate(&a->stream, CU_NON_BLOCKING);

	if (!result)
		result = driver.cuMemAlloc_v2(&a->at, plan()->arena_bytes);
	return result ? result : fill(a);
}

/* Where it cannot be made, the context is kept in mind all the same: nothing runs in it. */
static void make(struct arena *a)
{
	char why[64];
	int error = ask_shared(a);
	cu_result result = CU_OK;

	error = error ?: make_tails(a);
	if (!error)
		result = make_on_device(a);
	if (!error && !result)
		return;
	if (!error)
		free_on_device(a);
	if (a->shared)
		__atomic_store_n(&a->shared->ended, 1, __ATOMIC_RELEASE);
	release(a);
	snprintf(why, sizeof(why), result ? "error %d of the driver" : "error %d",
		result ? result : -error);
	link_send_fate(PROBE_FATE_NO_MEMORY, 1, why);
}

/* Whether it is its device's primary context, which programs end in other ways. It lives, so that
 * one more user of it for a moment changes nothing. */
static bool is_primary(const struct arena *a)
{
	unsigned int flags;
	int active = 0;
	cu_context primary = NULL;

	if (driver.cuDevicePrimaryCtxGetState(a->device, &flags, &active) || !active ||
		driver.cuDevicePrimaryCtxRetain(&primary, a->device))
		return false;
	(void)driver.cuDevicePrimaryCtxRelease_v2(a->device);
	return primary == a->context;
}

static struct arena *free_slot(void)
{
	for (uint32_t i = 0; i < PROBE_ARENAS_MAX; i++)
		if (!arenas[i].live && !arenas[i].shared)
			return &arenas[i];
	return NULL;
}

static struct arena *find(cu_context context, unsigned long long id)
{
	for (uint32_t i = 0; i < PROBE_ARENAS_MAX; i++) {
		struct arena *a = &arenas[i];

		if (!a->live || a->context != context)
			continue;
		if (a->id == id)
			return a;
		/* It ended without our notice, and this is another one at its place. */
		arena_is_gone(a);
	}
	return NULL;
}

/* Counts a context for which there is no slot: once, of the latest of them. */
static void lose(cu_context context, unsigned long long id)
{
	static struct {
		cu_context context;
		unsigned long long id;
	} lost[LOST_MAX];
	static uint32_t count;

	for (uint32_t i = 0; i < count && i < LOST_MAX; i++)
		if (lost[i].context == context && lost[i].id == id)
			return;
	lost[count % LOST_MAX].context = context;
	lost[count++ % LOST_MAX].id = id;
	__atomic_fetch_add(&link_to_xpuprof.control->arenas_lost, 1, __ATOMIC_RELAXED);
}

struct arena *arena_here(bool *ret_is_new)
{
	unsigned long long id = 0;
	cu_context context = NULL;
	struct arena *a;

	*ret_is_new = false;
	if (driver.cuCtxGetCurrent(&context) || !context)
		return NULL;
	if (driver.cuCtxGetId)
		(void)driver.cuCtxGetId(context, &id);
	a = find(context, id);
	if (a)
		return a;
	a = free_slot();
	if (!a) {
		lose(context, id);
		return NULL;
	}
	*a = (struct arena){
		.live = true, .slot = (uint32_t)(a - arenas), .context = context, .id = id};
	*ret_is_new = true;
	(void)driver.cuCtxGetDevice(&a->device);
	a->primary = is_primary(a);
	make(a);
	return a;
}

void arena_push_tails(struct arena *a)
{
	const uint64_t *theirs = (const void *)((const char *)a->shared + PROBE_TAILS_AT);
	bool copied = false;

	for (uint32_t i = 0; i < plan()->outside_count; i++) {
		const struct probe_outside *o = outside(i);

		for (uint32_t sm = 0; o->is_ring && sm < ARENA_SMS; sm++) {
			size_t n = o->tails * ARENA_SMS + sm;
			uint64_t tail = __atomic_load_n(&theirs[n], __ATOMIC_ACQUIRE);

			if (tail == a->tails[n])
				continue;
			a->tails[n] = tail;
			copied |= !driver.cuMemcpyHtoDAsync_v2(
				a->at + o->control_at + sm * sizeof(struct arena_ring) +
					offsetof(struct arena_ring, tail),
				&a->tails[n], sizeof(tail), a->stream);
		}
	}
	if (copied)
		(void)driver.cuStreamSynchronize(a->stream);
}

void arena_read(struct arena *a, uint32_t asked)
{
	cu_result result = driver.cuMemcpyDtoHAsync_v2(
		(char *)a->shared + plan()->snapshot_at, a->at, plan()->arena_bytes, a->stream);

	if (!result)
		result = driver.cuStreamSynchronize(a->stream);
	if (result)
		__atomic_fetch_add(&a->shared->failures, 1, __ATOMIC_RELAXED);
	else
		__atomic_store_n(&a->shared->read_ns, now_ns(), __ATOMIC_RELAXED);
	__atomic_store_n(&a->shared->answered, asked, __ATOMIC_RELEASE);
}

void arena_note_switch(struct arena *a, const struct probe_switch *s)
{
	struct probe_shared *shared = a->shared;
	uint32_t n;

	if (!shared)
		return;
	n = __atomic_load_n(&shared->switch_count, __ATOMIC_RELAXED);
	shared->switches[n % PROBE_SWITCHES] = *s;
	__atomic_store_n(&shared->switch_count, n + 1, __ATOMIC_RELEASE);
}

void arena_ends(struct arena *a)
{
	a->live = false;
	if (!a->at || !arena_enter(a))
		return;
	alone_run(a);
	alone_end(a);
	arena_read(a, __atomic_load_n(&link_to_xpuprof.control->asked, __ATOMIC_ACQUIRE));
	arena_leave();
}

void arena_is_gone(struct arena *a)
{
	if (a->shared)
		__atomic_store_n(&a->shared->ended, 1, __ATOMIC_RELEASE);
	release(a);
	a->at = 0;
	a->live = false;
}

void arenas_end(void)
{
	for (uint32_t i = 0; i < PROBE_ARENAS_MAX; i++) {
		struct arena *a = &arenas[i];

		if (!a->live || !a->at)
			continue;
		arena_ends(a);
		__atomic_store_n(&a->shared->ended, 1, __ATOMIC_RELEASE);
	}
}
