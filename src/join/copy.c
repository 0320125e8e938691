// SPDX-License-Identifier: MIT
#include "join/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/door.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u /* Linux 6.3 */
#endif

int copy_library(int from, int to)
{
	struct stat st;
	off_t at = 0;

	if (fstat(from, &st) || st.st_size > DOOR_LIBRARY_MAX)
		return error_set(-EFBIG, "the library is too large");
	while (at < st.st_size) {
		ssize_t n = sendfile(to, from, &at, (size_t)(st.st_size - at));

		if (n <= 0)
			return error_errno(n ? -errno : -EIO, "cannot copy the library into it");
	}
	if (fcntl(to, F_ADD_SEALS, DOOR_LIBRARY_SEALS))
		return error_errno(-errno, "cannot seal the library in it");
	return 0;
}

/* Of the same name as that which a program makes for us (stub.S). */
int copy_make(int from, int *ret)
{
	int fd = memfd_create("xpuprof", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC), error;

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("xpuprof", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return error_errno(-errno, "cannot make a copy of the library");
	error = copy_library(from, fd);
	if (error)
		close(fd);
	else
		*ret = fd;
	return error;
}

uint64_t copy_number(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}
