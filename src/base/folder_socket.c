// SPDX-License-Identifier: MIT
#include "base/folder_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int folder_socket_bind(int fd, int folder_fd, const char *name, uid_t uid, gid_t gid)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int size = snprintf(
		address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder_fd, name);

	if ((size_t)size >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
		fchmodat(folder_fd, name, 0600, 0))
		return -errno;
	if (geteuid() != uid && fchownat(folder_fd, name, uid, gid, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return 0;
}
