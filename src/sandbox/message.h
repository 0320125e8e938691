/* SPDX-License-Identifier: MIT */
/*
 * Messages between the recorder and the processes of the sandbox, over a stream socket: a header,
 * `size` bytes, and up to two descriptors, which come with the header. The recorder sends
 * requests (their code is a kind), a process answers each with one reply (0 or -errno).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct message {
	int32_t code;
	uint32_t size;
};

#define MESSAGE_FDS 2

#define REQUEST_HELLO 0 /* of every process: 0, or why it could not give up its rights */

/* Sends a whole message with descriptors, which stay the caller's; -1: none. 0 or -errno. */
int sandbox_send(int socket, int code, const void *data, size_t size, const int fds[MESSAGE_FDS]);
/*
 * Receives a whole message: its bytes replace those of `data`, at most `limit` of them; the
 * descriptors are the caller's, also when it fails, -1: none came. 0; -EPIPE: the other side is
 * gone; or another -errno. The socket blocks.
 */
int sandbox_receive(
	int socket, struct buf *data, size_t limit, int *ret_code, int ret_fds[MESSAGE_FDS]);

/* As recv; descriptors that come fill those places of `fds` that are -1, others are closed. */
long sandbox_receive_bytes(int socket, void *data, size_t size, int fds[MESSAGE_FDS]);
void sandbox_close(int fds[MESSAGE_FDS]);
