// SPDX-License-Identifier: MIT
/*
 * Which libcupti. CUPTI must be the one copy in the process, fit the CUDA runtime and not be newer
 * than the driver. A program can bring its own in several ways. They are tried in this order:
 *
 *	1. the one that is mapped already (PyTorch links to it); if that does not fit, none
 *	2. beside the driver's libcuda.so.1 (a distribution's packages, the simulated driver)
 *	3. beside the process's libcudart, or where a toolkit or pip puts it relative to that
 *	4. in the nvidia/ folder of the Python packages some mapped library comes from
 *	5. what the loader finds by name
 *	6. the toolkit: $CUDA_HOME, $CUDA_PATH, /usr/local/cuda
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "inject/cupti/cupti.h"
#include "inject/library.h"
#include "vendor/nvidia/cupti_paths.h"
#include "vendor/nvidia/libraries.h"

struct location {
	char path[1024];
};

/* What is mapped: file paths, empty when not. */
struct mapped {
	struct location cupti;
	struct location cuda;
	struct location cudart;
	struct location python; /* ends in "-packages" */
};

static void keep(struct location *p, const char *path, size_t size)
{
	if (p->path[0] || size >= sizeof(p->path))
		return;
	memcpy(p->path, path, size);
	p->path[size] = 0;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static int note_mapped(struct dl_phdr_info *info, size_t size, void *context)
{
	struct mapped *m = context;
	const char *path = info->dlpi_name, *slash = path ? strrchr(path, '/') : NULL, *packages;

	if (!slash)
		return 0;
	if (starts_with(slash, "/libcupti.so"))
		keep(&m->cupti, path, strlen(path));
	else if (starts_with(slash, "/libcuda.so"))
		keep(&m->cuda, path, strlen(path));
	else if (starts_with(slash, "/libcudart.so") || starts_with(slash, "/libcudart-"))
		keep(&m->cudart, path, strlen(path));
	packages = strstr(path, "-packages/");
	if (packages)
		keep(&m->python, path, (size_t)(packages - path) + strlen("-packages"));
	return 0;
}

/* Looks up every function of the tables: false when one that we need is missing. */
static bool load_functions(struct cupti *c)
{
#define REQUIRED(name, parameters)                                                                 \
	*(void **)&c->name = dlsym(c->handle, "cupti" #name);                                      \
	if (!c->name)                                                                              \
		return false;
#define OPTIONAL(name, parameters) *(void **)&c->name = dlsym(c->handle, "cupti" #name);
	CUPTI_FUNCTIONS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
	return true;
}

static void load_driver(struct cuda_driver *d, const char *path)
{
	void *handle = dlopen(path[0] ? path : NVIDIA_DRIVER_SONAME, RTLD_LAZY | RTLD_NOLOAD);
	int version = 0;

	*d = (struct cuda_driver){0};
	if (!handle)
		return;
	d->handle = handle;
#define OPTIONAL(name, parameters) *(void **)&d->name = dlsym(handle, #name);
	CUDA_FUNCTIONS(OPTIONAL)
#undef OPTIONAL
	if (d->cuDriverGetVersion && !d->cuDriverGetVersion(&version) && version > 0)
		d->version = (uint32_t)version;
}

/* Not newer than the driver, compared by major version, as CUDA defines compatibility. */
static bool fits(struct cupti *c, const struct cuda_driver *d)
{
	uint32_t major;

	if (!load_functions(c) || c->GetVersion(&c->api_version))
		return false;
	major = cupti_cuda_major(c->api_version);
	return major >= CUPTI_OLDEST && (!d->version || major <= d->version / 1000);
}

static void note_path(struct cupti *c, const char *name)
{
	char full[PATH_MAX];

	snprintf(c->path, sizeof(c->path), "%s", realpath(name, full) ? full : name);
}

static bool try_open(struct cupti *c, const struct cuda_driver *d, const char *name, int more_flags)
{
	Dl_info info;

	c->handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL | more_flags);
	if (!c->handle)
		return false;
	if (!fits(c, d)) {
		dlclose(c->handle);
		c->handle = NULL;
		return false;
	}
	if (dladdr((void *)c->GetVersion, &info) && info.dli_fname)
		note_path(c, info.dli_fname);
	return true;
}

/* By soname, the newest that the driver allows first. `folder` NULL: the loader's folders. */
static bool try_folder(struct cupti *c, const struct cuda_driver *d, const char *folder)
{
	uint32_t major = d->version ? d->version / 1000 : CUPTI_NEWEST;
	char path[1200];

	for (; major >= CUPTI_OLDEST; major--) {
		snprintf(path, sizeof(path), "%s%slibcupti.so.%u", folder ? folder : "",
			folder ? "/" : "", major);
		if ((!folder || !access(path, R_OK)) && try_open(c, d, path, 0))
			return true;
	}
	snprintf(path, sizeof(path), "%s%slibcupti.so", folder ? folder : "", folder ? "/" : "");
	return (!folder || !access(path, R_OK)) && try_open(c, d, path, 0);
}

/* Each of the NULL-terminated `relative` folders under (or beside) `base`. */
static bool try_relative(struct cupti *c, const struct cuda_driver *d, const char *base,
	const char *const relative[])
{
	char folder[1100];

	for (; base && base[0] && *relative; relative++) {
		snprintf(folder, sizeof(folder), "%s%s", base, *relative);
		if (try_folder(c, d, folder))
			return true;
	}
	return false;
}

/* Cuts the file name off. */
static const char *folder_of(struct location *p)
{
	char *slash = strrchr(p->path, '/');

	if (slash)
		*slash = 0;
	return p->path;
}

/* A toolkit's location is a folder from the environment, or a path. */
static bool try_toolkits(struct cupti *c, const struct cuda_driver *d)
{
	for (const struct cupti_path *p = cupti_toolkit_paths; p->what; p++)
		if (try_relative(c, d, p->env ? getenv(p->env) : p->path, p->folders))
			return true;
	return false;
}

static bool find(struct cupti *c, const struct cuda_driver *d, struct mapped *m)
{
	return try_relative(c, d, folder_of(&m->cuda), cupti_itself) ||
	       try_relative(c, d, folder_of(&m->cudart), cupti_runtime_folders) ||
	       try_relative(c, d, m->python.path, cupti_package_folders) ||
	       try_folder(c, d, NULL) || try_toolkits(c, d);
}

int find_cupti(struct cupti *ret, struct cuda_driver *ret_driver)
{
	struct mapped m = {0};

	dl_iterate_phdr(note_mapped, &m);
	load_driver(ret_driver, m.cuda.path);
	ret->was_there = m.cupti.path[0];
	if (ret->was_there)
		return try_open(ret, ret_driver, m.cupti.path, RTLD_NOLOAD) ? 0 : -ENOENT;
	return find(ret, ret_driver, &m) ? 0 : -ENOENT;
}
