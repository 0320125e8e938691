// SPDX-License-Identifier: MIT
/* swap A B: exchanges the names of two files, links or folders, again and again. */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	if (argc != 3)
		errx(2, "swap A B");
	while (!renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE))
		;
	err(1, "cannot exchange '%s' and '%s'", argv[1], argv[2]);
}
