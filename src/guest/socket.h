/* SPDX-License-Identifier: MIT */
/*
 * A socket to the recorder, inside of somebody else's program.
 *
 * It moves to a high number at once, since programs use low ones, and it is closed on exec. A
 * program may still close every descriptor it did not open, and get the same number again for
 * something of its own: device and inode are compared before each use.
 *
 * The recorder may be gone, and its folder in /tmp another user's by now. So whoever listens there
 * has to be root or our own user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct own_socket {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

bool socket_is_ours(const struct own_socket *s);
/* Makes a descriptor ours, under another number: 0 or -errno, and then it is ours, too. */
int socket_adopt(struct own_socket *s, int fd);
/* Closes it, if the number still is ours. */
void socket_close(struct own_socket *s);

/* Connects one that does not block: 0 or -errno. */
int socket_connect(int fd, const char *path, uint64_t deadline_ns);
/* Until something can be received: 0 or -errno. */
int socket_wait(int fd, uint64_t deadline_ns);
/* A message of just this size with one descriptor: that, or -errno. */
int socket_receive_descriptor(int fd, void *message, size_t size);
/* 0, -EAGAIN when others have to be received first, or -errno. */
int socket_send_descriptor(int fd, const void *message, size_t size, int descriptor);
/* Whether the peer may be a recorder of this program: root or its own user, as the program counts
 * users. */
bool socket_may_record(uid_t uid);
