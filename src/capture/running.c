// SPDX-License-Identifier: MIT
#include "capture/running.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/proc_text.h"

int running_each(int (*visit)(void *context, uint32_t pid), void *context)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	int result = 0;

	if (!dir)
		return error_errno(-errno, "cannot read '/proc'");
	while (!result && (entry = readdir(dir))) {
		unsigned long pid = strtoul(entry->d_name, NULL, 10);

		if (pid)
			result = visit(context, (uint32_t)pid);
	}
	closedir(dir);
	return result;
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
