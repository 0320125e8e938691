// SPDX-License-Identifier: MIT
/*
 * Thread numbers across pid namespaces: a program in a container sees other numbers than we do. The
 * kernel lists both in /proc/PID/task/TID/status:
 *
 *	NSpid:	4711	12		outermost first, the thread's own view last
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "gpu/injected/instance.h"

/* The last number of the NSpid line; 0: no such line. */
static uint32_t innermost(const char *status)
{
	const char *line = strstr(status, "\nNSpid:"), *end;
	uint32_t last = 0;

	if (!line)
		return 0;
	line += strlen("\nNSpid:");
	for (;;) {
		unsigned long number = strtoul(line, (char **)&end, 10);

		if (end == line || *line == '\n')
			return last;
		last = (uint32_t)number;
		line = end;
		if (*line == '\n')
			return last;
	}
}

static bool has_inner_tid(uint32_t pid, const char *tid, uint32_t inner)
{
	struct buf text = BUF_INIT;
	char path[64];
	bool found;

	snprintf(path, sizeof(path), "/proc/%u/task/%.20s/status", pid, tid);
	found = !io_read_file(path, 65536, &text) && innermost(buf_text(&text)) == inner;
	buf_release(&text);
	return found;
}

uint32_t namespace_outer_tid(uint32_t pid, uint32_t inner)
{
	char path[64];
	struct dirent *entry;
	uint32_t outer = 0;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	folder = opendir(path);
	if (!folder)
		return 0;
	while (!outer && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && has_inner_tid(pid, entry->d_name, inner))
			outer = (uint32_t)strtoul(entry->d_name, NULL, 10);
	closedir(folder);
	return outer;
}
