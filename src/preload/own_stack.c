// SPDX-License-Identifier: MIT
#include "preload/own_stack.h"

#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_BYTES ((size_t)8 << 20) /* of which what is used takes memory */
#define GUARD_BYTES ((size_t)64 << 10)

struct own_call {
	void (*call)(void *argument);
	void *argument;
	ucontext_t here, there;
};

/* makecontext hands on numbers only. */
static _Thread_local struct own_call *current;

static void begin(void)
{
	struct own_call *c = current;

	c->call(c->argument);
}

bool own_stack_call(void (*call)(void *argument), void *argument)
{
	struct own_call c = {.call = call, .argument = argument};
	char *stack = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	bool called = false;

	if (stack == MAP_FAILED)
		return false;
	if (!mprotect(stack + GUARD_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE) &&
		!getcontext(&c.there)) {
		c.there.uc_stack.ss_sp = stack + GUARD_BYTES;
		c.there.uc_stack.ss_size = STACK_BYTES;
		c.there.uc_link = &c.here;
		makecontext(&c.there, begin, 0);
		current = &c;
		called = !swapcontext(&c.here, &c.there);
	}
	munmap(stack, GUARD_BYTES + STACK_BYTES);
	return called;
}
