// SPDX-License-Identifier: MIT
#include "sandbox/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/io.h"

/* That are received, most of them to be closed. A connection may also report its sender. */
#define DESCRIPTORS_MAX 16

void sandbox_close(int fds[MESSAGE_FDS])
{
	for (int i = 0; i < MESSAGE_FDS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

static void keep(int fds[MESSAGE_FDS], int fd)
{
	for (int i = 0; i < MESSAGE_FDS; i++)
		if (fds[i] < 0) {
			fds[i] = fd;
			return;
		}
	close(fd);
}

static void gather_descriptors(struct msghdr *m, int fds[MESSAGE_FDS])
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int came[DESCRIPTORS_MAX];
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
			count > DESCRIPTORS_MAX)
			continue;
		memcpy(came, CMSG_DATA(c), count * sizeof(int));
		for (size_t i = 0; i < count; i++)
			keep(fds, came[i]);
	}
}

long sandbox_receive_bytes(int socket, void *data, size_t size, int fds[MESSAGE_FDS])
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
	struct iovec part = {data, size};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	ssize_t got;

	do
		got = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	gather_descriptors(&m, fds);
	return got;
}

static long send_bytes(int socket, struct msghdr *m)
{
	ssize_t sent;

	do
		sent = sendmsg(socket, m, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : sent;
}

static int send_header(int socket, struct message header, const int fds[MESSAGE_FDS])
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(MESSAGE_FDS * sizeof(int))] = {0};
	struct iovec part = {&header, sizeof(header)};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *c = (struct cmsghdr *)control;
	size_t count = 0;
	long sent;

	for (int i = 0; i < MESSAGE_FDS; i++)
		if (fds[i] >= 0)
			memcpy(CMSG_DATA(c) + sizeof(int) * count++, &fds[i], sizeof(int));
	if (count) {
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
	}
	sent = send_bytes(socket, &m);
	return sent == sizeof(header) ? 0 : sent < 0 ? (int)sent : -EIO;
}

int sandbox_send(int socket, int code, const void *data, size_t size, const int fds[MESSAGE_FDS])
{
	int error =
		send_header(socket, (struct message){.code = code, .size = (uint32_t)size}, fds);
	size_t at = 0;

	while (!error && at < size) {
		struct iovec part = {(char *)data + at, size - at};
		struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
		long sent = send_bytes(socket, &m);

		if (sent <= 0)
			return sent ? (int)sent : -EIO;
		at += (size_t)sent;
	}
	return error;
}

int sandbox_receive(
	int socket, struct buf *data, size_t limit, int *ret_code, int ret_fds[MESSAGE_FDS])
{
	struct message header;
	size_t rest;
	long got;

	for (int i = 0; i < MESSAGE_FDS; i++)
		ret_fds[i] = -1;
	buf_reset(data);
	got = sandbox_receive_bytes(socket, &header, sizeof(header), ret_fds);
	if (got <= 0)
		return got ? (int)got : -EPIPE;
	rest = sizeof(header) - (size_t)got;
	if (io_read_full(socket, (char *)&header + got, rest) != (ssize_t)rest)
		return -EPIPE;
	if (header.size > limit)
		return -EMSGSIZE;
	if (!buf_reserve(data, header.size + 1))
		return -ENOMEM;
	if (io_read_full(socket, data->data, header.size) != (ssize_t)header.size)
		return -EPIPE;
	data->size = header.size;
	*ret_code = header.code;
	return 0;
}
