// SPDX-License-Identifier: MIT
/*
 * The lines are read from the last to the first, and an address that has found its line is removed.
 * So the work is bounded by lines plus addresses however the lines overlap, and nothing is stored
 * per line. `next` skips the removed addresses, as in union-find.
 */
#include "elf/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/search.h"

int perf_map_open(int root, uint32_t pid, uid_t uid)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char path[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "tmp/perf-%u.map", pid);
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (st.st_uid && st.st_uid != uid)) {
		close(fd);
		return -EACCES;
	}
	return fd;
}

struct line {
	uint64_t start, end;
	const char *name;
	size_t name_length;
};

static const char *parse_hex(const char *p, const char *end, uint64_t *ret)
{
	uint64_t value = 0;
	const char *start;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	for (start = p; p < end && p - start < 16; p++) {
		char c = *p | 0x20;

		if (*p >= '0' && *p <= '9')
			value = value << 4 | (uint64_t)(*p - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	*ret = value;
	return p == start || p == end || *p != ' ' ? NULL : p + 1;
}

static bool parse_line(const char *p, const char *end, struct line *ret)
{
	uint64_t size;

	p = parse_hex(p, end, &ret->start);
	p = p ? parse_hex(p, end, &size) : NULL;
	if (!p || !size)
		return false;
	while (end > p && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	ret->end = ret->start <= UINT64_MAX - size ? ret->start + size : UINT64_MAX;
	ret->name = p;
	ret->name_length = (size_t)(end - p);
	return ret->name_length;
}

static size_t first_at_or_above(const struct perf_map_match *m, size_t count, uint64_t address)
{
	return search_first(i, 0, count, m[i].address >= address);
}

/* The first address from the i-th on that has no line yet. */
static size_t find_next(size_t *next, size_t i)
{
	size_t found = i;

	while (next[found] != found)
		found = next[found];
	while (next[i] != found) {
		size_t after = next[i];

		next[i] = found;
		i = after;
	}
	return found;
}

static void offer(const struct line *l, struct perf_map_match *matches, size_t count, size_t *next)
{
	size_t i = find_next(next, first_at_or_above(matches, count, l->start));

	while (i < count && matches[i].address < l->end) {
		matches[i].name = l->name;
		matches[i].name_length = l->name_length;
		next[i] = i + 1;
		i = find_next(next, i);
	}
}

int perf_map_match(const char *text, size_t size, struct perf_map_match *matches, size_t count)
{
	size_t *next = calloc(count + 1, sizeof(*next));
	const char *end = text + size;

	if (!next)
		return -ENOMEM;
	for (size_t i = 0; i <= count; i++)
		next[i] = i;
	while (end > text && find_next(next, 0) < count) {
		const char *newline = memrchr(text, '\n', (size_t)(end - text));
		const char *start = newline ? newline + 1 : text;
		struct line l;

		if (parse_line(start, end, &l))
			offer(&l, matches, count, next);
		end = newline ? newline : text;
	}
	free(next);
	return 0;
}
