/* SPDX-License-Identifier: MIT */
/* What the files of the server share. */
#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/server.h"

#define ARENAS_MAX 1024

static inline void server_futex_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* server.c */
bool server_accept(struct server *s);
/* Answers a hello, a request for memory: 0 or -errno. */
int server_greet(struct server *s, struct server_process *p, uint32_t pid);
int server_add_arena(struct server *s, uint32_t process, const struct probe_arena *m);
void server_end_process(struct server *s, struct server_process *p);
void server_wake(struct server *s, uint32_t process);

/* messages.c: true where there were some. */
bool server_receive(struct server *s, uint32_t process);

/* rings.c: the same of records. */
bool server_read_rings(struct server *s, struct server_arena *a);
