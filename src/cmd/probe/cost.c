// SPDX-License-Identifier: MIT
/*
 * `xpuprof probe --cost`: times of kernels are in recordings, so one is made, of GPU work only, in
 * a file without a name; the report of that is what is printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/probe/probe.h"
#include "record/target.h"

static int make_file(bool as_root)
{
	const char *folder = getenv("TMPDIR");
	struct target_user user;
	int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_create("xpuprof-cost", MFD_CLOEXEC);
	if (fd < 0)
		return error_errno(-errno, "cannot make a file");
	/* It is read with the caller's rights. */
	if (target_user_find(&user, as_root)) {
		close(fd);
		return -EPERM;
	}
	if (user.account.switched && fchown(fd, user.account.uid, user.account.gid)) {
		int error = error_errno(-errno, "cannot make a file of the user's");

		close(fd);
		fd = error;
	}
	target_user_release(&user);
	return fd;
}

int probe_cost(const struct probe_request *r, char **command)
{
	int fd = make_file(r->as_root), status, ends_like = 0, printed;
	char path[64];

	if (fd < 0)
		return cmd_failed();
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	status = cmd_record_probes(&r->programs,
		&(struct record_probes){.output = path,
			.seconds = r->seconds,
			.as_root = r->as_root,
			.only_times = true,
			.ret_wait_status = &ends_like},
		command);
	if (status == EXIT_OK || ends_like) {
		printed = cmd_report_probes(path, r->rows, r->json);
		status = status ?: printed;
	}
	close(fd);
	if (ends_like)
		cmd_end_like(ends_like);
	return status;
}
