// SPDX-License-Identifier: MIT
/*
 * Triton has its compilers in its package, in backends/nvidia/bin beside the folder _C of its
 * library: ptxas, and in versions since 3.4 ptxas-blackwell for GPUs since sm_100 (seen in its
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

#define LIBRARY	  "/_C/libtriton.so"
#define BLACKWELL "ptxas-blackwell"

/* And not this one, as where xpuprof runs xpuprof. */
static bool is_program(const char *path)
{
	struct stat st, own;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK) &&
	       !stat("/proc/self/exe", &own) &&
	       (st.st_dev != own.st_dev || st.st_ino != own.st_ino);
}

/* Of a line of /proc/PID/maps: the folder of Triton's package, or false. */
static bool package_of(char *line, const char **ret)
{
	char *path = strchr(line, '/'), *library = path ? strstr(path, LIBRARY) : NULL;

	if (!library)
		return false;
	*library = 0;
	*ret = path;
	return true;
}

static bool in_package(const char *name, char *path, size_t size)
{
	char maps[64], line[4096];
	const char *package;
	bool found = false;
	FILE *f;

	snprintf(maps, sizeof(maps), "/proc/%d/maps", (int)getppid());
	f = fopen(maps, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		if (package_of(line, &package)) {
			snprintf(path, size, "%s/backends/nvidia/bin/%s", package, name);
			found = is_program(path);
			break;
		}
	if (f)
		fclose(f);
	return found;
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
