/* SPDX-License-Identifier: MIT */
/*
 * One recording, from the first probe to the finished profile file.
 *
 *	session_open -> session_start -> session_wait -> session_finish -> session_program -> session_close
 *
 * One thread and one loop: it drains the rings of the kernel and of the injected libraries, joins
 * the records, and writes the profile. The order inside a round matters and is explained at
 * session.c's top.
 *
 * Several may live in one process, each with its own file and program. Their caller uses
 * session_round instead of session_wait, for each session whose descriptor is readable or whose
 * last round was some time ago. Nothing here prints, and signals are read only where the caller
 * passes them in; both belong to the process, and so to the command.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "record/target.h"
#include "gpu/backend.h"
#include "profile/writer.h"

struct programs;
struct runtime;

struct session;

/* Where the stacks of launches come from. */
enum session_stacks {
	SESSION_STACKS_AUTO = 0,  /* whatever costs the program least */
	SESSION_STACKS_INPROCESS, /* walked by the library in the program; by BPF where it cannot */
	SESSION_STACKS_BPF,	  /* walked by BPF at every launch */
	SESSION_STACKS_NONE,
};

/* How a recording goes on. */
struct session_progress {
	/* NULL, or what is done or awaited at the end; only `running` is set then: processes of the
	 * recording run meanwhile */
	const char *text;
	bool running;
	const struct profile_totals *totals;
	uint64_t elapsed_ns;
	uint64_t outstanding; /* launches that wait for their work */
};

struct session_options {
	const char *profile_path;
	/* whose signals end the recording or go to the program; NULL: nobody's */
	const struct signals *signals;
	/* Called now and then, and with NULL when no progress follows for a while. NULL: progress
	 * is not reported. */
	void (*progress)(void *context, const struct session_progress *p);
	void *progress_context;
	/* our own program, executed for the processes of the sandbox; NULL: what they do is done in
	 * this process */
	const char *sandbox;
	struct target_user *user; /* borrowed; gets the environment that recording needs */
	char **command;		  /* NULL with pid or whole_system */
	pid_t pid;		  /* 0: none */
	bool whole_system;
	bool cpu; /* timer samples */
	bool gpu; /* GPU work and its launch stacks */
	enum session_stacks stacks;
	enum gpu_stalls stalls;
	/* a sample every 2^stall_period cycles; 0: chosen from the device */
	unsigned int stall_period;
	uint32_t overhead;     /* of GPU work, in millionths: as gpu_options.overhead */
	uint32_t times_one_in; /* as gpu_options.times_one_in */
	bool observes;	       /* programs that cannot be joined: their calls, by probes */
	/* that run inside GPU kernels of the command; NULL: none. They need `gpu`. */
	const struct programs *probes;
	const char *drivers; /* events of GPU drivers: as drivers_options.monitors; NULL: none */
	uint64_t counter_interval_ns; /* samples of hardware counters; 0: none */
	bool waits;		      /* of threads; with stacks those that last as long as this */
	uint64_t wait_min_ns;
	bool finalize; /* as gpu_options.finalize */
	bool queue_times;
	bool markers; /* stretches of time that programs give names */
	const char
		*metrics; /* a file with numbers (record/metrics.h), read at the end; NULL: none */
	bool inlines;	  /* source lines and inlined functions, at the end */
	bool live;	  /* code is named by session_publish, and not at the end */
	unsigned int sample_hz;
	uint64_t duration_ns; /* 0: until it ends by itself */
	uint64_t wait_ns;     /* when it has ended: for what it has started and still runs */
};

enum session_end {
	SESSION_PROGRAM_ENDED,
	SESSION_DURATION_OVER,
	SESSION_STOPPED, /* by a signal to us */
};

/* 0 or -errno with error_text. The profile file is created here. An earlier file of this name stays
 * as it is until the recording can start. When this or session_start fails, no new file is left. */
int session_open(struct session **ret, const struct session_options *options);
/* Starts the command, or attaches. */
int session_start(struct session *s);
/* Records until something ends it. */
int session_wait(struct session *s, enum session_end *ret_end);
/* One round of session_wait: waits for wait_ms at most, or less where a round is due before, then
 * drains all rings. Once
 * *ret_over is true, the recording is to be finished and no round follows. */
int session_round(struct session *s, int wait_ms, bool *ret_over, enum session_end *ret_end);
/* Readable when a round is due. One is due every 50 ms in any case, or every 250 ms when nothing
 * has come for half a second. */
int session_poll_fd(const struct session *s);
/*
 * For those who read the file while it grows: names the code that came since the last time, and
 * writes which programs' GPU work is not recorded, and why (META_UNSEEN). To be called now and then
 * between rounds: events wait in the kernel's rings meanwhile.
 */
int session_publish(struct session *s);
/* Stops the sources, drains them, names the code, closes the file. */
int session_finish(struct session *s);
/* Waits for a program that outlives its recording, passing signals on: true and its wait status, or
 * false when there is no program or it shall be left alone (a second signal to us). */
bool session_program(struct session *s, int *ret_wait_status);
void session_close(struct session *s);

/* After a failed session_start: whether it was the command that could not be executed. */
bool session_exec_failed(const struct session *s);
/* So too: the signal that came before the program could begin; 0: none. */
int session_interrupted(const struct session *s);

/* Final after session_finish. */
const struct profile_totals *session_totals(const struct session *s);
uint64_t session_elapsed_ns(const struct session *s);
/* Things the user should know ("no CPU stacks: ..."), one line each. */
const struct buf *session_notes(const struct session *s);
/* After session_finish: programs that ran already and go on, and what stays in them ("12, 14:
 * ..."); NULL: there are none. */
const char *session_left_behind(const struct session *s);
/* So too: the file without symbols in which many of the places in code are that were
 * recorded, if there is one; else NULL. */
const char *session_stripped(const struct session *s);
/* So too: what made code at run time that many samples are in, without names for it. */
const struct runtime *session_nameless_jit(const struct session *s);
/* After session_finish: what was refused in the end though all else was recorded, and what still
 * runs, one line each. */
const struct buf *session_refusals(const struct session *s);
