// SPDX-License-Identifier: MIT
/* What a recording starts for the files of strangers (sandbox/sandbox.h). */
#include "sandbox/sandbox.h"

#include "cmd/cmd.h"

int cmd_sandbox(int argc, char **argv)
{
	return argc == 2 ? sandbox_run(argv[1]) : EXIT_USAGE;
}
