// SPDX-License-Identifier: MIT
#include "capture/running.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"

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

/* "pid (name) state parent ...": the name may hold anything, also brackets. */
uint32_t running_parent(uint32_t pid)
{
	struct buf stat = BUF_INIT;
	const char *name_end;
	char path[32];
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	name_end = io_read_file(path, 4096, &stat) ? NULL : strrchr(buf_text(&stat), ')');
	if (!name_end || sscanf(name_end, ") %*c %d", &parent) != 1)
		parent = 0;
	buf_release(&stat);
	return (uint32_t)parent;
}
