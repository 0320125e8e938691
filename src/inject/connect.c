// SPDX-License-Identifier: MIT
/*
 * The socket to the recorder.
 *
 * It moves to a high number at once, since programs use low ones, and it is closed on exec. A
 * program may still close every descriptor it did not open, and get the same number again for
 * something of its own: device and inode are compared before each use. When the socket is lost that
 * way the ring still works, and the recorder's heartbeat in it shows whether somebody reads.
 *
 * The recorder may be gone, and its folder in /tmp another user's by now. So whoever listens there
 * has to be root or our own user.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "inject/library.h"

#define PATIENCE_NS 2000000000ull
#define NOBODYS_UID 65534 /* of users that a namespace has no number for */
#define HIGH_FD	    200
#define SILENCE_NS  10000000000ull

static bool is_ours(const struct connection *c)
{
	struct stat st;

	return c->fd >= 0 && !fstat(c->fd, &st) && st.st_dev == c->dev && st.st_ino == c->ino;
}

void connection_close(struct connection *c)
{
	if (is_ours(c))
		close(c->fd);
	c->fd = -1;
}

int connection_adopt(struct connection *c, int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD), error;
	struct stat st = {0};

	if (high >= 0) {
		close(fd);
		fd = high;
	}
	error = fstat(fd, &st) ? -errno : 0;
	c->dev = st.st_dev;
	c->ino = st.st_ino;
	c->fd = fd;
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

static int wait_readable(int fd, uint64_t deadline_ns)
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

/* A message of just this size with one descriptor: that, or -errno. */
static int receive_descriptor(int fd, void *message, size_t size)
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

/* The welcome's memfd. */
static int receive_welcome(int fd, int *ret_fd)
{
	struct wire_welcome welcome = {0};
	int memfd = receive_descriptor(fd, &welcome, sizeof(welcome));

	if (memfd < 0)
		return memfd;
	if (welcome.magic == WIRE_MAGIC && welcome.version == WIRE_VERSION) {
		*ret_fd = memfd;
		return 0;
	}
	close(memfd);
	return -EPROTO;
}

int connection_receive_chunk(struct connection *c, uint32_t *ret_index)
{
	struct wire_chunk chunk = {0};
	int fd;

	if (!is_ours(c))
		return -ENOTCONN;
	fd = receive_descriptor(c->fd, &chunk, sizeof(chunk));
	if (fd < 0)
		return fd;
	if (chunk.magic == WIRE_MAGIC) {
		*ret_index = chunk.index;
		return fd;
	}
	close(fd);
	return -EPROTO;
}

bool connection_has_room(const struct connection *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLOUT};

	return !is_ours(c) || poll(&p, 1, 0) != 0;
}

int connection_send_image(struct connection *c, const struct wire_image *image, int image_fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)(uintptr_t)image, sizeof(*image)};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};

	if (!is_ours(c))
		return -ENOTCONN;
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &image_fd, sizeof(int));
	if (sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(*image))
		return 0;
	/* ETOOMANYREFS: more descriptors are on their way than the program's user may have open. */
	return errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ETOOMANYREFS
		       ? -EAGAIN
		       : -errno;
}

static int map_ring(int memfd, void **ret_memory, uint32_t *ret_slots)
{
	struct wire_control *control;
	struct stat st;
	size_t size;

	if (fstat(memfd, &st))
		return -errno;
	size = (size_t)st.st_size;
	if (size < ring_bytes(WIRE_MIN_SLOTS))
		return -EPROTO;
	control = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (control == MAP_FAILED)
		return -errno;
	if (control->magic != WIRE_MAGIC || ring_bytes(control->slots) != size ||
		(control->slots & (control->slots - 1))) {
		munmap(control, size);
		return -EPROTO;
	}
	/* A child has no business with it; the guard keeps it from looking. */
	madvise(control, size, MADV_DONTFORK);
	*ret_memory = control;
	*ret_slots = control->slots;
	return 0;
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

static bool is_recorder(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return false;
	return !peer.uid || peer.uid == geteuid() ||
	       (peer.uid == NOBODYS_UID && in_user_namespace());
}

static int connect_to_recorder(const struct connection *c, const char *path)
{
	int error = connect_until(c->fd, path, now_ns() + PATIENCE_NS);

	if (error)
		return error;
	return is_recorder(c->fd) ? 0 : -EPERM;
}

static int shake_hands(const struct connection *c, int *ret_memfd)
{
	struct wire_hello hello = {
		.magic = WIRE_MAGIC, .version = WIRE_VERSION, .pid = (uint32_t)getpid()};
	int error;

	if (send(c->fd, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
		return -errno;
	error = wait_readable(c->fd, now_ns() + PATIENCE_NS);
	return error ?: receive_welcome(c->fd, ret_memfd);
}

/* `path` is NULL where the socket is connected. */
static int open_socket(
	struct connection *c, int fd, const char *path, void **ret_memory, uint32_t *ret_slots)
{
	int error = connection_adopt(c, fd), memfd = -1;

	if (!error && path)
		error = connect_to_recorder(c, path);
	error = error ?: shake_hands(c, &memfd);
	if (!error) {
		error = map_ring(memfd, ret_memory, ret_slots);
		close(memfd);
	}
	if (error)
		connection_close(c);
	return error;
}

int connection_open(struct connection *c, const char *path, void **ret_memory, uint32_t *ret_slots)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : open_socket(c, fd, path, ret_memory, ret_slots);
}

int connection_open_pair(struct connection *c, int fd, void **ret_memory, uint32_t *ret_slots)
{
	return open_socket(c, fd, NULL, ret_memory, ret_slots);
}

void connection_release_ring(void)
{
	if (library.ring.control)
		munmap(library.ring.control, ring_bytes(library.ring.mask + 1));
	library.ring = (struct ring){0};
}

/* Without a socket: the heartbeat has not changed for long. */
static bool is_silent(struct connection *c)
{
	uint32_t beat = __atomic_load_n(&library.ring.control->heartbeat, __ATOMIC_RELAXED);
	uint64_t now = now_ns();

	if (!c->beat_ns || beat != c->beat) {
		c->beat = beat;
		c->beat_ns = now;
	}
	return now - c->beat_ns > SILENCE_NS;
}

bool connection_lost(struct connection *c)
{
	char byte;
	ssize_t n;

	if (!is_ours(c))
		return is_silent(c);
	n = recv(c->fd, &byte, 1,
		MSG_DONTWAIT | MSG_PEEK); /* should it be the program's after all */
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void connection_send(const struct connection *c, const void *message, size_t size)
{
	if (is_ours(c))
		(void)!send(c->fd, message, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void connection_hurry(const struct connection *c)
{
	uint32_t *fills = &library.ring.control->fills;

	if (__atomic_exchange_n(fills, 1, __ATOMIC_RELAXED) || !is_ours(c))
		return;
	if (send(c->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		__atomic_store_n(fills, 0, __ATOMIC_RELAXED);
}
