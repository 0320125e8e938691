// SPDX-License-Identifier: MIT
#include "sandbox/sandbox.h"

#include <stdlib.h>
#include <string.h>

#include "sandbox/confine.h"
#include "sandbox/memory.h"
#include "sandbox/opener.h"
#include "sandbox/reader.h"

struct role {
	const char *name;
	int (*confine)(void);
	int (*run)(int socket);
};

static const struct role roles[] = {
	{SANDBOX_OPENER, confine_opener, opener_run},
	{SANDBOX_READER, confine_reader, reader_run},
	{SANDBOX_MEMORY, confine_memory, memory_run},
};

int sandbox_run(const char *name)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (!strcmp(roles[i].name, name))
			return roles[i].confine() ? EXIT_FAILURE : roles[i].run(SANDBOX_SOCKET);
	return EXIT_FAILURE;
}
