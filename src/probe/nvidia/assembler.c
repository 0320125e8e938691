// SPDX-License-Identifier: MIT
#include "probe/assembler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"

#define SECONDS	   30
#define PAUSE_US   1000
#define CODE_MAX   (16u << 20)
#define SAID_MAX   4096u
#define UNKNOWN_SM "is not defined for option" /* ptxas 11 to 13, of a GPU that it does not know */

/* Of CUDA 11 to 13: no assembler knows all of them. */
static const uint32_t gpus[] = {70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};

/* Files in memory: what it reads, and what it writes. */
struct files {
	int text, code, said;
};

static int open_files(struct files *f, const struct buf *text)
{
	f->text = memfd_create("xpuprof-text", MFD_CLOEXEC);
	f->code = memfd_create("xpuprof-code", MFD_CLOEXEC);
	f->said = memfd_create("xpuprof-said", MFD_CLOEXEC);
	if (f->text < 0 || f->code < 0 || f->said < 0 ||
		io_write_all(f->text, text->data, text->size))
		return error_errno(-errno, "cannot make files in memory");
	return 0;
}

static void close_files(const struct files *f)
{
	const int all[] = {f->text, f->code, f->said};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] >= 0)
			close(all[i]);
}

/* A lower limit that we have ourselves stays. */
static bool limit(int what, rlim_t most)
{
	struct rlimit l;

	if (getrlimit(what, &l))
		return false;
	if (l.rlim_max > most)
		l.rlim_max = most;
	l.rlim_cur = l.rlim_max;
	return !setrlimit(what, &l);
}

/* The child, which makes system calls only. */
static _Noreturn void execute(const struct files *f, char *const *arguments, const struct user *u)
{
	sigset_t empty;

	sigemptyset(&empty);
	if (!user_become_plain(u) && !prctl(PR_SET_PDEATHSIG, SIGKILL) &&
		limit(RLIMIT_CPU, SECONDS) && limit(RLIMIT_CORE, 0) &&
		limit(RLIMIT_FSIZE, CODE_MAX) && dup2(f->text, STDIN_FILENO) >= 0 &&
		dup2(f->code, STDOUT_FILENO) >= 0 && dup2(f->said, STDERR_FILENO) >= 0 &&
		!sigprocmask(SIG_SETMASK, &empty, NULL))
		execv(arguments[0], arguments);
	_exit(127);
}

/* 1: it ended well; 0: it did not; -ETIME: it took too long, and is ended, or ends by its limit. */
static int await(pid_t child)
{
	uint64_t until_ns = clock_now_ns() + SECONDS * NS_PER_SECOND;
	int status = -1;
	pid_t ended;

	while (!(ended = waitpid(child, &status, WNOHANG)) && clock_now_ns() < until_ns)
		usleep(PAUSE_US);
	if (!ended && !kill(child, SIGKILL))
		(void)waitpid(child, &status, 0);
	if (!ended)
		return -ETIME;
	return ended == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Appends what it begins with; false: nothing. */
static bool read_file(int fd, size_t most, struct buf *ret)
{
	size_t size;
	struct stat st;
	ssize_t got;

	if (fstat(fd, &st) || st.st_size <= 0)
		return false;
	size = (uint64_t)st.st_size < most ? (size_t)st.st_size : most;
	if (!buf_reserve(ret, size))
		return false;
	got = pread(fd, ret->data + ret->size, size, 0);
	if (got > 0)
		ret->size += (size_t)got;
	return got == (ssize_t)size;
}

/* 1: here they are; 0: it does not know this GPU, or makes none, as it says; or -errno. */
static int assemble(const char *assembler, uint32_t sm, const struct buf *text,
	const struct user *u, struct buf *ret_code, struct buf *ret_said)
{
	char arch[16];
	char *const arguments[] = {(char *)(uintptr_t)assembler, arch, "--compile-as-tools-patch",
		"-o", "/proc/self/fd/1", "/proc/self/fd/0", NULL};
	struct files f;
	int result = open_files(&f, text);
	pid_t child = -1;

	snprintf(arch, sizeof(arch), "-arch=sm_%u", sm);
	if (!result && (child = fork()) < 0)
		result = error_errno(-errno, "cannot run '%s'", assembler);
	if (!child)
		execute(&f, arguments, u);
	if (child > 0)
		result = await(child);
	if (result == -ETIME)
		(void)error_set(result, "'%s' took too long", assembler);
	if (result > 0)
		result = read_file(f.code, CODE_MAX, ret_code);
	if (child > 0 && !result)
		(void)read_file(f.said, SAID_MAX, ret_said);
	close_files(&f);
	return result;
}

static int add(struct plan *p, uint32_t sm, struct buf *code)
{
	const struct plan_patches new = {.sm = sm, .code = *code};

	if (code->failed || vec_push(&p->patches, new)) {
		buf_release(code);
		return error_memory("patches");
	}
	return 0;
}

static int describe(const char *assembler, struct buf *said)
{
	const char *text = buf_text(said);

	return error_set(-ENOEXEC, "'%s' makes no patches of the programs%s%.*s", assembler,
		*text ? ": " : "", (int)strcspn(text, "\n"), text);
}

static int add_for_each(
	struct plan *p, const struct buf *text, const char *assembler, const struct user *u)
{
	struct buf why = BUF_INIT;
	int error = 0;

	for (size_t i = 0; !error && i < sizeof(gpus) / sizeof(gpus[0]); i++) {
		struct buf code = BUF_INIT, said = BUF_INIT;
		int made = assemble(assembler, gpus[i], text, u, &code, &said);

		if (made > 0)
			error = add(p, gpus[i], &code);
		else
			buf_release(&code);
		error = made < 0 ? made : error;
		if (!why.size && !strstr(buf_text(&said), UNKNOWN_SM))
			buf_puts(&why, buf_text(&said));
		buf_release(&said);
	}
	if (!error && !p->patches.count)
		error = describe(assembler, &why);
	buf_release(&why);
	return error;
}

static int make_text(const struct plan *p, struct buf *ret)
{
	struct vec(const struct bodies *) all = {0};
	int error = 0;

	vec_foreach (o, &p->objects)
		if (vec_push(&all, &o->bodies))
			error = error_memory("patches");
	error = error ?: bodies_as_patches(all.items, all.count, ret);
	vec_release(&all);
	return error;
}

int assembler_add_patches(struct plan *p, const char *assembler, const struct user *u)
{
	struct buf text = BUF_INIT;
	int error = make_text(p, &text);

	if (error)
		return error == -ENOENT ? 0 : error;
	error = add_for_each(p, &text, assembler, u);
	buf_release(&text);
	return error;
}
