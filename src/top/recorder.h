/* SPDX-License-Identifier: MIT */
/*
 * A recording in a process of its own, which sends the profile through a pipe as it grows
 * (profile/recent.h keeps what is to be seen). So whoever draws holds up no event, may have
 * less rights, and leaves nothing in the programs if it dies: the recorder sees that and stops.
 *
 * Whoever starts one reads both descriptors until they end: `profile`, and `messages`, lines of
 * what the recorder has to say.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct target_user;

struct recorder_options {
	struct target_user *user; /* as session_options.user */
	char **command;		  /* NULL with pid, or for the whole system */
	pid_t pid;		  /* 0: none */
	bool cpu_only;
	bool waits; /* also what threads wait for */
	unsigned int hz;
	uint32_t overhead;    /* as session_options.overhead */
	uint64_t duration_ns; /* 0: until it is stopped, or the program ends */
	bool live;	      /* names of code come meanwhile, and not at the end */
};

struct recorder {
	pid_t pid;
	int profile, messages;
	int control; /* our end: a byte for each recorder_stop */
};

#define RECORDER_NONE ((struct recorder){-1, -1, -1, -1})

/* Exit statuses of its process beside 0 and 1: of a command that could not be executed. */
enum {
	RECORDER_NOT_EXECUTABLE = 126,
	RECORDER_NOT_FOUND = 127,
};

/* Begins. What a command writes to a terminal goes nowhere, and it reads nothing. 0 or -errno with
 * error_text. */
int recorder_start(struct recorder *r, const struct recorder_options *o);
/* Has it end: as a signal to `xpuprof record` does. Once more: the program goes on alone. */
void recorder_stop(const struct recorder *r);
/* Waits for its end: its exit status; -1: it was killed. Closes what is open. */
int recorder_end(struct recorder *r);
