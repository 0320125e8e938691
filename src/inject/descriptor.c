// SPDX-License-Identifier: MIT
#include "inject/descriptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIGH_FD 200

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
