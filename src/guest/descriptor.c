// SPDX-License-Identifier: MIT
#include "guest/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIGH_FD 200

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u /* Linux 6.3 */
#endif

/* Where the program's limit is low, in the upper part of what it allows. */
static int least_number(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > HIGH_FD + HIGH_FD / 4)
		return HIGH_FD;
	return (int)(limit.rlim_cur - limit.rlim_cur / 4);
}

/* Linux: expand_fdtable() of a table that threads share calls synchronize_rcu(). */
void descriptor_make_room(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		struct stat st;
		int high;

		/* Closed, a file's locks would be gone. */
		if (fstat(fd, &st) || S_ISREG(st.st_mode))
			continue;
		high = fcntl(fd, F_DUPFD_CLOEXEC, least_number());
		if (high < 0)
			continue;
		close(high);
		return;
	}
}

int descriptor_move_high(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, least_number());

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* Not by a mapping: where memory runs out, that would be a signal. */
static bool write_all(int fd, const char *from, size_t size)
{
	while (size) {
		ssize_t n = write(fd, from, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		from += n;
		size -= (size_t)n;
	}
	return true;
}

int descriptor_of_copy(const char *name, const void *bytes, size_t size)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	if (fd < 0)
		return -1;
	if (write_all(fd, bytes, size) &&
		!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		return fd;
	close(fd);
	return -1;
}
