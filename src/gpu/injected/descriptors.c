// SPDX-License-Identifier: MIT
/*
 * Messages that carry descriptors, and connections that are closed.
 *
 * Who closes a descriptor of a stranger's can be held up. A TCP socket lingers for as long as its
 * owner says. A file system of a user's own (FUSE) need never answer that a file is closed, and
 * then not even SIGKILL helps. So this process receives no descriptors but those of memory (memfd):
 * another one, a reader of the sandbox, receives the message and passes on what is such a memfd. If
 * that is held up, it is left to itself, and the connection ends.
 *
 * To close a connection is to close what waits in its queue. One that carries descriptors stays
 * open until the recorder exits: nothing lingers then, and files that nobody received are not
 * flushed. So does one that held up the other process, which may receive from it until it is dead:
 * who looks at a message has its descriptors, too, and could be the last to let go of them.
 */
#include "gpu/injected/descriptors.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "gpu/injected/instance.h"
#include "sandbox/child.h"
#include "sandbox/limits.h"
#include "sandbox/reader.h"
#include "sandbox/sandbox.h"

/* What is next in the queue of a connection. */
enum head {
	HEAD_NONE,
	HEAD_END,
	HEAD_PLAIN,
	HEAD_CARRIES,
};

struct passed {
	void *message;
	size_t size; /* of which there is room */
	bool done;
	int error;
	size_t came;
	int fd;
};

/* There is room for the sender's identity, which each message has, and for nothing behind it: the
 * kernel then reports that something was cut, and opens nothing. */
static enum head look_at(int socket)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char byte;
	struct iovec part = {&byte, sizeof(byte)};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};

	if (recvmsg(socket, &m, MSG_PEEK | MSG_DONTWAIT) < 0)
		return HEAD_NONE;
	if (m.msg_flags & MSG_CTRUNC)
		return HEAD_CARRIES;
	return m.msg_controllen ? HEAD_PLAIN : HEAD_END;
}

int descriptors_open(struct injected *s, const char *program)
{
	s->receiver = child_new(program, SANDBOX_READER, -1);
	if (!s->receiver)
		return error_memory("the process that receives descriptors");
	return 0;
}

int descriptors_expect(const struct injected *s, int socket)
{
	const int on = 1;

	if (s->receiver && setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		return error_errno(-errno, "cannot see who sends messages");
	return 0;
}

static void on_passed(void *context, uint64_t tag, struct child_reply *reply)
{
	struct passed *p = context;

	p->done = true;
	p->error = reply->error;
	if (p->error)
		return;
	p->came = reply->size < p->size ? reply->size : p->size;
	if (p->came)
		memcpy(p->message, reply->data, p->came);
	p->fd = reply->fd;
	reply->fd = -1;
}

static void on_hello(void *context, uint64_t tag, struct child_reply *reply)
{
}

/* What it takes to begin is nothing that a connection holds up. */
static int greet(struct injected *s)
{
	const struct child_request r = {.kind = REQUEST_HELLO,
		.limit_ns = HELLO_LIMIT_NS,
		.fds = {-1, -1},
		.done = on_hello};

	return child_pid(s->receiver) < 0 ? child_ask(s->receiver, &r) : 0;
}

void descriptors_begin(struct injected *s)
{
	if (s->receiver && !greet(s))
		child_pump(s->receiver);
}

/* The other process's answer to a question about a connection: 0 or -errno. */
static int ask(struct injected *s, uint32_t kind, int socket, struct passed *p)
{
	const struct child_request r = {.kind = kind,
		.limit_ns = PASSED_LIMIT_NS,
		.fds = {socket, -1},
		.done = on_passed,
		.context = p};
	int error = s->held_up < HELD_UP_MAX ? 0 : -EBUSY;

	s->messages_left -= s->messages_left < PASSED_COST ? s->messages_left : PASSED_COST;
	error = error ?: greet(s) ?: child_ask(s->receiver, &r);
	if (!error && !child_wait(s->receiver, &p->done, clock_now_ns() + PASSED_MAX_NS))
		child_drop(s->receiver);
	error = error ?: p->done ? p->error : -ETIME;
	s->held_up += error && error != -EBUSY;
	return error;
}

/* Nothing comes any more: what is there is looked through. */
static bool carries_any(int socket)
{
	enum head head;
	char byte;

	while ((head = look_at(socket)) == HEAD_PLAIN)
		if (recv(socket, &byte, sizeof(byte), MSG_DONTWAIT) < 0)
			return false;
	return head == HEAD_CARRIES;
}

/* The other process may have a copy, so that closing ours would not be enough. */
static void shut(struct injected *s, int socket)
{
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, socket, NULL);
	if (s->receiver)
		shutdown(socket, SHUT_RDWR);
}

static void leave_open(struct injected *s)
{
	if (++s->unclosed == UNCLOSED_MAX)
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->listener, NULL);
}

void descriptors_close(struct injected *s, int socket)
{
	struct passed none = {.fd = -1};

	shut(s, socket);
	if (!s->receiver || !carries_any(socket) ||
		(!ask(s, READER_EMPTY, socket, &none) && !carries_any(socket)))
		close(socket);
	else
		leave_open(s);
}

/* One that holds up who receives it ends the connection. */
static ssize_t receive_passed(struct instance *i, void *message, size_t size, int *ret_fd)
{
	struct passed p = {.message = message, .size = size, .fd = -1};

	if (ask(i->injected, READER_PASSED, i->fd, &p)) {
		record_count_loss(i, LOSS_GPU_DESCRIPTORS, 1);
		shut(i->injected, i->fd);
		leave_open(i->injected);
		i->fd = -1;
		return 0;
	}
	*ret_fd = p.fd;
	return (ssize_t)p.came;
}

ssize_t descriptors_receive(struct instance *i, void *message, size_t size, int *ret_fd)
{
	enum head head = look_at(i->fd);

	*ret_fd = -1;
	if (head == HEAD_CARRIES)
		return receive_passed(i, message, size, ret_fd);
	if (head == HEAD_PLAIN)
		return recv(i->fd, message, size, MSG_DONTWAIT);
	errno = EAGAIN;
	return head == HEAD_END ? 0 : -1;
}
