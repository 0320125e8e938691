/* SPDX-License-Identifier: MIT */
/*
 * Which pid and tid means which process and thread of the profile, right now.
 *
 * The kernel reuses pids, and exec turns one program into another under the same pid, so a pid
 * alone is not an identity. This registry holds the present meaning: fork adds, exec begins a new
 * process image, exit ends it. CPU capture feeds it from kernel events; where those are missing (no
 * rights for BPF) the GPU side's look-ups create what they need from /proc.
 *
 * What programs can make it keep is bounded (struct tasks_limits). Beyond that a process or thread
 * that is new is one that stands for all of these: PROCESSES_LEFT_OUT, and THREADS_LEFT_OUT of each
 * process. A name that is new is NAME_LEFT_OUT; a thread that changes its name keeps the one it
 * has. All of it is counted.
 *
 * One thread at a time. All functions: 0 or -errno with error_text.
 */
#pragma once

#include "profile/writer.h"

struct tasks;

/* Bytes, about, here and in the profile's tables. */
struct tasks_limits {
	uint64_t processes; /* a quarter of a million */
	uint64_t threads;   /* half a million */
	uint64_t names;	    /* 400,000 of threads, but 8,000 of the longest command lines */
};
#define TASKS_LIMITS                                                                               \
	((struct tasks_limits){(uint64_t)64 << 20, (uint64_t)64 << 20, (uint64_t)32 << 20})

int tasks_new(struct tasks **ret, struct profile_writer *w);
void tasks_free(struct tasks *t);
/* Other limits than TASKS_LIMITS. */
void tasks_limit(struct tasks *t, struct tasks_limits limits);

/* A new process `pid` whose parent is `parent_pid` (0: not known). */
int tasks_fork(struct tasks *t, uint32_t parent_pid, uint32_t pid, uint64_t time_ns);
/* `pid` now runs another program; `comm` and `cmdline` (either may be NULL: read from /proc if it
 * is still there). Its earlier threads are over. */
int tasks_exec(
	struct tasks *t, uint32_t pid, uint64_t time_ns, const char *comm, const char *cmdline);
/* A thread changed its name. */
int tasks_rename(struct tasks *t, uint32_t pid, uint32_t tid, const char *name);
/* `pid` made thread `tid`: should the number have been that of a thread of the profiler's, it no
 * longer is. */
void tasks_new_thread(struct tasks *t, uint32_t pid, uint32_t tid);
/* The process is gone: a later look-up of this pid begins a new process. */
int tasks_exit(struct tasks *t, uint32_t pid, uint64_t time_ns);

/* Whether an image of `pid` is known that has not ended. */
bool tasks_is_present(const struct tasks *t, uint32_t pid);
/* The process image that `pid` is now, created from /proc if unknown. */
int tasks_process(struct tasks *t, uint32_t pid, uint32_t *ret_process);
/* The thread that `tid` of `pid` is now; `name` (may be NULL: read from /proc) is used when it is
 * new. */
int tasks_thread(
	struct tasks *t, uint32_t pid, uint32_t tid, const char *name, uint32_t *ret_thread);
/* A process does a few things more behind its exit, as closing its files, which may wait for a
 * GPU. */
#define TASKS_AFTER_EXIT_NS 2000000000

/* A thread of the profile's is the profiler's own (THREAD_PROFILER), and was from its beginning
 * on. */
int tasks_set_profiler(struct tasks *t, uint32_t thread);
bool tasks_is_profiler(const struct tasks *t, uint32_t thread);

/* The thread that `tid` of `pid` was at `time_ns`, of a process that is known and ended no longer
 * than TASKS_AFTER_EXIT_NS before: 0, or -ENOENT (without error_text) when none is. `name` is used
 * when the thread is new. */
int tasks_thread_at(struct tasks *t, uint32_t pid, uint32_t tid, uint64_t time_ns, const char *name,
	uint32_t *ret_thread);
/* As tasks_thread for a process image that may have been replaced since (exec, exit). */
int tasks_thread_of(
	struct tasks *t, uint32_t process, uint32_t tid, const char *name, uint32_t *ret_thread);
