// SPDX-License-Identifier: MIT
#include "capture/observe_costs.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "bpfload/refusal.h"
#include "capture/own_code.h"
#include "capture/uprobe.h"

#define ROUNDS 8
#define HITS   64 /* in a round */

/* On a busy machine the difference of two times may be anything: a return counts as one part in so
 * many of a call at least. */
#define LEAST_RETURN 4

/* Nobody else calls it. */
__attribute__((naked, noinline)) static void probed(void)
{
	__asm__("lea 8(%rdi), %rax\n\tret");
}

static uint64_t time_calls(void)
{
	uint64_t best_ns = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start_ns = clock_now_ns(), took_ns;

		for (int i = 0; i < HITS; i++)
			probed();
		took_ns = clock_now_ns() - start_ns;
		best_ns = took_ns < best_ns ? took_ns : best_ns;
	}
	return best_ns / HITS;
}

static void *time_in_thread(void *ret_ns)
{
	*(uint64_t *)ret_ns = time_calls();
	return NULL;
}

/* In another thread than the first. */
static int time_hits(uint64_t *ret_ns)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, time_in_thread, ret_ns);

	if (error)
		return error_errno(-error, "cannot measure what observing costs");
	pthread_join(thread, NULL);
	return 0;
}

static int attach(struct programs *p, const struct own_code *at, uint32_t pid, bool at_return)
{
	const uint64_t cookie = (uint64_t)OBSERVE_SLOTS << BPF_COOKIE_INDEX;
	const struct uprobe_places places = {.path = at->path,
		.offsets = &at->offset,
		.cookies = &cookie,
		.count = 1,
		.pid = pid,
		.at_return = at_return};

	return programs_observe(p, &places);
}

/* --- filters ---------------------------------------------------------------------------------- */

/* A process with a filter that lets it do nothing but end. */
static void call_filtered(int ready)
{
	struct sock_filter only_end[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog filter = {sizeof(only_end) / sizeof(*only_end), only_end};
	char byte;

	if (read(ready, &byte, 1) != 1 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(1);
	probed();
	syscall(SYS_exit_group, 0);
}

static bool ended_well(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return !status;
}

/* Whether a program with filters survives a probe on a return. */
static bool survives(struct programs *p, const struct own_code *at)
{
	int ready[2], link = -1;
	pid_t child;

	if (pipe(ready))
		return false;
	child = fork();
	if (!child) {
		close(ready[1]);
		call_filtered(ready[0]);
	}
	close(ready[0]);
	if (child > 0)
		link = attach(p, at, (uint32_t)child, true);
	if (link >= 0)
		(void)!write(ready[1], "", 1);
	close(ready[1]);
	if (child > 0 && !ended_well(child) && link >= 0) {
		close(link);
		link = -1;
	}
	if (link >= 0)
		close(link);
	return link >= 0;
}

/* --- costs ------------------------------------------------------------------------------------ */

/* With probes on calls, and then on returns as well. The slot is not open: the programs count. */
static int measure(struct observe_costs *ret, struct programs *p, const struct own_code *at)
{
	const struct bpf_observed *slot = &programs_observed(p)[OBSERVE_SLOTS];
	uint64_t call_ns = 0, both_ns = 0;
	int calls = attach(p, at, (uint32_t)getpid(), false), returns = -1, error;

	if (calls < 0)
		return refusal_explain(calls, "put probes on calls of a process");
	error = time_hits(&call_ns);
	if (!error && slot->calls < ROUNDS * HITS)
		error = error_set(-ENOTSUP,
			"probes within a process see its first thread only, before Linux 6.10");
	if (!error)
		returns = attach(p, at, (uint32_t)getpid(), true);
	if (returns >= 0)
		error = time_hits(&both_ns);
	close(calls);
	if (returns >= 0)
		close(returns);
	ret->call_ns = (uint32_t)call_ns;
	if (both_ns)
		ret->return_ns = (uint32_t)(both_ns > call_ns + call_ns / LEAST_RETURN
						    ? both_ns - call_ns
						    : call_ns / LEAST_RETURN);
	return error;
}

int observe_costs_measure(struct observe_costs *ret, struct programs *p)
{
	struct own_code at;
	struct observe_costs costs = {0};
	int error = own_code_find(&at, (uintptr_t)probed) ? 0 : -ENOENT;

	if (error)
		return error_errno(error, "cannot measure what observing costs");
	error = measure(&costs, p, &at);
	if (error)
		return error;
	if (!survives(p, &at))
		costs.return_ns = 0;
	*ret = costs;
	return 0;
}
