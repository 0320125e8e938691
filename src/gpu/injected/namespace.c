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

/* The last number of the NSpid line, and how many there are; 0: no such line. */
static uint32_t innermost(const char *status, unsigned int *ret_depth)
{
	const char *line = strstr(status, "\nNSpid:"), *end;
	uint32_t last = 0;

	if (!line)
		return 0;
	line += strlen("\nNSpid:");
	*ret_depth = 0;
	for (;;) {
		unsigned long number = strtoul(line, (char **)&end, 10);

		if (end == line || *line == '\n')
			return last;
		last = (uint32_t)number;
		++*ret_depth;
		line = end;
		if (*line == '\n')
			return last;
	}
}

static bool has_inner_tid(uint32_t pid, const char *tid, uint32_t inner)
{
	struct buf text = BUF_INIT;
	char path[64];
	unsigned int depth;
	bool found;

	snprintf(path, sizeof(path), "/proc/%u/task/%.20s/status", pid, tid);
	found = !io_read_file(path, 65536, &text) && innermost(buf_text(&text), &depth) == inner;
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

bool namespace_inner_pid(uint32_t pid, uint32_t *ret_inner, bool *ret_namespaced)
{
	struct buf text = BUF_INIT;
	unsigned int depth = 1;
	char path[32];
	bool found;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	found = !io_read_file(path, 65536, &text);
	*ret_inner = found ? innermost(buf_text(&text), &depth) : 0;
	*ret_inner = *ret_inner ? *ret_inner : pid;
	*ret_namespaced = depth > 1;
	buf_release(&text);
	return found;
}
