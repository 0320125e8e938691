/* SPDX-License-Identifier: MIT */
/*
 * Receives what carries descriptors of strangers, and closes connections in which such may wait,
 * without being held up. For a recorder that has more rights than the program: a user can hold up
 * their own in any case.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct injected;
struct instance;

/* From now on another process receives them: `program` as in sandbox/child.h. Before anybody can
 * connect. 0 or -errno. */
int descriptors_open(struct injected *s, const char *program);
/* Begins that process, if it has not begun, so that a message that needs it soon need not wait for
 * that. */
void descriptors_begin(struct injected *s);
/* Before anything is received from a socket, or is accepted from one that listens: 0 or -errno. */
int descriptors_expect(const struct injected *s, int socket);
/* As message_receive (instance.h). */
ssize_t descriptors_receive(struct instance *i, void *message, size_t size, int *ret_fd);
/* Closes a connection, at once or when the recorder exits. */
void descriptors_close(struct injected *s, int socket);
