// SPDX-License-Identifier: MIT
/*
 * replaced_program pipe|LINK: copies of this program run for a moment each, and are replaced: by a
 * pipe that nobody writes to, or by a link to LINK.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAMS 100

static void run(const char *path)
{
	int in = open("/proc/self/exe", O_RDONLY), out = open(path, O_CREAT | O_WRONLY, 0755);

	if (sendfile(out, in, NULL, 1 << 20) < 0)
		err(1, "%s", path);
	close(out);
	close(in);
	if (!vfork()) {
		execl(path, path, NULL);
		_exit(1);
	}
	wait(NULL);
	unlink(path);
}

int main(int argc, char **argv)
{
	char path[32];

	if (argc < 2)
		while (clock() < CLOCKS_PER_SEC / 1000)
			;
	for (int i = 0; argc > 1 && i < PROGRAMS; i++) {
		snprintf(path, sizeof(path), "program%d", i);
		run(path);
		if (!strcmp(argv[1], "pipe") ? mkfifo(path, 0644) : symlink(argv[1], path))
			err(1, "%s", path);
	}
	return 0;
}
