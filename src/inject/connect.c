// SPDX-License-Identifier: MIT
/*
 * The socket to the recorder.
 *
 * When it is lost because the program closed its number (socket.h), the ring still works, and the
 * recorder's heartbeat in it shows whether somebody reads.
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

#include "guest/descriptor.h"
#include "inject/library.h"
#include "guest/socket.h"

#define PATIENCE_NS 2000000000ull
#define SILENCE_NS  10000000000ull

static bool is_ours(const struct connection *c)
{
	return socket_is_ours(&c->socket);
}

void connection_close(struct connection *c)
{
	socket_close(&c->socket);
}

int connection_adopt(struct connection *c, int fd)
{
	return socket_adopt(&c->socket, fd);
}

/* The welcome's memfd. */
static int receive_welcome(int fd, int *ret_fd)
{
	struct wire_welcome welcome = {0};
	int memfd = socket_receive_descriptor(fd, &welcome, sizeof(welcome));

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
	fd = socket_receive_descriptor(c->socket.fd, &chunk, sizeof(chunk));
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
	struct pollfd p = {.fd = c->socket.fd, .events = POLLOUT};

	return !is_ours(c) || poll(&p, 1, 0) != 0;
}

int connection_send_image(struct connection *c, const struct wire_image *image, int image_fd)
{
	if (!is_ours(c))
		return -ENOTCONN;
	return socket_send_descriptor(c->socket.fd, image, sizeof(*image), image_fd);
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

static int connect_to_recorder(const struct connection *c, const char *path)
{
	return socket_connect(c->socket.fd, path, now_ns() + PATIENCE_NS);
}

static int shake_hands(const struct connection *c, int *ret_memfd)
{
	struct wire_hello hello = {
		.magic = WIRE_MAGIC, .version = WIRE_VERSION, .pid = (uint32_t)getpid()};
	int error;

	if (send(c->socket.fd, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
		return -errno;
	error = socket_wait(c->socket.fd, now_ns() + PATIENCE_NS);
	return error ?: receive_welcome(c->socket.fd, ret_memfd);
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
	int fd;

	descriptor_make_room();
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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
	n = recv(c->socket.fd, &byte, 1,
		MSG_DONTWAIT | MSG_PEEK); /* should it be the program's after all */
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void connection_send(const struct connection *c, const void *message, size_t size)
{
	if (is_ours(c))
		(void)!send(c->socket.fd, message, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void connection_hurry(const struct connection *c)
{
	uint32_t *fills = &library.ring.control->fills;

	if (__atomic_exchange_n(fills, 1, __ATOMIC_RELAXED) || !is_ours(c))
		return;
	if (send(c->socket.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		__atomic_store_n(fills, 0, __ATOMIC_RELAXED);
}
