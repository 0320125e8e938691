// SPDX-License-Identifier: MIT
#include "preload/nvidia/modules.h"

#include "base/vec.h"
#include "guest/futex.h"
#include "preload/link.h"
#include "preload/nvidia/alone.h"
#include "preload/nvidia/arenas.h"
#include "preload/nvidia/driver.h"
#include "preload/nvidia/sanitizer/library.h"
#include "preload/nvidia/sanitizer/patches.h"
#include "preload/nvidia/thread.h"
#include "preload/nvidia/turn.h"
#include "ptx/splice.h"

_Static_assert(PROBE_ARENAS_MAX <= 64, "a module has a bit for each");

struct loaded {
	void *handle;
	bool is_library;
	bool is_code;
	uint64_t first_site;
	uint64_t is_set; /* a bit for the slot of each arena */
};

static struct vec(struct loaded) loaded;
/* Looked at without the lock, in calls that programs make often. */
static uint32_t library_count;

static cu_result variable(const struct loaded *m, const char *name, cu_address *ret, size_t bytes)
{
	size_t found = 0;
	cu_result result;

	if (m->is_library)
		result = driver.cuLibraryGetGlobal
				 ? driver.cuLibraryGetGlobal(ret, &found, m->handle, name)
				 : CU_NOT_FOUND;
	else
		result = driver.cuModuleGetGlobal_v2(ret, &found, m->handle, name);
	return result || found == bytes ? result : CU_NOT_FOUND;
}

static cu_result set_on(const struct loaded *m, struct arena *a, bool is_on)
{
	uint32_t on = is_on;
	cu_address at = 0;
	cu_result result = variable(m, PTX_WORDS, &at, sizeof(struct ptx_words));

	at += offsetof(struct ptx_words, on);
	return result ? result : arena_copy_to(a, at, &on, sizeof(on));
}

/* Where accesses have no place, they use what is behind the others' (ebpf/layout.c). */
static uint64_t sites_of(const struct loaded *m, const struct arena *a)
{
	uint64_t most = link_to_xpuprof.plan->accesses;

	return a->at + (m->first_site < most ? m->first_site : most) * ARENA_SITE_BYTES;
}

/* While programs are off. */
static cu_result set_arena(const struct loaded *m, struct arena *a)
{
	const struct ptx_words words = {.arena = a->at, .sites = sites_of(m, a)};
	cu_address at = 0;
	cu_result result = variable(m, PTX_WORDS, &at, sizeof(words));

	return result ? result : arena_copy_to(a, at, &words, sizeof(words));
}

/* The arena first: programs use it once they are on. */
static void set_words(struct loaded *m, struct arena *a)
{
	cu_result result;

	if (!a->at || m->is_set >> a->slot & 1)
		return;
	m->is_set |= 1ull << a->slot;
	if (m->is_code) {
		patches_apply(a, m->handle, m->is_library);
		return;
	}
	result = set_arena(m, a);
	if (!result && !a->off)
		result = set_on(m, a, true);
	if (result)
		link_send_fate(PROBE_FATE_NO_WORD, (uint64_t)result, NULL);
}

/* The arena of this context, and in it all libraries. */
static struct arena *look_here(void)
{
	bool is_new;
	struct arena *a = arena_here(&is_new);

	if (!a)
		return NULL;
	if (is_new) {
		uint64_t now = now_ns();

		vec_foreach (m, &loaded)
			m->is_set &= ~(1ull << a->slot);
		patches_forget(a);
		a->off = __atomic_load_n(&link_to_xpuprof.control->off, __ATOMIC_ACQUIRE);
		arena_note_switch(a, &(struct probe_switch){now, now, a->off, 0});
	}
	vec_foreach (m, &loaded)
		if (m->is_library)
			set_words(m, a);
	return a;
}

/* In the other contexts that are known. */
static void set_elsewhere(struct loaded *m, const struct arena *here)
{
	for (uint32_t i = 0; i < PROBE_ARENAS_MAX; i++) {
		struct arena *a = &arenas[i];

		if (a == here || !a->live || !a->at || !arena_enter(a))
			continue;
		set_words(m, a);
		arena_leave();
	}
}

static void add(const struct loaded *new)
{
	bool is_library = new->is_library;
	struct arena *here;
	struct loaded *m;

	if (vec_push(&loaded, *new)) {
		link_send_fate(PROBE_FATE_NO_MEMORY, 1, NULL);
		return;
	}
	m = &loaded.items[loaded.count - 1];
	here = look_here();
	if (here)
		set_words(m, here);
	if (is_library) {
		set_elsewhere(m, here);
		__atomic_fetch_add(&library_count, 1, __ATOMIC_RELEASE);
	}
}

static void forget(void *handle)
{
	for (size_t i = 0; i < loaded.count; i++)
		if (loaded.items[i].handle == handle) {
			if (loaded.items[i].is_library)
				__atomic_fetch_sub(&library_count, 1, __ATOMIC_RELEASE);
			loaded.items[i] = loaded.items[--loaded.count];
			break;
		}
}

static void add_locked(const struct loaded *new)
{
	struct calls calls;

	/* What the Sanitizer library loads for us is not the program's, and the lock is ours. */
	if (xpuprof_probe_is_calling())
		return;
	calls_begin(&calls);
	if (!turn_begin()) {
		link_send_fate(new->is_code ? PROBE_FATE_NOT_PATCHED : PROBE_FATE_NO_MEMORY, 1,
			"another thread was busy with programs for too long");
		calls_end(&calls);
		return;
	}
	if (link_is_alive() && (!new->is_code || patches_name(new->handle, new->is_library))) {
		add(new);
		thread_start();
	}
	turn_end();
	calls_end(&calls);
}

void modules_add(void *handle, bool is_library, uint64_t first_site)
{
	add_locked(&(struct loaded){
		.handle = handle, .is_library = is_library, .first_site = first_site});
}

void modules_add_code(void *handle, bool is_library)
{
	add_locked(&(struct loaded){.handle = handle, .is_library = is_library, .is_code = true});
}

void modules_remove(void *handle)
{
	if (!link_is_alive() || xpuprof_probe_is_calling())
		return;
	if (!turn_begin()) {
		turn_leave(forget, handle); /* its number may be another's soon */
		return;
	}
	forget(handle);
	turn_end();
}

void modules_look_here(void)
{
	struct calls calls;

	if (!link_is_alive() || xpuprof_probe_is_calling() ||
		(!__atomic_load_n(&library_count, __ATOMIC_ACQUIRE) && !alone_is_wanted()))
		return;
	calls_begin(&calls);
	if (!turn_begin()) {
		calls_end(&calls);
		return;
	}
	if (link_is_alive() && look_here() && alone_is_wanted()) {
		thread_start();
		/* It has the rest. */
		__atomic_fetch_add(&link_to_xpuprof.control->changes, 1, __ATOMIC_SEQ_CST);
		futex_wake(&link_to_xpuprof.control->changes);
	}
	turn_end();
	calls_end(&calls);
}

void modules_switch(struct arena *a, uint32_t off)
{
	struct probe_switch s = {.from_ns = now_ns(), .off = off};

	a->off = off;
	vec_foreach (m, &loaded)
		if (!m->is_code && m->is_set >> a->slot & 1)
			s.failed |= set_on(m, a, !off) != CU_OK;
	s.failed |= patches_switch(a, off) != CU_OK;
	s.to_ns = now_ns();
	arena_note_switch(a, &s);
}
