// SPDX-License-Identifier: MIT
/*
 * An interpreter for the classic BPF of seccomp (linux/filter.h, kernel/seccomp.c: which
 * instructions it takes). Jumps go forward only, so every program ends.
 *
 * Where a thread may call is part of what a filter sees. The calls are made in our code, in the C
 * library and in the loader, whose addresses differ: a filter that looks at that is not satisfied
 * by any one answer. Such are not known; the address is given as 0.
 */
#include "join/filters.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/error.h"

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif

#define FILTERS_MAX    1024
#define ANY_ADDRESS    0x7ff000000000ull
#define ANY_DESCRIPTOR 200

struct machine {
	const struct seccomp_data *data;
	uint32_t a, x, memory[BPF_MEMWORDS];
	uint32_t result;
	bool done, broken;
};

static void load(struct machine *m, const struct sock_filter *i, uint32_t *to)
{
	m->broken |= BPF_SIZE(i->code) != BPF_W;
	switch (BPF_MODE(i->code)) {
	case BPF_IMM:
		*to = i->k;
		return;
	case BPF_LEN:
		*to = sizeof(*m->data);
		return;
	case BPF_MEM:
		m->broken |= i->k >= BPF_MEMWORDS;
		*to = m->broken ? 0 : m->memory[i->k];
		return;
	case BPF_ABS:
		m->broken |= to == &m->x || i->k % 4 || i->k > sizeof(*m->data) - 4;
		if (!m->broken)
			memcpy(to, (const char *)m->data + i->k, sizeof(*to));
		return;
	default:
		m->broken = true;
	}
}

static void store(struct machine *m, const struct sock_filter *i, uint32_t value)
{
	m->broken |= i->k >= BPF_MEMWORDS;
	if (!m->broken)
		m->memory[i->k] = value;
}

static void calculate(struct machine *m, const struct sock_filter *i)
{
	uint32_t by = BPF_SRC(i->code) == BPF_X ? m->x : i->k;

	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		m->a += by;
		return;
	case BPF_SUB:
		m->a -= by;
		return;
	case BPF_MUL:
		m->a *= by;
		return;
	case BPF_DIV: /* by zero the kernel ends the program with 0, which kills the thread */
		m->done = !by;
		m->a = by ? m->a / by : 0;
		return;
	case BPF_AND:
		m->a &= by;
		return;
	case BPF_OR:
		m->a |= by;
		return;
	case BPF_XOR:
		m->a ^= by;
		return;
	case BPF_LSH: /* by a constant of 32 or more the kernel takes no program */
		m->broken |= BPF_SRC(i->code) == BPF_K && by >= 32;
		m->a <<= by & 31;
		return;
	case BPF_RSH:
		m->broken |= BPF_SRC(i->code) == BPF_K && by >= 32;
		m->a >>= by & 31;
		return;
	case BPF_NEG:
		m->a = -m->a;
		return;
	default:
		m->broken = true;
	}
}

/* How many instructions are skipped. */
static size_t jump(struct machine *m, const struct sock_filter *i)
{
	uint32_t with = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
	bool holds;

	switch (BPF_OP(i->code)) {
	case BPF_JA:
		return i->k;
	case BPF_JEQ:
		holds = m->a == with;
		break;
	case BPF_JGT:
		holds = m->a > with;
		break;
	case BPF_JGE:
		holds = m->a >= with;
		break;
	case BPF_JSET:
		holds = m->a & with;
		break;
	default:
		m->broken = true;
		return 0;
	}
	return holds ? i->jt : i->jf;
}

static void move(struct machine *m, const struct sock_filter *i)
{
	if (i->code == (BPF_MISC | BPF_TAX))
		m->x = m->a;
	else if (i->code == (BPF_MISC | BPF_TXA))
		m->a = m->x;
	else
		m->broken = true;
}

static size_t step(struct machine *m, const struct sock_filter *i)
{
	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
		load(m, i, &m->a);
		return 0;
	case BPF_LDX:
		load(m, i, &m->x);
		return 0;
	case BPF_ST:
		store(m, i, m->a);
		return 0;
	case BPF_STX:
		store(m, i, m->x);
		return 0;
	case BPF_ALU:
		calculate(m, i);
		return 0;
	case BPF_JMP:
		return jump(m, i);
	case BPF_RET:
		m->broken |= BPF_RVAL(i->code) != BPF_A && BPF_RVAL(i->code) != BPF_K;
		m->result = BPF_RVAL(i->code) == BPF_A ? m->a : i->k;
		m->done = true;
		return 0;
	default: /* BPF_MISC */
		move(m, i);
		return 0;
	}
}

uint32_t filters_run(const struct sock_filter *program, size_t count, unsigned int call,
	const uint64_t *arguments)
{
	struct seccomp_data data = {.nr = (int)call, .arch = AUDIT_ARCH_X86_64};
	struct machine m = {.data = &data};

	memcpy(data.args, arguments, sizeof(data.args));
	for (size_t at = 0; !m.done; at++) {
		if (at >= count || m.broken || program[at].code > UINT8_MAX)
			return SECCOMP_RET_KILL_PROCESS;
		at += step(&m, &program[at]);
	}
	return m.broken ? SECCOMP_RET_KILL_PROCESS : m.result & SECCOMP_RET_ACTION_FULL;
}

/* --- what joining does ------------------------------------------------------------------------ */

struct call {
	unsigned int number;
	const char *name;
	uint64_t arguments[6];
	bool may_fail; /* an error does no harm */
};

#define CALL(name, ...)                                                                            \
	{                                                                                          \
		SYS_##name, #name, {__VA_ARGS__}, false                                            \
	}
#define TRIES(name, ...)                                                                           \
	{                                                                                          \
		SYS_##name, #name, {__VA_ARGS__}, true                                             \
	}
#define THREAD_FLAGS                                                                               \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |        \
		CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

static const struct call calls[] = {
	CALL(mmap, ANY_ADDRESS, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, (uint64_t)-1),
	CALL(mmap, 0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, (uint64_t)-1),
	CALL(mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_DENYWRITE, ANY_DESCRIPTOR),
	CALL(mmap, ANY_ADDRESS, 4096, PROT_READ | PROT_EXEC,
		MAP_PRIVATE | MAP_DENYWRITE | MAP_FIXED, ANY_DESCRIPTOR),
	CALL(mmap, ANY_ADDRESS, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_DENYWRITE | MAP_FIXED, ANY_DESCRIPTOR),
	CALL(mmap, ANY_ADDRESS, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1),
	CALL(mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1),
	CALL(mmap, 0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1),
	CALL(mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ANY_DESCRIPTOR),
	CALL(munmap, ANY_ADDRESS, 4096),
	CALL(mprotect, ANY_ADDRESS, 4096, PROT_READ | PROT_WRITE),
	CALL(mprotect, ANY_ADDRESS, 4096, PROT_READ),
	TRIES(madvise, ANY_ADDRESS, 4096, MADV_DONTNEED),
	TRIES(madvise, ANY_ADDRESS, 4096, MADV_DONTFORK),
	TRIES(madvise, ANY_ADDRESS, 4096, MADV_WIPEONFORK),
	CALL(rt_sigaction, 33, ANY_ADDRESS, 0, 8), /* the C library's, with the first thread */
	CALL(rt_sigprocmask, 2, ANY_ADDRESS, 0, 8),
	CALL(rt_sigprocmask, 0, ANY_ADDRESS, 0, 8),
	TRIES(clone3, ANY_ADDRESS, 88),
	CALL(clone, THREAD_FLAGS, ANY_ADDRESS, ANY_ADDRESS, ANY_ADDRESS, ANY_ADDRESS),
	TRIES(set_robust_list, ANY_ADDRESS, 24),
#ifdef SYS_rseq
	TRIES(rseq, ANY_ADDRESS, 32, 0, 0x53053053),
#endif
	CALL(gettid, 0),
	CALL(getpid, 0),
	CALL(socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ANY_ADDRESS),
	CALL(memfd_create, ANY_ADDRESS, 3),
	TRIES(memfd_create, ANY_ADDRESS, 0x13),
	CALL(restart_syscall, 0),
	CALL(nanosleep, ANY_ADDRESS, 0),
	CALL(clock_nanosleep, 0, 0, ANY_ADDRESS, 0),
	CALL(clock_gettime, 1, ANY_ADDRESS),
	CALL(futex, ANY_ADDRESS, 0x80, 1),
	CALL(futex, ANY_ADDRESS, 0x81, 1),
	CALL(openat, (uint64_t)-100, ANY_ADDRESS, 0x80000),
	CALL(read, ANY_DESCRIPTOR, ANY_ADDRESS, 4096),
	CALL(pread64, ANY_DESCRIPTOR, ANY_ADDRESS, 4096, 0),
	TRIES(fstat, ANY_DESCRIPTOR, ANY_ADDRESS),
	TRIES(newfstatat, ANY_DESCRIPTOR, ANY_ADDRESS, ANY_ADDRESS, 0x1000),
	CALL(lseek, ANY_DESCRIPTOR, 0, 0),
	CALL(close, ANY_DESCRIPTOR),
	CALL(fcntl, ANY_DESCRIPTOR, 1030, 200),
	TRIES(fcntl, ANY_DESCRIPTOR, 1033, 15),
	CALL(write, ANY_DESCRIPTOR, ANY_ADDRESS, 64),
	CALL(sendto, ANY_DESCRIPTOR, ANY_ADDRESS, 8, MSG_NOSIGNAL),
	CALL(recvfrom, ANY_DESCRIPTOR, ANY_ADDRESS, 1, MSG_DONTWAIT | MSG_PEEK),
	CALL(sendmsg, ANY_DESCRIPTOR, ANY_ADDRESS, MSG_NOSIGNAL | MSG_DONTWAIT),
	CALL(recvmsg, ANY_DESCRIPTOR, ANY_ADDRESS, MSG_CMSG_CLOEXEC | MSG_DONTWAIT),
	TRIES(getsockopt, ANY_DESCRIPTOR, SOL_SOCKET, SO_PEERCRED, ANY_ADDRESS, ANY_ADDRESS),
	CALL(poll, ANY_ADDRESS, 1, 100),
	TRIES(prctl, 15, ANY_ADDRESS),
	TRIES(getdents64, ANY_DESCRIPTOR, ANY_ADDRESS, 32768),
	TRIES(readlink, ANY_ADDRESS, ANY_ADDRESS, 4096),
	TRIES(sched_getaffinity, 0, 128, ANY_ADDRESS),
	TRIES(tgkill, 1, 1, 0),
	TRIES(sysinfo, ANY_ADDRESS),
	TRIES(prlimit64, 0, 3, 0, ANY_ADDRESS),
	CALL(exit, 0),
};

/* What a library does besides that sleeps and is woken (wake.h). */
static const struct call waking[] = {
	TRIES(setsockopt, ANY_DESCRIPTOR, SOL_SOCKET, SO_PASSCRED, ANY_ADDRESS, 4),
	TRIES(prctl, 16, ANY_ADDRESS),
	CALL(futex, ANY_ADDRESS, 0, 0),
};

static bool passes(const struct call *c, uint32_t answer)
{
	return answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_LOG ||
	       (c->may_fail && answer == SECCOMP_RET_ERRNO);
}

static int check_calls(
	const struct sock_filter *program, size_t count, const struct call *these, size_t number)
{
	for (size_t n = 0; n < number; n++) {
		const struct call *c = &these[n];

		if (!passes(c, filters_run(program, count, c->number, c->arguments)))
			return error_set(
				-EPERM, "its seccomp filter does not let '%s' pass", c->name);
	}
	return 0;
}

static int check_program(const struct sock_filter *program, size_t count, bool wakes)
{
	int error = check_calls(program, count, calls, sizeof(calls) / sizeof(calls[0]));

	if (error || !wakes)
		return error;
	return check_calls(program, count, waking, sizeof(waking) / sizeof(waking[0]));
}

int filters_check(pid_t tid, bool wakes)
{
	struct sock_filter program[BPF_MAXINSNS];

	for (uintptr_t n = 0; n < FILTERS_MAX; n++) {
		long count = ptrace(
			(enum __ptrace_request)PTRACE_SECCOMP_GET_FILTER, tid, (void *)n, NULL);
		int error;

		if (count < 0 && errno == ENOENT)
			return 0;
		if (count < 0 || count > BPF_MAXINSNS)
			return error_set(-EPERM,
				"it has a seccomp filter, which only CAP_SYS_ADMIN may read");
		count = ptrace(
			(enum __ptrace_request)PTRACE_SECCOMP_GET_FILTER, tid, (void *)n, program);
		error = count < 0 || count > BPF_MAXINSNS
				? error_errno(-errno, "its seccomp filter")
				: check_program(program, (size_t)count, wakes);
		if (error)
			return error;
	}
	return error_set(-E2BIG, "it has too many seccomp filters");
}
