// SPDX-License-Identifier: MIT
#include "preload/nvidia/sanitizer/patches.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "preload/link.h"
#include "preload/nvidia/arenas.h"
#include "preload/nvidia/driver.h"
#include "preload/nvidia/probes.h"
#include "preload/nvidia/sanitizer/library.h"
#include "preload/nvidia/unprobed.h"
#include "ptx/patch.h"

#define KERNELS_MAX   65536u /* of a module */
#define UNPATCHED_MAX 4096u  /* of a module that are sent */
#define WORD_BYTES    256    /* before the records: whether programs run */

/* What a context has. */
struct patching {
	bool is_begun;
	cu_address at; /* of its memory; 0: there are no patches in it */
	uint32_t used; /* records, with the first, which is for kernels without programs */
};

static struct patching patchings[PROBE_ARENAS_MAX];

/* A kernel of a module. Names are the driver's, and live as long as the kernel. */
struct named {
	void *kernel;	  /* a library's, or the function of a module */
	const char *name; /* NULL: it is not known */
	uint64_t bodies[PTX_PATCH_BODIES / 64];
	int count; /* of the programs that are for it */
};

struct named_list {
	struct vec(struct named) items;
	uint32_t meant; /* that programs are for */
};

static struct ptx_patches made;

static void make_patches(void)
{
	if (ptx_patches_make(probes(), &made))
		made = (struct ptx_patches){.text = BUF_INIT};
}

static const struct ptx_patches *patches(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_patches);
	return &made;
}

bool patches_are_possible(void)
{
	return sanitizer_is_wanted() && patches()->text.size;
}

/* Whether each program that is for a kernel can be one of its patches. */
static bool are_all_possible(void)
{
	for (size_t i = 0; i < probes()->body_count; i++)
		if (i >= PTX_PATCH_BODIES || !(patches()->bodies[i / 64] >> i % 64 & 1))
			return false;
	return true;
}

static void send_failure(const char *what, const char *why)
{
	char text[PROBE_TEXT_MAX];

	snprintf(text, sizeof(text), "%s: %s", what, why);
	link_send_fate(PROBE_FATE_NOT_PATCHED, 1, text);
}

static void send_error(const char *what, cu_result result)
{
	char why[64];

	snprintf(why, sizeof(why), "error %d of the driver", result);
	send_failure(what, why);
}

/* Why these run without programs has been sent. */
static void send_unpatched(const struct named_list *l)
{
	uint32_t sent = 0;

	vec_foreach (n, &l->items)
		if (n->count && sent++ < UNPATCHED_MAX)
			unprobed_send_name(n->name, PROBE_FATE_NOT_PATCHED, NULL);
	if (l->meant > UNPATCHED_MAX)
		link_send_fate(PROBE_FATE_NO_NAMES, 1, NULL);
}

static bool can_list(bool is_library)
{
	return is_library ? driver.cuLibraryGetKernelCount && driver.cuLibraryEnumerateKernels &&
				    driver.cuKernelGetName && driver.cuKernelGetFunction
			  : driver.cuModuleGetFunctionCount && driver.cuModuleEnumerateFunctions &&
				    driver.cuFuncGetName;
}

static cu_result list(void *handle, bool is_library, void **ret, unsigned int count)
{
	return is_library ? driver.cuLibraryEnumerateKernels(ret, count, handle)
			  : driver.cuModuleEnumerateFunctions(ret, count, handle);
}

static cu_result count_of(void *handle, bool is_library, unsigned int *ret)
{
	return is_library ? driver.cuLibraryGetKernelCount(ret, handle)
			  : driver.cuModuleGetFunctionCount(ret, handle);
}

static const char *name_of(void *kernel, bool is_library)
{
	const char *name = NULL;
	cu_result result = is_library ? driver.cuKernelGetName(&name, kernel)
				      : driver.cuFuncGetName(&name, kernel);

	return result ? NULL : name;
}

/* Programs that cannot be patches may be for it all the same: with `tells`, it is sent then. False:
 * memory is short. */
static bool choose(struct named_list *l, void *kernel, bool is_library, bool tells)
{
	struct named n = {.kernel = kernel};

	if (!kernel)
		return true;
	n.name = name_of(kernel, is_library);
	if (n.name)
		n.count = ptx_patches_for(patches(), probes(), n.name, n.bodies);
	if (n.name && !n.count && tells)
		unprobed_send_meant(n.name, PROBE_FATE_NO_TEXT);
	l->meant += n.count > 0;
	return n.count >= 0 && !vec_push(&l->items, n);
}

static void send_unlisted(const char *why)
{
	send_failure("its kernels cannot be listed", why);
	link_send_fate(PROBE_FATE_NO_NAMES, 1, NULL);
}

/* The kernels of it. The first time what has no program is sent. */
static void find_named(struct named_list *l, void *handle, bool is_library, bool is_first)
{
	bool tells = is_first && !are_all_possible(), fits = true;
	unsigned int count = 0;
	char why[64];
	cu_result result;
	void **all;

	if (!can_list(is_library)) {
		send_unlisted("the driver is older than CUDA 12.4");
		return;
	}
	result = count_of(handle, is_library, &count);
	if (!result && !count)
		return;
	if (!result && count > KERNELS_MAX) {
		send_unlisted("they are too many");
		return;
	}
	all = result ? NULL : calloc(count, sizeof(*all));
	if (all)
		result = list(handle, is_library, all, count);
	snprintf(why, sizeof(why), "error %d of the driver", result);
	if (result || !all)
		send_unlisted(result ? why : "memory is short");
	for (unsigned int i = 0; all && !result && fits && i < count; i++)
		fits = choose(l, all[i], is_library, tells);
	if (!fits)
		send_unlisted("memory is short");
	free(all);
}

bool patches_name(void *handle, bool is_library)
{
	struct named_list l = {0};
	bool any;

	if (!patches_are_possible())
		return false;
	find_named(&l, handle, is_library, true);
	any = l.meant;
	vec_release(&l.items);
	return any;
}

void patches_forget(const struct arena *a)
{
	patchings[a->slot] = (struct patching){0};
}

/* The first 4 bytes of the context's memory. */
static cu_result set_on(struct arena *a, const struct patching *p, uint32_t off)
{
	uint32_t on = !off;

	return arena_copy_to(a, p->at, &on, sizeof(on));
}

cu_result patches_switch(struct arena *a, uint32_t off)
{
	const struct patching *p = &patchings[a->slot];

	return p->at ? set_on(a, p, off) : CU_OK;
}

static uint32_t capability(const struct arena *a)
{
	int major = 0, minor = 0;

	if (driver.cuDeviceGetAttribute(&major, CU_CAPABILITY_MAJOR, a->device) ||
		driver.cuDeviceGetAttribute(&minor, CU_CAPABILITY_MINOR, a->device))
		return 0;
	return (uint32_t)(major * 10 + minor);
}

/* Code for this GPU, or else for the latest before it that is compatible: of its generation. NULL:
 * there is none. */
static const void *code_for(uint32_t sm)
{
	const struct probe_plan *plan = link_to_xpuprof.plan;
	const struct probe_patches *all = link_in_plan(plan->patches_at), *best = NULL;

	for (uint32_t i = 0; i < plan->patch_count; i++)
		if (all[i].sm / 10 == sm / 10 && all[i].sm <= sm && (!best || all[i].sm > best->sm))
			best = &all[i];
	return best ? link_in_plan(best->at) : NULL;
}

static bool add_patches(struct arena *a)
{
	const void *code = code_for(capability(a));
	const char *why = "NVIDIA's assembler made none for this GPU";
	int result = code ? sanitizer.AddPatches(code, a->context) : SANITIZER_ACCEPTED;

	if (result)
		why = sanitizer_result(result);
	if (!code || result)
		send_failure("the programs are not taken as patches", why);
	return code && !result;
}

static cu_address record_at(const struct patching *p, uint32_t number)
{
	return p->at + WORD_BYTES + number * sizeof(struct ptx_patched);
}

static cu_result make_first_record(struct arena *a, struct patching *p)
{
	struct ptx_patched none = {.arena = a->at, .on = p->at};

	p->used = 1;
	return arena_copy_to(a, record_at(p, 0), &none, sizeof(none));
}

/* Once for each context. */
static bool begin(struct arena *a)
{
	struct patching *p = &patchings[a->slot];
	const char *why = sanitizer_failure();
	cu_result result;

	if (p->is_begun)
		return p->at;
	p->is_begun = true;
	if (why) {
		send_failure("NVIDIA's Sanitizer library", why);
		return false;
	}
	result = driver.cuMemAlloc_v2(
		&p->at, WORD_BYTES + (size_t)PATCH_RECORDS * sizeof(struct ptx_patched));
	if (!result)
		result = set_on(a, p, a->off);
	if (!result)
		result = make_first_record(a, p);
	if (result)
		send_error("memory for patches", result);
	else if (add_patches(a))
		return true;
	if (p->at)
		(void)driver.cuMemFree_v2(p->at);
	p->at = 0;
	return false;
}

static bool any_at(const struct named_list *l, enum ptx_site from, enum ptx_site to)
{
	const struct ptx_probes *all = probes();

	vec_foreach (n, &l->items)
		for (size_t i = 0; i < all->body_count; i++)
			if (n->bodies[i / 64] >> i % 64 & 1 && all->bodies[i].site >= from &&
				all->bodies[i].site <= to)
				return true;
	return false;
}

static int patch_module(cu_module module, const struct named_list *l)
{
	static const struct {
		enum ptx_site from, to;
		enum sanitizer_instruction instruction;
		const char *name;
	} places[] = {
		{PTX_AT_ENTRY, PTX_AT_ENTRY, SANITIZER_BLOCK_ENTER, PTX_PATCH_ENTRY},
		{PTX_AT_EXIT, PTX_AT_EXIT, SANITIZER_BLOCK_EXIT, PTX_PATCH_EXIT},
		{PTX_AT_LOAD, PTX_AT_ACCESS, SANITIZER_GLOBAL_ACCESS, PTX_PATCH_ACCESS},
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int result = any_at(l, places[i].from, places[i].to)
				     ? sanitizer.PatchInstructions(
					       places[i].instruction, module, places[i].name)
				     : SANITIZER_ACCEPTED;

		if (result)
			return result;
	}
	return sanitizer.PatchModule(module);
}

static void send_kernel(const struct named *n, uint64_t hash)
{
	struct probe_kernel m = {
		.message = PROBE_KERNEL, .bodies = (uint32_t)n->count, .hash = hash};

	strncpy(m.name, n->name, sizeof(m.name) - 1);
	link_send(&m, sizeof(m));
}

/* In graphs the patches of a kernel whose data were never set are called with an address of no
 * meaning (CUDA 13.0): all kernels of the module have data. */
static const char *give_first_record(const struct arena *a, void *f)
{
	int result = sanitizer.SetCallbackData(
		f, (const void *)(uintptr_t)record_at(&patchings[a->slot], 0));

	return result ? sanitizer_result(result) : NULL;
}

/* Gives the kernel a record, with which its patches are called: NULL or why not. */
static const char *give_record(struct arena *a, cu_module module, const struct named *n, void *f)
{
	struct patching *p = &patchings[a->slot];
	struct ptx_patched record = {.arena = a->at,
		.on = p->at,
		.kernel = ptx_kernel_hash(0, n->name, strlen(n->name))};
	cu_address at = record_at(p, p->used);
	uint64_t size;
	int result;

	if (p->used == PATCH_RECORDS)
		return "there were too many in this context";
	/* Where it is not known, numbers of accesses count from 0. */
	if (sanitizer.GetFunctionPcAndSize(module, n->name, &record.pc, &size))
		record.pc = 0;
	memcpy(record.bodies, n->bodies, sizeof(record.bodies));
	if (arena_copy_to(a, at, &record, sizeof(record)))
		return "its record could not be copied to the GPU";
	result = sanitizer.SetCallbackData(f, (const void *)(uintptr_t)at);
	if (result)
		return sanitizer_result(result);
	p->used++;
	send_kernel(n, record.kernel);
	return NULL;
}

static cu_result function_of(const struct named *n, bool is_library, void **ret)
{
	*ret = n->kernel;
	return is_library ? driver.cuKernelGetFunction(ret, n->kernel) : CU_OK;
}

/* Whether programs run in it. */
static bool give_data(struct arena *a, cu_module module, const struct named *n, bool is_library)
{
	const char *what = n->name ? n->name : "a kernel without a name", *why = NULL;
	void *function = NULL;
	cu_result result = function_of(n, is_library, &function);

	if (!result)
		why = n->count ? give_record(a, module, n, function)
			       : give_first_record(a, function);
	if (result)
		send_error(what, result);
	else if (why)
		send_failure(what, why);
	if ((result || why) && n->count)
		unprobed_send_name(n->name, PROBE_FATE_NOT_PATCHED, NULL);
	return !result && !why && n->count;
}

static void patch(struct arena *a, void *handle, bool is_library, const struct named_list *l)
{
	cu_module module = handle;
	cu_result result = CU_OK;
	uint64_t count = 0;
	int refused;

	if (is_library)
		result = driver.cuLibraryGetModule ? driver.cuLibraryGetModule(&module, handle)
						   : CU_NOT_FOUND;
	if (result) {
		send_error("the module of a library", result);
		send_unpatched(l);
		return;
	}
	refused = patch_module(module, l);
	if (refused) {
		send_failure("a module cannot be patched", sanitizer_result(refused));
		send_unpatched(l);
		return;
	}
	vec_foreach (n, &l->items)
		count += give_data(a, module, n, is_library);
	link_send_fate(PROBE_FATE_PATCHED, count, NULL);
}

void patches_apply(struct arena *a, void *handle, bool is_library)
{
	const struct patching *p = &patchings[a->slot];
	struct named_list l = {0};

	if (!a->at)
		return;
	find_named(&l, handle, is_library, false);
	/* Why there are none has been sent. */
	if (l.meant && p->is_begun && !p->at)
		link_send_fate(PROBE_FATE_NOT_PATCHED, 1, NULL);
	if (l.meant && begin(a))
		patch(a, handle, is_library, &l);
	else
		send_unpatched(&l);
	vec_release(&l.items);
}
