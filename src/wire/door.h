/* SPDX-License-Identifier: MIT */
/*
 * A door: where a library that sleeps in a program is woken, by whoever may trace that program.
 *
 * The library keeps one page, in a file in memory that is named DOOR_FILE, and one thread that
 * sleeps on a word of it. It maps the file and seals it before anybody else can have it: from then
 * on nobody writes into it but the library, not even a child of the program that inherited the
 * descriptor. Others may map it and wake.
 *
 *	joiner                                       library
 *	  | finds the file in /proc/PID/fd              | asleep: DOOR_ASLEEP
 *	  | ---- wakes the futex `knock` -------------> |
 *	  |                                             | makes a pair of sockets, DOOR_BUSY; the number of
 *	  | <--- `answers` has changed ---------------- | one of them is in `socket`
 *	  | takes that (pidfd_getfd)                    |
 *	  | ---- door_letter + a library -------------> | looks who sent it, and loads the library
 *	  | <--- door_reply --------------------------- | calls its function with the other socket
 *
 * To take the socket takes the right to trace the program, whatever the joiner has of its file. The
 * library trusts who has it, and is root or of its own user. The joiner trusts nothing: the program
 * may write what it likes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DOOR_FILE    "xpuprof-door"
#define DOOR_MAGIC   0x5558444fu
#define DOOR_VERSION 1u
#define DOOR_BYTES   4096u

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif
#define DOOR_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)
/* Of a library. */
#define DOOR_LIBRARY_SEALS (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)
#define DOOR_LIBRARY_MAX   (64 << 20)

enum door_state {
	DOOR_ASLEEP = 1,
	DOOR_BUSY, /* someone has knocked, or is inside */
};

enum door_owner {
	DOOR_OF_PROGRAM = 1, /* the library that it has loaded itself, and keeps */
	DOOR_OF_COPY,	     /* one that was to leave, cannot, and goes on trying */
};

/* What the library has made ready for samples of instructions (inject/api.h, `arm`). */
enum door_arms {
	DOOR_UNARMED = 0,
	DOOR_ARMS_WAIT,	  /* the first context is to come */
	DOOR_ARMS_BUSY,	  /* it is being made */
	DOOR_ARMS_RETIRE, /* it was: a thread of the library's has still to unsubscribe */
	DOOR_ARMED,
};

/* Read and changed by the libraries in the program alone. */
struct door_armed {
	uint32_t state;	  /* enum door_arms */
	int32_t claim_fd; /* the claim of the context's device; -1: none */
	uint64_t claim_dev, claim_ino;
	uint64_t subject; /* until the first context: the subscriber; then the context, 0: none */
};

struct door_page {
	uint32_t magic;
	uint32_t version;
	uint32_t state;	  /* enum door_state */
	uint32_t knock;	  /* always 0 */
	uint32_t answers; /* changes when `socket` is another */
	int32_t socket;
	/* as the program counts: a child of it has the page, but not the thread */
	uint32_t pid;
	uint32_t tid;
	uint32_t owner; /* enum door_owner */
	uint32_t unused[7];
	struct door_armed armed;
};

/* Copies of different versions meet here. */
_Static_assert(
	offsetof(struct door_page, armed) == 64 && sizeof(struct door_armed) == 32, "layout");

struct door_letter {
	uint32_t magic;
	uint32_t version;
	char entry[64]; /* void *(*)(int socket, void *handle), as join/join.h has it */
};

struct door_reply {
	uint32_t magic;
	int32_t error; /* -errno; 0: the function is called */
};
