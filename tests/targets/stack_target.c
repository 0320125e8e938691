// SPDX-License-Identifier: MIT
/*
 * A CUDA program whose stacks are hard to tell apart or dangerous to read: tests/cli/stacks.t.
 *
 * usage: stack_target WHAT [COUNT]
 *
 *	reload    COUNT times: axpy from a library, then scale from another one at the same addresses
 *	beyond    rbp leads out of the thread's stack, to one of two objects; axpy with the one, scale
 *	          with the other
 *	garbage   rbp leads to words on the stack that are no frame, and behind them to different
 *	          functions for axpy and for scale
 *	fiber     launches on a stack of its own just below the thread's, with rbp in the guard between
 *	deep      launches under 40, 1,900 and 10,000 frames
 *	threads   COUNT short threads one after the other, each launching a few times
 *
 * Kernel axpy is only ever asked for by functions called ..._a, scale by those called ..._b. A
 * pause before each beginning lets the library learn where stacks end. Says "done" at the end.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "target.h"

#define ROUNDS 40

static void pause_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t))
		;
}

__attribute__((noinline)) static void launch(void *function)
{
	void *parameters[] = {&memory};

	CHECK(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
}

/* Calls launch(function) with this in rbp, as code built without frame pointers may. */
__attribute__((noinline)) static void launch_with_rbp(void *function, const void *rbp)
{
	__asm__ volatile("lea -136(%%rsp), %%rsp\n\t" /* the red zone, and what keeps it aligned */
			 "push %%rbp\n\t"
			 "mov %1, %%rbp\n\t"
			 "call *%2\n\t"
			 "pop %%rbp\n\t"
			 "lea 136(%%rsp), %%rsp"
			 : "+D"(function)
			 : "r"(rbp), "r"((uintptr_t)launch)
			 : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
}

/* Gets through the library's questions about this thread's stack. */
static void settle(void)
{
	for (int n = 0; n < 5; n++) {
		CHECK(cuda.cuCtxSynchronize());
		pause_ms(120);
	}
}

/* ---- reload ---- */

/* With patience its stacks come to be told by number. */
static void use_plugin(const char *name, void *function, bool patient, void **ret_place)
{
	char path[4096], step[64];
	void (*call)(void (*)(void *), void *);
	void *handle;
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 32);

	path[size > 0 ? size : 0] = '\0';
	sprintf(strrchr(path, '/'), "/plugin_%s.so", name);
	handle = dlopen(path, RTLD_NOW);
	snprintf(step, sizeof(step), "step_in_plugin_%s", name);
	*(void **)&call = handle ? dlsym(handle, step) : NULL;
	if (!call) {
		fprintf(stderr, "stack_target: %s\n", dlerror());
		exit(2);
	}
	*ret_place = *(void **)&call;
	for (int n = 0; n < 15; n++) {
		call(launch, function);
		if (patient && n % 5 == 4 && n < 14)
			pause_ms(200);
	}
	dlclose(handle);
}

static void reload(int count)
{
	void *a = NULL, *b = NULL;
	int same = 0;

	settle();
	for (int n = 0; n < count; n++) {
		use_plugin("a", axpy, n % 4 == 1, &a);
		use_plugin("b", scale, n % 4 == 3, &b);
		same += a == b;
	}
	printf("%s\n", same ? "the same addresses" : "different addresses");
}

/* ---- rbp that leads astray ---- */

__attribute__((noinline, used)) static void impostor_a(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

__attribute__((noinline, used)) static void impostor_b(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

static uintptr_t inside(void (*function)(void))
{
	return (uintptr_t)function + 2;
}

static void *astray_above; /* two objects at a higher address than any thread's stack */

static void *launch_beyond(void *unused)
{
	uintptr_t *objects = astray_above;

	CHECK(cuda.cuCtxSetCurrent(context));
	objects[0] = objects[2] = 0;
	objects[1] = inside(impostor_a);
	objects[3] = inside(impostor_b);
	settle();
	for (int n = 0; n < ROUNDS; n++) {
		for (int i = 0; i < 2; i++)
			launch_with_rbp(i ? scale : axpy, objects + 2 * i);
		pause_ms(20);
	}
	CHECK(cuda.cuCtxSynchronize());
	return NULL;
}

static void in_thread(void *(*run)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
}

static void beyond(int count)
{
	astray_above = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	in_thread(launch_beyond);
}

static void garbage(int count)
{
	volatile uintptr_t words[8] = {0};
	uintptr_t *w = (uintptr_t *)words;

	settle();
	w[0] = (uintptr_t)&w[2];
	w[1] = 0x1234; /* no code: here a walk has gone astray */
	for (int n = 0; n < ROUNDS; n++) {
		for (int i = 0; i < 2; i++) {
			w[3] = inside(i ? impostor_b : impostor_a);
			launch_with_rbp(i ? scale : axpy, w);
		}
		pause_ms(20);
	}
	CHECK(cuda.cuCtxSynchronize());
}

/* ---- other stacks ---- */

static ucontext_t outside, in_fiber;
static void *guard;

static void fiber(void)
{
	for (int n = 0; n < ROUNDS; n++) {
		launch_with_rbp(axpy, guard);
		swapcontext(&in_fiber, &outside);
	}
}

static void *launch_in_fibers(void *stack)
{
	CHECK(cuda.cuCtxSetCurrent(context));
	settle();
	getcontext(&in_fiber);
	in_fiber.uc_stack.ss_sp = stack;
	in_fiber.uc_stack.ss_size = 65536;
	in_fiber.uc_link = &outside;
	makecontext(&in_fiber, fiber, 0);
	for (int n = 0; n < ROUNDS; n++) {
		swapcontext(&outside, &in_fiber);
		launch(scale);
		pause_ms(20);
	}
	CHECK(cuda.cuCtxSynchronize());
	return NULL;
}

/*
 *	| fiber's stack | guard | thread's stack |
 */
static void fibers(int count)
{
	size_t size = 256 << 10, page = 4096;
	char *all = mmap(NULL, 65536 + page + size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	guard = all + 65536;
	mprotect(guard, page, PROT_NONE);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, all + 65536 + page, size);
	pthread_create(&thread, &attributes, launch_in_fibers, all);
	pthread_join(thread, NULL);
}

__attribute__((noinline)) static int descend(int depth, void *function)
{
	volatile int below = 0; /* no loop in place of the recursion */

	if (depth > 1)
		below = descend(depth - 1, function) + 1;
	else
		launch(function);
	return below;
}

static void deep(int count)
{
	static const int depths[] = {40, 1900, 10000};

	settle();
	for (int n = 0; n < ROUNDS; n++) {
		for (int i = 0; i < 3; i++)
			if (descend(depths[i], i ? scale : axpy) != depths[i] - 1)
				exit(1);
		pause_ms(10);
	}
	CHECK(cuda.cuCtxSynchronize());
}

static void *launch_a_few(void *unused)
{
	CHECK(cuda.cuCtxSetCurrent(context));
	for (int n = 0; n < 5; n++)
		launch(axpy);
	return NULL;
}

static void threads(int count)
{
	while (count--)
		in_thread(launch_a_few);
	CHECK(cuda.cuCtxSynchronize());
}

static const struct {
	const char *name;
	void (*run)(int count);
} programs[] = {
	{"reload", reload},
	{"beyond", beyond},
	{"garbage", garbage},
	{"fiber", fibers},
	{"deep", deep},
	{"threads", threads},
};

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 40;

	for (size_t n = 0; argc > 1 && n < sizeof(programs) / sizeof(programs[0]); n++)
		if (!strcmp(programs[n].name, argv[1])) {
			begin("stack_target");
			programs[n].run(count);
			puts("done");
			return 0;
		}
	fprintf(stderr, "usage: stack_target WHAT [COUNT]\n");
	return 2;
}
