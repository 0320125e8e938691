// SPDX-License-Identifier: MIT
/*
 * Thread numbers across pid namespaces: a program in a container sees other numbers than we do. The
 * kernel lists both in /proc/PID/task/TID/status:
 *
 *	NSpid:	4711	12		outermost first, the thread's own view last
 *
 * There is no way to ask for a thread by its own number, so all are looked at, each once. A program
 * may name threads that it does not have, and each would be a look at all that it has. So looks
 * take a share of the time (budgets.h); with that spent a thread stays unknown for the moment.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "gpu/injected/instance.h"

#define SEEN_MAX 65536u /* beyond, all is forgotten: threads come and go */

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

void namespace_release(struct thread_numbers *t)
{
	map_release(&t->outer);
	map_release(&t->seen);
}

static int look_at_thread(struct thread_numbers *t, uint32_t pid, uint32_t outer)
{
	struct buf text = BUF_INIT;
	unsigned int depth;
	uint32_t inner = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/status", pid, outer);
	if (!io_read_file(path, 65536, &text))
		inner = innermost(buf_text(&text), &depth);
	buf_release(&text);
	if (map_put(&t->seen, outer, 1) || (inner && map_put(&t->outer, inner, outer)))
		return -ENOMEM;
	return 0;
}

/* Looks at all threads that are new: 0, -EAGAIN when that takes too long, or -ENOMEM. */
static int look_at_all(struct thread_numbers *t, uint32_t pid, uint64_t deadline_ns)
{
	struct dirent *entry;
	char path[32];
	int error = 0;
	DIR *folder;

	if (t->seen.count >= SEEN_MAX)
		namespace_release(t);
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	folder = opendir(path);
	if (!folder)
		return 0;
	while (!error && (entry = readdir(folder))) {
		uint32_t outer = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!outer || map_get(&t->seen, outer))
			continue;
		error = clock_now_ns() < deadline_ns ? look_at_thread(t, pid, outer) : -EAGAIN;
	}
	closedir(folder);
	return error;
}

/* The time that looks may take has grown since the last. */
static void allow_more(struct thread_numbers *t, uint64_t now_ns)
{
	t->left_ns += (int64_t)((now_ns - t->looked_ns) / THREAD_SCAN_SHARE);
	if (t->left_ns > (int64_t)THREAD_SCAN_BURST_NS)
		t->left_ns = (int64_t)THREAD_SCAN_BURST_NS;
	t->looked_ns = now_ns;
}

int namespace_outer_tid(struct thread_numbers *t, uint32_t pid, uint32_t inner, uint32_t *ret_outer)
{
	const uint64_t *outer = map_get(&t->outer, inner);
	uint64_t now_ns;
	int error = 0;

	if (!outer) {
		now_ns = clock_now_ns();
		allow_more(t, now_ns);
		if (t->left_ns <= 0)
			return -EAGAIN;
		error = look_at_all(t, pid, now_ns + THREAD_SCAN_MAX_NS);
		t->left_ns -= (int64_t)(clock_now_ns() - now_ns);
		outer = map_get(&t->outer, inner);
	}
	if (!outer && error)
		return error;
	*ret_outer = outer ? (uint32_t)*outer : 0;
	return 0;
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
