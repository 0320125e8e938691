// SPDX-License-Identifier: MIT
/*
 * PyTorch brings a ptxas for Triton in some of its packages, in the folder bin of its own, and
 * names it in the variable unless that is set. Else Triton has its compilers in its package: ptxas,
 * and in versions since 3.4 ptxas-blackwell for GPUs since sm_100 (seen in its
 * python/triton/knobs.py). It runs them as its children.
 */
#include "preload/nvidia/ptxas/theirs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/probe.h"

#define BLACKWELL "ptxas-blackwell"

/* Where a package has its compilers, by a library of it that our parent has loaded. */
static const struct {
	const char *library, *folder;
} packages[] = {
	{"/lib/libtorch_python.so", "bin"}, {"/_C/libtriton.so", "backends/nvidia/bin"},
	{"/_C/libtriton.so", "third_party/cuda/bin"}, /* before 3.0 */
};

/* And not this one, as where xpuprof runs xpuprof. */
static bool is_program(const char *path)
{
	struct stat st, own;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK) &&
	       !stat("/proc/self/exe", &own) &&
	       (st.st_dev != own.st_dev || st.st_ino != own.st_ino);
}

/* Of a line of /proc/PID/maps: the folder of the package that has this library, or false. */
static bool package_of(const char *line, const char *library, char *package, size_t size)
{
	const char *path = strchr(line, '/'), *end = path ? strstr(path, library) : NULL;

	if (!end)
		return false;
	snprintf(package, size, "%.*s", (int)(end - path), path);
	return true;
}

static bool find_package(const char *library, char *package, size_t size)
{
	char maps[64], line[4096];
	bool found = false;
	FILE *f;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", (int)getppid());
	f = fopen(maps, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = package_of(line, library, package, size);
	if (f)
		fclose(f);
	return found;
}

static bool in_package(const char *name, char *path, size_t size)
{
	char package[4096];

	for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++) {
		if (!find_package(packages[i].library, package, sizeof(package)))
			continue;
		snprintf(path, size, "%s/%s/%s", package, packages[i].folder, name);
		if (is_program(path))
			return true;
	}
	return false;
}

static bool in_path(const char *name, char *path, size_t size)
{
	const char *folders = getenv("PATH");

	while (folders && *folders) {
		size_t length = strcspn(folders, ":");

		snprintf(path, size, "%.*s/%s", (int)length, folders, name);
		if (length && is_program(path))
			return true;
		folders += length + (folders[length] == ':');
	}
	snprintf(path, size, "/usr/local/cuda/bin/%s", name);
	return is_program(path);
}

const char *theirs_find(const char *own_name, char *path, size_t size)
{
	bool blackwell = strstr(own_name, BLACKWELL);
	const char *named = getenv(blackwell ? PROBE_ENV_SECOND_COMPILER : PROBE_ENV_COMPILER);

	if (named && *named && is_program(named))
		return named;
	if (blackwell && in_package(BLACKWELL, path, size))
		return path;
	return in_package("ptxas", path, size) || in_path("ptxas", path, size) ? path : NULL;
}
