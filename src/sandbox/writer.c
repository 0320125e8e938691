// SPDX-License-Identifier: MIT
#include "sandbox/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpucode/format.h"
#include "sandbox/limits.h"
#include "sandbox/message.h"

static const int no_fds[MESSAGE_FDS] = {-1, -1};

struct writer {
	const struct gpucode_writer *kind;
	struct gpucode_library *library;
};

int writer_open(struct writer **ret, const char *what)
{
	const struct gpucode_format *format = gpucode_format_of(what + 1);
	const char *path = strchr(what + 1, ':');
	struct writer *w;
	int error;

	if (!format || !format->writer || !path)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->kind = format->writer;
	error = w->kind->load(path + 1, &w->library);
	if (error)
		free(w);
	else
		*ret = w;
	return error;
}

void writer_close(struct writer *w)
{
	if (!w)
		return;
	w->kind->unload(w->library);
	free(w);
}

static int answer(const struct writer *w, int kind, const struct buf *request, struct buf *ret)
{
	if (kind == REQUEST_HELLO)
		return 0;
	return kind == WRITER_TEXT ? w->kind->write(w->library, request->data, request->size, ret)
				   : -EINVAL;
}

int writer_run(struct writer *w, int socket)
{
	struct buf request = BUF_INIT, reply = BUF_INIT;
	int kind, fds[MESSAGE_FDS], result, error = 0;

	while (!error && !(error = sandbox_receive(socket, &request, REQUEST_BYTES, &kind, fds))) {
		sandbox_close(fds);
		buf_reset(&reply);
		result = answer(w, kind, &request, &reply);
		error = sandbox_send(socket, result, reply.data, result ? 0 : reply.size, no_fds);
	}
	buf_release(&request);
	buf_release(&reply);
	return error == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
}
