// SPDX-License-Identifier: MIT
/* A library that leaves /tmp/ran_as_UID, with the id of the user who loads it. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void leave_file(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/ran_as_%u", (unsigned int)geteuid());
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
}
