// SPDX-License-Identifier: MIT
#include "sandbox/sandbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sandbox/confine.h"
#include "sandbox/limits.h"
#include "sandbox/memory.h"
#include "sandbox/message.h"
#include "sandbox/opener.h"
#include "sandbox/reader.h"
#include "sandbox/writer.h"

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

/* One that could not give up its rights does nothing but say so. */
static int refuse(int error)
{
	static const int none[MESSAGE_FDS] = {-1, -1};
	struct buf request = BUF_INIT;
	int kind, fds[MESSAGE_FDS];

	if (!sandbox_receive(SANDBOX_SOCKET, &request, REQUEST_BYTES, &kind, fds))
		(void)sandbox_send(SANDBOX_SOCKET, error, NULL, 0, none);
	sandbox_close(fds);
	buf_release(&request);
	return EXIT_FAILURE;
}

static int play(const struct role *role)
{
	int error = role->confine();

	return error ? refuse(error) : role->run(SANDBOX_SOCKET);
}

/* `what`: ":FORMAT:PATH". */
static int play_writer(const char *what)
{
	struct writer *w = NULL;
	int error = confine_loader(), status;

	error = error ?: writer_open(&w, what);
	error = error ?: confine_reader();
	status = error ? refuse(error) : writer_run(w, SANDBOX_SOCKET);
	writer_close(w);
	return status;
}

int sandbox_run(const char *name)
{
	if (!strncmp(name, SANDBOX_WRITER ":", strlen(SANDBOX_WRITER ":")))
		return play_writer(name + strlen(SANDBOX_WRITER));
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (!strcmp(roles[i].name, name))
			return play(&roles[i]);
	return EXIT_FAILURE;
}
