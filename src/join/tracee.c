// SPDX-License-Identifier: MIT
#include "join/tracee.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

#ifndef NT_X86_SHSTK
#define NT_X86_SHSTK 0x204
#endif

#define STOP_NS	 (500 * NS_PER_MS) /* patience with a thread that shall stop */
#define PAUSE_US 20
#define WORD	 sizeof(long)

/* Of the kernel's uapi: who is where in its restartable section (linux/rseq.h, linux/ptrace.h). */
struct rseq_configuration {
	uint64_t pointer;
	uint32_t size, signature, flags, padding;
};

struct rseq_section {
	uint32_t version, flags;
	uint64_t start, length, abort;
};

#define RSEQ_SECTION_AT 8 /* in struct rseq */

static int request(int what, pid_t tid, uintptr_t address, uintptr_t data)
{
	return ptrace((enum __ptrace_request)what, tid, (void *)address, (void *)data) < 0 ? -errno
											   : 0;
}

/* The next stop of the thread: its wait status, or -errno. */
static int wait_for_stop(pid_t tid, uint64_t deadline_ns)
{
	int status;

	for (;;) {
		pid_t done = waitpid(tid, &status, __WALL | WNOHANG);

		if (done == tid)
			return WIFSTOPPED(status) ? status : -ESRCH;
		if (done < 0 && errno != EINTR)
			return -errno;
		if (clock_now_ns() > deadline_ns)
			return -ETIMEDOUT;
		usleep(PAUSE_US);
	}
}

/* Signals that come before are passed on. */
static int stop_by_interrupt(pid_t tid)
{
	uint64_t deadline_ns = clock_now_ns() + STOP_NS;
	int status = request(PTRACE_INTERRUPT, tid, 0, 0);

	while (!status) {
		status = wait_for_stop(tid, deadline_ns);
		if (status < 0)
			return status;
		if (status >> 16 == PTRACE_EVENT_STOP)
			return WSTOPSIG(status) == SIGTRAP ? 0 : -EAGAIN;
		status = request(
			PTRACE_CONT, tid, 0, status >> 16 ? 0 : (uintptr_t)WSTOPSIG(status));
	}
	return status;
}

static int read_state(struct tracee *t)
{
	struct iovec state = {t->xstate, sizeof(t->xstate)};
	int error = request(PTRACE_GETREGS, t->tid, 0, (uintptr_t)&t->registers);

	error = error ?: request(PTRACE_GETREGSET, t->tid, NT_X86_XSTATE, (uintptr_t)&state);
	error = error ?: request(PTRACE_GETSIGMASK, t->tid, sizeof(t->mask), (uintptr_t)&t->mask);
	t->xstate_size = state.iov_len;
	state = (struct iovec){&t->shadow_stack, sizeof(t->shadow_stack)};
	if (request(PTRACE_GETREGSET, t->tid, NT_X86_SHSTK, (uintptr_t)&state))
		t->shadow_stack = 0;
	return error;
}

int tracee_stop(struct tracee *t, pid_t tid)
{
	int error = request(PTRACE_SEIZE, tid, 0, 0);

	t->tid = tid;
	if (error)
		return error_errno(error, "cannot trace thread %d", (int)tid);
	error = stop_by_interrupt(tid);
	error = error ?: read_state(t);
	if (!error)
		return 0;
	tracee_go(t);
	/* It stops some time, and then nobody waits for it: our end lets it go. */
	if (error == -ETIMEDOUT)
		return error_set(-ETIMEDOUT, "thread %d does not stop", (int)tid);
	return error_errno(error, "cannot stop thread %d", (int)tid);
}

void tracee_go(const struct tracee *t)
{
	(void)request(PTRACE_DETACH, t->tid, 0, 0);
}

int tracee_set_registers(const struct tracee *t, const struct user_regs_struct *registers)
{
	int error = request(PTRACE_SETREGS, t->tid, 0, (uintptr_t)registers);

	return error ? error_errno(error, "cannot set the registers of thread %d", (int)t->tid) : 0;
}

int tracee_set_mask(const struct tracee *t, uint64_t mask)
{
	int error = request(PTRACE_SETSIGMASK, t->tid, sizeof(mask), (uintptr_t)&mask);

	return error ? error_errno(error, "cannot set the signals of thread %d", (int)t->tid) : 0;
}

int tracee_set_xstate(const struct tracee *t)
{
	struct iovec state = {(void *)(uintptr_t)t->xstate, t->xstate_size};
	int error = request(PTRACE_SETREGSET, t->tid, NT_X86_XSTATE, (uintptr_t)&state);

	return error ? error_errno(error, "cannot set the registers of thread %d", (int)t->tid) : 0;
}

int tracee_set_shadow_stack(const struct tracee *t)
{
	struct iovec state = {(void *)(uintptr_t)&t->shadow_stack, sizeof(t->shadow_stack)};
	int error = t->shadow_stack
			    ? request(PTRACE_SETREGSET, t->tid, NT_X86_SHSTK, (uintptr_t)&state)
			    : 0;

	return error ? error_errno(error, "cannot set the stack of thread %d", (int)t->tid) : 0;
}

int tracee_write(const struct tracee *t, uint64_t address, const void *data, size_t size)
{
	int error = 0;

	for (size_t at = 0; !error && at + WORD <= size; at += WORD) {
		long word;

		memcpy(&word, (const uint8_t *)data + at, WORD);
		error = request(PTRACE_POKEDATA, t->tid, address + at, (uintptr_t)word);
	}
	return error ? error_errno(error, "cannot write into its code") : 0;
}

int tracee_read(const struct tracee *t, uint64_t address, void *ret, size_t size)
{
	struct iovec here = {ret, size}, there = {(void *)(uintptr_t)address, size};

	/* At once, where that is not forbidden: word by word it takes a millisecond. */
	if (process_vm_readv(t->tid, &here, 1, &there, 1, 0) == (ssize_t)size)
		return 0;
	for (size_t at = 0; at + WORD <= size; at += WORD) {
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, t->tid, (void *)(uintptr_t)(address + at), NULL);
		if (errno)
			return error_errno(-errno, "cannot read its code");
		memcpy((uint8_t *)ret + at, &word, WORD);
	}
	return 0;
}

bool tracee_is_restartable(const struct tracee *t)
{
	struct rseq_configuration c = {0};
	struct rseq_section section;
	uint64_t at;

	if (ptrace((enum __ptrace_request)PTRACE_GET_RSEQ_CONFIGURATION, t->tid, (void *)sizeof(c),
		    &c) < 0)
		return true;
	if (!c.pointer)
		return false;
	if (tracee_read(t, c.pointer + RSEQ_SECTION_AT, &at, sizeof(at)))
		return true;
	if (!at)
		return false;
	return tracee_read(t, at, &section, sizeof(section)) ||
	       t->registers.rip - section.start < section.length;
}
