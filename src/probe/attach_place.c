// SPDX-License-Identifier: MIT
#include "probe/attach_place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "elf/elf_file.h"

#define FUNCTION_BYTES 512

bool attach_place_is(const char *text)
{
	const char *colon = strrchr(text, ':');

	return colon && colon != text && colon[1];
}

const char *attach_place_of_section(const char *section)
{
	static const char *const kinds[] = {"uprobe/", "uretprobe/", "uprobe.s/", "uretprobe.s/"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const char *place = section + strlen(kinds[i]);

		if (!strncmp(section, kinds[i], strlen(kinds[i])) && strchr(place, '/') &&
			attach_place_is(place))
			return place;
	}
	return NULL;
}

static int open_regular(void *path, int *ret_fd)
{
	struct stat st;

	*ret_fd = io_open_regular(path, &st);
	return *ret_fd < 0 ? *ret_fd : 0;
}

/* As the user, who may name any file. */
static int open_file(const struct user *u, const char *text, size_t length, int *ret_fd)
{
	char path[PATH_MAX];

	if (length >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, text, length);
	path[length] = 0;
	return user_run(u, open_regular, path, sizeof(path), ret_fd);
}

/* "FUNCTION+BYTES"; names of functions have no plus. */
static int read_function(
	const char *text, char ret_name[static FUNCTION_BYTES], uint64_t *ret_offset)
{
	size_t length = strcspn(text, "+");
	char *end = "";

	if (length >= FUNCTION_BYTES)
		return -ENAMETOOLONG;
	memcpy(ret_name, text, length);
	ret_name[length] = 0;
	*ret_offset = text[length] ? strtoul(text + length, &end, 0) : 0;
	return *end ? -EINVAL : 0;
}

static int find_function(int fd, const char *text, uint64_t *ret_offset)
{
	char name[FUNCTION_BYTES];
	struct elf_file *file;
	uint64_t more, start;
	int error = read_function(text, name, &more);
	int copy = error ? -1 : dup(fd);

	if (copy < 0)
		return error ?: -errno;
	error = elf_file_open_fd(&file, copy, name);
	if (error)
		return error;
	error = elf_file_find_function(file, name, &start);
	elf_file_close(file);
	if (!error && __builtin_add_overflow(start, more, ret_offset))
		error = -EINVAL;
	return error;
}

int attach_place_open(struct attach_place *ret, const struct user *u, const char *text)
{
	const char *colon = strrchr(text, ':');
	int error;

	*ret = (struct attach_place){.fd = -1};
	if (!attach_place_is(text))
		return -EINVAL;
	error = open_file(u, text, (size_t)(colon - text), &ret->fd);
	if (error)
		return error;
	snprintf(ret->path, sizeof(ret->path), "/proc/self/fd/%d", ret->fd);
	error = find_function(ret->fd, colon + 1, &ret->offset);
	if (error)
		attach_place_close(ret);
	return error;
}

void attach_place_close(struct attach_place *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}
