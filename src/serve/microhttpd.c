// SPDX-License-Identifier: MIT
#include "serve/microhttpd.h"

#ifdef MICROHTTPD_SONAME

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"

struct microhttpd mhd;

static int find(void *library, const char *name, void *ret)
{
	void *at = dlsym(library, name);

	if (!at)
		return error_set(
			-ENOSYS, "cannot serve anything: no %s in " MICROHTTPD_SONAME, name);
	memcpy(ret, &at, sizeof(at));
	return 0;
}

/* It stays loaded. */
int microhttpd_load(void)
{
	void *library = dlopen(MICROHTTPD_SONAME, RTLD_NOW | RTLD_LOCAL);
	struct microhttpd found;
	int error = 0;

	if (!library)
		return error_set(-ENOSYS, "cannot serve anything: %s", dlerror());
#define FIND(name) error = error ?: find(library, "MHD_" #name, &found.name);
	MICROHTTPD_FUNCTIONS(FIND)
#undef FIND
	if (!error)
		mhd = found;
	return error;
}

#else

#define LINKED(name) .name = MHD_##name,
struct microhttpd mhd = {MICROHTTPD_FUNCTIONS(LINKED)};
#undef LINKED

int microhttpd_load(void)
{
	return 0;
}

#endif
