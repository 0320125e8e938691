// SPDX-License-Identifier: MIT
/*
 * What libraries send over the socket once they are welcome: a byte when the ring fills, whose only
 * answer is that the ring is read; images of GPU code, as sealed memfds; and how much they have
 * written to the ring.
 *
 * A descriptor that came with a message is closed in every case, whatever the message is.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "gpucode/kept_images.h"
#include "gpu/injected/descriptors.h"
#include "gpu/injected/instance.h"

#define SENT_MAX    (1ull << 48) /* positions of slots, see ring.h */
#define MISSING_MAX (1ull << 32) /* records in one message */

union message {
	struct wire_image image;
	struct wire_sent sent;
};

/* The descriptor that came with a message; -1: none, or more than one, which are closed. Those that
 * there was no room for the kernel has closed. */
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
	if (kept >= 0 && (count > 1 || m->msg_flags & MSG_CTRUNC)) {
		close(kept);
		return -1;
	}
	return kept;
}

static ssize_t receive_here(int socket, void *message, size_t size, int *ret_fd)
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

	*ret_fd = n < 0 ? -1 : read_descriptor(&m);
	return n;
}

ssize_t message_receive(struct instance *i, void *message, size_t size, int *ret_fd)
{
	return i->injected->receiver ? descriptors_receive(i, message, size, ret_fd)
				     : receive_here(i->fd, message, size, ret_fd);
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
	error = stalls_module(i, 0, image->checksum, &module);
	if (!error && module)
		(void)kept_images_add(images, module, fd, image->size);
	return error;
}

/* The greatest numbers count. Those that go far beyond what a ring can have taken mean nothing. */
static void note_sent(struct instance *i, const struct wire_sent *m)
{
	if (m->sent > i->sent && m->sent <= SENT_MAX)
		i->sent = m->sent;
	if (m->missing <= i->missing || m->missing - i->missing > MISSING_MAX)
		return;
	record_count_loss(i, LOSS_GPU_RING_REPLACED, m->missing - i->missing);
	i->missing = m->missing;
}

static int handle(struct instance *i, const union message *m, ssize_t size, int fd)
{
	if (size == sizeof(m->sent) && m->sent.magic == WIRE_MAGIC)
		note_sent(i, &m->sent);
	if (size == sizeof(m->image) && m->image.magic == WIRE_MAGIC && fd >= 0)
		return keep_image(i, &m->image, fd);
	return 0;
}

/* Of a message without a byte it is not known whether it was one, or the end: the same for us. True
 * when nothing is left. */
static bool receive_one(struct instance *i, int *ret_error)
{
	union message m;
	int fd;
	ssize_t n = message_receive(i, &m, sizeof(m), &fd);
	bool wait = n < 0 && (errno == EAGAIN || errno == EINTR);

	*ret_error = n > 0 ? handle(i, &m, n, fd) : 0;
	if (fd >= 0)
		close(fd);
	if (n <= 0 && !wait)
		instance_hang_up(i);
	return n <= 0;
}

/* `limit` at most, since a client may go on sending. True when nothing is left. */
static bool receive(struct instance *i, unsigned int limit, unsigned int *ret_count, int *ret_error)
{
	struct injected *s = i->injected;
	bool done = i->fd < 0;
	unsigned int count = 0;

	*ret_error = 0;
	for (; !done && !*ret_error && count < limit && s->messages_left; count++) {
		s->messages_left--;
		done = receive_one(i, ret_error);
	}
	*ret_count = count;
	return done;
}

int messages_receive(struct instance *i)
{
	unsigned int count;
	int error;

	receive(i, MESSAGES_IN_TURN, &count, &error);
	return error;
}

int messages_receive_rest(struct instance *i)
{
	unsigned int count;
	int error;
	bool done = receive(i, MESSAGES_AT_END - i->messages_at_end, &count, &error);

	i->messages_at_end += count;
	i->messages_done = done || i->messages_at_end == MESSAGES_AT_END;
	return error;
}
