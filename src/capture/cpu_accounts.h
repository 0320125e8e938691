/* SPDX-License-Identifier: MIT */
/*
 * How long threads ran, from what the kernel reports of each to what the profile says.
 *
 * A thread runs for some microseconds after the kernel has added its account to its process's, and
 * getrusage() has none of these. Over a thousand threads of a millisecond that is up to one part in
 * a hundred, on a busy machine. So threads that have ended wait here until all of their process
 * are reported, or the recording ends: then they are cut so that their sum is the process's.
 *
 * Bounded: of a process as many threads wait as PROCESS_THREADS_MAX, of all that have ended as
 * THREADS_MAX. When there are more these are written as far as they have come.
 */
#pragma once

#include "base/map.h"
#include "profile/writer.h"

struct thread_account {
	uint32_t thread; /* of the profile; 0: none, the process alone counts */
	uint64_t run_ns, end_ns;
	/* see struct bpf_account_event */
	uint64_t process, process_ended_ns, ended_ns;
	bool last;
};

struct process_account;

struct cpu_accounts {
	struct map processes; /* -> struct process_account * */
	size_t waiting;	      /* threads, no less */
};

void cpu_accounts_release(struct cpu_accounts *a);
/* 0 or -errno with error_text. */
int cpu_accounts_add(
	struct cpu_accounts *a, struct profile_writer *w, const struct thread_account *t);
/* Writes what waits. */
int cpu_accounts_finish(struct cpu_accounts *a, struct profile_writer *w);
