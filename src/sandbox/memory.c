// SPDX-License-Identifier: MIT
#include "sandbox/memory.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "python/code_reader.h"
#include "python/layout.h"
#include "sandbox/limits.h"
#include "sandbox/message.h"
#include "sandbox/sleepers.h"

_Static_assert(sizeof(struct memory_request) + PYTHON_REQUEST_BYTES <= REQUEST_BYTES,
	"a request for code has room");
_Static_assert(sizeof(struct memory_request) + sizeof(struct sleepers_request) +
			       SLEEPERS_MAX * sizeof(struct sleeper_place) <=
		       REQUEST_BYTES,
	"a request for threads has room");

#define YAMA "/proc/sys/kernel/yama/ptrace_scope"

static const int no_fds[MESSAGE_FDS] = {-1, -1};

static bool may_read_all(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	return !syscall(SYS_capget, &header, data) && data[0].effective >> CAP_SYS_PTRACE & 1;
}

/* 0: processes of the same user; 1: descendants; 2: none without the capability; 3: none. */
bool memory_can_be_read_apart(void)
{
	struct buf scope = BUF_INIT;
	bool restricted = !io_read_file(YAMA, 16, &scope) && atoi(buf_text(&scope)) > 0;

	buf_release(&scope);
	return !restricted || may_read_all();
}

static int find(const struct python_memory *m, const void *request, size_t size, struct buf *reply)
{
	struct memory_found found = {0};
	struct memory_place place;

	if (size != sizeof(place))
		return -EINVAL;
	memcpy(&place, request, sizeof(place));
	found.found = python_find(m, &place.file, place.bias, &found.python);
	buf_append(reply, &found, sizeof(found));
	return reply->failed ? -ENOMEM : 0;
}

int memory_read(int kind, const void *request, size_t size, struct buf *reply)
{
	struct memory_request r;
	struct python_memory m;
	const void *rest = (const char *)request + sizeof(r);

	if (size < sizeof(r))
		return -EINVAL;
	memcpy(&r, request, sizeof(r));
	m = python_memory_of(r.pid);
	if (kind == MEMORY_FIND)
		return find(&m, rest, size - sizeof(r), reply);
	if (kind == MEMORY_SLEEPERS)
		return sleepers_read(&m, rest, size - sizeof(r), reply);
	return kind == MEMORY_CODE ? python_code_read(&m, rest, size - sizeof(r), reply) : -EINVAL;
}

bool memory_found_is_sound(const struct memory_found *f)
{
	const struct walk_python *p = &f->python;

	if (f->found < PYTHON_FOUND || f->found > PYTHON_UNSUPPORTED)
		return false;
	if (f->found != PYTHON_FOUND)
		return true;
	return p->layout > WALK_PYTHON_NONE && p->layout <= WALK_PYTHON_CURRENT &&
	       python_lines_of(p->version) && !(p->frame_size & 7) && p->frame_size &&
	       p->frame_size < 8 * WALK_PYTHON_WORDS && !(p->frame_first & 7) &&
	       (p->frame_at_size == 4 || p->frame_at_size == 8) && p->tsd_shift < 16 &&
	       p->free_threaded <= 1;
}

int memory_run(int socket)
{
	struct buf request = BUF_INIT, reply = BUF_INIT;
	int kind, fds[MESSAGE_FDS], result, error = 0;

	while (!error && !(error = sandbox_receive(socket, &request, REQUEST_BYTES, &kind, fds))) {
		sandbox_close(fds);
		buf_reset(&reply);
		result = kind == REQUEST_HELLO
				 ? 0
				 : memory_read(kind, request.data, request.size, &reply);
		error = sandbox_send(socket, result, reply.data, result ? 0 : reply.size, no_fds);
	}
	buf_release(&request);
	buf_release(&reply);
	return error == -EPIPE ? EXIT_SUCCESS : EXIT_FAILURE;
}
