// SPDX-License-Identifier: MIT
/* What is found out of a program that is to be joined, and who reads its files for that. This
 * program is executed for the sandbox, as xpuprof is; under another name it is a reader that does
 * not answer as it should. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "folder.h"
#include "join/subject.h"
#include "sandbox/limits.h"
#include "sandbox/message.h"
#include "sandbox/reader.h"
#include "sandbox/sandbox.h"
#include "tap.h"

#define SELF	   "/proc/self/exe"
#define CAVE_BYTES 1024
#define SOON_NS	   (5 * NS_PER_SECOND)

/* --- readers that a file has taken over ------------------------------------------------------- */

static int honest(struct code_facts *facts, uint32_t asked)
{
	*facts = (struct code_facts){
		.machine = EM_X86_64, .is_64bit = 1, .function_count = asked, .code_count = 1};
	facts->code[0] = (struct elf_code){0, 4096, 0};
	return (int)sizeof(*facts);
}

static int too_short(struct code_facts *facts, uint32_t asked)
{
	return honest(facts, asked) - 1;
}

static int too_much_code(struct code_facts *facts, uint32_t asked)
{
	int size = honest(facts, asked);

	facts->code_count = FILE_CODE_MAX + 1;
	return size;
}

static int too_many_functions(struct code_facts *facts, uint32_t asked)
{
	int size = honest(facts, asked);

	facts->function_count = FUNCTIONS_MAX + 1;
	return size;
}

static int too_few_functions(struct code_facts *facts, uint32_t asked)
{
	int size = honest(facts, asked);

	facts->function_count = asked - 1;
	return size;
}

static int endless_code(struct code_facts *facts, uint32_t asked)
{
	int size = honest(facts, asked);

	facts->code[0] = (struct elf_code){4096, UINT64_MAX, 0};
	return size;
}

static int dies(struct code_facts *facts, uint32_t asked)
{
	exit(1);
}

static int functions_elsewhere(struct code_facts *facts, uint32_t asked)
{
	int size = honest(facts, asked);

	memset(facts->functions, 0xff, sizeof(facts->functions));
	return size;
}

/* Any byte of a mapping that begins at the file's first page. */
static int functions_anywhere(struct code_facts *facts, uint32_t asked)
{
	int size = honest(facts, asked);

	for (int n = 0; n < FUNCTIONS_MAX; n++)
		facts->functions[n] = 0x28001 + (uint64_t)n;
	for (uint32_t n = 0; n < FILE_CODE_MAX; n++)
		facts->code[n] = (struct elf_code){n << 12, 1 + n, 0};
	facts->code_count = FILE_CODE_MAX;
	return size;
}

static const struct {
	const char *name;
	int (*answer)(struct code_facts *facts, uint32_t asked);
} readers[] = {
	{"too_short", too_short},
	{"too_much_code", too_much_code},
	{"too_many_functions", too_many_functions},
	{"too_few_functions", too_few_functions},
	{"endless_code", endless_code},
	{"dies", dies},
	{"functions_elsewhere", functions_elsewhere},
	{"functions_anywhere", functions_anywhere},
};

#define READERS (sizeof(readers) / sizeof(*readers))

static uint32_t count_names(const struct buf *request)
{
	uint32_t count = 0;

	for (size_t n = 0; n < request->size; n++)
		count += !request->data[n];
	return count;
}

static int run_reader(int (*answer)(struct code_facts *facts, uint32_t asked))
{
	static const int none[MESSAGE_FDS] = {-1, -1};
	struct buf request = BUF_INIT;
	struct code_facts facts;
	int kind, fds[MESSAGE_FDS], size;

	while (!sandbox_receive(SANDBOX_SOCKET, &request, REQUEST_BYTES, &kind, fds)) {
		sandbox_close(fds);
		size = kind == READER_CODE_FACTS ? answer(&facts, count_names(&request)) : 0;
		sandbox_send(SANDBOX_SOCKET, 0, &facts, (size_t)size, none);
	}
	buf_release(&request);
	return 0;
}

/* By the name with which this program was executed. */
static int run_role(const char *role)
{
	const char *path = (const char *)getauxval(AT_EXECFN), *slash = strrchr(path, '/');

	for (size_t n = 0; n < READERS; n++)
		if (slash && !strcmp(slash + 1, readers[n].name) && !strcmp(role, SANDBOX_READER))
			return run_reader(readers[n].answer);
	return sandbox_run(role);
}

/* A link to this program with that name. */
static const char *linked(const char *name)
{
	char self[4096];
	ssize_t size = readlink(SELF, self, sizeof(self) - 1);
	const char *path = in_folder(name);

	self[size > 0 ? size : 0] = '\0';
	CHECK(!symlink(self, path));
	return path;
}

/* --- programs --------------------------------------------------------------------------------- */

/* A child has what we have at the same addresses. */
static pid_t begin_program(void)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

static void end_program(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* As the C library itself has it: sanitizers have their own. */
static uint64_t address(const char *function)
{
	static const char *const libraries[] = {"libc.so.6", "libpthread.so.0", "libdl.so.2"};
	void *found = NULL;

	for (int n = 0; !found && n < 3; n++) {
		void *library = dlopen(libraries[n], RTLD_NOW | RTLD_NOLOAD);

		found = library ? dlsym(library, function) : NULL;
	}
	return (uint64_t)(uintptr_t)found;
}

static bool never_ours(const uint8_t *bytes, size_t size)
{
	return false;
}

static bool is_filled(const struct subject *t, uint64_t at)
{
	uint8_t bytes[CAVE_BYTES];
	bool filled = subject_read(t, at, bytes, sizeof(bytes)) == sizeof(bytes);

	for (size_t n = 0; filled && n < sizeof(bytes); n++)
		filled = bytes[n] == bytes[0] && (!bytes[n] || bytes[n] == 0xcc);
	return filled;
}

static void check_functions(const struct subject_functions *f)
{
	CHECK(f->pthread_create && f->pthread_create == address("pthread_create"));
	CHECK(f->pthread_self && f->pthread_self == address("pthread_self"));
	CHECK(f->pthread_detach && f->pthread_detach == address("pthread_detach"));
	CHECK(f->pthread_join && f->pthread_join == address("pthread_join"));
	CHECK(f->pthread_attr_init && f->pthread_attr_init == address("pthread_attr_init"));
	CHECK(f->pthread_attr_setstack == address("pthread_attr_setstack"));
	CHECK(f->dlopen && f->dlopen == address("dlopen"));
	CHECK(f->dlsym && f->dlsym == address("dlsym"));
	CHECK(f->dlerror && f->dlerror == address("dlerror"));
}

static void check_code(const struct subject *t)
{
	uint64_t own = (uint64_t)(uintptr_t)check_code;

	CHECK(subject_is_unsafe(t, address("malloc")) && subject_is_unsafe(t, address("free")));
	CHECK(subject_is_library(t, address("malloc")));
	CHECK(subject_is_unsafe(t, _r_debug.r_brk) && subject_is_library(t, _r_debug.r_brk));
	CHECK(!subject_is_unsafe(t, own) && !subject_is_library(t, own));
	CHECK(!subject_is_unsafe(t, address("pause")) && subject_is_library(t, address("pause")));
}

static void check_room(struct subject *t)
{
	uint64_t cave = subject_find_cave(t, CAVE_BYTES, never_ours);
	uint64_t place = subject_find_place(t, CAVE_BYTES);
	char byte;

	CHECK(cave && cave % 16 == 0 && is_filled(t, cave));
	CHECK(place && subject_read(t, place, &byte, 1) < 0);
}

static void check_found(const char *sandbox)
{
	pid_t pid = begin_program();
	struct subject *t = NULL;

	CHECK(!subject_open(&t, (uint32_t)pid, sandbox));
	if (t) {
		check_functions(subject_functions(t));
		check_code(t);
		check_room(t);
	}
	subject_close(t);
	end_program(pid);
}

static void what_is_needed_of_a_program_is_found(void)
{
	check_found(SELF);
}

static void also_where_no_process_can_begin_for_that(void)
{
	check_found("/nonexistent");
	check_found(NULL);
}

/* Why the program cannot be joined when this reader says what its files are; "": it can. */
static const char *refusal_with(const char *name)
{
	static char text[256];
	const char *path = linked(name);
	uint64_t begin_ns = clock_now_ns();
	pid_t pid = begin_program();
	struct subject *t = NULL;

	text[0] = '\0';
	if (subject_open(&t, (uint32_t)pid, path))
		snprintf(text, sizeof(text), "%s", error_text());
	subject_close(t);
	CHECK(clock_now_ns() - begin_ns < SOON_NS);
	end_program(pid);
	unlink(path);
	return text;
}

static void an_answer_that_is_not_sound_is_refused(void)
{
	static const char *const names[] = {"too_short", "too_much_code", "too_many_functions",
		"too_few_functions", "endless_code"};

	for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
		CHECK(!strcmp(refusal_with(names[n]), "cannot read its program: Protocol error"));
}

static void a_file_that_ends_its_reader_is_not_read(void)
{
	CHECK(!strcmp(refusal_with("dies"), "cannot read its program: Input/output error"));
}

static void a_function_that_is_not_in_its_file_is_none(void)
{
	CHECK(!strcmp(
		refusal_with("functions_elsewhere"), "its C library has no 'pthread_create'"));
}

/* Who lies gets addresses of the program's, and room that is there. */
static void no_answer_leads_out_of_the_program(void)
{
	const char *path = linked("functions_anywhere");
	pid_t pid = begin_program();
	struct subject *t = NULL;
	uint64_t cave;

	if (!subject_open(&t, (uint32_t)pid, path)) {
		CHECK(subject_is_library(t, subject_functions(t)->dlopen));
		cave = subject_find_cave(t, CAVE_BYTES, never_ours);
		CHECK(!cave || is_filled(t, cave));
	}
	subject_close(t);
	end_program(pid);
	unlink(path);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], SANDBOX_COMMAND))
		return run_role(argv[2]);
#ifndef __x86_64__
	printf("1..0 # SKIP programs are joined on x86-64 only\n");
	return 0;
#endif
	if (!mkdtemp(folder))
		return 1;
	RUN(what_is_needed_of_a_program_is_found);
	RUN(also_where_no_process_can_begin_for_that);
	RUN(an_answer_that_is_not_sound_is_refused);
	RUN(a_file_that_ends_its_reader_is_not_read);
	RUN(a_function_that_is_not_in_its_file_is_none);
	RUN(no_answer_leads_out_of_the_program);
	rmdir(folder);
	return tap_end();
}
