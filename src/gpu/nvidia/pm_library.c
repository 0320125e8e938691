// SPDX-License-Identifier: MIT
/*
 * Which libcupti. No program runs here that might have one mapped, so we look where the injected
 * library looks when nothing is mapped yet (src/inject/cupti/find_cupti.c): beside libcuda, by
 * $LD_LIBRARY_PATH, by the loader, in the toolkit, in Python's packages; never newer than the
 * driver. The environment is the program's. As root, only a library that nobody else could have
 * changed is loaded from it: a library runs with the rights of the process that loads it.
 */
#include "gpu/nvidia/pm_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/nvidia/counter_messages.h"
#include "vendor/nvidia/cupti_paths.h"
#include "vendor/nvidia/libraries.h"

struct search {
	struct pm *pm;
	int major;    /* of the driver's CUDA */
	bool refused; /* one was found that may not be loaded */
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

static bool is_safe(const char *path)
{
	struct stat st;

	if (stat(path, &st) || st.st_uid || st.st_mode & S_IWOTH)
		return false;
	return !st.st_gid || !(st.st_mode & S_IWGRP);
}

/* Whether nobody but root can have put it there. */
static bool may_load(const char *path)
{
	char full[PATH_MAX];
	char *slash;

	if (geteuid())
		return true;
	if (!realpath(path, full) || !is_safe(full))
		return false;
	slash = strrchr(full, '/');
	slash[slash == full] = '\0';
	return is_safe(full);
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

static bool try_file(struct search *s, const char *path)
{
	if (access(path, R_OK))
		return false;
	if (!may_load(path)) {
		s->refused = true;
		return false;
	}
	return try_open(s, path);
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
			found = try_file(s, files.gl_pathv[n]);
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

static bool try_library_path(struct search *s)
{
	const char *path = getenv("LD_LIBRARY_PATH");
	char *copy = path ? strdup(path) : NULL, *rest = copy, *folder;
	bool found = false;

	while (!found && rest && (folder = strsep(&rest, ":")))
		found = folder[0] == '/' && try_folders(s, folder);
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
	const char *base = path->env ? getenv(path->env) : "";
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

int pm_load(struct pm *ret)
{
	struct search s = {.pm = ret, .major = CUPTI_NEWEST};
	int version = 0;

	*ret = (struct pm){0};
	ret->driver_handle = dlopen(NVIDIA_DRIVER_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!ret->driver_handle || !load_driver_functions(ret))
		return COUNTERS_NO_DRIVER;
	if (!ret->cuDriverGetVersion(&version) && version > 0)
		s.major = version / 1000;
	if (try_beside_driver(&s) || try_library_path(&s) || try_loader(&s) ||
		try_paths(&s, cupti_toolkit_paths) || try_paths(&s, cupti_package_paths))
		return 0;
	return s.refused ? COUNTERS_NOT_OURS : COUNTERS_NO_CUPTI;
}
