// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <string.h>

#include "preload/nvidia/driver.h"
#include "preload/nvidia/hooks.h"

#if defined(__x86_64__)
#define OLDEST_GLIBC "GLIBC_2.2.5"
#else
#define OLDEST_GLIBC "GLIBC_2.17"
#endif

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

/* dlsym.S */
extern void *(*preload_next_dlsym)(void *, const char *);
void *preload_dlsym(void *handle, const char *name);

/* The constructors of other libraries may come before. */
__attribute__((constructor)) static void find_dlsym(void)
{
	void *next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");

	if (!preload_next_dlsym)
		*(void **)&preload_next_dlsym =
			next ? next : dlvsym(RTLD_NEXT, "dlsym", OLDEST_GLIBC);
}

void *real_dlsym(void *handle, const char *name)
{
	if (!preload_next_dlsym)
		find_dlsym();
	return preload_next_dlsym ? preload_next_dlsym(handle, name) : NULL;
}

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
	note_real(hook, real_dlsym(RTLD_NEXT, hooks[hook].name));
	note_real(hook, driver_symbol(hooks[hook].name));
	real = __atomic_load_n(&hooks[hook].real, __ATOMIC_ACQUIRE);
	if (!real && driver_symbol("cuInit"))
		__atomic_store_n(&hooks[hook].absent, true, __ATOMIC_RELAXED);
	return real;
}

/* What dlsym is to return; NULL: what it returns without us. Only real_dlsym is called here, as
 * programs look names up from wherever they are. */
void *preload_dlsym(void *handle, const char *name)
{
	if (!preload_next_dlsym)
		find_dlsym();
	if (!name || name[0] != 'c' || name[1] != 'u')
		return NULL;
	for (int i = 0; i < HOOK_COUNT; i++)
		if (!strcmp(hooks[i].name, name)) {
			void *real = real_dlsym(handle, name);

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
