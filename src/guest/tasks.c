// SPDX-License-Identifier: MIT
#include "guest/tasks.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

bool task_read(pid_t tid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n > 0;
}
