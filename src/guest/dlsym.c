// SPDX-License-Identifier: MIT
#include "guest/dlsym.h"

#include <dlfcn.h>
#include <stddef.h>

#if defined(__x86_64__)
#define OLDEST_GLIBC "GLIBC_2.2.5"
#else
#define OLDEST_GLIBC "GLIBC_2.17"
#endif

/* For dlsym_entry.S, which programs other than these libraries do without. */
extern void *(*dlsym_next)(void *, const char *);
void *dlsym_before(void *handle, const char *name);

void *(*dlsym_next)(void *, const char *);

/* At the first use: constructors of other libraries may come before ours. */
static void find_next(void)
{
	void *next;

	if (dlsym_next)
		return;
	next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	*(void **)&dlsym_next = next ? next : dlvsym(RTLD_NEXT, "dlsym", OLDEST_GLIBC);
}

void *dlsym_real(void *handle, const char *name)
{
	find_next();
	return dlsym_next ? dlsym_next(handle, name) : NULL;
}

void *dlsym_before(void *handle, const char *name)
{
	find_next();
	return name ? dlsym_instead(handle, name) : NULL;
}
