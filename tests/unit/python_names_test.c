// SPDX-License-Identifier: MIT
/*
 * Python in the memory of processes is read by another process, which may be held up. The code here
 * lies in this very process. This program is executed for what reads, as xpuprof is; asked of
 * processes with certain numbers it misbehaves.
 */
#include "capture/python_names.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "python/code_reader.h"
#include "sandbox/limits.h"
#include "sandbox/memory.h"
#include "sandbox/message.h"
#include "sandbox/sandbox.h"
#include "sandbox/sleepers.h"
#include "tap.h"

#define SELF "/proc/self/exe"
#define LONG (20 * NS_PER_SECOND)

/* Above what a kernel gives out. */
enum { HANGS = 5000000, DIES = 6000000, DIES_ONCE = 7000000 };

/* --- code of a CPython 3.12 ------------------------------------------------------------------- */

struct type {
	uint64_t before[3];
	const char *name;
};

struct text {
	uint64_t references;
	const struct type *type;
	uint64_t length, hash, state;
	char characters[24];
};

struct bytes {
	uint64_t references;
	const struct type *type;
	uint64_t size, hash;
	uint8_t data[8];
};

struct code {
	uint64_t references;
	const struct type *type;
	uint64_t size;
	uint8_t before_line[44];
	uint32_t first_line;
	uint8_t before_names[40];
	const struct text *file, *name, *qualified_name;
	const struct bytes *lines;
	uint64_t before_traceable[4];
	uint64_t first_traceable;
	uint64_t before_bytecode;
	uint16_t bytecode[8];
};

_Static_assert(offsetof(struct code, first_line) == 68, "as in layout.c");
_Static_assert(offsetof(struct code, file) == 112, "as in layout.c");
_Static_assert(offsetof(struct code, first_traceable) == 176, "as in layout.c");
_Static_assert(offsetof(struct code, bytecode) == 192, "as in layout.c");

#define ASCII_TEXT (1u << 2 | 1u << 5 | 1u << 6)
#define CODES	   600

static const struct type type_code = {.name = "code"}, type_text = {.name = "str"},
			 type_bytes = {.name = "bytes"};
static struct text file = {.type = &type_text, .length = 7, .state = ASCII_TEXT};
static struct bytes lines = {.type = &type_bytes, .size = 2, .data = {0x80 | 7, 0x00}};
static struct text names[CODES];
static struct code codes[CODES];

static void make_code(void)
{
	memcpy(file.characters, "work.py", 8);
	for (uint32_t i = 0; i < CODES; i++) {
		names[i] = (struct text){.type = &type_text, .state = ASCII_TEXT};
		names[i].length = (uint64_t)snprintf(
			names[i].characters, sizeof(names[i].characters), "function_%u", i);
		codes[i] = (struct code){.type = &type_code,
			.size = 8,
			.first_line = 10 * i,
			.file = &file,
			.name = &names[i],
			.qualified_name = &names[i],
			.lines = &lines};
	}
}

static struct walk_python_frame frame_of(uint32_t i)
{
	uint64_t check[4];

	memcpy(check, (const char *)&codes[i] + offsetof(struct code, file), sizeof(check));
	return (struct walk_python_frame){
		(uint64_t)(uintptr_t)&codes[i] | walk_python_check(check) << 48,
		(uint64_t)(uintptr_t)codes[i].bytecode};
}

/* --- a recording ------------------------------------------------------------------------------ */

static struct processes *processes;
static struct python_names *reading;

static void begin(const char *program)
{
	make_code();
	CHECK(!processes_new(&processes, NULL, true));
	CHECK(!python_names_new(&reading, program, processes));
}

static void end(void)
{
	python_names_free(reading);
	processes_free(processes);
}

static struct process *process_with_python(uint32_t pid)
{
	struct process *process = processes_get(processes, pid);

	process->python.state = PYTHON_FOUND;
	process->python.python = (struct walk_python){.layout = WALK_PYTHON_CSTACK,
		.version = 0x030c,
		.code_check = offsetof(struct code, file)};
	return process;
}

static bool want(struct process *process, uint32_t first, uint32_t count)
{
	struct walk_python_frame frames[WALK_PYTHON_FRAMES_MAX];
	bool coming = false;

	for (uint32_t i = 0; i < count; i++)
		frames[i] = frame_of(first + i);
	CHECK(!python_names_want(reading, process, frames, count, &coming));
	return coming;
}

static const char *name_of(struct process *process, uint32_t i)
{
	struct walk_python_frame frame = frame_of(i);
	struct python_line line;
	int error = python_names_line(process, &frame, &line);

	if (!error)
		CHECK(line.line == 10 * i && !strcmp(line.file, "work.py"));
	return error == -EAGAIN ? "coming" : error ? "unknown" : line.function;
}

static bool is_readable(void)
{
	struct process *self = process_with_python((uint32_t)getpid());
	bool good;

	(void)want(self, 0, 1);
	python_names_finish(reading, LONG);
	good = !strcmp(name_of(self, 0), "function_0");
	if (!good)
		SKIP("a process may not read its parent's memory here");
	return good;
}

/* Of one in 65,536 code objects nothing would be known for longer than a sample. */
static void what_was_read_of_a_code_object_is_never_taken_for_nothing(void)
{
	uint32_t zeros = 0;

	for (uint64_t i = 0; i < 1 << 20; i++)
		zeros += !walk_python_check((uint64_t[4]){i << 4, i << 5, i << 6, i << 7});
	CHECK(!zeros);
}

static void names_come_from_another_process(void)
{
	struct process *self;

	begin(SELF);
	if (is_readable()) {
		self = processes_find(processes, (uint32_t)getpid());
		CHECK(want(self, 0, 100));
		CHECK_TEXT(name_of(self, 0), "function_0");
		CHECK_TEXT(name_of(self, 99), "coming");
		for (uint32_t i = 100; i < CODES; i += 100)
			CHECK(want(self, i, 100)); /* some requests */
		python_names_finish(reading, LONG);
		CHECK(!want(self, 500, 100));
		CHECK_TEXT(name_of(self, 0), "function_0");
		CHECK_TEXT(name_of(self, 599), "function_599");
		CHECK(!python_names_totals(reading).unreadable);
	}
	end();
}

static void without_one_they_are_there_at_once(void)
{
	struct process *self;

	begin(NULL);
	self = process_with_python((uint32_t)getpid());
	CHECK(python_names_poll_fd(reading) < 0);
	CHECK(!want(self, 300, 100));
	CHECK_TEXT(name_of(self, 399), "function_399");
	end();
}

static void code_that_is_none_is_unknown_and_asked_for_again(void)
{
	struct process *self;

	begin(SELF);
	if (is_readable()) {
		self = processes_find(processes, (uint32_t)getpid());
		codes[1].type = &type_text;
		CHECK(want(self, 1, 2));
		python_names_finish(reading, LONG);
		CHECK_TEXT(name_of(self, 1), "unknown");
		CHECK_TEXT(name_of(self, 2), "function_2");
		codes[1].type = &type_code;
		CHECK(want(self, 1, 2));
		python_names_finish(reading, LONG);
		CHECK_TEXT(name_of(self, 1), "function_1");
	}
	end();
}

static void stacks_get_the_names_of_a_process_that_has_ended_meanwhile(void)
{
	struct walk_python_frame frame = frame_of(5);
	struct python_code *code;
	struct python_line line;
	struct process *self;

	begin(SELF);
	if (is_readable()) {
		self = processes_find(processes, (uint32_t)getpid());
		CHECK(want(self, 5, 1));
		code = python_code_ref(self->python.code);
		processes_exit(processes, (uint32_t)getpid());
		python_names_finish(reading, LONG);
		frame = frame_of(5);
		CHECK(!python_code_line(code, &frame, &line));
		CHECK_TEXT(line.function, "function_5");
		python_code_unref(code);
	}
	end();
}

static void who_holds_up_what_reads_is_not_asked_again_and_others_are(void)
{
	struct process *bad, *self;
	uint64_t begun_ns;

	begin(SELF);
	if (is_readable()) {
		self = processes_find(processes, (uint32_t)getpid());
		bad = process_with_python(HANGS);
		CHECK(want(bad, 0, 1) && want(self, 7, 1));
		begun_ns = clock_now_ns();
		python_names_settle(reading, LONG);
		CHECK(clock_now_ns() - begun_ns < LONG / 2);
		python_names_finish(reading, LONG);
		CHECK_TEXT(name_of(bad, 0), "unknown");
		CHECK_TEXT(name_of(self, 7), "function_7");
		CHECK(python_names_totals(reading).unreadable == 1);
		CHECK(bad->python.given_up && !want(bad, 1, 1));
	}
	end();
}

static void looks_for_interpreters_are_held_up_no_longer(void)
{
	struct process *bad;

	begin(SELF);
	if (is_readable()) {
		bad = processes_get(processes, HANGS);
		bad->python.state = PYTHON_NOT_YET;
		python_names_look(reading, bad, 1);
		CHECK(bad->python.asked);
		python_names_look(reading, bad, 2);
		python_names_finish(reading, LONG);
		CHECK(bad->python.state == PYTHON_UNSUPPORTED);
		CHECK(python_names_totals(reading).unreadable == 1);
		CHECK(!python_names_totals(reading).unsupported);
	}
	end();
}

static void what_reads_may_die_once(void)
{
	struct process *bad, *unlucky;

	begin(SELF);
	if (is_readable()) {
		bad = process_with_python(DIES);
		unlucky = process_with_python(DIES_ONCE);
		CHECK(want(bad, 0, 1) && want(unlucky, 3, 1));
		python_names_finish(reading, LONG);
		CHECK_TEXT(name_of(bad, 0), "unknown");
		CHECK_TEXT(name_of(unlucky, 3), "function_3");
		CHECK(python_names_totals(reading).unreadable == 1);
		CHECK(bad->python.given_up && !unlucky->python.given_up);
	}
	end();
}

/* --- threads that sleep ----------------------------------------------------------------------- */

static struct {
	struct sleepers_request head;
	struct sleeper_place place;
} sleepers;

struct answer {
	int count, error;
	char text[8];
};

static void take_answer(void *context, int error, const void *reply, size_t size)
{
	struct answer *a = context;
	struct sleeper_stack stack;
	size_t at = 0;

	a->count++;
	a->error = error;
	if (!error && sleepers_next(reply, size, &at, &stack) &&
		stack.memory_size == sizeof(a->text))
		memcpy(a->text, stack.memory, sizeof(a->text));
}

static int ask_sleepers(uint32_t pid, const char *stack, struct answer *ret)
{
	uint64_t sp = (uint64_t)(uintptr_t)stack;

	sleepers.head = (struct sleepers_request){.count = 1};
	sleepers.place = (struct sleeper_place){.sp = sp, .end = sp + sizeof(ret->text)};
	*ret = (struct answer){0};
	return python_names_ask_sleepers(reading, &(struct sleepers_question){.pid = pid,
							  .request = &sleepers,
							  .size = sizeof(sleepers),
							  .done = take_answer,
							  .context = ret});
}

static void stacks_come_from_the_other_process_and_nothing_waits_for_them(void)
{
	static const char stack[8] = "a stack";
	struct answer good = {.count = 1}, bad;

	begin(SELF);
	if (is_readable()) {
		CHECK(!ask_sleepers((uint32_t)getpid(), stack, &good));
		python_names_finish(reading, LONG);
		CHECK(good.count == 1 && !good.error);
		CHECK_TEXT(good.text, "a stack");
		CHECK(!ask_sleepers(DIES_ONCE, stack, &good));
		python_names_finish(reading, LONG);
		CHECK(good.count == 1 && !good.error);
		CHECK(!ask_sleepers(DIES, stack, &bad));
		python_names_finish(reading, LONG);
		CHECK(bad.count == 1 && bad.error);
		CHECK(!ask_sleepers(HANGS, stack, &bad));
		python_names_settle(reading, LONG); /* it is no code */
		CHECK(!bad.count);
		python_names_finish(reading, LONG);
		CHECK(bad.count == 1 && bad.error);
		CHECK(!ask_sleepers((uint32_t)getpid(), stack, &good));
	}
	end();
	CHECK(good.count == 1); /* whatever comes of it */
}

static void without_another_process_no_stacks_are_read(void)
{
	struct answer none;

	begin(NULL);
	CHECK(ask_sleepers((uint32_t)getpid(), "a stack", &none) == -ENOTSUP && !none.count);
	end();
}

/* --- replies ---------------------------------------------------------------------------------- */

static struct python_code *with_one_asked(void)
{
	const struct walk_python python = {.version = 0x030c};
	struct walk_python_frame frame = frame_of(0);
	struct buf request = BUF_INIT;
	struct python_code *code = NULL;

	make_code();
	CHECK(!python_code_new(&code, &python));
	frame = frame_of(0);
	CHECK(python_code_want(code, &frame) && python_code_request(code, &request));
	CHECK(!python_code_request(code, &request)); /* one at a time */
	buf_release(&request);
	return code;
}

static void refuses(const void *reply, size_t size)
{
	struct python_code *code = with_one_asked();
	struct walk_python_frame frame = frame_of(0);
	struct python_line line;

	CHECK(python_code_answer(code, reply, size) == -EPROTO);
	CHECK(python_code_line(code, &frame, &line) == -ENOENT && !python_code_is_wanting(code));
	python_code_unref(code);
}

static void replies_that_make_no_sense_are_refused(void)
{
	static struct {
		struct python_code_found found;
		char parts[64];
	} reply;

	refuses(&reply, 0);
	refuses(&reply, sizeof(reply.found) - 1);
	reply.found.function_size = 65;
	refuses(&reply, sizeof(reply));
	reply.found.function_size = 0;
	reply.found.table_size = UINT32_MAX;
	refuses(&reply, sizeof(reply));
	reply.found.table_size = 0;
	reply.found.copy_count = UINT32_MAX / 8;
	refuses(&reply, sizeof(reply));
	reply.found.copy_count = 9;
	refuses(&reply, sizeof(reply));
}

static void interpreters_out_of_bounds_are_refused(void)
{
	const struct memory_found good = {.found = PYTHON_FOUND,
		.python = {.layout = WALK_PYTHON_CURRENT,
			.version = 0x030d,
			.frame_size = 72,
			.frame_at_size = 8}};
	struct memory_found bad = good;

	CHECK(memory_found_is_sound(&good));
	bad.found = 0;
	CHECK(!memory_found_is_sound(&bad));
	bad = good;
	bad.python.frame_size = 8 * WALK_PYTHON_WORDS;
	CHECK(!memory_found_is_sound(&bad));
	bad = good;
	bad.python.layout = WALK_PYTHON_CURRENT + 1;
	CHECK(!memory_found_is_sound(&bad));
	bad = good;
	bad.python.version = 0x0399;
	CHECK(!memory_found_is_sound(&bad));
	bad.found = PYTHON_UNSUPPORTED;
	CHECK(memory_found_is_sound(&bad));
}

/* --- what reads ------------------------------------------------------------------------------- */

/* Whether one of this kind died before. */
static bool was_here(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/python_names_test.%d", (int)getppid());
	return !mkdir(path, 0700) ? false : !rmdir(path);
}

static void answer_as_told(void)
{
	struct buf request = BUF_INIT, reply = BUF_INIT;
	const int none[MESSAGE_FDS] = {-1, -1};
	struct memory_request r;
	int kind, fds[MESSAGE_FDS], result;

	while (!sandbox_receive(SANDBOX_SOCKET, &request, REQUEST_BYTES, &kind, fds)) {
		memcpy(&r, request.data, sizeof(r));
		if (r.pid == HANGS)
			pause();
		if (r.pid == DIES || (r.pid == DIES_ONCE && !was_here()))
			break;
		r.pid = (uint32_t)getppid();
		memcpy(request.data, &r, sizeof(r));
		buf_reset(&reply);
		result = memory_read(kind, request.data, request.size, &reply);
		sandbox_send(SANDBOX_SOCKET, result, reply.data, result ? 0 : reply.size, none);
	}
	buf_release(&request);
	buf_release(&reply);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], SANDBOX_COMMAND)) {
		answer_as_told();
		return 0;
	}
	RUN(what_was_read_of_a_code_object_is_never_taken_for_nothing);
	RUN(names_come_from_another_process);
	RUN(without_one_they_are_there_at_once);
	RUN(code_that_is_none_is_unknown_and_asked_for_again);
	RUN(stacks_get_the_names_of_a_process_that_has_ended_meanwhile);
	RUN(who_holds_up_what_reads_is_not_asked_again_and_others_are);
	RUN(looks_for_interpreters_are_held_up_no_longer);
	RUN(what_reads_may_die_once);
	RUN(stacks_come_from_the_other_process_and_nothing_waits_for_them);
	RUN(without_another_process_no_stacks_are_read);
	RUN(replies_that_make_no_sense_are_refused);
	RUN(interpreters_out_of_bounds_are_refused);
	return tap_end();
}
