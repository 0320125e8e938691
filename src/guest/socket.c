// SPDX-License-Identifier: MIT
#include "guest/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest/descriptor.h"
#include "guest/futex.h"

#define NOBODYS_UID 65534 /* of users that a namespace has no number for */

bool socket_is_ours(const struct own_socket *s)
{
	struct stat st;

	return s->fd >= 0 && !fstat(s->fd, &st) && st.st_dev == s->dev && st.st_ino == s->ino;
}

void socket_close(struct own_socket *s)
{
	if (socket_is_ours(s))
		close(s->fd);
	s->fd = -1;
}

int socket_adopt(struct own_socket *s, int fd)
{
	struct stat st = {0};
	int error;

	fd = descriptor_move_high(fd);
	error = fstat(fd, &st) ? -errno : 0;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->fd = fd;
	return error;
}

/* A full backlog gives EAGAIN: the recorder is busy, for a moment. */
static int connect_until(int fd, const char *path, uint64_t deadline_ns)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timespec pause = {.tv_nsec = 5000000};
	size_t size = strlen(path);

	if (size >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, size);
	while (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		if ((errno != EAGAIN && errno != EINTR) || now_ns() >= deadline_ns)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

int socket_wait(int fd, uint64_t deadline_ns)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (;;) {
		uint64_t now = now_ns();
		int n;

		if (now >= deadline_ns)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)((deadline_ns - now) / 1000000) + 1);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

int socket_receive_descriptor(int fd, void *message, size_t size)
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
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct cmsghdr *first = n < 0 ? NULL : CMSG_FIRSTHDR(&m);
	int received;

	if (n < 0)
		return -errno;
	if (!first || first->cmsg_type != SCM_RIGHTS || first->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EPROTO;
	memcpy(&received, CMSG_DATA(first), sizeof(int));
	if ((size_t)n == size)
		return received;
	close(received);
	return -EPROTO;
}

/* Whether users can be without a number here. */
static bool in_user_namespace(void)
{
	char map[256];
	int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, map, sizeof(map) - 1);

	if (fd >= 0)
		close(fd);
	map[n < 0 ? 0 : n] = '\0';
	return n > 0 && !strstr(map, " 4294967295\n");
}

bool socket_may_record(uid_t uid)
{
	return !uid || uid == geteuid() || (uid == NOBODYS_UID && in_user_namespace());
}

static bool is_recorder(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return false;
	return socket_may_record(peer.uid);
}

int socket_connect(int fd, const char *path, uint64_t deadline_ns)
{
	int error = connect_until(fd, path, deadline_ns);

	if (error)
		return error;
	return is_recorder(fd) ? 0 : -EPERM;
}

int socket_send_descriptor(int fd, const void *message, size_t size, int descriptor)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)(uintptr_t)message, size};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
	if (sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size)
		return 0;
	/* ETOOMANYREFS: more descriptors are on their way than the program's user may have open. */
	return errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ETOOMANYREFS
		       ? -EAGAIN
		       : -errno;
}
