// SPDX-License-Identifier: MIT
/*
 * nvdisasm run as a child: programs that behave like it, or badly, stand in for it. What they print
 * is the form of nvdisasm 13.0.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/rights.h"
#include "gpucode/nvidia/nvdisasm.h"
#include "gpucode/nvidia/nvdisasm_output.h"
#include "gpucode/nvidia/sass.h"
#include "folder.h"
#include "tap.h"

#define SIZE SASS_INSTRUCTION_BYTES

/* NOP, EXIT, and what nothing is. */
static const uint8_t nop[SIZE] = {0x18, 0x79, [13] = 0xc0, [14] = 0x0f};
static const uint8_t leave[SIZE] = {0x4d, 0x79, [11] = 0x80, [12] = 0x03, [14] = 0xea, [15] = 0x0f};
static const uint8_t junk[SIZE] = {0xff, 0x7f};

struct seen {
	size_t count;
	size_t functions[16];
	uint64_t offsets[16];
	char texts[16][64];
	int result;
};

static int note(void *context, size_t function, uint64_t offset, const char *text)
{
	struct seen *s = context;

	if (s->count < 16) {
		s->functions[s->count] = function;
		s->offsets[s->count] = offset;
		snprintf(s->texts[s->count], sizeof(s->texts[0]), "%s", text);
	}
	s->count++;
	return s->result;
}

/* A program of this name in the test's folder. */
static const char *script(const char *name, const char *text)
{
	const char *path = in_folder(name);
	FILE *f = fopen(path, "w");

	CHECK(f);
	if (f) {
		fprintf(f, "#!/bin/sh\n%s\n", text);
		fclose(f);
	}
	CHECK(!chmod(path, 0755));
	return path;
}

/* Two functions, of three instructions and of one and a half. */
static uint8_t first[3 * SIZE], second[SIZE + 8];
static const struct nvdisasm_code functions[] = {{first, sizeof(first)}, {second, sizeof(second)}};

static int run(const char *program, struct seen *s)
{
	struct nvdisasm_request r = {
		.program = program,
		.sm = 90,
		.functions = functions,
		.count = 2,
		.visit = note,
		.context = s,
		.limit_ns = 20 * NS_PER_SECOND,
	};

	memcpy(first, nop, SIZE);
	memcpy(first + SIZE, nop, SIZE);
	memcpy(first + 2 * SIZE, leave, SIZE);
	memcpy(second, leave, SIZE);
	return nvdisasm_run(&r);
}

/* As nvdisasm prints it. */
#define LINES                                                                                      \
	"printf '\\t.headerflags\\t@\"EF_CUDA_SM90\"\\n'\n"                                        \
	"echo '        /*0000*/                   NOP ;'\n"                                        \
	"echo '        /*0010*/              @!P0 LDG.E R0, desc[UR6][R2.64] ;  /* 0x0 */'\n"      \
	"echo '                                                                 /* 0x0 */'\n"      \
	"echo '        /*0020*/                   EXIT ;'\n"                                       \
	"echo '        /*0030*/                   RET.REL.NODEC R4 0x0;'\n"

static void each_instruction_comes_with_its_function_and_offset(void)
{
	struct seen s = {0};

	CHECK(!run(script("good", LINES), &s));
	CHECK(s.count == 4);
	CHECK(s.functions[0] == 0 && s.offsets[0] == 0);
	CHECK(s.functions[1] == 0 && s.offsets[1] == 0x10);
	CHECK(s.functions[2] == 0 && s.offsets[2] == 0x20);
	CHECK(s.functions[3] == 1 && s.offsets[3] == 0);
	CHECK_TEXT(s.texts[0], "NOP");
	CHECK_TEXT(s.texts[1], "@!P0 LDG.E R0, desc[UR6][R2.64]");
	CHECK_TEXT(s.texts[3], "RET.REL.NODEC R4 0x0");
}

static void it_is_asked_with_the_architecture_and_reads_the_code_as_a_file(void)
{
	struct seen s = {0};

	CHECK(!run(
		script("asked", "[ \"$1 $2\" = '-b SM90' ] && [ $(wc -c <\"$3\") = 64 ] || exit 1\n"
				"[ $(head -c 16 <\"$3\" | od -An -tx1 | tr -d ' ') = "
				"187900000000000000000000"
				"00c00f00 ] || exit 1\n" LINES),
		&s));
	CHECK(s.count == 4);
}

static void what_is_no_instruction_is_passed_over(void)
{
	uint64_t offset = 7;
	char *text = NULL, good[] = "  /*00f0*/  @P1 BRA 0x120 ;", bare[] = "/*0*/EXIT";
	char *lines[] = {(char[]){""}, (char[]){"  /*"}, (char[]){"/*0010*/"},
		(char[]){"/*0010*/ ; "}, (char[]){"/*001g*/ NOP ;"},
		(char[]){"/* 0x0000000000007918 */"}, (char[]){"/*11112222333344445*/ NOP ;"},
		(char[]){"/**/ NOP ;"}, (char[]){".L_x_1:"}, (char[]){"NOP ;"}};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CHECK(!nvdisasm_output_instruction(lines[i], &offset, &text));
	CHECK(offset == 7 && !text);
	CHECK(nvdisasm_output_instruction(good, &offset, &text) && offset == 0xf0);
	CHECK_TEXT(text, "@P1 BRA 0x120");
	CHECK(nvdisasm_output_instruction(bare, &offset, &text) && offset == 0);
	CHECK_TEXT(text, "EXIT");
}

static void no_control_character_gets_through(void)
{
	char line[] = "/*0000*/ NOP \033[2J\tR1\xff ;";
	uint64_t offset;
	char *text;

	CHECK(nvdisasm_output_instruction(line, &offset, &text));
	CHECK_TEXT(text, "NOP ?[2J R1?");
}

static void an_unknown_instruction_costs_only_the_rest_of_its_function(void)
{
	static const uint8_t *const code[] = {nop, junk, nop, leave};
	struct seen s = {0};
	uint8_t all[4 * SIZE];
	struct nvdisasm_code two[] = {{all, 3 * SIZE}, {all + 3 * SIZE, SIZE}};
	struct nvdisasm_request r = {
		.sm = 90,
		.functions = two,
		.count = 2,
		.visit = note,
		.context = &s,
		.limit_ns = 20 * NS_PER_SECOND,
	};

	for (size_t i = 0; i < 4; i++)
		memcpy(all + i * SIZE, code[i], SIZE);
	/* Knows anything but the opcode of `junk`. */
	r.program = script("picky", "if [ $(od -An -tx1 -j16 -N1 <\"$3\") = ff ]; then\n"
				    "echo \"nvdisasm error   : Unrecognized operation for "
				    "functional unit 'uC' at address "
				    "0x00000010\" >&2\nexit 1\nfi\n" LINES);
	CHECK(!nvdisasm_run(&r));
	CHECK(s.count == 2);
	CHECK(s.functions[0] == 0 && s.offsets[0] == 0);
	CHECK(s.functions[1] == 1 && s.offsets[1] == 0);
}

static void fails_with(const char *name, const char *text, int error, const char *message)
{
	struct seen s = {0};

	CHECK(run(script(name, text), &s) == error);
	CHECK_TEXT(error_text(), message);
}

static void its_own_complaint_is_what_is_reported(void)
{
	fails_with("old", "echo \"nvdisasm fatal   : Value 'SM90' is not defined\" >&2; exit 255",
		-EIO, "nvdisasm fatal   : Value 'SM90' is not defined");
	fails_with("mute", "exit 3", -EIO, "nvdisasm failed");
	fails_with("killed", "kill -9 $$", -EIO, "nvdisasm failed");
}

static void nonsense_is_refused(void)
{
	fails_with("odd", "echo '/*0008*/ NOP ;'", -EIO,
		"what nvdisasm says makes no sense: an instruction at an odd offset");
	fails_with("far", "echo '/*0040*/ NOP ;'", -EIO,
		"what nvdisasm says makes no sense: an instruction behind the code");
	fails_with("long", "head -c 100000 /dev/zero | tr '\\0' x", -EIO,
		"what nvdisasm says makes no sense: a line without end");
	fails_with("wild", "echo \"Unrecognized operation at address 0x40\"; exit 1", -EIO,
		"what nvdisasm says makes no sense: an unknown instruction outside the code");
	/* Says so again of an instruction that is not there any more. */
	fails_with("again", "echo \"Unrecognized operation at address 0x10\"; exit 1", -EIO,
		"what nvdisasm says makes no sense: an unknown instruction outside the code");
}

static void an_offset_printed_twice_is_visited_once(void)
{
	struct seen s = {0};

	CHECK(!run(script("twice", LINES LINES), &s));
	CHECK(s.count == 4);
}

static void what_the_visitor_says_ends_it(void)
{
	struct seen s = {.result = -ENOMEM};

	CHECK(run(script("ended", LINES "exec sleep 1000"), &s) == -ENOMEM);
	CHECK(s.count == 1);
}

static bool no_child_is_left(void)
{
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

static int run_limited(const char *program, uint64_t limit_ns, bool (*stopped)(void *))
{
	struct seen s = {0};
	struct nvdisasm_request r = {
		.program = program,
		.sm = 90,
		.functions = functions,
		.count = 2,
		.visit = note,
		.context = &s,
		.limit_ns = limit_ns,
		.stopped = stopped,
	};

	return nvdisasm_run(&r);
}

static void one_that_hangs_is_ended(void)
{
	CHECK(run_limited(script("hangs", "exec sleep 1000"), 1, NULL) == -ETIME);
	CHECK(no_child_is_left());
	/* Also when nothing can come from it any more, and while it writes and writes. */
	CHECK(run_limited(script("shut", "exec >/dev/null 2>&1; exec sleep 1000"), 200 * NS_PER_MS,
		      NULL) == -ETIME);
	CHECK(no_child_is_left());
	CHECK(run_limited(script("talks", "exec yes"), 200 * NS_PER_MS, NULL) == -ETIME);
	CHECK(no_child_is_left());
}

static bool always(void *context)
{
	return true;
}

static void it_can_be_stopped(void)
{
	CHECK(run_limited(script("stopped", "exec sleep 1000"), 1000 * NS_PER_SECOND, always) ==
		-EINTR);
	CHECK(no_child_is_left());
}

static void one_that_cannot_be_run_is_an_error(void)
{
	CHECK(run_limited("/nonexistent/nvdisasm", NS_PER_SECOND, NULL) == -ENOENT);
	CHECK_TEXT(error_text(), "cannot run '/nonexistent/nvdisasm': No such file or directory");
	CHECK(no_child_is_left());
}

static int run_as(const struct gpucode_user *user, const char *program, struct seen *s)
{
	struct nvdisasm_request r = {
		.program = program,
		.user = user,
		.sm = 90,
		.functions = functions,
		.count = 2,
		.visit = note,
		.context = s,
		.limit_ns = 20 * NS_PER_SECOND,
	};

	return nvdisasm_run(&r);
}

static void as_another_user_it_has_no_rights_but_theirs(void)
{
	const struct gpucode_user user = {.uid = 65534, .gid = 65533};
	struct seen s = {0};

	if (geteuid()) {
		SKIP("not root");
		return;
	}
	CHECK(run_as(&user,
		      script("who", "echo nvdisasm: $(id -ru) $(id -u) $(id -g) $(id -G); exit 1"),
		      &s) == -EIO);
	CHECK_TEXT(error_text(), "nvdisasm: 65534 65534 65533 65533");
	CHECK(run_as(&user,
		      script("caps", "echo nvdisasm: $(grep -c '^Cap[PE].*:[[:space:]]*0*$' "
				     "/proc/self/status); "
				     "exit 1"),
		      &s) == -EIO);
	CHECK_TEXT(error_text(), "nvdisasm: 2");
	CHECK(!run_as(&user,
		script("reads", "[ $(head -c 16 <\"$3\" | wc -c) = 16 ] || exit 1\n" LINES), &s));
	CHECK(s.count == 4);
	CHECK(no_child_is_left());
}

/* As root, which it is not run as: what the script that `say` writes says. */
static const char *said_to_root(const char *say)
{
	char text[256];
	struct seen s = {0};

	snprintf(text, sizeof(text), "echo nvdisasm: $(%s); exit 1", say);
	CHECK(run_as(NULL, script("said", text), &s) == -EIO);
	return error_text();
}

static void for_root_it_is_nobody_without_rights(void)
{
	struct seen s = {0};

	if (geteuid()) {
		SKIP("not root");
		return;
	}
	CHECK_TEXT(said_to_root("id -ru; id -u; id -rg; id -g; id -G"),
		"nvdisasm: 65534 65534 65534 65534 65534");
	CHECK_TEXT(said_to_root("grep -c '^Cap[IPEA].*:[[:space:]]*0*$' /proc/self/status"),
		"nvdisasm: 4");
	CHECK_TEXT(said_to_root("grep '^NoNewPrivs' /proc/self/status"), "nvdisasm: NoNewPrivs: 1");
	CHECK_TEXT(said_to_root("ulimit -f; ulimit -c; ulimit -t; ulimit -v"),
		"nvdisasm: 0 0 600 8388608");
	CHECK(!run_as(NULL,
		script("reads", "[ $(head -c 16 <\"$3\" | wc -c) = 16 ] || exit 1\n" LINES), &s));
	CHECK(s.count == 4 && no_child_is_left());
}

/* Runs it in a child of ours that has become another one: its exit status, 0 where nothing ran and
 * `wanted` was said. */
static int refusal_of(int (*become)(void), const char *wanted)
{
	const char *program = script("runs", LINES);
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		struct seen s = {0};

		if (become())
			_exit(77);
		_exit(run_as(NULL, program, &s) != -EPERM || s.count ||
			!strstr(error_text(), wanted) || !no_child_is_left());
	}
	CHECK(waitpid(child, &status, 0) == child);
	return WEXITSTATUS(status);
}

static int become_unable_to_change(void)
{
	return rights_keep(~(1ull << CAP_SETUID));
}

static int become_unable_to_kill(void)
{
	return rights_keep(~(1ull << CAP_KILL));
}

/* A container whose only user is root. */
static int become_the_only_user(void)
{
	int fd;

	if (unshare(CLONE_NEWUSER))
		return -errno;
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, "0 0 1", 5) != 5;
}

static void where_root_cannot_be_nobody_it_is_not_run(void)
{
	int status;

	if (geteuid()) {
		SKIP("not root");
		return;
	}
	CHECK(refusal_of(become_unable_to_change, "and user 65534 cannot: Operation not") == 0);
	CHECK(refusal_of(become_unable_to_kill, "could not end it without CAP_KILL") == 0);
	status = refusal_of(become_the_only_user, "and user 65534 cannot: ");
	CHECK(status == 0 || status == 77);
}

static void one_that_this_user_must_not_run_is_an_error(void)
{
	const struct gpucode_user user = {.uid = 65534, .gid = 65534};
	const char *program = script("closed", LINES);
	struct seen s = {0};

	if (geteuid()) {
		SKIP("not root");
		return;
	}
	CHECK(!chmod(program, 0700));
	CHECK(run_as(&user, program, &s) == -EACCES);
	CHECK(strstr(error_text(), "closed': Permission denied"));
	CHECK(!s.count && no_child_is_left());
}

static bool finds(const char *expected)
{
	struct buf path = BUF_INIT;
	int error = nvdisasm_find(&path, true);
	bool same = expected ? !error && !strcmp(buf_text(&path), expected) : error == -ENOENT;

	if (!same)
		printf("# found '%s'\n", buf_text(&path));
	buf_release(&path);
	return same;
}

static void it_is_found_by_variable_and_path_and_toolkit(void)
{
	char path[256], bin[128], chosen[128];

	CHECK(shell("mkdir -p bin home/bin"));
	snprintf(chosen, sizeof(chosen), "%s", script("chosen", "exit 0"));
	snprintf(bin, sizeof(bin), "%s", in_folder("bin"));
	script("bin/nvdisasm", "exit 0");
	script("home/bin/nvdisasm", "exit 0");
	snprintf(path, sizeof(path), "relative:/nonexistent:%s:/usr/bin", bin);
	setenv("PATH", path, 1);
	setenv("CUDA_HOME", in_folder("home"), 1);
	setenv("XPUPROF_NVDISASM", chosen, 1);
	CHECK(finds(chosen));
	setenv("XPUPROF_NVDISASM", "", 1);
	CHECK(finds(NULL));
	setenv("XPUPROF_NVDISASM", "/nonexistent/x", 1);
	CHECK(finds(NULL));
	CHECK_TEXT(error_text(), "cannot run '/nonexistent/x' (XPUPROF_NVDISASM)");
	unsetenv("XPUPROF_NVDISASM");
	CHECK(finds(in_folder("bin/nvdisasm")));
	setenv("PATH", "/usr/bin:/bin", 1);
	CHECK(shell("rm bin/nvdisasm"));
	if (access("/usr/bin/nvdisasm", X_OK))
		CHECK(finds(in_folder("home/bin/nvdisasm")));
}

int main(void)
{
	/* Root's programs run as nobody. */
	if (!mkdtemp(folder) || chmod(folder, 0755))
		return 1;
	RUN(each_instruction_comes_with_its_function_and_offset);
	RUN(it_is_asked_with_the_architecture_and_reads_the_code_as_a_file);
	RUN(what_is_no_instruction_is_passed_over);
	RUN(no_control_character_gets_through);
	RUN(an_unknown_instruction_costs_only_the_rest_of_its_function);
	RUN(its_own_complaint_is_what_is_reported);
	RUN(nonsense_is_refused);
	RUN(an_offset_printed_twice_is_visited_once);
	RUN(what_the_visitor_says_ends_it);
	RUN(one_that_hangs_is_ended);
	RUN(it_can_be_stopped);
	RUN(one_that_cannot_be_run_is_an_error);
	RUN(as_another_user_it_has_no_rights_but_theirs);
	RUN(for_root_it_is_nobody_without_rights);
	RUN(where_root_cannot_be_nobody_it_is_not_run);
	RUN(one_that_this_user_must_not_run_is_an_error);
	RUN(it_is_found_by_variable_and_path_and_toolkit);
	shell("rm -rf /tmp/${PWD##*/}");
	return tap_end();
}
