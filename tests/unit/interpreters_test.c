// SPDX-License-Identifier: MIT
/* When an interpreter is found unusable. What is looked at is in this very process. */
#include "capture/interpreters.h"

#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

/* Begins as a runtime of Python 3.99 does: a version that nobody knows. */
static uint64_t runtime[128];

static const struct python_file *file_of_unknown_version(void)
{
	static struct python_file file;

	memcpy(runtime, "xdebugpy", 8);
	runtime[1] = 0x03630000;
	file.runtime = (uint64_t)(uintptr_t)runtime;
	file.runtime_bytes = sizeof(runtime);
	return &file;
}

static struct python_memory own;

static void one_look_does_not_make_it_unusable(void)
{
	struct interpreter i = {0};

	interpreter_map(&i, file_of_unknown_version(), 0);
	CHECK(!interpreter_look(&i, &own, 1));
	CHECK(i.state == PYTHON_NOT_YET);
	interpreter_release(&i);
}

static void many_looks_do(void)
{
	struct interpreter i = {0};
	uint64_t now_ns = 1;

	interpreter_map(&i, file_of_unknown_version(), 0);
	while (now_ns < NS_PER_SECOND && !interpreter_look(&i, &own, now_ns))
		now_ns += NS_PER_MS;
	CHECK(i.state == PYTHON_UNSUPPORTED);
	CHECK(now_ns > 100 * NS_PER_MS && now_ns < NS_PER_SECOND);
	CHECK(!interpreter_look(&i, &own, 10 * NS_PER_SECOND));
	interpreter_release(&i);
}

static void another_file_takes_the_place_of_one_that_seems_unusable(void)
{
	struct python_file other = *file_of_unknown_version();
	struct interpreter i = {0};

	interpreter_map(&i, file_of_unknown_version(), 0);
	interpreter_map(&i, &other, 16);
	CHECK(i.bias == 0);
	CHECK(!interpreter_look(&i, &own, 1));
	interpreter_map(&i, &other, 16);
	CHECK(i.bias == 16 && i.state == PYTHON_NOT_YET && !i.doubts);
	interpreter_release(&i);
}

int main(void)
{
	own = python_memory_of((uint32_t)getpid());
	RUN(one_look_does_not_make_it_unusable);
	RUN(many_looks_do);
	RUN(another_file_takes_the_place_of_one_that_seems_unusable);
	return tap_end();
}
