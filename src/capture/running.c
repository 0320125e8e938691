// SPDX-License-Identifier: MIT
#include "capture/running.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/proc_text.h"

/* For each number that is a name in the folder. */
static int each_number(const char *path, int (*visit)(void *context, uint32_t id), void *context)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int result = 0;

	if (!dir)
		return error_errno(-errno, "cannot read '%s'", path);
	while (!result && (entry = readdir(dir))) {
		unsigned long id = strtoul(entry->d_name, NULL, 10);

		if (id)
			result = visit(context, (uint32_t)id);
	}
	closedir(dir);
	return result;
}

int running_each(int (*visit)(void *context, uint32_t pid), void *context)
{
	return each_number("/proc", visit, context);
}

int running_each_thread(uint32_t pid, int (*visit)(void *context, uint32_t tid), void *context)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return each_number(path, visit, context);
}

uint32_t running_parent(uint32_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(pid, &stat) ? stat.parent : 0;
}

/* The first thread may have ended before the others. */
bool running_is_alive(uint32_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(pid, &stat) && (!strchr("ZX", stat.state) || stat.threads > 1);
}
