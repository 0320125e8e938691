// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <string.h>

#include "guest/dlsym.h"
#include "preload/nvidia/driver.h"
#include "preload/nvidia/hooks.h"

#define SINCE_12 12000 /* from here on this name is the function with five arguments */

static struct {
	const char *name;
	void *ours;
	void *real;  /* changes once */
	bool absent; /* this driver has none */
} hooks[HOOK_COUNT] = {
#define HOOK_ROW(name_) {.name = #name_, .ours = (void *)name_},
	HOOKS(HOOK_ROW)
#undef HOOK_ROW
};

static bool is_ours(const void *function)
{
	for (int i = 0; i < HOOK_COUNT; i++)
		if (hooks[i].ours == function)
			return true;
	return false;
}

/* Never one of ours: it would call itself for ever. */
static void note_real(enum hook hook, void *function)
{
	void *none = NULL;

	if (function && !is_ours(function))
		__atomic_compare_exchange_n(&hooks[hook].real, &none, function, false,
			__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void *hook_real(enum hook hook)
{
	void *real = __atomic_load_n(&hooks[hook].real, __ATOMIC_ACQUIRE);

	if (real || __atomic_load_n(&hooks[hook].absent, __ATOMIC_RELAXED))
		return real;
	note_real(hook, dlsym_real(RTLD_NEXT, hooks[hook].name));
	note_real(hook, driver_symbol(hooks[hook].name));
	real = __atomic_load_n(&hooks[hook].real, __ATOMIC_ACQUIRE);
	if (!real && driver_symbol("cuInit"))
		__atomic_store_n(&hooks[hook].absent, true, __ATOMIC_RELAXED);
	return real;
}

void *dlsym_instead(void *handle, const char *name)
{
	if (name[0] != 'c' || name[1] != 'u')
		return NULL;
	for (int i = 0; i < HOOK_COUNT; i++)
		if (!strcmp(hooks[i].name, name)) {
			void *real = dlsym_real(handle, name);

			note_real((enum hook)i, real);
			return real ? hooks[i].ours : NULL;
		}
	return NULL;
}

/* Whether a symbol without its version can only be this function: "cuCtxDestroy" is
 * cuCtxDestroy_v2, while cuCtxCreate has another form in each version. */
static bool is_named(const char *hook, const char *symbol)
{
	size_t length = strlen(symbol);

	return !strncmp(hook, symbol, length) && (!hook[length] || !strcmp(hook + length, "_v2"));
}

static void *ours_of(const char *symbol, void *function, int version)
{
	enum hook found = HOOK_COUNT;

	for (int i = 0; i < HOOK_COUNT; i++)
		if (hooks[i].ours == function || hook_real((enum hook)i) == function)
			return hooks[i].ours;
	if (!strcmp(symbol, "cuGetProcAddress"))
		found = version >= SINCE_12 ? HOOK_cuGetProcAddress_v2 : HOOK_cuGetProcAddress;
	else if (strcmp(symbol, "cuCtxCreate"))
		for (int i = 0; i < HOOK_COUNT; i++)
			if (is_named(hooks[i].name, symbol))
				found = (enum hook)i;
	if (found == HOOK_COUNT)
		return function;
	note_real(found, function);
	return hooks[found].ours;
}

cu_result cuGetProcAddress(const char *symbol, void **ret, int version, uint64_t flags)
{
	cu_result result = REAL(cuGetProcAddress)(symbol, ret, version, flags);

	if (!result && symbol && ret && *ret)
		*ret = ours_of(symbol, *ret, version);
	return result;
}

cu_result cuGetProcAddress_v2(
	const char *symbol, void **ret, int version, uint64_t flags, int *ret_status)
{
	cu_result result = REAL(cuGetProcAddress_v2)(symbol, ret, version, flags, ret_status);

	if (!result && symbol && ret && *ret)
		*ret = ours_of(symbol, *ret, version);
	return result;
}
