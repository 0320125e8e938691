// SPDX-License-Identifier: MIT
/* When an interpreter is found unusable. What is looked at is in this very process. */
#include "capture/interpreters.h"

#include <unistd.h>

#include "base/clock.h"
#include "python/memory.h"
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

static bool look(struct interpreter *i, uint64_t now_ns)
{
	struct walk_python python = {0};
	enum python_found found;

	if (!interpreter_is_due(i, now_ns))
		return false;
	found = python_find(&own, &i->file, i->bias, &python);
	return interpreter_answer(i, found, &python, now_ns);
}

static void one_look_does_not_make_it_unusable(void)
{
	struct interpreter i = {0};

	interpreter_map(&i, file_of_unknown_version(), 0);
	CHECK(!look(&i, 1));
	CHECK(i.state == PYTHON_NOT_YET);
	interpreter_release(&i);
}

static void many_looks_do(void)
{
	struct interpreter i = {0};
	uint64_t now_ns = 1;

	interpreter_map(&i, file_of_unknown_version(), 0);
	while (now_ns < NS_PER_SECOND && !look(&i, now_ns))
		now_ns += NS_PER_MS;
	CHECK(i.state == PYTHON_UNSUPPORTED);
	CHECK(now_ns > 100 * NS_PER_MS && now_ns < NS_PER_SECOND);
	CHECK(!look(&i, 10 * NS_PER_SECOND));
	interpreter_release(&i);
}

static void another_file_takes_the_place_of_one_that_seems_unusable(void)
{
	struct python_file other = *file_of_unknown_version();
	struct interpreter i = {0};

	interpreter_map(&i, file_of_unknown_version(), 0);
	interpreter_map(&i, &other, 16);
	CHECK(i.bias == 0);
	CHECK(!look(&i, 1));
	interpreter_map(&i, &other, 16);
	CHECK(i.bias == 16 && i.state == PYTHON_NOT_YET && !i.doubts);
	interpreter_release(&i);
}

static void one_that_is_given_up_is_not_looked_at_again(void)
{
	struct python_file other = *file_of_unknown_version();
	struct interpreter i = {0};

	interpreter_map(&i, file_of_unknown_version(), 0);
	interpreter_give_up(&i);
	CHECK(i.state == PYTHON_UNSUPPORTED);
	interpreter_map(&i, &other, 16);
	CHECK(!interpreter_is_due(&i, UINT64_MAX));
	CHECK(!look(&i, UINT64_MAX) && interpreter_fork(&i).given_up);
	interpreter_release(&i);
	CHECK(!i.given_up);
}

static void a_look_that_is_under_way_is_not_begun_again(void)
{
	struct interpreter i = {0}, child;

	interpreter_map(&i, file_of_unknown_version(), 0);
	CHECK(interpreter_is_due(&i, 1));
	i.asked = 7;
	CHECK(!interpreter_is_due(&i, 1));
	child = interpreter_fork(&i);
	CHECK(interpreter_is_due(&child, 1));
}

int main(void)
{
	own = python_memory_of((uint32_t)getpid());
	RUN(one_look_does_not_make_it_unusable);
	RUN(many_looks_do);
	RUN(another_file_takes_the_place_of_one_that_seems_unusable);
	RUN(one_that_is_given_up_is_not_looked_at_again);
	RUN(a_look_that_is_under_way_is_not_begun_again);
	return tap_end();
}
