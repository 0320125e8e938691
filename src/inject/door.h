/* SPDX-License-Identifier: MIT */
/*
 * Where the library sleeps in a program: wire/door.h. What is loaded at the door is the recorder's
 * own library, so that only the two sides of the door have to fit together.
 *
 * A door costs a thread that sleeps, a descriptor and a page. The program may close the descriptor,
 * and have something else under its number: then nobody comes that way any more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/door.h"

struct door {
	struct door_page *page;
	int fd;
	dev_t dev;
	ino_t ino;
	char name[16]; /* of the thread, while it does not sleep: what it starts takes that, too */
};

/* 0 or -errno. The thread that sleeps there has the name of the one that calls this. */
int door_open(struct door *d, enum door_owner owner);
void door_close(struct door *d);
/* Sleeps until someone knocks, and then loads and runs what he brings, all of it. False: nobody
 * has in this time (0: for ever). */
bool door_sleep(struct door *d, uint64_t timeout_ns);

/* Makes a door, and a thread that sleeps there for as long as the program lives; or nothing. */
void door_keep(void);
/* The page of that door, whichever copy of the library has made it; NULL: there is none. */
struct door_page *door_of_program(void);
