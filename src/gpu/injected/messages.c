// SPDX-License-Identifier: MIT
/*
 * What libraries send over the socket once they are welcome: a byte when the ring fills, whose only
 * answer is that the ring is read; and images of GPU code, as sealed memfds.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "gpucode/kept_images.h"
#include "gpu/injected/instance.h"

#define MESSAGES_AT_ONCE 64
#define MESSAGES_AT_END	 8192

/* The descriptor that came with a message; -1: none, or more than one, which are closed. */
static int read_descriptor(struct msghdr *m)
{
	int kept = -1, count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t size = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(int) <= size; at += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			if (count++)
				close(fd);
			else
				kept = fd;
		}
	}
	if (count > 1) {
		close(kept);
		return -1;
	}
	return kept;
}

ssize_t message_receive(int socket, void *message, size_t size, int *ret_fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {message, size};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n >= 0)
		*ret_fd = read_descriptor(&m);
	return n;
}

/* An image that cannot be kept is no error; it is counted when it is missed
 * (symbolize/gpu_code.h). */
static int keep_image(struct instance *i, const struct wire_image *image, int fd)
{
	struct kept_images *images = i->injected->options.images;
	uint32_t module;
	int error;

	if (!images)
		return 0;
	error = stalls_module(i, image->checksum, &module);
	if (error)
		return error;
	(void)kept_images_add(images, module, fd, image->size);
	return 0;
}

static int handle(struct instance *i, const struct wire_image *image, ssize_t size, int fd)
{
	int error = 0;

	if (size == sizeof(*image) && image->magic == WIRE_MAGIC && fd >= 0)
		error = keep_image(i, image, fd);
	if (fd >= 0)
		close(fd);
	return error;
}

/* `limit` at most: a client may go on sending. */
static int receive(struct instance *i, int limit)
{
	struct wire_image image;
	int fd, error = 0;

	for (int count = 0; !error && i->fd >= 0 && count < limit; count++) {
		ssize_t n = message_receive(i->fd, &image, sizeof(image), &fd);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			instance_hang_up(i);
		else
			error = handle(i, &image, n, fd);
	}
	return error;
}

int messages_receive(struct instance *i)
{
	return receive(i, MESSAGES_AT_ONCE);
}

int messages_receive_rest(struct instance *i)
{
	return receive(i, MESSAGES_AT_END);
}
