// SPDX-License-Identifier: MIT
/*
 * The functions stand one after the other in a memory file, which is the child's standard input and
 * is opened by it through /proc. Its output is read line by line as it comes: the offset
 * identifies the function.
 *
 * nvdisasm stops at the first instruction that it does not know (12.5 and 13.0 then print none at
 * all, only where it is). The rest of that function is overwritten with NOP and everything is tried
 * again.
 */
#include "gpucode/nvidia/nvdisasm.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/trust.h"
#include "base/vec.h"
#include "gpucode/nvidia/nvdisasm_output.h"
#include "gpucode/nvidia/sass.h"

#define PROGRAM	      "nvdisasm"
#define CODE_PATH     "/proc/self/fd/0"
#define LINE_MAX_SIZE 4096
#define PIECE_BYTES   65536
#define ASK_PERIOD_MS 50
#define TRIES_MAX     16

/* Which we may have blocked or ignore, and the child does not. */
static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

/* The bytes of NOP, the same for every SM. */
static const uint8_t nop[SASS_INSTRUCTION_BYTES] = {0x18, 0x79, [13] = 0xc0, [14] = 0x0f};

extern char **environ;

/* Where a function is in the memory file, and how much of it nvdisasm is still to print. */
struct part {
	uint64_t start, end, known_end;
};

struct run {
	const struct nvdisasm_request *request;
	struct vec(struct part) parts;
	struct buf lines; /* what was read and not handled */
	uint64_t deadline_ns;
	int code;	/* the memory file */
	int output;	/* from the child */
	pid_t child;	/* 0: none */
	size_t part;	/* that the next line should be for */
	uint64_t next;	/* the lowest offset that was not visited */
	bool unknown;	/* it stopped at an instruction, */
	uint64_t where; /* this one */
	char complaint[160];
};

struct search {
	struct buf *path; /* what is tried is appended */
	size_t begin;
	bool trusting;
	bool refused; /* one was found that others than root could change */
};

/* Cuts off the path again where it is not that of a program that may be run. */
static bool keep_if_runnable(struct search *s)
{
	const char *path = buf_text(s->path) + s->begin;
	struct buf trusted = BUF_INIT;
	bool runnable = !s->path->failed && path[0] == '/' && !access(path, X_OK);

	if (runnable && !s->trusting) {
		runnable = !trust_file(path, &trusted);
		s->refused |= !runnable;
		s->path->size = s->begin;
		buf_puts(s->path, buf_text(&trusted));
		buf_release(&trusted);
	}
	if (!runnable)
		s->path->size = s->begin;
	return runnable;
}

static bool find_in_path(struct search *s)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t length = strcspn(path, ":");

		buf_printf(s->path, "%.*s/" PROGRAM, (int)length, path);
		if (keep_if_runnable(s))
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)b, *(char *const *)a);
}

static bool find_in_local(struct search *s)
{
	bool found = false;
	glob_t g = {0};

	buf_puts(s->path, "/usr/local/cuda/bin/" PROGRAM);
	if (keep_if_runnable(s))
		return true;
	if (!glob("/usr/local/cuda-*/bin/" PROGRAM, 0, NULL, &g)) {
		qsort(g.gl_pathv, g.gl_pathc, sizeof(*g.gl_pathv), by_version);
		for (size_t i = 0; !found && i < g.gl_pathc; i++) {
			buf_puts(s->path, g.gl_pathv[i]);
			found = keep_if_runnable(s);
		}
	}
	globfree(&g);
	return found;
}

static int find_chosen(struct search *s, const char *chosen)
{
	if (!*chosen)
		return error_set(-ENOENT, "XPUPROF_NVDISASM says to do without");
	buf_puts(s->path, chosen);
	if (keep_if_runnable(s))
		return 0;
	if (s->refused)
		return error_set(-EPERM,
			"root does not run '%s' (XPUPROF_NVDISASM), which others can change",
			chosen);
	return error_set(-ENOENT, "cannot run '%s' (XPUPROF_NVDISASM)", chosen);
}

int nvdisasm_find(struct buf *ret_path, bool trusting)
{
	struct search s = {.path = ret_path, .begin = ret_path->size, .trusting = trusting};
	const char *chosen = getenv("XPUPROF_NVDISASM"), *home = getenv("CUDA_HOME");

	if (chosen)
		return find_chosen(&s, chosen);
	if (find_in_path(&s))
		return 0;
	if (home) {
		buf_printf(ret_path, "%s/bin/" PROGRAM, home);
		if (keep_if_runnable(&s))
			return 0;
	}
	if (find_in_local(&s))
		return 0;
	return s.refused ? error_set(-EPERM, "root runs no " PROGRAM " that others can change")
			 : error_set(-ENOENT, PROGRAM " is not installed");
}

static int write_code(struct run *run)
{
	const struct nvdisasm_request *r = run->request;
	uint64_t size = 0;

	run->code = memfd_create("xpuprof-code", MFD_CLOEXEC);
	if (run->code < 0)
		return error_errno(-errno, "cannot make a memory file");
	for (size_t i = 0; i < r->count; i++) {
		size_t whole =
			r->functions[i].size / SASS_INSTRUCTION_BYTES * SASS_INSTRUCTION_BYTES;
		struct part part = {size, size + whole, size + whole};
		int error;

		if (whole > NVDISASM_CODE_MAX - size)
			return error_set(-EFBIG, "too much code for " PROGRAM);
		error = io_write_all(run->code, r->functions[i].bytes, whole);
		error = error ?: vec_push(&run->parts, part);
		if (error)
			return error_errno(error, "cannot hand over code to " PROGRAM);
		size += whole;
	}
	return 0;
}

/* As if the part had ended there. */
static int give_up_rest(struct run *run, struct part *p, uint64_t where)
{
	p->known_end = where;
	for (uint64_t at = where; at < p->end; at += sizeof(nop))
		if (pwrite(run->code, nop, sizeof(nop), (off_t)at) != sizeof(nop))
			return error_errno(-EIO, "cannot change the code for " PROGRAM);
	return 0;
}

static int set_up(
	posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int code, int output)
{
	sigset_t none, defaults;
	int error;

	sigemptyset(&none);
	sigemptyset(&defaults);
	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++)
		sigaddset(&defaults, ending_signals[i]);
	error = posix_spawn_file_actions_adddup2(actions, code, STDIN_FILENO);
	error = error ?: posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
	error = error ?: posix_spawn_file_actions_adddup2(actions, output, STDERR_FILENO);
	error = error ?: posix_spawnattr_setsigmask(attributes, &none);
	error = error ?: posix_spawnattr_setsigdefault(attributes, &defaults);
	error = error
			?: posix_spawnattr_setflags(
				   attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return error;
}

static int spawn_as_we_are(struct run *run, char **args, int output)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	error = set_up(&actions, &attributes, run->code, output);
	error = error ?: posix_spawn(&run->child, args[0], &actions, &attributes, args, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -error;
}

/* The child's side; whatever goes wrong goes into `failed`, which a successful exec closes. */
__attribute__((noreturn)) static void exec_as(
	const struct gpucode_user *u, char **args, int code, int output, int failed)
{
	sigset_t none;
	int error;

	sigemptyset(&none);
	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++)
		signal(ending_signals[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(code, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
		dup2(output, STDERR_FILENO) >= 0 && !setgroups(0, NULL) &&
		!setresgid(u->gid, u->gid, u->gid) && !setresuid(u->uid, u->uid, u->uid))
		execv(args[0], args);
	error = errno;
	(void)!io_write_all(failed, &error, sizeof(error));
	_exit(1);
}

/* posix_spawn cannot change ids. */
static int spawn_as_user(struct run *run, char **args, int output)
{
	int failed[2], why = 0;

	if (pipe2(failed, O_CLOEXEC))
		return -errno;
	run->child = fork();
	if (!run->child)
		exec_as(run->request->user, args, run->code, output, failed[1]);
	if (run->child < 0)
		why = errno;
	close(failed[1]);
	if (run->child > 0 && io_read_full(failed[0], &why, sizeof(why)) == sizeof(why))
		while (waitpid(run->child, NULL, 0) < 0 && errno == EINTR)
			;
	close(failed[0]);
	return -why;
}

static int spawn(struct run *run)
{
	const char *program = run->request->program;
	char sm[16], *args[] = {(char *)(uintptr_t)program, "-b", sm, CODE_PATH, NULL};
	int ends[2], error;

	snprintf(sm, sizeof(sm), "SM%u", run->request->sm);
	if (pipe2(ends, O_CLOEXEC))
		return error_errno(-errno, "cannot run '%s'", program);
	error = run->request->user ? spawn_as_user(run, args, ends[1])
				   : spawn_as_we_are(run, args, ends[1]);
	close(ends[1]);
	run->output = ends[0];
	if (!error)
		return 0;
	run->child = 0;
	return error_errno(error, "cannot run '%s'", program);
}

static int nonsense(const char *what)
{
	return error_set(-EIO, "what " PROGRAM " says makes no sense: %s", what);
}

static int visit_instruction(struct run *run, uint64_t offset, const char *text)
{
	const struct nvdisasm_request *r = run->request;
	const struct part *p;

	if (offset % SASS_INSTRUCTION_BYTES)
		return nonsense("an instruction at an odd offset");
	if (offset < run->next)
		return 0;
	while (run->part < run->parts.count && offset >= run->parts.items[run->part].end)
		run->part++;
	if (run->part == run->parts.count)
		return nonsense("an instruction behind the code");
	p = &run->parts.items[run->part];
	run->next = offset + SASS_INSTRUCTION_BYTES;
	return offset < p->known_end ? r->visit(r->context, run->part, offset - p->start, text) : 0;
}

static int read_line(struct run *run, char *line)
{
	uint64_t offset;
	char *text;

	if (nvdisasm_output_instruction(line, &offset, &text))
		return visit_instruction(run, offset, text);
	if (nvdisasm_output_unknown(line, &offset)) {
		run->unknown = true;
		run->where = offset;
	} else if (!strncmp(line, PROGRAM, strlen(PROGRAM)) && !*run->complaint) {
		snprintf(run->complaint, sizeof(run->complaint), "%s", line);
	}
	return 0;
}

static int read_lines(struct run *run)
{
	struct buf *b = &run->lines;
	char *at = b->data, *line_end;
	int error = 0;

	while (!error && (line_end = memchr(at, '\n', b->size - (size_t)(at - b->data)))) {
		*line_end = 0;
		error = read_line(run, at);
		at = line_end + 1;
	}
	b->size -= (size_t)(at - b->data);
	memmove(b->data, at, b->size);
	if (!error && b->size > LINE_MAX_SIZE)
		return nonsense("a line without end");
	return error;
}

/* 0 while there is time. */
static int check_time(const struct run *run)
{
	const struct nvdisasm_request *r = run->request;

	if (r->stopped && r->stopped(r->stop_context))
		return error_set(-EINTR, PROGRAM " was stopped");
	if (clock_now_ns() > run->deadline_ns)
		return error_set(-ETIME, PROGRAM " took too long");
	return 0;
}

/* 1 while there may be more, 0 at the end, or -errno. */
static int read_some(struct run *run)
{
	struct pollfd p = {.fd = run->output, .events = POLLIN};
	int error = check_time(run);
	ssize_t got;

	if (error)
		return error;
	if (poll(&p, 1, ASK_PERIOD_MS) <= 0)
		return 1;
	if (!buf_reserve(&run->lines, PIECE_BYTES))
		return error_errno(-ENOMEM, "cannot read from " PROGRAM);
	got = read(run->output, run->lines.data + run->lines.size, PIECE_BYTES);
	if (got < 0)
		return errno == EINTR ? 1 : error_errno(-errno, "cannot read from " PROGRAM);
	run->lines.size += (size_t)got;
	error = got ? read_lines(run) : 0;
	return error ?: got > 0;
}

/* Waits for the child, which has closed its output or is to be ended: `result`, or how it
 * ended. A child that goes on after it closed its output is ended when the time is over. */
static int wait_child(struct run *run, int result)
{
	int status = 0;
	pid_t ended;

	while (!result && !(ended = waitpid(run->child, &status, WNOHANG))) {
		result = check_time(run);
		if (!result)
			poll(NULL, 0, 1);
	}
	if (result) {
		kill(run->child, SIGKILL);
		while (waitpid(run->child, &status, 0) < 0 && errno == EINTR)
			;
	}
	run->child = 0;
	if (result || (WIFEXITED(status) && !WEXITSTATUS(status)))
		return result;
	if (run->unknown)
		return 0;
	return error_set(-EIO, "%s", *run->complaint ? run->complaint : PROGRAM " failed");
}

static int run_once(struct run *run)
{
	int result = spawn(run);

	run->unknown = false;
	run->part = 0;
	buf_reset(&run->lines);
	if (!result)
		for (result = 1; result > 0;)
			result = read_some(run);
	if (run->child)
		result = wait_child(run, result);
	if (run->output >= 0)
		close(run->output);
	run->output = -1;
	return result;
}

/* The part with an offset that nvdisasm reports as unknown, or NULL. */
static struct part *part_at(struct run *run, uint64_t where)
{
	vec_foreach (p, &run->parts)
		if (p->start <= where && where < p->known_end)
			return p;
	return NULL;
}

static int run_until_known(struct run *run)
{
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		int error = run_once(run);
		struct part *p;

		if (error || !run->unknown)
			return error;
		p = part_at(run, run->where);
		if (!p || run->where % SASS_INSTRUCTION_BYTES)
			return nonsense("an unknown instruction outside the code");
		error = give_up_rest(run, p, run->where);
		if (error)
			return error;
	}
	return error_set(-EIO, PROGRAM " does not know too many of the instructions");
}

int nvdisasm_run(const struct nvdisasm_request *r)
{
	struct run run = {
		.request = r,
		.deadline_ns = clock_now_ns() + r->limit_ns,
		.code = -1,
		.output = -1,
	};
	int error = write_code(&run);

	if (!error && run.parts.count && run.parts.items[run.parts.count - 1].end)
		error = run_until_known(&run);
	if (run.code >= 0)
		close(run.code);
	vec_release(&run.parts);
	buf_release(&run.lines);
	return error;
}
