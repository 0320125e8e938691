// SPDX-License-Identifier: MIT
/*
 * A thread that waits shows in /proc where its stack is, so most that are not fit are found without
 * being stopped. What is on its stack may be left over from earlier calls: then it looks unfit, and
 * another moment or another thread is tried.
 */
#include "join/threads.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/proc_text.h"
#include "base/vec.h"

#define PATIENCE_NS	(5 * NS_PER_SECOND)
#define STRICT_NS	(NS_PER_SECOND / 2) /* for which all that is looked at of a stack counts */
#define PAUSE_US	300
#define PAUSE_SHARE	200 /* and so much of the time that has gone by */
#define STACK_WORDS	2048
#define STACK_WORDS_FEW 512
#define THREADS_MAX	4096 /* that are looked at each time to borrow one */
#define SETTLE_NS	NS_PER_SECOND
#define SETTLE_RUN_NS	(100 * NS_PER_MS) /* much: time in the kernel, in munmap(2) too, counts */

/* What the kernel leaves in a result where a system call is to begin again (linux/errno.h). */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

static const uint8_t syscall_code[] = {0x0f, 0x05};

enum rank {
	RANK_RESTARTS, /* waits in a call that is begun again as if nothing had been */
	RANK_RUNS,
	RANK_BEGINS, /* waits in one whose time begins anew */
	RANK_AHEAD,  /* runs in real time: the thread that it makes may have to wait for it */
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

struct tids {
	struct vec(pid_t) list;
};

/* The text of a file of a thread; false: it is gone, or may not be read. */
static bool read_of_thread(uint32_t pid, pid_t tid, const char *name, struct buf *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%d/%s", pid, (int)tid, name);
	return !io_read_file(path, 65536, text);
}

static int list_threads(uint32_t pid, struct tids *ret)
{
	char path[32];
	struct dirent *entry;
	DIR *folder;
	int error = 0;

	ret->list.count = 0;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	folder = opendir(path);
	if (!folder)
		return error_errno(-errno, "cannot list its threads");
	while (!error && (entry = readdir(folder))) {
		pid_t tid = atoi(entry->d_name);

		if (tid > 0 && vec_push(&ret->list, tid))
			error = error_memory("its threads");
	}
	closedir(folder);
	return error;
}

/* 0: it is gone. */
static char state_of(uint32_t pid, pid_t tid)
{
	struct buf text = BUF_INIT;
	struct proc_stat stat = {0};

	if (!read_of_thread(pid, tid, "stat", &text) || !proc_stat_parse(buf_text(&text), &stat))
		stat.state = 0;
	buf_release(&text);
	return stat.state;
}

/* Where a thread is that does not run (/proc/PID/task/TID/syscall). */
struct place {
	long call; /* -1: none */
	uint64_t arguments[6], sp, pc;
};

/* False: it runs, is gone, or may not be looked at. */
static bool find_place(uint32_t pid, pid_t tid, struct place *ret)
{
	struct buf text = BUF_INIT;
	const char *at;
	char *end;
	uint64_t words[8] = {0};
	size_t count = 0;

	if (read_of_thread(pid, tid, "syscall", &text)) {
		at = buf_text(&text);
		ret->call = strtol(at, &end, 10);
		for (; end > at && count < 8 && *end == ' '; count++)
			words[count] = strtoull(at = end, &end, 16);
	}
	buf_release(&text);
	memcpy(ret->arguments, words, sizeof(ret->arguments));
	/* Without a call it is "-1 sp pc". */
	ret->sp = words[count == 2 ? 0 : 6];
	ret->pc = words[count == 2 ? 1 : 7];
	return count == 2 || count == 8;
}

/* What is there of a stack, in words: where it is shorter the rest of its page can be read. */
static size_t read_stack(const struct subject *t, uint64_t sp, uint64_t *ret, size_t words)
{
	ssize_t size = subject_read(t, sp, ret, words * sizeof(*ret));

	if (size < 0)
		size = subject_read(t, sp, ret, 4096 - (sp & 4095));
	return size > 0 ? (size_t)size / sizeof(*ret) : 0;
}

/* Whether a word of its stack may be an address that it returns to there. */
static bool has_unsafe_word(const struct subject *t, uint64_t sp, size_t words)
{
	uint64_t stack[STACK_WORDS];
	size_t count = read_stack(t, sp, stack, words);

	for (size_t n = 0; n < count; n++)
		if (subject_is_unsafe(t, stack[n]))
			return true;
	return !count;
}

static enum rank rank_of_call(const struct place *p)
{
	switch (p->call) {
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
	case SYS_io_uring_enter:
		return RANK_BEGINS;
	/* What is stopped in the middle of these returns less than it was asked for. */
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_sendfile:
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice:
	case SYS_copy_file_range:
	case SYS_recvmmsg:
	case SYS_getrandom:
	case -1:
		return RANK_UNFIT;
	case SYS_recvfrom:
		return p->arguments[3] & MSG_WAITALL ? RANK_UNFIT : RANK_RESTARTS;
	case SYS_recvmsg:
		return p->arguments[2] & MSG_WAITALL ? RANK_UNFIT : RANK_RESTARTS;
	default:
		return RANK_RESTARTS;
	}
}

static bool is_of_policy(pid_t tid, int policy)
{
	int its = sched_getscheduler(tid);

	return its >= 0 && (its & ~SCHED_RESET_ON_FORK) == policy;
}

static enum rank rank_of(const struct subject *t, uint32_t pid, pid_t tid, size_t words)
{
	char state = state_of(pid, tid);
	struct place place;

	if (is_of_policy(tid, SCHED_DEADLINE))
		return RANK_UNFIT; /* the kernel lets it make no thread */
	if (state == 'R')
		return is_of_policy(tid, SCHED_FIFO) || is_of_policy(tid, SCHED_RR) ? RANK_AHEAD
										    : RANK_RUNS;
	if (state != 'S' || !find_place(pid, tid, &place) || subject_is_unsafe(t, place.pc) ||
		has_unsafe_word(t, place.sp, words))
		return RANK_UNFIT;
	return rank_of_call(&place);
}

static int list_candidates(
	const struct subject *t, uint32_t pid, size_t words, struct candidates *ret)
{
	struct tids tids = {0};
	int error = list_threads(pid, &tids);

	ret->list.count = 0;
	vec_foreach (tid, &tids.list) {
		struct candidate one = {*tid, RANK_UNFIT};

		if (error || ret->list.count == THREADS_MAX)
			break;
		one.rank = rank_of(t, pid, *tid, words);
		if (one.rank != RANK_UNFIT && vec_push(&ret->list, one))
			error = error_memory("its threads");
	}
	vec_release(&tids.list);
	return error;
}

static bool is_in_call(const struct user_regs_struct *r)
{
	return (long)r->orig_rax >= 0;
}

/* glibc's, whose functions find their thread there. */
static bool has_thread_block(const struct subject *t, const struct user_regs_struct *r)
{
	uint64_t block[3];

	return subject_read(t, r->fs_base, block, sizeof(block)) == sizeof(block) &&
	       block[0] == r->fs_base && block[2] == r->fs_base;
}

/* A number in hexadecimal behind a key in /proc/PID/task/TID/status. */
static uint64_t signals_in(const struct buf *status, const char *key)
{
	const char *at = strstr(buf_text(status), key);

	return at ? strtoull(at + strlen(key), NULL, 16) : 0;
}

/* Whether a signal waits that the thread takes. */
static bool has_signal(uint32_t pid, const struct tracee *t)
{
	struct buf status = BUF_INIT;
	uint64_t waiting = UINT64_MAX;

	if (read_of_thread(pid, t->tid, "status", &status))
		waiting = signals_in(&status, "\nSigPnd:") | signals_in(&status, "\nShdPnd:");
	buf_release(&status);
	return waiting & ~t->mask;
}

static bool is_restart(long result)
{
	return result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
	       result == -ERESTART_RESTARTBLOCK;
}

/* A call that is to begin again does so by its instruction; not where a signal is to end it
 * instead. */
static bool may_begin_again(const struct subject *t, uint32_t pid, const struct tracee *one)
{
	const struct user_regs_struct *r = &one->registers;
	uint8_t code[sizeof(syscall_code)];

	if (!is_restart((long)r->rax) && (long)r->rax != -EINTR)
		return true;
	return subject_read(t, r->rip - sizeof(code), code, sizeof(code)) == sizeof(code) &&
	       !memcmp(code, syscall_code, sizeof(code)) && !has_signal(pid, one);
}

static bool is_fit(const struct subject *t, uint32_t pid, const struct tracee *one, size_t words)
{
	const struct user_regs_struct *r = &one->registers;

	if (r->cs != 0x33 || !has_thread_block(t, r) || subject_is_unsafe(t, r->rip))
		return false;
	if (is_in_call(r) ? !may_begin_again(t, pid, one)
			  : subject_is_library(t, r->rip) || tracee_is_restartable(one))
		return false;
	return !has_unsafe_word(t, r->rsp, words);
}

/* 1: it is ours; 0: it is not fit just now; or -errno. */
static int try_one(
	const struct subject *t, uint32_t pid, pid_t tid, size_t words, struct tracee *ret)
{
	int error = tracee_stop(ret, tid);

	if (error == -ESRCH || error == -EAGAIN)
		return 0;
	if (error)
		return error;
	if (is_fit(t, pid, ret, words))
		return 1;
	tracee_go(ret);
	return 0;
}

static int try_all(const struct subject *t, uint32_t pid, const struct candidates *c, size_t words,
	struct tracee *ret)
{
	int found = 0;

	for (int rank = 0; !found && rank < RANKS; rank++)
		vec_foreach (one, &c->list)
			if (!found && (int)one->rank == rank)
				found = try_one(t, pid, one->tid, words, ret);
	return found;
}

/* The longer none is found the less often they are looked at, for the sake of those that run. */
int threads_borrow(const struct subject *t, uint32_t pid, struct tracee *ret)
{
	struct candidates c = {0};
	uint64_t begin_ns = clock_now_ns(), spent_ns = 0;
	int found = 0;

	while (!found && spent_ns < PATIENCE_NS) {
		size_t words = spent_ns < STRICT_NS ? STACK_WORDS : STACK_WORDS_FEW;

		found = list_candidates(t, pid, words, &c);
		found = found ?: try_all(t, pid, &c, words, ret);
		if (!found)
			usleep((useconds_t)(PAUSE_US + spent_ns / 1000 / PAUSE_SHARE));
		spent_ns = clock_now_ns() - begin_ns;
	}
	vec_release(&c.list);
	if (found < 0)
		return found;
	return found ? 0
		     : error_set(-EBUSY,
			       "none of its threads came to a point where it could be borrowed");
}

struct user_regs_struct threads_way_back(const struct tracee *t)
{
	struct user_regs_struct r = t->registers;
	long result = (long)r.rax;

	/* Some calls the kernel does not begin again after a stop: nobody sent a signal. */
	if (!is_in_call(&r) || (!is_restart(result) && result != -EINTR))
		return r;
	r.rip -= sizeof(syscall_code);
	r.rax = result == -ERESTART_RESTARTBLOCK ? SYS_restart_syscall : r.orig_rax;
	return r;
}

/* --- settling --------------------------------------------------------------------------------- */

struct seen_thread {
	pid_t tid; /* 0: it has left */
	uint64_t ran_ns;
};

struct seen {
	struct vec(struct seen_thread) list;
};

uint64_t threads_time_run(uint32_t pid, pid_t tid)
{
	struct buf text = BUF_INIT;
	uint64_t ran_ns = read_of_thread(pid, tid, "schedstat", &text)
				  ? strtoull(buf_text(&text), NULL, 10)
				  : 0;

	buf_release(&text);
	return ran_ns;
}

long threads_call(uint32_t pid, pid_t tid)
{
	struct place place;

	return find_place(pid, tid, &place) ? place.call : -1;
}

static bool is_in(const struct code_range *code, uint64_t address)
{
	return address - code->start < code->size;
}

/* Of one that does not run. The one that was borrowed may be in a signal's handler, which returns
 * to that code. */
static bool is_outside(const struct subject *t, uint32_t pid, pid_t tid,
	const struct code_range *code, bool borrowed)
{
	uint64_t stack[STACK_WORDS];
	struct place place;
	size_t count;

	if (!find_place(pid, tid, &place) || is_in(code, place.pc))
		return false;
	count = borrowed ? read_stack(t, place.sp, stack, STACK_WORDS) : 0;
	for (size_t n = 0; n < count; n++)
		if (is_in(code, stack[n]))
			return false;
	return true;
}

static bool has_left(const struct subject *t, uint32_t pid, const struct seen_thread *one,
	const struct code_range *code, bool borrowed)
{
	char state = state_of(pid, one->tid);

	if (!state || strchr("ZX", state))
		return true;
	if (threads_time_run(pid, one->tid) - one->ran_ns > SETTLE_RUN_NS)
		return true;
	return state != 'R' && is_outside(t, pid, one->tid, code, borrowed);
}

static int note_threads(uint32_t pid, struct seen *ret)
{
	struct tids tids = {0};
	int error = list_threads(pid, &tids);

	vec_foreach (tid, &tids.list)
		error = error
				?: vec_push(&ret->list,
					   (struct seen_thread){*tid, threads_time_run(pid, *tid)});
	vec_release(&tids.list);
	return error;
}

bool threads_settle(const struct subject *t, uint32_t pid, pid_t borrowed, bool all,
	const struct code_range *code)
{
	uint64_t deadline_ns = clock_now_ns() + SETTLE_NS;
	struct seen seen = {0};
	bool settled = false, waits = !note_threads(pid, &seen);

	while (waits) {
		settled = true;
		vec_foreach (one, &seen.list) {
			bool is_borrowed = one->tid == borrowed;

			if (!one->tid || (!all && !is_borrowed))
				continue;
			if (has_left(t, pid, one, code, is_borrowed))
				one->tid = 0;
			settled = settled && !one->tid;
		}
		waits = !settled && clock_now_ns() < deadline_ns;
		if (waits)
			usleep(PAUSE_US);
	}
	vec_release(&seen.list);
	return settled;
}
