// SPDX-License-Identifier: MIT
#include "inject/rocprofiler/locations.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEME	  "file://"
#define BYTES_MAX (256ull << 20)

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | (c >= 'A' && c <= 'F' ? 0x20 : 0)) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Up to its end or '#': what follows, or NULL. */
static const char *read_path(const char *at, char *ret, size_t room)
{
	size_t n = 0;

	while (*at && *at != '#') {
		char c = *at++;

		if (c == '%') {
			int high = digit(at[0]), low = high < 0 ? -1 : digit(at[1]);

			if (low < 0 || !(high | low))
				return NULL;
			c = (char)(high << 4 | low);
			at += 2;
		}
		if (n + 1 >= room)
			return NULL;
		ret[n++] = c;
	}
	ret[n] = '\0';
	return at;
}

/* "offset=N" or "size=N": what follows, or NULL. */
static const char *read_part(const char *at, struct location *l)
{
	uint64_t *value = NULL;
	char *end;

	if (!strncmp(at, "offset=", 7)) {
		value = &l->offset;
		at += 7;
	} else if (!strncmp(at, "size=", 5)) {
		value = &l->size;
		at += 5;
	}
	if (!value || *at < '0' || *at > '9')
		return NULL;
	errno = 0;
	*value = strtoull(at, &end, 0);
	return errno ? NULL : end;
}

bool location_parse(const char *uri, struct location *ret)
{
	const char *at;

	ret->offset = ret->size = 0;
	if (strncmp(uri, SCHEME, strlen(SCHEME)))
		return false;
	at = read_path(uri + strlen(SCHEME), ret->path, sizeof(ret->path));
	while (at && *at) {
		if (*at != '#' && *at != '&')
			return false;
		at = read_part(at + 1, ret);
	}
	return at && ret->path[0] == '/';
}

static bool read_all(int fd, const struct location *l, uint8_t *memory)
{
	for (uint64_t at = 0; at < l->size;) {
		ssize_t got = pread(fd, memory + at, l->size - at, (off_t)(l->offset + at));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += (uint64_t)got;
	}
	return true;
}

static void *read_open(int fd, struct location *l)
{
	struct stat s;
	void *memory;

	if (fstat(fd, &s) || !S_ISREG(s.st_mode) || l->offset >= (uint64_t)s.st_size)
		return NULL;
	if (!l->size)
		l->size = (uint64_t)s.st_size - l->offset;
	if (l->size > BYTES_MAX || l->size > (uint64_t)s.st_size - l->offset)
		return NULL;
	memory = mmap(NULL, l->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	if (read_all(fd, l, memory))
		return memory;
	munmap(memory, l->size);
	return NULL;
}

void *location_read(struct location *l)
{
	int fd = open(l->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	void *memory = fd < 0 ? NULL : read_open(fd, l);

	if (fd >= 0)
		close(fd);
	return memory;
}
