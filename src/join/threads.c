// SPDX-License-Identifier: MIT
/*
 * A thread that waits shows in /proc where its stack is, so most that are not fit are found without
 * being stopped. What is on its stack may be left over from earlier calls: then it looks unfit, and
 * another moment or another thread is tried.
 */
#include "join/threads.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/proc_text.h"
#include "base/vec.h"

#define PATIENCE_NS	(2 * NS_PER_SECOND)
#define STRICT_NS	(NS_PER_SECOND / 2) /* for which all that is looked at of a stack counts */
#define PAUSE_US	1000
#define STACK_WORDS	2048
#define STACK_WORDS_FEW 512
#define THREADS_MAX	4096
#define SETTLE_NS	NS_PER_SECOND
#define SETTLE_RUN_NS	NS_PER_MS

/* What the kernel leaves in a result where a system call is to begin again (linux/errno.h). */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

#define SYSCALL_BYTES 2 /* of the instruction */

enum rank {
	RANK_RESTARTS, /* waits in a call that is begun again as if nothing had been */
	RANK_RUNS,
	RANK_BEGINS, /* waits in one whose time begins anew */
	RANKS,
	RANK_UNFIT = RANKS,
};

struct candidate {
	pid_t tid;
	enum rank rank;
};

struct candidates {
	struct vec(struct candidate) list;
};

/* The text of a file of a thread; false: it is gone, or may not be read. */
static bool read_of_thread(uint32_t pid, pid_t tid, const char *name, struct buf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%d/%s", pid, (int)tid, name);
	return !io_read_file(path, 65536, text);
}

static enum rank rank_of_call(unsigned long call)
{
	switch (call) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semtimedop:
	case SYS_semop:
	case SYS_rt_sigtimedwait:
	case SYS_rt_sigsuspend:
	case SYS_pause:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_select:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return RANK_BEGINS;
	default:
		return RANK_RESTARTS;
	}
}

/* Of "NUMBER arguments... sp pc" in /proc/PID/task/TID/syscall, or "running". */
static enum rank rank_of(uint32_t pid, pid_t tid)
{
	struct buf text = BUF_INIT;
	enum rank rank = RANK_UNFIT;
	struct proc_stat stat;

	if (!read_of_thread(pid, tid, "stat", &text) || !proc_stat_parse(buf_text(&text), &stat)) {
		buf_release(&text);
		return RANK_UNFIT;
	}
	if (stat.state == 'R')
		rank = RANK_RUNS;
	buf_reset(&text);
	if (stat.state == 'S' && read_of_thread(pid, tid, "syscall", &text) &&
		isdigit((unsigned char)*buf_text(&text)))
		rank = rank_of_call(strtoul(buf_text(&text), NULL, 10));
	buf_release(&text);
	return rank;
}

static int list_threads(uint32_t pid, struct candidates *c)
{
	char path[32];
	struct dirent *entry;
	DIR *folder;
	int error = 0;

	c->list.count = 0;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	folder = opendir(path);
	if (!folder)
		return error_errno(-errno, "cannot list its threads");
	while (!error && (entry = readdir(folder)) && c->list.count < THREADS_MAX) {
		struct candidate one = {.tid = atoi(entry->d_name)};

		if (one.tid <= 0)
			continue;
		one.rank = rank_of(pid, one.tid);
		if (one.rank != RANK_UNFIT && vec_push(&c->list, one))
			error = error_memory("its threads");
	}
	closedir(folder);
	return error;
}

static bool is_in_call(const struct user_regs_struct *r)
{
	return (long)r->orig_rax >= 0;
}

/* Whether a word of its stack may be an address that it returns to there. */
static bool has_unsafe_word(const struct subject *t, uint64_t sp, size_t words)
{
	uint64_t stack[STACK_WORDS];
	ssize_t size = subject_read(t, sp, stack, words * sizeof(stack[0]));

	/* Where the stack is shorter the rest of its page can be read. */
	if (size < 0)
		size = subject_read(t, sp, stack, 4096 - (sp & 4095));
	for (ssize_t n = 0; n < size / (ssize_t)sizeof(stack[0]); n++)
		if (subject_is_unsafe(t, stack[n]))
			return true;
	return size <= 0;
}

/* glibc's, whose functions find their thread there. */
static bool has_thread_block(const struct subject *t, const struct user_regs_struct *r)
{
	uint64_t block[3];

	return subject_read(t, r->fs_base, block, sizeof(block)) == sizeof(block) &&
	       block[0] == r->fs_base && block[2] == r->fs_base;
}

static bool is_fit(const struct subject *t, const struct tracee *one, size_t words)
{
	const struct user_regs_struct *r = &one->registers;

	if (r->cs != 0x33 || !has_thread_block(t, r) || subject_is_unsafe(t, r->rip))
		return false;
	if (!is_in_call(r) && (subject_is_library(t, r->rip) || tracee_is_restartable(one)))
		return false;
	return !has_unsafe_word(t, r->rsp, words);
}

/* 1: it is ours; 0: it is not fit just now; or -errno. */
static int try_one(const struct subject *t, pid_t tid, size_t words, struct tracee *ret)
{
	int error = tracee_stop(ret, tid);

	if (error == -ESRCH || error == -EAGAIN)
		return 0;
	if (error)
		return error;
	if (is_fit(t, ret, words))
		return 1;
	tracee_go(ret);
	return 0;
}

static int try_all(
	const struct subject *t, const struct candidates *c, size_t words, struct tracee *ret)
{
	int found = 0;

	for (int rank = 0; !found && rank < RANKS; rank++)
		vec_foreach (one, &c->list)
			if (!found && (int)one->rank == rank)
				found = try_one(t, one->tid, words, ret);
	return found;
}

int threads_borrow(const struct subject *t, uint32_t pid, struct tracee *ret)
{
	struct candidates c = {0};
	uint64_t begin_ns = clock_now_ns(), spent_ns = 0;
	int found = 0;

	while (!found && spent_ns < PATIENCE_NS) {
		found = list_threads(pid, &c);
		if (!found)
			found = try_all(
				t, &c, spent_ns < STRICT_NS ? STACK_WORDS : STACK_WORDS_FEW, ret);
		if (!found)
			usleep(PAUSE_US);
		spent_ns = clock_now_ns() - begin_ns;
	}
	vec_release(&c.list);
	if (found < 0)
		return found;
	return found ? 0
		     : error_set(-EAGAIN,
			       "none of its threads came to a point where it could be borrowed");
}

/* --- the way back ----------------------------------------------------------------------------- */

/* A number in hexadecimal behind a key in /proc/PID/task/TID/status. */
static uint64_t signals_in(const struct buf *status, const char *key)
{
	const char *at = strstr(buf_text(status), key);

	return at ? strtoull(at + strlen(key), NULL, 16) : 0;
}

/* Whether a signal waits that the thread takes: then its call returns EINTR because of that. */
static bool has_signal(uint32_t pid, const struct tracee *t)
{
	struct buf status = BUF_INIT;
	uint64_t waiting = UINT64_MAX;

	if (read_of_thread(pid, t->tid, "status", &status))
		waiting = signals_in(&status, "\nSigPnd:") | signals_in(&status, "\nShdPnd:");
	buf_release(&status);
	return waiting & ~t->mask;
}

struct user_regs_struct threads_way_back(uint32_t pid, const struct tracee *t)
{
	struct user_regs_struct r = t->registers;
	long result = (long)r.rax;

	if (!is_in_call(&r))
		return r;
	/* Calls that the kernel does not begin again after a stop: nobody sent a signal. */
	if (result == -EINTR && !has_signal(pid, t))
		result = -ERESTARTNOHAND;
	if (result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND) {
		r.rip -= SYSCALL_BYTES;
		r.rax = r.orig_rax;
	} else if (result == -ERESTART_RESTARTBLOCK) {
		r.rip -= SYSCALL_BYTES;
		r.rax = SYS_restart_syscall;
	}
	return r;
}

/* --- settling --------------------------------------------------------------------------------- */

struct seen_thread {
	pid_t tid; /* 0: it has left */
	uint64_t ran_ns;
};

static uint64_t time_run(uint32_t pid, pid_t tid)
{
	struct buf text = BUF_INIT;
	uint64_t ran_ns = read_of_thread(pid, tid, "schedstat", &text)
				  ? strtoull(buf_text(&text), NULL, 10)
				  : 0;

	buf_release(&text);
	return ran_ns;
}

static bool has_left(uint32_t pid, const struct seen_thread *t)
{
	struct buf text = BUF_INIT;
	struct proc_stat stat;
	bool asleep = !read_of_thread(pid, t->tid, "stat", &text) ||
		      !proc_stat_parse(buf_text(&text), &stat) || strchr("SDIZX", stat.state);

	buf_release(&text);
	return asleep || time_run(pid, t->tid) - t->ran_ns > SETTLE_RUN_NS;
}

bool threads_settle(uint32_t pid)
{
	struct seen_thread seen[THREADS_MAX];
	uint64_t deadline_ns = clock_now_ns() + SETTLE_NS;
	struct candidates c = {0};
	size_t count = 0;
	bool all = !list_threads(pid, &c);

	vec_foreach (one, &c.list)
		seen[count++] = (struct seen_thread){one->tid, time_run(pid, one->tid)};
	vec_release(&c.list);
	while (all) {
		bool left = true;

		for (size_t n = 0; n < count; n++) {
			if (seen[n].tid && has_left(pid, &seen[n]))
				seen[n].tid = 0;
			left = left && !seen[n].tid;
		}
		if (left)
			return true;
		all = clock_now_ns() < deadline_ns;
		usleep(PAUSE_US);
	}
	return false;
}
