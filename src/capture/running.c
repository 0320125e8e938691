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

struct process_stat {
	char state;
	uint32_t parent;
	unsigned int threads;
};

/* "pid (name) state parent ...": the name may hold anything, also brackets. The number of threads
 * is the 20th (proc_pid_stat(5)). False: it is gone. */
static bool read_stat(uint32_t pid, struct process_stat *ret)
{
	struct buf stat = BUF_INIT;
	const char *name_end;
	char path[32];
	bool read;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	name_end = io_read_file(path, 4096, &stat) ? NULL : strrchr(buf_text(&stat), ')');
	read = name_end && sscanf(name_end,
				   ") %c %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
				   "%*s %*s %u",
				   &ret->state, &ret->parent, &ret->threads) == 3;
	buf_release(&stat);
	return read;
}

uint32_t running_parent(uint32_t pid)
{
	struct process_stat stat;

	return read_stat(pid, &stat) ? stat.parent : 0;
}

/* The first thread may have ended before the others. */
bool running_is_alive(uint32_t pid)
{
	struct process_stat stat;

	return read_stat(pid, &stat) && (!strchr("ZX", stat.state) || stat.threads > 1);
}
