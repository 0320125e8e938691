// SPDX-License-Identifier: MIT
/* Stacks of all kinds that C makes; see truth.h. Says "done" at the end. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "truth.h"

int other_nothing(int x);
void other_call(void (*callback)(void));

/* Keeps a value in memory, as far as the compiler knows. */
#define USE(p) __asm__ volatile("" : : "r"(p) : "memory")

/* ---- plain calls ---- */

KNOWN static void c_inner(void)
{
	truth_enter("c_inner");
	truth_point();
	truth_leave();
}

/* Saves and restores many registers, often. */
KNOWN static uint64_t c_small(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t d = a ^ b, e = b ^ c, f = a + c, g = a * b, h = b * c, i = c * a;

	__asm__ volatile(""
			 : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
			 : "r"(i)
			 : "memory");
	return a + b + c + d + e + f + g + h + i;
}

KNOWN static void c_busy(void)
{
	volatile uint64_t sum = 0;

	truth_enter("c_busy");
	truth_calls("c_small");
	for (uint64_t i = 0; i < 3000000; i++)
		sum += c_small(i, sum, i + 1);
	truth_leave();
}

KNOWN static void c_outer(void)
{
	truth_enter("c_outer");
	c_inner();
	c_busy();
	truth_leave();
}

/* ---- frames of unusual shape ---- */

KNOWN static void c_vla(int n)
{
	char bytes[n];

	truth_enter("c_vla!");
	memset(bytes, n, (size_t)n);
	USE(bytes);
	c_inner();
	truth_leave();
}

KNOWN static void c_alloca(int n)
{
	char *bytes = NULL;

	truth_enter("c_alloca");
	for (int i = 0; i < n; i++) {
		bytes = alloca((size_t)i * 24 + 8);
		USE(bytes);
	}
	c_inner();
	truth_leave();
}

/* The stack is aligned to 64 bytes and the old pointer kept in a register of its own. */
KNOWN static void c_realigned(int a, int b, int c, int d, int e, int f, long g, long h)
{
	char bytes[100] __attribute__((aligned(64)));

	truth_enter("c_realigned");
	bytes[0] = (char)(a + b + c + d + e + f + g + h);
	USE(bytes);
	c_inner();
	truth_leave();
}

KNOWN static void c_realigned_vla(int n, int b, int c, int d, int e, int f, long g, long h)
{
	char bytes[64] __attribute__((aligned(64))), more[n];

	truth_enter("c_realigned_vla");
	bytes[0] = (char)(b + c + d + e + f + g + h);
	USE(bytes);
	USE(more);
	c_inner();
	truth_leave();
}

KNOWN static void c_large_frame(void)
{
	char bytes[200000];

	truth_enter("c_large_frame");
	USE(bytes);
	c_inner();
	truth_leave();
}

KNOWN static void c_recurse(int depth)
{
	truth_enter("c_recurse");
	if (depth > 1)
		c_recurse(depth - 1);
	else
		truth_point();
	truth_leave();
}

KNOWN static void c_deep(void)
{
	truth_enter("c_deep");
	c_recurse(100);
	truth_leave();
}

/* ---- the last call of a function, and of a stack ---- */

static jmp_buf after_noreturn;

KNOWN __attribute__((noreturn)) static void c_noreturn(int depth)
{
	truth_enter("c_noreturn!");
	truth_point();
	truth_unwind(depth);
	longjmp(after_noreturn, 1);
}

/* Nothing follows its last call: the return address lies behind its end. */
KNOWN __attribute__((noreturn)) static void c_ends_in_call(int depth)
{
	truth_enter("c_ends_in_call");
	c_noreturn(depth);
}

KNOWN static void c_jump(void)
{
	truth_enter("c_jump!");
	if (!setjmp(after_noreturn))
		c_ends_in_call(truth_depth());
	truth_point();
	truth_leave();
}

#ifdef __clang__
#define TAIL_CALLS
#else
#define TAIL_CALLS __attribute__((optimize("optimize-sibling-calls")))
#endif

KNOWN static int c_tail_callee(int x)
{
	truth_enter("?c_tail_caller");
	truth_enter("c_tail_callee");
	truth_point();
	truth_leave();
	truth_leave();
	return x + 1;
}

/* Gone from the stack when the call is a jump. */
KNOWN TAIL_CALLS static int c_tail_caller(int x)
{
	return c_tail_callee(x * 2);
}

KNOWN static void c_tail(void)
{
	volatile int x = 1;

	truth_enter("c_tail");
	x = c_tail_caller(x);
	truth_leave();
}

/* ---- other code between ---- */

static int compare_times;

KNOWN static int c_compare(const void *a, const void *b)
{
	truth_enter("~glue");
	truth_enter("c_compare");
	if (compare_times++ == 3)
		truth_point();
	truth_leave();
	truth_leave();
	return *(const int *)a - *(const int *)b;
}

KNOWN static void c_sort(void)
{
	int numbers[] = {3, 1, 4, 1, 5, 9, 2, 6};

	truth_enter("c_sort!");
	qsort(numbers, sizeof(numbers) / sizeof(*numbers), sizeof(*numbers), c_compare);
	truth_leave();
}

#ifndef TRUTH_STATIC
KNOWN static void c_callback(void)
{
	truth_enter("c_callback");
	truth_point();
	truth_leave();
}

KNOWN static void c_through_library(void)
{
	truth_enter("c_through_library!");
	other_call(c_callback);
	truth_leave();
}

/* Much of its time is spent in the stub of the call. */
KNOWN static void c_plt(void)
{
	volatile int x = 0;

	truth_enter("c_plt!");
	for (int i = 0; i < 8000000; i++)
		x = other_nothing(x);
	truth_leave();
}
#endif

KNOWN static void c_vdso(void)
{
	struct timespec t;

	truth_enter("c_vdso!");
	for (int i = 0; i < 400000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		USE(&t);
	}
	truth_leave();
}

/* ---- signals ---- */

static volatile sig_atomic_t signalled;
static char *closed_page;

KNOWN static void c_handler_inner(void)
{
	truth_enter("c_handler_inner");
	truth_point();
	truth_leave();
}

KNOWN static void c_handler(int number)
{
	truth_enter("~signal");
	truth_enter("c_handler");
	c_handler_inner();
	signalled = 1;
	truth_leave();
	truth_leave();
}

/* No call and so perhaps no frame: interrupted anywhere. */
KNOWN static uint64_t c_interrupted(void)
{
	uint64_t n = 0;

	while (!signalled)
		n = n * 3 + 1;
	return n;
}

KNOWN static void c_interrupt(const char *name)
{
	struct itimerval soon = {.it_value = {.tv_usec = 3000}};

	truth_enter(name);
	truth_enter("c_interrupt!");
	signalled = 0;
	setitimer(ITIMER_REAL, &soon, NULL);
	truth_enter("c_interrupted");
	c_interrupted();
	truth_leave();
	truth_leave();
	truth_leave();
}

KNOWN static void c_signal_on_stack(void)
{
	struct sigaction action = {.sa_handler = c_handler};

	sigaction(SIGALRM, &action, NULL);
	c_interrupt("c_signal_on_stack!");
}

KNOWN static void c_signal_on_other_stack(void)
{
	struct sigaction action = {.sa_handler = c_handler, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_size = 256 << 10};

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	sigaction(SIGALRM, &action, NULL);
	c_interrupt("c_signal_on_other_stack!");
}

KNOWN static void c_fault_handler(int number, siginfo_t *info, void *unused)
{
	truth_enter("~signal");
	truth_enter("c_fault_handler!");
	mprotect(closed_page, 4096, PROT_READ | PROT_WRITE);
	truth_point();
	truth_leave();
	truth_leave();
}

KNOWN static int c_faulting(const char *p)
{
	return *(const volatile char *)p + 1;
}

KNOWN static void c_fault(void)
{
	struct sigaction action = {.sa_sigaction = c_fault_handler, .sa_flags = SA_SIGINFO};

	truth_enter("c_fault!");
	closed_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, NULL);
	truth_enter("c_faulting");
	c_faulting(closed_page);
	truth_leave();
	truth_leave();
}

/* ---- other stacks ---- */

static ucontext_t outside, inside;

KNOWN static void c_fiber(void)
{
	truth_enter("~context");
	truth_enter("c_fiber!");
	truth_point();
	truth_leave();
	truth_leave();
	swapcontext(&inside, &outside);
}

KNOWN static void c_fibers(void)
{
	truth_enter("c_fibers!");
	getcontext(&inside);
	inside.uc_stack.ss_size = 256 << 10;
	inside.uc_stack.ss_sp = malloc(inside.uc_stack.ss_size);
	inside.uc_link = &outside;
	makecontext(&inside, c_fiber, 0);
	swapcontext(&outside, &inside);
	truth_leave();
}

KNOWN static void *c_thread(void *unused)
{
	truth_enter("~thread");
	truth_enter("c_thread!");
	c_inner();
	truth_leave();
	truth_leave();
	return NULL;
}

KNOWN static void c_threads(void)
{
	pthread_t threads[2];

	truth_enter("c_threads!");
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, c_thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	truth_leave();
}

KNOWN static void c_child(void)
{
	truth_enter("c_child");
	truth_spin();
	truth_leave();
}

KNOWN static void c_fork(void)
{
	pid_t child;
	int status = 0;

	truth_enter("c_fork!");
	child = fork();
	if (!child) {
		c_child();
		_exit(0);
	}
	waitpid(child, &status, 0);
	truth_leave();
}

int main(void)
{
	truth_enter("~start");
	truth_enter("main!");
	truth_begin();
	c_outer();
	c_vla(333);
	c_alloca(5);
	c_realigned(1, 2, 3, 4, 5, 6, 7, 8);
	c_realigned_vla(100, 2, 3, 4, 5, 6, 7, 8);
	c_large_frame();
	c_deep();
	c_jump();
	c_tail();
	c_sort();
	c_vdso();
#ifndef TRUTH_STATIC
	c_through_library();
	c_plt();
#endif
	c_signal_on_stack();
	c_signal_on_other_stack();
	c_fault();
	c_fibers();
	c_threads();
	c_fork();
	puts("done");
	return 0;
}
