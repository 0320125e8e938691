// SPDX-License-Identifier: MIT
#include "gpucode/program.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/rights.h"
#include "base/trust.h"

#define LINE_MAX_SIZE 4096
#define PIECE_BYTES   65536
#define ASK_PERIOD_MS 50
#define MEMORY_MAX    (8ull << 30) /* of addresses, most of which are libraries */
#define SECONDS_MAX   600

/* Which we may have blocked or ignore, and the child does not. */
static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

/* --- where it is ------------------------------------------------------------------------------ */

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

static bool find_in_path(struct search *s, const char *name)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t length = strcspn(path, ":");

		buf_printf(s->path, "%.*s/%s", (int)length, path, name);
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

static bool find_by_pattern(struct search *s, const char *pattern)
{
	bool found = false;
	glob_t g = {0};

	if (!glob(pattern, 0, NULL, &g)) {
		qsort(g.gl_pathv, g.gl_pathc, sizeof(*g.gl_pathv), by_version);
		for (size_t i = 0; !found && i < g.gl_pathc; i++) {
			buf_puts(s->path, g.gl_pathv[i]);
			found = keep_if_runnable(s);
		}
	}
	globfree(&g);
	return found;
}

/* Of "$NAME/rest"; the value is no pattern. */
static bool find_below_variable(struct search *s, const char *place)
{
	size_t size = strcspn(place + 1, "/");
	char name[64];
	const char *value;

	if (size >= sizeof(name))
		return false;
	memcpy(name, place + 1, size);
	name[size] = '\0';
	value = getenv(name);
	if (!value || !*value)
		return false;
	buf_printf(s->path, "%s%s", value, place + 1 + size);
	return keep_if_runnable(s);
}

static bool find_at(struct search *s, const char *place)
{
	if (place[0] == '$')
		return find_below_variable(s, place);
	return strchr(place, '/') ? find_by_pattern(s, place) : find_in_path(s, place);
}

static int find_chosen(struct search *s, const char *variable, const char *chosen)
{
	if (!*chosen)
		return error_set(-ENOENT, "%s says to do without", variable);
	buf_puts(s->path, chosen);
	if (keep_if_runnable(s))
		return 0;
	if (s->refused)
		return error_set(-EPERM, "root does not run '%s' (%s), which others can change",
			chosen, variable);
	return error_set(-ENOENT, "cannot run '%s' (%s)", chosen, variable);
}

int code_program_find(const struct code_program_search *p, bool trusting, struct buf *ret_path)
{
	struct search s = {.path = ret_path, .begin = ret_path->size, .trusting = trusting};
	const char *chosen = getenv(p->variable);

	if (chosen)
		return find_chosen(&s, p->variable, chosen);
	for (const char *const *place = p->places; *place; place++)
		if (find_at(&s, *place))
			return 0;
	return s.refused ? error_set(-EPERM, "root runs no %s that others can change", p->name)
			 : error_set(-ENOENT, "%s is not installed", p->name);
}

/* --- running it ------------------------------------------------------------------------------- */

struct run {
	const struct code_program *p;
	struct buf lines; /* what was read and not handled */
	int output;	  /* from the child */
	pid_t child;	  /* 0: none */
};

/* What a child does before it is the program; what fails comes with an errno. */
enum step {
	TO_BEGIN,
	TO_BE_ENDED,
	TO_BE_LIMITED,
	TO_BE_USER,
	TO_RUN,
};

struct failure {
	enum step step;
	int error;
};

/* Whom the child becomes; false: it stays the user that we are. */
static bool becomes(const struct code_program *p, struct gpucode_user *ret)
{
	*ret = p->user ? *p->user : (struct gpucode_user){RIGHTS_NOBODY, RIGHTS_NOBODY};
	return p->user || !geteuid();
}

/* It writes no files, and dumps none. */
static int limit(void)
{
	static const struct {
		int what;
		rlim_t most;
	} limits[] = {{RLIMIT_AS, MEMORY_MAX}, {RLIMIT_CPU, SECONDS_MAX}, {RLIMIT_FSIZE, 0},
		{RLIMIT_CORE, 0}};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit l;

		if (getrlimit(limits[i].what, &l))
			return -errno;
		if (l.rlim_max > limits[i].most)
			l.rlim_max = limits[i].most;
		l.rlim_cur = l.rlim_max;
		if (setrlimit(limits[i].what, &l))
			return -errno;
	}
	return 0;
}

static int open_files(const struct code_program *p, int output)
{
	sigset_t none;

	sigemptyset(&none);
	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++)
		signal(ending_signals[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return dup2(p->input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
			       dup2(output, STDERR_FILENO) < 0
		       ? -errno
		       : 0;
}

/* Whoever must not signal other users could not end it. */
static int stay_endable(bool changes)
{
	return !changes || rights_has(CAP_KILL) ? 0 : -EPERM;
}

/* Behind the change of user, which forgets it. Our parent may have ended before. */
static int end_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

static int become(const struct gpucode_user *user, bool changes, pid_t parent)
{
	int error = changes ? rights_become(user->uid, user->gid) : rights_keep(0);

	if (!error && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		error = -errno;
	return error ?: end_with(parent);
}

/* The child's side, which makes system calls only; whatever goes wrong goes into `failed`, which a
 * successful exec closes. */
__attribute__((noreturn)) static void exec_child(
	const struct code_program *p, int output, int failed, pid_t parent)
{
	struct gpucode_user user;
	bool changes = becomes(p, &user);
	struct failure f = {.step = TO_BEGIN, .error = open_files(p, output)};

	if (!f.error)
		f = (struct failure){TO_BE_ENDED, stay_endable(changes)};
	if (!f.error)
		f = (struct failure){TO_BE_LIMITED, limit()};
	if (!f.error)
		f = (struct failure){TO_BE_USER, become(&user, changes, parent)};
	if (!f.error) {
		execv(p->arguments[0], p->arguments);
		f = (struct failure){TO_RUN, -errno};
	}
	(void)!io_write_all(failed, &f, sizeof(f));
	_exit(1);
}

/* posix_spawn can neither change ids nor limit. */
static void spawn_child(struct run *run, int output, struct failure *ret)
{
	pid_t parent = getpid();
	int failed[2];

	if (pipe2(failed, O_CLOEXEC)) {
		ret->error = -errno;
		return;
	}
	run->child = fork();
	if (!run->child)
		exec_child(run->p, output, failed[1], parent);
	if (run->child < 0)
		ret->error = -errno;
	close(failed[1]);
	if (run->child > 0 && io_read_full(failed[0], ret, sizeof(*ret)) == sizeof(*ret))
		while (waitpid(run->child, NULL, 0) < 0 && errno == EINTR)
			;
	close(failed[0]);
}

/* The user may not be able to read what root found, and root may lack some of its rights. */
static bool cannot_be_run(int error)
{
	return error == -EACCES || error == -EPERM || error == -ENOENT || error == -ENOEXEC;
}

/* Ids that the user namespace does not have are as good as forbidden ones. */
static int describe(const struct code_program *p, const struct failure *f)
{
	const char *program = p->arguments[0];
	struct gpucode_user user;

	switch (f->step) {
	case TO_BE_ENDED:
		return error_errno(f->error,
			"'%s' is not run, as root could not end it without CAP_KILL", program);
	case TO_BE_LIMITED:
		(void)error_errno(f->error, "cannot limit what '%s' may use", program);
		return -EPERM;
	case TO_BE_USER:
		if (becomes(p, &user))
			(void)error_errno(f->error, "root does not run '%s', and user %lu cannot",
				program, (unsigned long)user.uid);
		else
			(void)error_errno(
				f->error, "cannot run '%s' without our capabilities", program);
		return -EPERM;
	default:
		(void)error_errno(f->error, "cannot run '%s'", program);
		return cannot_be_run(f->error) ? f->error : -EIO;
	}
}

static int spawn(struct run *run)
{
	struct failure failure = {.step = TO_BEGIN};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC)) {
		failure.error = -errno;
		return describe(run->p, &failure);
	}
	spawn_child(run, ends[1], &failure);
	close(ends[1]);
	run->output = ends[0];
	if (!failure.error)
		return 0;
	run->child = 0;
	return describe(run->p, &failure);
}

static int read_lines(struct run *run)
{
	struct buf *b = &run->lines;
	char *at = b->data, *line_end;
	int error = 0;

	while (!error && (line_end = memchr(at, '\n', b->size - (size_t)(at - b->data)))) {
		*line_end = 0;
		error = run->p->line(run->p->context, at);
		at = line_end + 1;
	}
	b->size -= (size_t)(at - b->data);
	memmove(b->data, at, b->size);
	if (!error && b->size > LINE_MAX_SIZE)
		return error_set(
			-EIO, "what %s says makes no sense: a line without end", run->p->name);
	return error;
}

/* 0 while there is time. */
static int check_time(const struct run *run)
{
	const struct code_program *p = run->p;

	if (p->stopped && p->stopped(p->stop_context))
		return error_set(-EINTR, "%s was stopped", p->name);
	if (clock_now_ns() > p->deadline_ns)
		return error_set(-ETIME, "%s took too long", p->name);
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
		return error_errno(-ENOMEM, "cannot read from %s", run->p->name);
	got = read(run->output, run->lines.data + run->lines.size, PIECE_BYTES);
	if (got < 0)
		return errno == EINTR ? 1
				      : error_errno(-errno, "cannot read from %s", run->p->name);
	run->lines.size += (size_t)got;
	error = got ? read_lines(run) : 0;
	return error ?: got > 0;
}

/* It ends with us at the latest. */
static int left_running(const struct run *run, int result, int why)
{
	if (!code_program_is_harmless(result))
		return result;
	(void)error_errno(why, "'%s' goes on, as it cannot be ended", run->p->arguments[0]);
	return -EIO;
}

/* Waits for the child, which has closed its output or is to be ended: `result`, or 0 and how it
 * ended. A child that goes on after it closed its output is ended when the time is over. */
static int wait_child(struct run *run, int result, bool *ret_failed)
{
	int status = 0;
	pid_t ended;

	while (!result && !(ended = waitpid(run->child, &status, WNOHANG))) {
		result = check_time(run);
		if (!result)
			poll(NULL, 0, 1);
	}
	if (result) {
		*ret_failed = true;
		if (kill(run->child, SIGKILL))
			return left_running(run, result, -errno);
		while (waitpid(run->child, &status, 0) < 0 && errno == EINTR)
			;
	}
	*ret_failed = !WIFEXITED(status) || WEXITSTATUS(status);
	return result;
}

int code_program_run(const struct code_program *p, bool *ret_failed)
{
	struct run run = {.p = p, .output = -1};
	int result = spawn(&run);

	*ret_failed = false;
	if (!result)
		for (result = 1; result > 0;)
			result = read_some(&run);
	if (run.child)
		result = wait_child(&run, result, ret_failed);
	if (run.output >= 0)
		close(run.output);
	buf_release(&run.lines);
	return result;
}

bool code_program_is_harmless(int error)
{
	return error == -EIO || error == -ETIME || error == -EINTR || cannot_be_run(error);
}

bool code_program_is_to_be_told(int error)
{
	return error == -EIO || cannot_be_run(error);
}
