/* SPDX-License-Identifier: MIT */
/*
 * The side of a library's connection to the recorder, for programs that misuse it. Functions return
 * -1 when the recorder refuses or does not answer.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/ring.h"

#define CLIENT_FDS 16 /* in one message */

union client_control {
	struct cmsghdr header;
	char space[CMSG_SPACE(CLIENT_FDS * sizeof(int))];
};

/* A socket that is connected to $XPUPROF_SOCKET. */
static inline int client_dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), failed;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", getenv(WIRE_ENV_SOCKET));
	do
		failed = connect(fd, (struct sockaddr *)&address, sizeof(address));
	while (failed && (errno == EAGAIN || errno == EINTR));
	if (failed) {
		close(fd);
		return -1;
	}
	return fd;
}

/* 0 or -errno. */
static inline int client_send(int fd, const void *data, size_t size, const int *fds, size_t count)
{
	union client_control control = {0};
	struct iovec part = {(void *)(uintptr_t)data, size};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(count * sizeof(int))};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	return sendmsg(fd, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Says to be that process. The memfd of the ring; *version becomes the recorder's. */
static inline int client_greet(int fd, uint32_t pid, uint32_t *version, int patience_s)
{
	struct wire_hello hello = {.magic = WIRE_MAGIC, .version = *version, .pid = pid};
	struct timeval patience = {.tv_sec = patience_s};
	struct wire_welcome welcome = {0};
	union client_control control;
	struct iovec part = {&welcome, sizeof(welcome)};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	int memfd = -1;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) < 0 || recvmsg(fd, &m, 0) <= 0)
		return -1;
	*version = welcome.version ? welcome.version : *version;
	if (CMSG_FIRSTHDR(&m))
		memcpy(&memfd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(memfd));
	return memfd;
}

/* Connects, also to a recorder of another version. The memfd of the ring. */
static inline int client_join(int *ret_socket)
{
	uint32_t version = WIRE_VERSION;
	int memfd = -1;

	for (int n = 0; n < 2 && memfd < 0; n++) {
		*ret_socket = client_dial();
		memfd = client_greet(*ret_socket, (uint32_t)getpid(), &version, 3);
	}
	return memfd;
}

/* The ring in that memory, which runs then; NULL in `control`: it cannot be mapped. */
static inline struct ring client_ring(int memfd)
{
	struct wire_control *control;
	struct stat st;

	if (memfd < 0 || fstat(memfd, &st))
		return (struct ring){0};
	control = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (control == MAP_FAILED)
		return (struct ring){0};
	control->state = WIRE_RUNNING;
	return ring_at(control, control->slots);
}
