/* SPDX-License-Identifier: MIT */
/*
 * A client of the NVIDIA backend that says what libraries say, and what they never should, for
 * tests.
 */
#pragma once

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "gpu_recorder.h"
#include "wire/ring.h"

struct client {
	int fd;
	int memfd;
	struct ring ring;
	size_t bytes;
};

static inline int connect_to(const struct test_recorder *r)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, r->socket_path, sizeof(r->socket_path));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -errno;
	}
	return fd;
}

static inline void say_hello(int fd, uint32_t magic, uint32_t version)
{
	struct wire_hello hello = {.magic = magic, .version = version, .pid = (uint32_t)getpid()};

	send(fd, &hello, sizeof(hello), MSG_NOSIGNAL);
}

/* The memfd of the welcome; -1 for a refusal, -2 for a hang-up. */
static inline int receive_memfd(int fd, struct wire_welcome *ret)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {ret, sizeof(*ret)};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *first;
	int memfd;

	if (recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
		return -2;
	first = CMSG_FIRSTHDR(&m);
	if (!first)
		return -1;
	memcpy(&memfd, CMSG_DATA(first), sizeof(memfd));
	return memfd;
}

static inline bool join(struct client *c, struct test_recorder *r)
{
	struct wire_welcome welcome;
	struct stat st;
	void *memory;

	c->fd = connect_to(r);
	say_hello(c->fd, WIRE_MAGIC, WIRE_VERSION);
	test_recorder_pump(r);
	c->memfd = receive_memfd(c->fd, &welcome);
	if (c->memfd < 0 || fstat(c->memfd, &st))
		return false;
	c->bytes = (size_t)st.st_size;
	memory = mmap(NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->memfd, 0);
	c->ring = ring_at(memory, ((struct wire_control *)memory)->slots);
	c->ring.control->state = WIRE_RUNNING;
	return true;
}

static inline void leave(struct client *c)
{
	munmap(c->ring.control, c->bytes);
	close(c->memfd);
	close(c->fd);
}

static inline void put_string(struct client *c, uint32_t id, const char *text)
{
	struct wire_string s = {.type = WIRE_STRING, .id = id, .size = (uint32_t)strlen(text)};

	ring_put_long(&c->ring, &s, sizeof(s), text, s.size);
}

static inline void put_device(struct client *c, const char *name)
{
	struct wire_device d = {
		.type = WIRE_DEVICE, .name_size = (uint32_t)strlen(name), .sm_count = 132};

	ring_put_long(&c->ring, &d, sizeof(d), name, d.name_size);
}
