// SPDX-License-Identifier: MIT
#include "gpu/variables.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

const char *variable_of(char **environment, const char *name)
{
	size_t size = strlen(name);

	for (char **e = environment ? environment : environ; *e; e++)
		if (!strncmp(*e, name, size) && (*e)[size] == '=')
			return *e + size + 1;
	return "";
}

static bool is_named(const char *path, size_t size, const char *name)
{
	size_t name_size = strlen(name);

	return size >= name_size && !memcmp(path + size - name_size, name, name_size) &&
	       (size == name_size || path[size - name_size - 1] == '/');
}

void variable_list(const char *ours, const char *users, struct buf *list)
{
	const char *slash = strrchr(ours, '/'), *name = slash ? slash + 1 : ours;

	buf_puts(list, ours);
	while (*users) {
		size_t size = strcspn(users, ":");

		if (size && !is_named(users, size, name)) {
			buf_putc(list, ':');
			buf_append(list, users, size);
		}
		users += size + (users[size] == ':');
	}
}
