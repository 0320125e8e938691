// SPDX-License-Identifier: MIT
/*
 * Which libcupti. There is no program here to take it from, so it is looked for where the injected
 * library looks when nothing is mapped yet (src/inject/cupti/find_cupti.c): beside libcuda, by
 * $LD_LIBRARY_PATH, by the loader, in the toolkit, in Python's packages; never newer than the
 * driver. The environment is the program's. As root nothing is loaded from it that somebody else
 * could have changed: a library runs with the rights of who loads it.
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

#define OLDEST_MAJOR 12
#define NEWEST_MAJOR 13 /* tried when the driver does not tell its version */

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

	for (int major = s->major; !found && major >= OLDEST_MAJOR; major--) {
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

	for (int major = s->major; !found && major >= OLDEST_MAJOR; major--) {
		char name[32];

		snprintf(name, sizeof(name), "libcupti.so.%d", major);
		found = try_open(s, name);
	}
	return found;
}

static bool try_places(struct search *s)
{
	static const struct {
		const char *env; /* NULL: the path is whole */
		const char *path;
	} places[] = {
#define TOOLKIT(env, folder)                                                                       \
	{env, folder "/extras/CUPTI/lib64"}, {env, folder "/lib64"}, {env, folder "/lib"},         \
		{env, folder "/targets/*-linux/lib"}
		TOOLKIT("CUDA_HOME", ""),
		TOOLKIT("CUDA_PATH", ""),
		TOOLKIT(NULL, "/usr/local/cuda"),
		TOOLKIT(NULL, "/usr/local/cuda-13"),
		TOOLKIT(NULL, "/usr/local/cuda-12"),
#undef TOOLKIT
		{NULL, "/usr/local/lib/python3*/*-packages/nvidia/*/lib"},
		{NULL, "/usr/lib/python3*/*-packages/nvidia/*/lib"},
		{"VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/lib"},
		{"CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/*/lib"},
		{"CONDA_PREFIX", "/lib"},
		{"HOME", "/.local/lib/python3*/site-packages/nvidia/*/lib"},
	};
	bool found = false;

	for (size_t n = 0; !found && n < sizeof(places) / sizeof(places[0]); n++) {
		const char *folder = places[n].env ? getenv(places[n].env) : "";
		char pattern[PATH_MAX];

		if (folder && (!places[n].env || folder[0] == '/') &&
			(size_t)snprintf(pattern, sizeof(pattern), "%s%s", folder, places[n].path) <
				sizeof(pattern))
			found = try_folders(s, pattern);
	}
	return found;
}

int pm_load(struct pm *ret)
{
	struct search s = {.pm = ret, .major = NEWEST_MAJOR};
	int version = 0;

	*ret = (struct pm){0};
	ret->driver_handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!ret->driver_handle || !load_driver_functions(ret))
		return COUNTERS_NO_DRIVER;
	if (!ret->cuDriverGetVersion(&version) && version > 0)
		s.major = version / 1000;
	if (try_beside_driver(&s) || try_library_path(&s) || try_loader(&s) || try_places(&s))
		return 0;
	return s.refused ? COUNTERS_NOT_OURS : COUNTERS_NO_CUPTI;
}
