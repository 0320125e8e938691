// SPDX-License-Identifier: MIT
/* By hand, as sscanf takes the length of all the text that follows for each line. */
#include "base/proc_text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"

#define STAT_MAX_BYTES	 4096
#define STATUS_MAX_BYTES 65536

struct text {
	const char *at, *end;
};

static unsigned int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	return c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : UINT32_MAX;
}

static bool read_number(struct text *t, unsigned int base, uint64_t *ret)
{
	const char *start = t->at;
	uint64_t value = 0;

	for (; t->at < t->end && digit_of(*t->at) < base; t->at++)
		if (__builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, digit_of(*t->at), &value))
			return false;
	*ret = value;
	return t->at > start;
}

static bool skip(struct text *t, char c)
{
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

static bool skip_fields(struct text *t, unsigned int count)
{
	while (count--) {
		const char *blank = memchr(t->at, ' ', (size_t)(t->end - t->at));

		if (!blank)
			return false;
		t->at = blank + 1;
	}
	return true;
}

/* "pid (name) state parent ...": the name may hold anything, what is behind it no bracket. */
bool proc_stat_parse(const char *text, struct proc_stat *ret)
{
	const char *name_end = strrchr(text, ')');
	struct text t = {name_end, text + strlen(text)};
	struct proc_stat stat;
	uint64_t parent, threads;

	if (!name_end || !skip(&t, ')') || !skip(&t, ' ') || t.at == t.end)
		return false;
	stat.state = *t.at++;
	/* The parent is the 4th field, threads are the 20th, the start is the 22nd. */
	if (!skip(&t, ' ') || !read_number(&t, 10, &parent) || parent > UINT32_MAX ||
		!skip_fields(&t, 16) || !read_number(&t, 10, &threads) || threads > UINT32_MAX ||
		!skip_fields(&t, 2) || !read_number(&t, 10, &stat.start_ticks))
		return false;
	stat.parent = (uint32_t)parent;
	stat.threads = (uint32_t)threads;
	*ret = stat;
	return true;
}

bool proc_stat_read(uint32_t pid, struct proc_stat *ret)
{
	struct buf text = BUF_INIT;
	char path[32];
	bool found;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	found = !io_read_file(path, STAT_MAX_BYTES, &text) && proc_stat_parse(buf_text(&text), ret);
	buf_release(&text);
	return found;
}

/* The numbers of the line that begins with `key`: the first and the last of them. The kernel writes
 * the line ends that are in names otherwise. */
static bool find_numbers(const char *text, const char *key, uint32_t *ret_first, uint32_t *ret_last)
{
	const char *line = strstr(text, key);
	uint64_t number;
	struct text t;
	bool any = false;

	if (!line)
		return false;
	line += strlen(key);
	t = (struct text){line, line + strcspn(line, "\n")};
	for (;;) {
		while (skip(&t, '\t') || skip(&t, ' '))
			;
		if (!read_number(&t, 10, &number) || number > UINT32_MAX)
			return any;
		*ret_last = (uint32_t)number;
		if (!any)
			*ret_first = *ret_last;
		any = true;
	}
}

bool proc_status_parse(const char *text, struct proc_status *ret)
{
	struct proc_status s = {0};
	uint32_t other;

	if (!find_numbers(text, "\nUid:", &s.uid, &other) ||
		!find_numbers(text, "\nGid:", &s.gid, &other))
		return false;
	if (!find_numbers(text, "\nNSpid:", &other, &s.inner_pid))
		s.inner_pid = 0;
	*ret = s;
	return true;
}

bool proc_status_read(uint32_t pid, struct proc_status *ret)
{
	struct buf text = BUF_INIT;
	char path[32];
	bool found;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	found = !io_read_file(path, STATUS_MAX_BYTES, &text) &&
		proc_status_parse(buf_text(&text), ret);
	buf_release(&text);
	return found;
}

uint64_t proc_ticks_ns(uint64_t ticks)
{
	return ticks * (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* "start-end rwxp offset major:minor inode", blanks, the path. */
bool proc_mapping_parse(const char *line, size_t size, struct proc_mapping *ret)
{
	struct text t = {line, line + size};
	struct proc_mapping m;
	uint64_t major, minor;

	if (!read_number(&t, 16, &m.start) || !skip(&t, '-') || !read_number(&t, 16, &m.end) ||
		!skip(&t, ' ') || t.end - t.at < 4)
		return false;
	m.executable = t.at[2] == 'x';
	t.at += 4;
	if (!skip(&t, ' ') || !read_number(&t, 16, &m.offset) || !skip(&t, ' ') ||
		!read_number(&t, 16, &major) || !skip(&t, ':') || !read_number(&t, 16, &minor) ||
		!skip(&t, ' ') || !read_number(&t, 10, &m.inode) || major > UINT32_MAX ||
		minor > UINT32_MAX || m.start >= m.end)
		return false;
	while (skip(&t, ' '))
		;
	m.major = (uint32_t)major;
	m.minor = (uint32_t)minor;
	m.path = t.at;
	m.path_size = (size_t)(t.end - t.at);
	*ret = m;
	return true;
}
