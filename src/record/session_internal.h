/* SPDX-License-Identifier: MIT */
/* What session.c (a recording's life and its rounds), session_open.c and session_finish.c share. */
#pragma once

#include "capture/capture.h"
#include "record/drivers.h"
#include "record/probes.h"
#include "record/runtime_dir.h"
#include "record/session.h"
#include "record/signals.h"
#include "correlate/correlate.h"
#include "gpu/gpu.h"

struct session {
	struct session_options options;
	struct profile_writer *writer;
	struct tasks *tasks;
	struct correlator *correlator;
	struct capture *capture; /* NULL: no rights, or not wanted */
	struct gpu *gpu;
	struct drivers *drivers; /* NULL: not wanted */
	struct probes *probes;	 /* NULL: not wanted */
	struct joins *joins;	 /* NULL: no program that runs already is joined */
	struct buf left_behind;	 /* see session_left_behind */
	struct target_user *user;
	struct target target;
	struct buf library;
	struct buf notes;
	struct buf refusals;
	struct buf stripped; /* see session_stripped; empty: there is none */
	uint64_t stripped_places;
	const struct runtime *nameless_jit; /* see session_nameless_jit */
	uint64_t nameless_jit_places;
	uint64_t naming_ns;	  /* how long session_publish may take for names */
	uint64_t naming_until_ns; /* session_publish names code until then */
	uint32_t published;	  /* locations that session_publish has named, as far as it could */
	struct buf unseen;	  /* what it has written as META_UNSEEN */
	struct buf mark;	  /* "NAME=value" that only this recording's processes have */
	struct kept_images *images; /* of GPU code; NULL: its instructions are not sampled */
	struct profile_totals totals;
	struct runtime_dir runtime_dir;
	int attached; /* pidfd of -p, or -1 */
	int epoll;
	bool maps_fd_silent;  /* it was readable once, and is again after it is armed */
	uint64_t realtime_ns; /* CLOCK_REALTIME less our clock */
	uint64_t start_ns;
	uint64_t start_cpu_ns; /* our own CPU time then */
	uint64_t end_ns;
	uint64_t next_progress_ns;
	uint64_t round_ns;	   /* when the latest round began */
	bool busy;		   /* there was much in it */
	unsigned int quiet_rounds; /* rounds in a row that nothing but time has begun */
	bool exec_failed;
	int interrupted;	/* the signal that came before the program could start; 0: none */
	bool program_ended;	/* and wait_status is its */
	bool command_ended;	/* the same, or the process that was attached to */
	uint64_t rest_until_ns; /* how long what still runs is awaited; 0: not yet */
	uint64_t rest_search_ns;
	bool signal_passed_on;
	bool stop_requested;
	int wait_status;
};

/* Makes everything the recording needs, up to the profile's first facts: 0 or -errno. */
int session_open_parts(struct session *s);
/* One round, without waiting for anything: 0 or -errno. *ret_busy: there was much. */
int session_drain(struct session *s, bool *ret_busy);
/* Handles the signals that have come. True: one of them wants what goes on to end. */
bool session_handle_signals(struct session *s);
/* Reports progress, if anybody wants to know. */
void session_report(const struct session *s, const struct session_progress *p);
/* Removes the probes, also when the program outlives its recording. */
void session_close_sources(struct session *s);
/* A fact about the recording, as a number: 0 or -errno. */
int session_describe(struct session *s, const char *key, uint64_t value);
/* The program's user, if that has fewer rights than we have; else NULL. */
const struct user *session_lesser_user(const struct session *s);
/* How code is named. */
struct session_naming {
	uint32_t first;			/* location (an id); those before it are left as they are */
	uint64_t servers_ns;		/* how long servers are asked for debug files */
	uint64_t dwarf_ns;		/* how long the DWARF of a module may take */
	bool (*stopped)(void *session); /* true: leave the rest; NULL: it is not asked */
};

struct symbolize_stats;
int session_name_code(
	struct session *s, const struct session_naming *how, struct symbolize_stats *ret);
/* Adds to session_notes: 0 or -ENOMEM. */
int session_note(struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
