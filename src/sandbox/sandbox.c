// SPDX-License-Identifier: MIT
#include "sandbox/sandbox.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "sandbox/confine.h"
#include "sandbox/opener.h"
#include "sandbox/reader.h"

int sandbox_run(const char *role)
{
	bool opens = !strcmp(role, SANDBOX_OPENER);

	if (!opens && strcmp(role, SANDBOX_READER))
		return EXIT_FAILURE;
	if (opens ? confine_opener() : confine_reader())
		return EXIT_FAILURE;
	return opens ? opener_run(SANDBOX_SOCKET) : reader_run(SANDBOX_SOCKET);
}
