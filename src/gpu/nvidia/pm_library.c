// SPDX-License-Identifier: MIT
/*
 * Which libcupti. No program runs here that might have one mapped, so we look where the injected
 * library looks when nothing is mapped yet (src/inject/cupti/find_cupti.c): beside libcuda, by
 * $LD_LIBRARY_PATH, by the loader, in the toolkit, in Python's packages; never newer than the
 * driver. The environment is the program's (counter_process.h). With more rights than the program's
 * user has, only trusted files are loaded from what it names, by the path that was checked: a
 * library runs with the rights of the process that loads it. What the loader finds by name is then
 * what root has told it: its own environment is empty.
 */
#include "gpu/nvidia/pm_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/trust.h"
#include "gpu/nvidia/counter_messages.h"
#include "gpu/nvidia/counter_process.h"
#include "vendor/nvidia/cupti_paths.h"
#include "vendor/nvidia/libraries.h"

struct search {
	struct pm *pm;
	int major;	   /* of the driver's CUDA */
	bool only_trusted; /* we have rights */
	bool refused;	   /* one was found that may not be loaded */
};

static bool load_driver_functions(struct pm *pm)
{
#define LOOK_UP(name, parameters)                                                                  \
	*(void **)&pm->name = dlsym(pm->driver_handle, #name);                                     \
	if (!pm->name)                                                                             \
		return false;
	PM_DRIVER_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
	return true;
}

static bool load_functions(struct pm *pm)
{
#define LOOK_UP(name, parameters)                                                                  \
	*(void **)&pm->name = dlsym(pm->handle, "cupti" #name);                                    \
	if (!pm->name)                                                                             \
		return false;
	PM_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
	return true;
}

/* A variable of the program's. */
static const char *variable(const char *name)
{
	char prefixed[64];

	snprintf(prefixed, sizeof(prefixed), COUNTER_SEARCH_PREFIX "%s", name);
	return getenv(prefixed);
}

static bool try_open(struct search *s, const char *name)
{
	struct pm *pm = s->pm;

	pm->handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
	if (pm->handle && load_functions(pm))
		return true;
	if (pm->handle)
		dlclose(pm->handle);
	pm->handle = NULL;
	return false;
}

/* Calls `open` with the path to load, if this may be loaded. */
static bool try_file(
	struct search *s, const char *path, bool (*open)(struct search *s, const char *path))
{
	struct buf full = BUF_INIT;
	bool found = false;

	if (access(path, R_OK))
		return false;
	if (!s->only_trusted)
		return open(s, path);
	if (!trust_file(path, &full))
		found = open(s, buf_text(&full));
	else
		s->refused = true;
	buf_release(&full);
	return found;
}

/* `pattern` may name several folders. The newest that the driver allows comes first. */
static bool try_folders(struct search *s, const char *pattern)
{
	bool found = false;

	for (int major = s->major; !found && major >= CUPTI_OLDEST; major--) {
		char name[PATH_MAX];
		glob_t files;

		if ((size_t)snprintf(name, sizeof(name), "%s/libcupti.so.%d", pattern, major) >=
				sizeof(name) ||
			glob(name, 0, NULL, &files))
			continue;
		for (size_t n = 0; !found && n < files.gl_pathc; n++)
			found = try_file(s, files.gl_pathv[n], try_open);
		globfree(&files);
	}
	return found;
}

static bool try_beside_driver(struct search *s)
{
	struct link_map *map;
	char folder[PATH_MAX];
	char *slash;

	if (dlinfo(s->pm->driver_handle, RTLD_DI_LINKMAP, &map))
		return false;
	snprintf(folder, sizeof(folder), "%s", map->l_name);
	slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return try_folders(s, folder);
}

/* Calls `try` with each folder of $LD_LIBRARY_PATH until one has what is searched for. */
static bool try_library_path(struct search *s, bool (*try)(struct search *s, const char *folder))
{
	const char *path = variable("LD_LIBRARY_PATH");
	char *copy = path ? strdup(path) : NULL, *rest = copy, *folder;
	bool found = false;

	while (!found && rest && (folder = strsep(&rest, ":")))
		found = folder[0] == '/' && try(s, folder);
	free(copy);
	return found;
}

static bool try_loader(struct search *s)
{
	bool found = false;

	for (int major = s->major; !found && major >= CUPTI_OLDEST; major--) {
		char name[32];

		snprintf(name, sizeof(name), "libcupti.so.%d", major);
		found = try_open(s, name);
	}
	return found;
}

static bool try_below(struct search *s, const struct cupti_path *path)
{
	const char *base = path->env ? variable(path->env) : "";
	bool found = false;

	if (!base || (path->env && base[0] != '/'))
		return false;
	for (const char *const *folder = path->folders; !found && *folder; folder++) {
		char pattern[PATH_MAX];

		if ((size_t)snprintf(pattern, sizeof(pattern), "%s%s%s", base, path->path,
			    *folder) < sizeof(pattern))
			found = try_folders(s, pattern);
	}
	return found;
}

static bool try_paths(struct search *s, const struct cupti_path *paths)
{
	bool found = false;

	for (; !found && paths->what; paths++)
		found = try_below(s, paths);
	return found;
}

static bool try_open_driver(struct search *s, const char *name)
{
	s->pm->driver_handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	return s->pm->driver_handle;
}

static bool try_driver_in(struct search *s, const char *folder)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/" NVIDIA_DRIVER_SONAME, folder) >=
		sizeof(path))
		return false;
	return try_file(s, path, try_open_driver);
}

/* Where the loader finds it in the program. */
static bool load_driver(struct search *s)
{
	return (try_library_path(s, try_driver_in) || try_open_driver(s, NVIDIA_DRIVER_SONAME)) &&
	       load_driver_functions(s->pm);
}

int pm_load(struct pm *ret)
{
	struct search s = {.pm = ret, .major = CUPTI_NEWEST, .only_trusted = trust_is_due()};
	int version = 0;

	*ret = (struct pm){0};
	if (!load_driver(&s))
		return s.refused ? COUNTERS_NOT_TRUSTED : COUNTERS_NO_DRIVER;
	if (!ret->cuDriverGetVersion(&version) && version > 0)
		s.major = version / 1000;
	if (try_beside_driver(&s) || try_library_path(&s, try_folders) || try_loader(&s) ||
		try_paths(&s, cupti_toolkit_paths) || try_paths(&s, cupti_package_paths))
		return 0;
	return s.refused ? COUNTERS_NOT_TRUSTED : COUNTERS_NO_CUPTI;
}
